#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh <cmake> <build folder> <scratch folder> <licence> <tools>: installs the tools and reads what came with them, then
# makes their Debian package and looks into it.
set -euo pipefail
cmake=$1 build=$2 scratch=$3 licence=$4
shift 4

fail() {
    echo "$@" >&2
    exit 1
}
has() { command -v "$1" >/dev/null; }

# complete_in_bash <program> <word …>: what bash offers for the last word.
complete_in_bash() {
    bash --noprofile --norc -c '
        source "$1"
        [[ $(complete -p "$2") == "complete -o default -F _${2//-/_} $2" ]] || exit 1
        COMP_WORDS=("${@:2}") COMP_CWORD=$(($# - 2))
        "_${2//-/_}"
        printf "%s\n" "${COMPREPLY[@]}"' bash "$share/bash-completion/completions/$1" "$@"
}
# offers <expected, one a blank> <program> <word …>
offers() {
    local expected=$1 found
    shift
    found=$(complete_in_bash "$@" | xargs)
    [[ $found == "$expected" ]] || fail "after '$*' bash offers '$found', not '$expected'"
}

rm -rf "$scratch"
"$cmake" --install "$build" --component tools --prefix "$scratch/first" >/dev/null
mv "$scratch/first" "$scratch/moved"
share=$scratch/moved/share
cmp "$licence" "$share/doc/gmac/licences/gmac"
[[ -f $share/gmac/gmac_environment.py ]] || fail "what environments in Python need is not installed"
for package in /usr/share/doc/libcli11-dev /usr/share/doc/nlohmann-json3-dev; do
    [[ ! -e $package ]] || cmp "$package/copyright" "$share/doc/gmac/licences/${package##*/}"
done

for tool in "$@"; do
    "$scratch/moved/bin/$tool" --help >"$scratch/help"
    # The options, each by all of its names.
    options=$(sed -nE 's/^  (-[^ ]*).*/\1/p' "$scratch/help" | tr ',\n' '  ' | xargs)
    [[ $options == *--help* ]] || fail "$tool --help lists no options"

    if has help2man && has man; then
        MANWIDTH=1000 man --warnings --no-hyphenation -l "$share/man/man1/$tool.1" >"$scratch/page" 2>"$scratch/warnings"
        [[ ! -s $scratch/warnings ]] || fail "the page of $tool: $(cat "$scratch/warnings")"
        for part in "$tool - " $options; do
            grep -qF -- "$part" "$scratch/page" || fail "the page of $tool lacks '$part'"
        done
    fi

    offers "$options" "$tool" -
    zsh_script=$share/zsh/site-functions/_$tool
    for option in $options; do
        grep -qE -- "['{,]$option[]['},]" "$zsh_script" || fail "zsh does not know $option of $tool"
    done
    ! has zsh || zsh -n "$zsh_script"
done

if [[ " $* " == *" gmac-train "* ]]; then
    offers classic/cart_pole gmac-train --env classic/c
    offers "bullet/hopper bullet/half_cheetah bullet/humanoid" gmac-train --seed 3 --env bullet/h
    offers "constant linear kl" gmac-train --schedule ""
    offers "true false" gmac-train --early-stop ""
    offers "" gmac-train --out ""
    # Its sub-commands, each with its own options.
    commands="train evaluate play report curves act"
    offers "$commands" gmac-train ""
    offers evaluate gmac-train ev
    offers "" gmac-train evaluate runs/
    for command in $commands; do
        options=$("$scratch/moved/bin/gmac-train" "$command" --help | sed -nE 's/^  (-[^ ]*).*/\1/p' | tr ',\n' '  ' | xargs)
        offers "$options" gmac-train "$command" -
        for option in $options; do
            grep -qE -- "['{,]$option[]['},]" "$share/zsh/site-functions/_gmac-train" || fail "zsh does not know $option of $command"
        done
        ! has help2man || grep -qF "$command" "$share/man/man1/gmac-train.1" || fail "the page lacks $command"
    done
fi

if has dpkg-deb && grep -q 'CPACK_COMPONENTS_ALL "dev;tools' "$build/CPackConfig.cmake"; then
    "$(dirname "$cmake")/cpack" --config "$build/CPackConfig.cmake" -B "$scratch/packages" -D CPACK_COMPONENTS_ALL=tools >/dev/null
    package=$(echo "$scratch"/packages/gmac-tools_*_"$(dpkg --print-architecture)".deb)
    dpkg-deb --extract "$package" "$scratch/unpacked"
    depends=$(dpkg-deb --field "$package" Depends)
    for tool in "$@"; do
        for file in "bin/$tool" "share/bash-completion/completions/$tool" "share/zsh/vendor-completions/_$tool"; do
            [[ -f $scratch/unpacked/usr/$file ]] || fail "gmac-tools lacks $file"
        done
    done
    # Each library that the programs name belongs to a package that this one depends on.
    libraries=$(ldd "$scratch"/unpacked/usr/bin/* | awk '{ print $1, $3 }' | sort -u)
    for library in $(objdump -p "$scratch"/unpacked/usr/bin/* | awk '$1 == "NEEDED" && $2 !~ /^ld-/ { print $2 }' | sort -u); do
        path=$(awk -v name="$library" '$1 == name { print $2 }' <<<"$libraries")
        owner=$(dpkg -S "*/$(basename "$(dirname "$path")")/$library" | sed 's/:.*//' | sort -u)
        [[ ", $depends," == *", $owner"[\ ,]* ]] || fail "gmac-tools depends on '$depends', not on $owner for $library"
    done
    [[ -f $scratch/unpacked/usr/share/doc/gmac-tools/copyright ]] || fail "gmac-tools lacks its licence"
fi
