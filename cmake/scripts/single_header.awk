# SPDX-License-Identifier: Apache-2.0
# awk -v folder=INCLUDE -v header=gmac/gmac.hpp -v output=FILE -f single_header.awk: writes one header with all that this
# one reaches below the folder, each file once where it is first included. Other headers are included once, where they are
# first named; inside an #if they stay as they are.

function expand(name,    path, line, depth, status, included) {
    seen[name] = 1
    path = folder "/" name
    while ((status = (getline line < path)) > 0) {
        if (line ~ /^# *if/)
            ++depth
        else if (line ~ /^# *endif/)
            --depth
        if (match(line, /^#include <[^>]*>/)) {
            included = substr(line, 11, RLENGTH - 11)
            if (depth > 0 && included ~ /^gmac\//)
                fail(path " includes " included " inside an #if, where it cannot be expanded")
            if (depth == 0 && (included in seen))
                continue
            if (included ~ /^gmac\//) {
                expand(included)
                continue
            }
            if (depth == 0)
                seen[included] = 1
        }
        if (line == "#pragma once" || line ~ /^\/\/ SPDX/ || (line == "" && last == ""))
            continue
        print line > output
        last = line
    }
    if (status < 0)
        fail("cannot read " path)
    close(path)
}

function fail(message) {
    print "single_header.awk: " message > "/dev/stderr"
    exit 1
}

BEGIN {
    print "// SPDX-License-Identifier: Apache-2.0" > output
    print "// gmac in one file, made of its headers by `cmake --build build --target single-header`." > output
    print "#pragma once" > output
    expand(header)
}
