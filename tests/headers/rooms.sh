#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rooms.sh <include folder>: the headers of gmac lie in rooms, and include only what lies below them. Refuses an include that
# runs upwards, a circle, and a private header (in a detail/) that an umbrella or another room includes; those of core are
# for all rooms. Refuses too what lies outside of the inline namespace of gmac/core/abi.hpp, and algorithms of std::ranges.
set -euo pipefail
cd "$1"

# Each room, and those whose headers it may include besides its own.
declare -A below=(
    [version]=''
    [core]=''
    [distributions]='core'
    [heads]='core distributions'
    [statistics]='core heads'
    [targets]='core distributions heads'
    [losses]='core distributions heads targets'
    [imputation]='core'
    [environment]='core'
    [actors]='core environment'
    [nn]='core distributions heads'
    [backends]='core nn'
    [storage]='core version'
    [torch]='core distributions heads targets losses nn'
    [distributed]='core storage agent'
    [agent]='core distributions heads statistics targets losses environment actors nn backends'
    [agents]='core distributions heads targets losses environment actors nn backends agent' # the paper's methods by name
    [deploy]='core distributions heads statistics environment actors nn backends storage agent'
    [train]='core heads statistics targets environment actors nn backends agent agents deploy' # of the library gmac::train
)

failed=0
fault() {
    echo "$*"
    failed=1
}

includes=$(grep -r --include='*.hpp' -oE '^ *# *include *[<"]gmac/[^>"]+' gmac | sed -E 's/: *# *include *[<"]/ /')
[[ -n $includes ]] || fault "there is no include in $1"
while read -r from to; do
    IFS=/ read -r _ above _ <<<"${from%.hpp}" # gmac/ROOM/… or gmac/ROOM
    IFS=/ read -r _ room _ <<<"${to%.hpp}"
    umbrella=no
    if [[ $from != gmac/*/* && $from != gmac/agents.hpp ]]; then umbrella=yes; fi
    [[ -e $to ]] || fault "$from includes $to, which is not there"
    if [[ $to == */detail/* ]] && [[ $umbrella == yes || ($above != "$room" && $room != core) ]]; then
        fault "$from includes $to, which is private to $room/"
    fi
    if [[ $from == gmac/gmac.hpp || $above == "$room" ]]; then continue; fi
    if [[ -z ${below[$above]+known} ]]; then
        fault "$from lies in no room that tests/headers/rooms.sh knows"
    elif [[ " ${below[$above]} " != *" $room "* ]]; then
        fault "$from includes $to, but $above may include only: ${below[$above]}"
    fi
done <<<"$includes"

while IFS=: read -r file opening; do
    fault "$file: \"$opening\" must be \"namespace gmac::inline GMAC_ABI…\": see gmac/core/abi.hpp"
done < <(grep -r --include='*.hpp' -E '^ *(inline +)?namespace +gmac\b' gmac | grep -v ':namespace gmac::inline GMAC_ABI\b')
while IFS= read -r file; do
    fault "$file has GMAC_ABI, but no include that defines it: gmac/core/abi.hpp"
done < <(grep -rl --include='*.hpp' 'inline GMAC_ABI' gmac | grep -v '^gmac/core/abi.hpp$' | xargs -r grep -L '#include <gmac/')

# libc++ 13, the playground's, has no algorithms of std::ranges; what it cannot have anyway may use them.
while IFS=: read -r file algorithm; do
    fault "$file uses $algorithm…), which the playground's library has not: take the one of <algorithm>"
done < <(grep -rE --include='*.hpp' -o 'std::ranges::[a-z_]+\(' gmac | grep -vE 'std::ranges::(data|size)\(|^gmac/(environment/plugin|torch)/')

if ! circle=$(tsort <<<"$includes" 2>&1 >/dev/null); then
    fault "these headers include each other: $(sed -n 's/^tsort: *//p' <<<"$circle" | grep -v 'input contains' | tr '\n' ' ')"
fi

exit "$failed"
