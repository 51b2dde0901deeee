# SPDX-License-Identifier: Apache-2.0

# Catch2 3 brings a library with main; Catch2 2 (Debian 12) a macro, which is compiled once here.
find_package(Catch2 CONFIG REQUIRED)
if(TARGET Catch2::Catch2WithMain)
    add_library(gmac-catch INTERFACE)
    target_link_libraries(gmac-catch INTERFACE Catch2::Catch2WithMain)
else()
    add_library(gmac-catch-main OBJECT "${PROJECT_SOURCE_DIR}/tests/support/main.cpp")
    target_link_libraries(gmac-catch-main PUBLIC Catch2::Catch2)
    target_compile_features(gmac-catch-main PRIVATE cxx_std_20)
    add_library(gmac-catch INTERFACE)
    target_link_libraries(gmac-catch INTERFACE gmac-catch-main "$<TARGET_OBJECTS:gmac-catch-main>")
endif()

# What computes is tested as its users compile it; whole agents and programs need not be as quick to be tested, and are compiled
# in two thirds of the time with less.
set(GMAC_TEST_ARITHMETIC_OPTIONS "" CACHE STRING "Compiler options of the tests of what computes, after those of all targets")
set(gmac_arithmetic actors backends core distributions heads imputation losses nn statistics targets)

# gmac_add_test(<area> SOURCES <files> [LIBRARIES <targets>]): the executable test-<area>, run by ctest.
function(gmac_add_test area)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
    if(NOT arg_SOURCES)
        message(FATAL_ERROR "gmac_add_test(${area}): SOURCES is empty")
    endif()
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "gmac_add_test(${area}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
    endif()
    add_executable(test-${area} ${arg_SOURCES})
    target_include_directories(test-${area} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(test-${area} PRIVATE gmac::gmac ${arg_LIBRARIES} gmac-catch gmac-warnings)
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME folder)
    if(folder IN_LIST gmac_arithmetic)
        target_compile_options(test-${area} PRIVATE ${GMAC_TEST_ARITHMETIC_OPTIONS})
    endif()
    add_test(NAME ${area} COMMAND test-${area})
    set_tests_properties(${area} PROPERTIES TIMEOUT 600)
endfunction()

# gmac_add_lane_tests(<area> SOURCES <files> [LIBRARIES <targets>]): some of an area's tests again with wider lanes than those of
# the compiler's default, test-<area>-avx2 and test-<area>-avx512, where this machine has them. With a sanitizer, which looks for
# accesses and not for numbers, the wider of the two alone.
include(CheckCXXSourceRuns)
set(gmac_lanes_avx2 -mavx2 -mfma)
set(gmac_lanes_avx512 -mavx512f -mavx512cd -mavx512dq -mavx512bw -mavx512vl -mfma)
foreach(lanes IN ITEMS avx2 avx512)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
        string(REPLACE "avx512" "avx512bw" feature ${lanes})
        check_cxx_source_runs(
            "int main() { return __builtin_cpu_supports(\"${feature}\") && __builtin_cpu_supports(\"fma\") ? 0 : 1; }"
            GMAC_MACHINE_HAS_${lanes})
    endif()
    if(NOT GMAC_MACHINE_HAS_${lanes})
        message(STATUS "gmac: this machine has no ${lanes}, no tests run with it")
    endif()
endforeach()
# gmac_without_avx512_blas(<tests>): OpenBLAS's small products for AVX-512 allocate, which tests of ours must not see.
function(gmac_without_avx512_blas)
    if(GMAC_MACHINE_HAS_avx512)
        set_tests_properties(${ARGN} PROPERTIES ENVIRONMENT OPENBLAS_CORETYPE=Haswell)
    endif()
endfunction()

function(gmac_add_lane_tests area)
    foreach(lanes IN ITEMS avx2 avx512)
        if(GMAC_MACHINE_HAS_${lanes} AND NOT (GMAC_SANITIZE AND lanes STREQUAL "avx2" AND GMAC_MACHINE_HAS_avx512))
            gmac_add_test(${area}-${lanes} ${ARGN})
            target_compile_options(test-${area}-${lanes} PRIVATE ${gmac_lanes_${lanes}})
        endif()
    endforeach()
endfunction()

# gmac_for_each_compiler(<function> <arguments>): calls function(<name> <compiler> <arguments>) for the compiler of this
# build and for clang++ or g++ beside it, if there is one.
set(gmac_other_compilers "")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND GMAC_CLANG)
    set(gmac_other_compilers "clang|${GMAC_CLANG}")
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    find_program(GMAC_GXX NAMES g++)
    mark_as_advanced(GMAC_GXX)
    if(GMAC_GXX)
        set(gmac_other_compilers "gcc|${GMAC_GXX}")
    endif()
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(gmac_compilers "gcc|${CMAKE_CXX_COMPILER}" ${gmac_other_compilers})
else()
    set(gmac_compilers "clang|${CMAKE_CXX_COMPILER}" ${gmac_other_compilers})
endif()
macro(gmac_for_each_compiler function)
    foreach(gmac_compiler IN LISTS gmac_compilers)
        string(REPLACE "|" ";" gmac_compiler "${gmac_compiler}")
        list(GET gmac_compiler 0 gmac_compiler_name)
        list(GET gmac_compiler 1 gmac_compiler_path)
        cmake_language(CALL ${function} ${gmac_compiler_name} "${gmac_compiler_path}" ${ARGN})
    endforeach()
