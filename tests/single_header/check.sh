#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh <compiler> <file with compiler options> <the single header> <examples folder> <fmt's library>: two translation
# units with the header link, and the program prints what it prints with our headers.
set -euo pipefail
compiler=$1 options=$2 header=$3 examples=$4 fmt=$5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if grep -n '^# *include <gmac/' "$header"; then
    echo "the single header still includes ours"
    exit 1
fi
# Found before our own folder, which is among the options.
folder=${header%/gmac/gmac.hpp}
echo '#include <gmac/gmac.hpp>' >"$scratch/second.cpp"
for source in "$examples/first.cpp" "$scratch/second.cpp"; do
    "$compiler" -I"$folder" @"$options" -c "$source" -o "$scratch/$(basename "$source" .cpp).o"
done
"$compiler" "$scratch/first.o" "$scratch/second.o" "$fmt" -o "$scratch/first"
"$scratch/first" | diff "$examples/first.expected" -
