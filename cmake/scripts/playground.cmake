# SPDX-License-Identifier: Apache-2.0
# cmake -Dpage=… -Dcompiled=… -Dresult=… -P playground.cmake: one file of the page's parts, which opens by a double click.
file(READ "${page}/style.css" style)
file(READ "${page}/page.js" script)
file(READ "${page}/engine.js" engine)
file(READ "${page}/robot.js" robot)
file(READ "${page}/hopper.json" recording)
file(READ "${compiled}" glue)
string(PREPEND engine "${glue}\n")
foreach(part IN ITEMS style script engine robot recording)
    string(TOLOWER "${${part}}" lower)
    if(lower MATCHES "</(script|style)|<!--")
        message(FATAL_ERROR "${part} has ${CMAKE_MATCH_0}, with which it cannot stand in an HTML file")
    endif()
endforeach()
configure_file("${page}/index.html" "${result}" @ONLY)
file(TOUCH "${result}") # also if it is the same, so that it is newer than its parts
