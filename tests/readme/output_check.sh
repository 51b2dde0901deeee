#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# output.sh itself: what it accepts and what it refuses.
set -euo pipefail

folder=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# expect <0 or 1> <printed> <expected>
expect() {
    printf '#!/bin/sh\nprintf "%s"\n' "$2" >"$scratch/program"
    chmod +x "$scratch/program"
    printf "$3" >"$scratch/expected"
    local code=0
    bash "$folder/output.sh" "$scratch/program" "$scratch/expected" >"$scratch/log" || code=$?
    if [[ $code != "$1" ]]; then
        cat "$scratch/log"
        printf 'output.sh gave %s for\n%s\nagainst\n%s\n' "$code" "$2" "$3"
        exit 1
    fi
}

expect 0 'loss 1.23456\n' 'loss 1.23460\n'
expect 1 'loss 1.23456\n' 'loss 1.2355\n'
expect 1 'loss 1.23456\n' 'Loss 1.23456\n'
expect 0 'return 480 steps\n' 'return >=475 steps\n'
expect 1 'return 470 steps\n' 'return >=475 steps\n'
expect 1 'return nan steps\n' 'return >=475 steps\n'
expect 1 'loss nan\n' 'loss 0\n'
expect 0 'a b\nc d\n' 'a *\n* d\n'
expect 1 'a b\n' 'a b\nc d\n'
expect 1 'a b\nc d\n' 'a b\n'
expect 1 'a b c\n' 'a b\n'
expect 1 '' 'a\n'
expect 1 '' ''
