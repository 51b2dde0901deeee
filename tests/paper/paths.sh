#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Run by ctest: paths.sh ROOT. Every path of this repository that its pages name (*.md, docs/*.md, docs/reference/*.md), in
# backticks or as the target of a link, exists; and so does every test case that they name: a test file in backticks,
# followed by the case in quotes; and every name in backticks that is said to be in a file: `gae` in `gmac/targets/gae.hpp`.
# What a paragraph, list item or table row names after the words "not here yet" must not exist, so that they go when it
# comes. Program listings (fenced or indented blocks) are not looked at.
set -u
root=$1
cd "$root" || exit 1

# Lines "kind<TAB>what": path, later (a path that must not exist), case (file<TAB>name) or symbol (file<TAB>name), of the page
# on stdin.
named() {
    awk '
        function flush(    rest, token, rest_of, later, between, names, count, i) {
            gsub(/[ \t]+/, " ", text)
            gsub(/\\[|]/, "|", text) # as tables escape it
            later = match(text, /not here yet/) ? length(text) - RSTART : 0 # of what is left to read
            rest = text
            count = 0
            while (match(rest, /`[^`]+`/)) {
                between = substr(rest, 1, RSTART - 1)
                token = substr(rest, RSTART + 1, RLENGTH - 2)
                # `a`, `b` and `c` in `path`
                if (between == " in ")
                    for (i = 1; i <= count; ++i)
                        print "symbol\t" token "\t" names[i]
                if (between != ", " && between != " and ")
                    count = 0
                if (token ~ /^[A-Za-z_][A-Za-z0-9_:]*(\(\))?$/)
                    names[++count] = token
                rest = substr(rest, RSTART + RLENGTH)
                print (length(rest) < later ? "later" : "path") "\t" token
                if (token ~ /^tests\/.*\.cpp$/) {
                    rest_of = rest
                    while (match(rest_of, /^,? ?"[^"]+"/)) {
                        name = substr(rest_of, RSTART, RLENGTH)
                        rest_of = substr(rest_of, RSTART + RLENGTH)
                        sub(/^[^"]*"/, "", name)
                        sub(/"$/, "", name)
                        print "case\t" token "\t" name
                    }
                }
            }
            rest = text
            while (match(rest, /\]\([^)]+\)/)) {
                print "link\t" substr(rest, RSTART + 2, RLENGTH - 3)
                rest = substr(rest, RSTART + RLENGTH)
            }
            text = ""
        }
        /^ *```/ { flush(); fenced = !fenced; next }
        fenced || /^    / && text == "" { next }
        /^[ \t]*$/ { flush(); next }
        /^[|]/ || /^[ ]*[-*] / || /^[ ]*[0-9]+[.] / || /^#/ { flush() }
        { text = text " " $0 }
        END { flush() }
    '
}

# A word or two with slashes is a path here if it begins with a folder of this repository, or is a header as users write it.
is_path() {
    [[ $1 =~ ^[A-Za-z0-9_./*-]+$ ]] || return 1
    case $1 in
    include/* | examples/* | tests/* | bench/* | docs/* | cmake/* | .ci/*) return 0 ;;
    gmac/*.hpp) return 0 ;;
    esac
    return 1
}
exists() {
    local path=$1
    [[ $path == gmac/*.hpp ]] && path=include/$path
    compgen -G "$path" >/dev/null
}

wrong=0
count=0
complain() {
    echo "$1"
    wrong=1
}
shopt -s nullglob
for page in *.md docs/*.md docs/reference/*.md; do
    folder=$(dirname "$page")
    while IFS=$'\t' read -r kind what name; do
        case $kind in
        path)
            is_path "$what" || continue
            exists "$what" || complain "$page: there is no $what"
            ;;
        later)
            is_path "$what" || continue
            exists "$what" && complain "$page: $what is said to be not here yet, but it is"
            ;;
        case)
            # A long name may be two literals in the source.
            [[ -f $what ]] || continue
            tr -s ' \n' ' ' <"$what" | sed 's/" "//g' | grep -qF -- "\"$name\"" ||
                complain "$page: $what has no test case \"$name\""
            ;;
        symbol)
            is_path "$what" && [[ $what != *'*'* ]] || continue
            [[ $what == gmac/*.hpp ]] && what=include/$what
            [[ -f $what ]] || continue
            symbol=${name%"()"}
            grep -qw -- "${symbol##*:}" "$what" || complain "$page: there is no $name in $what"
            ;;
        link)
            [[ $what == *:* || $what == '#'* ]] && continue
            [[ -e $folder/${what%%#*} ]] || complain "$page: the link to $what leads nowhere"
            ;;
        esac
        count=$((count + 1))
    done < <(named <"$page")
done
if ((count == 0)); then
    complain "no page names a path: the check itself is wrong"
fi
((wrong == 0)) && echo "$count paths, links, test cases and names"
exit "$wrong"
