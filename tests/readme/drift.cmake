# SPDX-License-Identifier: Apache-2.0
# The comparison itself: it accepts the same text and refuses one changed byte, a missing end and a page without programs.
cmake_minimum_required(VERSION 3.25)

set(script "${CMAKE_CURRENT_LIST_DIR}/../../cmake/scripts/readme.cmake")
file(REMOVE_RECURSE "${scratch}")
set(program "int main() {\n    int a[2]{1, 2}; // [x; y] \"quoted\" \\n ü\n    return a[0] - 1;\n}\n")
file(WRITE "${scratch}/a.cpp" "${program}")
file(WRITE "${scratch}/b.cpp" "// another;\n")

function(expect result page)
    file(WRITE "${scratch}/README.md" "${page}")
    execute_process(
        COMMAND "${CMAKE_COMMAND}" "-Dreadme=${scratch}/README.md" "-Dfolder=${scratch}" "-Dall=${all}" -P "${script}"
        RESULT_VARIABLE code
        OUTPUT_VARIABLE output
        ERROR_VARIABLE output
    )
    if((code EQUAL 0 AND result STREQUAL "refused") OR (NOT code EQUAL 0 AND result STREQUAL "accepted"))
        message(FATAL_ERROR "this page was not ${result}:\n${page}\n${output}")
    endif()
endfunction()

set(first "# Title; with [brackets\n\n<!-- file: a.cpp -->\n```cpp\n${program}```\n\nText.\n\n```sh\nls\n```\n")
set(second "<!-- file: b.cpp -->\n\n```cpp\n// another;\n```\n")
expect(accepted "${first}${second}")
string(REPLACE "return a[0]" "return a[1]" changed "${first}")
expect(refused "${changed}${second}")
string(REPLACE "another" "Another" changed "${second}")
expect(refused "${first}${changed}")
string(REPLACE "    return" "  return" changed "${first}")
expect(refused "${changed}")
expect(refused "<!-- file: a.cpp -->\n```cpp\n${program}")
expect(refused "<!-- file: c.cpp -->\n```cpp\n${program}```\n")
expect(refused "# No program\n")

# All blocks of C++ are files, if that is asked for.
expect(accepted "${first}```cpp\nother();\n```\n")
set(all ON)
expect(refused "${first}```cpp\nother();\n```\n")
expect(accepted "${first}${second}")
expect(refused "${first}<!-- file: a.cpp -->\n```\n${program}```\n```cpp\nother();\n```\n")
expect(accepted "${first}<!-- file: a.cpp -->\n```\n${program}```\n")
set(all OFF)

# Lines of a file.
set(part "<!-- part of: a.cpp -->\n```cpp\n    int a[2]{1, 2}; // [x; y] \"quoted\" \\n ü\n```\n")
expect(accepted "${part}")
expect(accepted "${first}${part}")
expect(accepted "<!-- part of: a.cpp -->\n```cpp\n${program}```\n")
string(REPLACE "    int" "int" changed "${part}")
expect(accepted "${changed}")
string(REPLACE "    int" "  int" changed "${part}")
expect(refused "${changed}")
file(WRITE "${scratch}/c.cpp" "void f() {\n    a();\n\n    if (b)\n        c();\n}\n")
expect(accepted "<!-- part of: c.cpp -->\n```cpp\na();\n\nif (b)\n    c();\n```\n")
expect(refused "<!-- part of: c.cpp -->\n```cpp\na();\n\nif (b)\nc();\n```\n")
expect(refused "<!-- part of: c.cpp -->\n```cpp\na();\nif (b)\n    c();\n```\n")
expect(refused "<!-- part of: c.cpp -->\n```cpp\n();\n```\n")
file(REMOVE "${scratch}/c.cpp")
string(REPLACE " ü" "" changed "${part}")
expect(refused "${changed}")
expect(refused "<!-- part of: a.cpp -->\n```cpp\n```\n")
string(REPLACE "return a[0]" "return a[1]" changed "${first}")
expect(refused "${changed}${part}")
