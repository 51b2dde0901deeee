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
awk -v "program=$name" -v shell=bash -f "$scripts/completion.awk" <<<"$help" >"$folder/bash/$name"
awk -v "program=$name" -v shell=zsh -f "$scripts/completion.awk" <<<"$help" >"$folder/zsh/_$name"
if [[ $help2man ]]; then
    # The first clause of the help is the page's short description.
    summary=$(sed '/^Usage:/,$d' <<<"$help" | tr '\n' ' ' | sed -E "s/^$name //; s/[.:,]? *(\(.*|[.:,] .*)?\$//; s/^./\l&/")
    # From its own folder, since help2man passes the name to a shell. The number of threads is this machine's.
    (cd "$(dirname "$program")" && "$help2man" --no-info --name "$summary" --version-string "$version" "./$name") |
        sed -E 's/^(.*threads.*UINT)=[0-9]+$/\1/' >"$folder/man1/$name.1"
fi
