#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# output.sh <program> <expected>: runs the program and compares what it prints, word by word. In the expected text a
# number stands for every number within 1e-4 of it (relative, or absolute below 1), `*` for any word, and `>=x` or `<=x`
# for a number on that side of x.
set -euo pipefail

actual=$("$1")
export actual
awk '
function number(word) {
    return word ~ /^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?[,;:)]?$/
}
function matches(want, got,    scale, distance) {
    if (want == "*" || want == got)
        return 1
    if (want ~ /^>=/)
        return number(got) && got + 0 >= substr(want, 3) + 0
    if (want ~ /^<=/)
        return number(got) && got + 0 <= substr(want, 3) + 0
    if (!number(want) || !number(got))
        return 0
    scale = want < 0 ? -want : want + 0
    if (scale < 1)
        scale = 1
    distance = got - want
    if (distance < 0)
        distance = -distance
    return distance <= 1e-4 * scale
}
BEGIN { lines = split(ENVIRON["actual"], got_lines, "\n") }
{
    if (NR > lines) {
        printf "line %d is missing: %s\n", NR, $0
        bad = 1
        exit
    }
    words = split(got_lines[NR], got, " ")
    same = words == NF
    for (i = 1; i <= NF && same; ++i)
        same = matches($i, got[i])
    if (!same) {
        printf "line %d is     %s\nbut must be %s\n", NR, got_lines[NR], $0
        bad = 1
    }
}
END {
    if (!bad && lines > NR) {
        printf "%d lines are printed, but %d are expected\n", lines, NR
        bad = 1
    }
    if (!bad && NR == 0) {
        print "the expected text is empty"
        bad = 1
    }
    exit bad
}' "$2"
