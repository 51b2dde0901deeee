#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh <mode> <compiler> <file with compiler options> <include folder>; the working folder has checked-headers.txt
# (what can be compiled here) and core-headers.txt (what gmac.hpp must bring).
set -euo pipefail

mode=$1
export compiler=$2
export options=$3
folder=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

include_all() {
    sed 's/.*/#include <&>/' checked-headers.txt
}

# The files that a header includes, itself or through others, one a line.
included() {
    echo "#include <$1>" | "$compiler" @"$options" -E -x c++ - | sed -n 's/^# 1 "\(.*\)".*/\1/p'
}

# Of the paths on stdin those below our include folder, which may have any name: as written in an #include.
ours() {
    while IFS= read -r path; do
        [[ $path != "$folder"/* ]] || echo "${path#"$folder"/}"
    done
}
others() {
    while IFS= read -r path; do
        [[ $path == "$folder"/* ]] || echo "$path"
    done
}

case $mode in
alone)
    # One small program for each header.
    compile_one() {
        echo "#include <$1>" | "$compiler" @"$options" -fsyntax-only -x c++ - || { echo "failed alone: $1"; return 1; }
    }
    export -f compile_one
    xargs -P 2 -I HEADER bash -c 'compile_one HEADER' <checked-headers.txt
    echo "$(wc -l <checked-headers.txt) headers compile alone"
    ;;
together)
    # Definitions that are not inline collide when the two are linked into one object; -r needs no libraries.
    for unit in first second; do
        include_all >"$scratch/$unit.cpp"
        "$compiler" @"$options" -O0 -c "$scratch/$unit.cpp" -o "$scratch/$unit.o"
    done
    "$compiler" -r -nostdlib "$scratch/first.o" "$scratch/second.o" -o "$scratch/both.o"
    ;;
restricted)
    # As on Windows, min and max are macros; and the core must do without exceptions.
    {
        # The standard library and the dependencies first: only our headers are to see the macros.
        (cd "$folder" && xargs grep -ho '^#include <[^>]*>') <checked-headers.txt | grep -v '<gmac/' | sort -u
        echo '#define min(a, b) min is a macro here'
        echo '#define max(a, b) max is a macro here'
        include_all
    } >"$scratch/macros.cpp"
    "$compiler" @"$options" -fsyntax-only "$scratch/macros.cpp"
    sed 's/.*/#include <&>/' core-headers.txt >"$scratch/no-exceptions.cpp"
    "$compiler" @"$options" -fno-exceptions -fsyntax-only "$scratch/no-exceptions.cpp"
    ;;
light)
    included gmac/gmac.hpp >"$scratch/files"
    if ! diff <(sort core-headers.txt) <(ours <"$scratch/files" | sort -u); then
        echo "gmac.hpp must reach every header that needs only xsimd and fmt (<), and no other (>)"
        exit 1
    fi
    if others <"$scratch/files" | grep -i '/Eigen'; then
        echo "gmac.hpp needs Eigen, but must not"
        exit 1
    fi
    ;;
*)
    echo "unknown mode $mode" >&2
    exit 2
    ;;
esac
