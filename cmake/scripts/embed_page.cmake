# SPDX-License-Identifier: Apache-2.0
# cmake -Dname=… -Dhtml_file=… -Dstyle=… -Dscripts=…;… -Dresult=… -P embed_page.cmake: a page's files as a file of C++, see
# examples/programs/report/page_files.hpp.
cmake_minimum_required(VERSION 3.25) # or @player@ would be a variable
file(READ "${html_file}" html)
if(html MATCHES "@player@") # a section of several pages
    cmake_path(GET html_file PARENT_PATH folder)
    file(READ "${folder}/player.html" player)
    string(STRIP "${player}" player)
    string(REPLACE "@player@" "${player}" html "${html}")
endif()
file(READ "${style}" style)
set(joined "")
foreach(script IN LISTS scripts)
    file(READ "${script}" text)
    string(APPEND joined "${text}")
endforeach()
foreach(part IN ITEMS style joined)
    string(TOLOWER "${${part}}" lower)
    if(lower MATCHES "</(script|style)|<!--|@(style|scripts|live|data)@")
        message(FATAL_ERROR "${part} has ${CMAKE_MATCH_0}, with which it cannot stand in an HTML file")
    endif()
endforeach()
file(WRITE "${result}" "// Made by cmake/scripts/embed_page.cmake.
#include \"page_files.hpp\"

gmac::examples::report::page_files const gmac::examples::report::${name}_files{
    R\"gmac_page(${html})gmac_page\",
    R\"gmac_page(${style})gmac_page\",
    R\"gmac_page(${joined})gmac_page\"};
")
