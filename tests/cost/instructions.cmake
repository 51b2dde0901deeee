# SPDX-License-Identifier: Apache-2.0
# Counts the instructions of each kernel with callgrind and compares them with the recorded ones:
#   cmake -Dprogram=… -Dvalgrind=… -Dcompiler=… -Drecorded=instructions.txt [-Drecord=ON] -P instructions.cmake
# The recorded counts hold for one compiler version; with another the test is skipped and says so. `-Drecord=ON` writes the
# file anew.
file(STRINGS "${recorded}" lines)
set(names "")
foreach(line IN LISTS lines)
    if(line MATCHES "^compiler (.*)$")
        set(recorded_compiler "${CMAKE_MATCH_1}")
    elseif(line MATCHES "^tolerance ([0-9]+)$")
        set(tolerance ${CMAKE_MATCH_1})
    elseif(line MATCHES "^([a-z0-9_]+) ([0-9]+)$")
        list(APPEND names ${CMAKE_MATCH_1})
        set(count_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
    endif()
endforeach()
if(NOT compiler STREQUAL recorded_compiler AND NOT record)
    message("SKIPPED: the counts were recorded with ${recorded_compiler}, this is ${compiler}")
    return()
endif()

set(bad "")
set(text "")
foreach(name IN LISTS names)
    execute_process(
        COMMAND "${valgrind}" --tool=callgrind --callgrind-out-file=/dev/null "--toggle-collect=kernel_${name}" "${program}"
                ${name}
        RESULT_VARIABLE result
        OUTPUT_VARIABLE output
        ERROR_VARIABLE log
    )
    if(NOT result EQUAL 0 OR NOT log MATCHES "Collected : ([0-9]+)")
        message(FATAL_ERROR "callgrind did not count ${name}:\n${output}\n${log}")
    endif()
    set(now ${CMAKE_MATCH_1})
    string(APPEND text "${name} ${now}\n")
    # In thousandths of what is recorded.
    math(EXPR share "1000 * ${now} / ${count_${name}}")
    message("${name}: ${now} instructions, ${share} thousandths of the recorded ${count_${name}}")
    math(EXPR most "1000 + ${tolerance}")
    math(EXPR least "1000 - ${tolerance}")
    if(share GREATER most OR share LESS least)
        list(APPEND bad ${name})
    endif()
endforeach()
if(record)
    file(WRITE "${recorded}" "# Instructions of each kernel in tests/cost/kernels.cpp; tolerance in thousandths.\n"
         "compiler ${compiler}\ntolerance ${tolerance}\n${text}")
elseif(bad)
    message(FATAL_ERROR "more or fewer instructions than recorded: ${bad}. If that is meant, record them anew: "
                        "the target record-instructions does it")
endif()
