# SPDX-License-Identifier: Apache-2.0
# The script behind gmac_add_refusal_test says no to a file that compiles, to another message and to too many lines.
cmake_minimum_required(VERSION 3.25)

function(expect result file message max_lines)
    execute_process(
        COMMAND
            "${CMAKE_COMMAND}" "-Dcompiler=${compiler}" "-Doptions=${options}"
            "-Dfile=${CMAKE_CURRENT_LIST_DIR}/${file}" "-Dmessage=${message}" "-Dmax_lines=${max_lines}" -P
            "${CMAKE_CURRENT_LIST_DIR}/../../cmake/scripts/refusal.cmake"
        RESULT_VARIABLE code
        OUTPUT_VARIABLE output
        ERROR_VARIABLE output
    )
    if((code EQUAL 0 AND result STREQUAL "fails") OR (NOT code EQUAL 0 AND result STREQUAL "passes"))
        message(FATAL_ERROR "${file}, \"${message}\", ${max_lines} lines: the check does not what it should\n${output}")
    endif()
endfunction()

expect(passes refused.cpp "invalid initialization|no matching function" 60)
expect(fails refused.cpp "a message that no compiler gives" 60)
expect(fails refused.cpp "." 1)
expect(fails accepted.cpp "." 60)
