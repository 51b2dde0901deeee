#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# links.sh FOLDER: no page, picture or style sheet of the folder loads anything from elsewhere, and what they link to in the
# folder is there, the place on the page too. Links to other sites, which a reader follows or not, may be anywhere.
set -euo pipefail
cd "$1"

find . -type f | sed 's|^\./||' >"${TMPDIR:-/tmp}/links.$$"
trap 'rm -f "${TMPDIR:-/tmp}/links.$$"' EXIT
find . -type f \( -name '*.html' -o -name '*.svg' -o -name '*.css' \) -print0 | sort -z | xargs -0 -s 1000000 awk '
    function fault(text) { print text; ++faults }
    FILENAME == list { files[$0] = 1; next }
    FNR == 1 { page = FILENAME; sub(/^\.\//, "", page); folder = page; sub(/[^\/]*$/, "", folder); ++pages; tag = "" }
    {
        line = $0
        if (page ~ /\.(css|svg|html)$/ && line ~ /url\( *["\047]?(https?:)?\/\//)
            fault(page ": a style loads from elsewhere: " line)
        if (page ~ /\.css$/)
            next
        # Attributes, with the name of the tag in which they stand.
        while (match(line, /<[A-Za-z]+|(xlink:href|href|src|data|id|name)="[^"]*"/)) {
            found = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            if (found ~ /^</) {
                tag = tolower(substr(found, 2))
                continue
            }
            attribute = found
            sub(/=.*/, "", attribute)
            value = substr(found, length(attribute) + 3)
            sub(/"$/, "", value)
            if (attribute == "id" || (attribute == "name" && tag == "a")) {
                places[page "#" value] = 1
            } else if (attribute != "name") {
                gsub(/&amp;/, "\\&", value)
                if (value ~ /^(https?:)?\/\// || value ~ /^ftp:/) {
                    if (tag != "a")
                        fault(page ": <" tag "> loads from elsewhere: " value)
                } else if (value != "" && value !~ /^(javascript|mailto|data):/)
                    links[++count] = page SUBSEP folder SUBSEP value
            }
        }
    }
    END {
        for (i = 1; i <= count; ++i) {
            split(links[i], link, SUBSEP)
            target = link[3]
            place = ""
            if (match(target, /#/)) {
                place = substr(target, RSTART + 1)
                target = substr(target, 1, RSTART - 1)
            }
            sub(/\?.*/, "", target)
            gsub(/%20/, " ", target)
            target = target == "" ? link[1] : link[2] target
            sub(/^\.\//, "", target)
            while (match(target, /[^\/]+\/\.\.\//))
                target = substr(target, 1, RSTART - 1) substr(target, RSTART + RLENGTH)
            # Doxygen 1.9.4 links to the nested classes of a class even if all of them are private.
            if (!(target in files))
                fault(link[1] ": there is no " link[3])
            else if (place != "" && place != "nested-classes" && target ~ /\.html$/ && !((target "#" place) in places))
                fault(link[1] ": there is no place " link[3])
        }
        if (pages == 0 || count == 0)
            fault("no page has a link: the check itself is wrong")
        if (!faults)
            print pages " files, " count " links"
        exit faults > 0
    }' "list=${TMPDIR:-/tmp}/links.$$" "${TMPDIR:-/tmp}/links.$$"
