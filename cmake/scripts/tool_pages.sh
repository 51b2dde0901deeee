#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tool_pages.sh <program> <version> <folder> [<help2man>]: writes what a program's --help says into man1/, bash/ and zsh/ of
# the folder, as manual page and as completion for the shells.
set -euo pipefail
program=$1 version=$2 folder=$3 help2man=${4-}
scripts=$(cd "$(dirname "$0")" && pwd)
name=$(basename "$program")

help=$("$program" --help)
mkdir -p "$folder/man1" "$folder/bash" "$folder/zsh"
# The names under "Sub-commands", each with a help of its own; the first one is what is done without one.
mapfile -t commands < <(awk '/^Sub-commands/ { inside = 1; next } inside && /^  [^ ]/ { print $1; next } { inside = 0 }' <<<"$help")
for shell in bash zsh; do
    script=$folder/bash/$name
    [[ $shell == bash ]] || script=$folder/zsh/_$name
    complete() { awk -v "program=$1" -v "commands=${commands[*]}" -v "shell=$shell" -v "part=$2" -f "$scripts/completion.awk"; }
    complete "$name" first <<<"" >"$script"
    for command in "${commands[@]:1}"; do
        "$program" "$command" --help | complete "$name" "$command" >>"$script"
    done
    complete "$name" last <<<"$help" >>"$script"
done
if [[ $help2man ]]; then
    # The first clause of the help is the page's short description.
    summary=$(sed '/^Usage:/,$d' <<<"$help" | tr '\n' ' ' | sed -E "s/^$name //; s/[.:,]? *(\(.*|[.:,] .*)?\$//; s/^./\l&/")
    # From its own folder, since help2man passes the name to a shell. The number of threads is this machine's.
    (cd "$(dirname "$program")" && "$help2man" --no-info --name "$summary" --version-string "$version" "./$name") |
        sed -E 's/^(.*threads.*UINT)=[0-9]+$/\1/' >"$folder/man1/$name.1"
fi
