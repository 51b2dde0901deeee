# SPDX-License-Identifier: Apache-2.0
# Run by ctest: `file` must not compile, for the reason that `message` describes.
cmake_minimum_required(VERSION 3.25)

set(first "")
if(precompiled)
    set(first -include "${precompiled}")
endif()

function(compile result output)
    execute_process(
        COMMAND "${compiler}" "@${options}" ${first} -fsyntax-only ${ARGN} "${file}"
        RESULT_VARIABLE code
        OUTPUT_VARIABLE text
        ERROR_VARIABLE text
    )
    set(${result} "${code}" PARENT_SCOPE)
    set(${output} "${text}" PARENT_SCOPE)
endfunction()

file(STRINGS "${file}" control REGEX "GMAC_CONTROL")
if((control OR option) AND NOT same_control)
    compile(result output -DGMAC_CONTROL)
    if(NOT result EQUAL 0)
        message(FATAL_ERROR "with GMAC_CONTROL and without \"${option}\" it must compile, but:\n${output}")
    endif()
endif()

compile(result output ${option})
if(result EQUAL 0)
    message(FATAL_ERROR "it compiles, but must be refused")
endif()
message("${output}")
if(NOT output MATCHES "${message}")
    message(FATAL_ERROR "the compiler's output does not match: ${message}")
endif()
string(REGEX REPLACE "[^\n]" "" line_ends "${output}")
string(LENGTH "${line_ends}" lines)
if(lines GREATER max_lines)
    message(FATAL_ERROR "the compiler says ${lines} lines, but at most ${max_lines} are allowed")
endif()
