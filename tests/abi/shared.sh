#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# shared.sh NM FIRST SECOND…: no two of these object files may define one and the same function or object of gmac's, of
# which the linker would keep one. Names are as the linker sees them, where `gmac` is 4gmac.
set -euo pipefail
nm=$1
shift

names() {
    "$nm" -P --defined-only --extern-only "$1" | sed -n 's/^\([^ ]*4gmac[^ ]*\) .*/\1/p' | sort -u
}
while (($# > 1)); do
    first=$1
    shift
    [[ -n $(names "$first") ]] || { echo "$first defines nothing of gmac"; exit 1; }
    for second in "$@"; do
        shared=$(comm -12 <(names "$first") <(names "$second"))
        if [[ -n $shared ]]; then
            echo "$first and $second share $(wc -l <<<"$shared") names:"
            sed -n 1,20p <<<"$shared"
            exit 1
        fi
    done
done
[[ -n $(names "$1") ]] || { echo "$1 defines nothing of gmac"; exit 1; }