endmacro()

# gmac_write_compile_options(<file> <targets>): the options with which a user of these targets compiles, for tests that
# run the compiler by themselves: our headers by -I, those of others as system headers, all warnings as errors.
function(gmac_write_compile_options file)
    string(MAKE_C_IDENTIFIER "${file}" name)
    string(MD5 name "${name}")
    set(collected gmac-options-${name})
    add_library(${collected} INTERFACE)
    target_link_libraries(${collected} INTERFACE ${ARGN})
    set(ours "${PROJECT_SOURCE_DIR}/include")
    string(REGEX REPLACE "([][+.*?^$()|\\])" "\\\\\\1" ours_literally "${ours}")
    set(folders "$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${collected},INTERFACE_INCLUDE_DIRECTORIES>>")
    # The compiler's own folders must keep their place, or #include_next goes wrong.
    set(folders "$<FILTER:$<FILTER:${folders},EXCLUDE,^${ours_literally}$>,EXCLUDE,^/usr/(lib/\\.\\./)?include$>")
    set(definitions "$<TARGET_PROPERTY:${collected},INTERFACE_COMPILE_DEFINITIONS>")
    file(
        GENERATE
        OUTPUT "${file}"
        CONTENT
            "-std=c++20
-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror
\"-I${ours}\"
$<$<BOOL:${folders}>:-isystem\"$<JOIN:${folders},\"\n-isystem\">\"
>$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},\n-D>
>"
    )
endfunction()

# gmac_precompile_for_refusals(<header>): tests of refusals added after it in this folder read this header first, in a form that
# each compiler has made once, which spares them most of their time.
function(gmac_precompile_for_refusals header)
    set(options "${CMAKE_CURRENT_BINARY_DIR}/precompiled.options")
    gmac_write_compile_options("${options}" gmac::gmac)
    cmake_path(GET header FILENAME name)
    gmac_for_each_compiler(gmac_precompile_for_one "${header}" "${options}" ${name})
    set(gmac_precompiled ${name} PARENT_SCOPE)
endfunction()

function(gmac_precompile_for_one compiler_name compiler header options name)
    set(copy "${CMAKE_CURRENT_BINARY_DIR}/${compiler_name}/${name}") # found where both names begin alike
    configure_file("${header}" "${copy}" COPYONLY)
    add_test(NAME refusals-precompiled-${compiler_name} COMMAND "${compiler}" "@${options}" -x c++-header "${copy}" -o "${copy}.gch")
    set_tests_properties(refusals-precompiled-${compiler_name} PROPERTIES FIXTURES_SETUP refusals-${compiler_name} COST 900)
endfunction()

# gmac_add_refusal_test(<name> FILE <x.cpp> MESSAGE <regular expression> [MAX_LINES <n>] [LIBRARIES <targets>]
#     [OPTION <compiler option>] [SAME_CONTROL])
# The file must not compile, the compiler's output must match MESSAGE and have at most MAX_LINES (20) lines. If the file
# has an `#ifdef GMAC_CONTROL`, it must compile with this macro defined, and without the OPTION if there is one: then it
# is the misuse that is refused, not a slip. SAME_CONTROL: a test before it compiles the same with the macro.
function(gmac_add_refusal_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "SAME_CONTROL" "FILE;MESSAGE;MAX_LINES;OPTION" "LIBRARIES")
    foreach(required IN ITEMS FILE MESSAGE)
        if(NOT arg_${required})
            message(FATAL_ERROR "gmac_add_refusal_test(${name}): ${required} is missing")
        endif()
    endforeach()
    if(NOT arg_MAX_LINES)
        set(arg_MAX_LINES 20)
    endif()
    if(GMAC_SANITIZE)
        return()
    endif()
    set(options "${CMAKE_CURRENT_BINARY_DIR}/refusal-${name}.options")
    gmac_write_compile_options("${options}" gmac::gmac ${arg_LIBRARIES})
    cmake_path(ABSOLUTE_PATH arg_FILE)
    gmac_for_each_compiler(gmac_add_one_refusal_test)
endfunction()

# For gmac_add_refusal_test, whose variables it sees.
function(gmac_add_one_refusal_test compiler_name compiler)
    set(test refusal-${name}-${compiler_name})
    set(precompiled "")
    if(gmac_precompiled AND NOT arg_LIBRARIES)
        set(precompiled "${CMAKE_CURRENT_BINARY_DIR}/${compiler_name}/${gmac_precompiled}")
    endif()
    add_test(
        NAME ${test}
        COMMAND
            "${CMAKE_COMMAND}" "-Dcompiler=${compiler}" "-Doptions=${options}" "-Dfile=${arg_FILE}"
            "-Dmessage=${arg_MESSAGE}" "-Dmax_lines=${arg_MAX_LINES}" "-Doption=${arg_OPTION}"
            "-Dprecompiled=${precompiled}" "-Dsame_control=${arg_SAME_CONTROL}" -P
            "${PROJECT_SOURCE_DIR}/cmake/scripts/refusal.cmake"
    )
    if(precompiled)
        set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED refusals-${compiler_name})
    endif()
endfunction()
