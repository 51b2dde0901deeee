# SPDX-License-Identifier: Apache-2.0
# What only our own build has: warnings, the compiler cache, a default build type.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(GMAC_CCACHE ccache)
mark_as_advanced(GMAC_CCACHE)
if(GMAC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${GMAC_CCACHE}")
endif()

set(gmac_warning_flags -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow)
if(GMAC_WARNINGS_AS_ERRORS)
    list(APPEND gmac_warning_flags -Werror)
endif()
add_library(gmac-warnings INTERFACE)
target_compile_options(gmac-warnings INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:${gmac_warning_flags}>")

if(GMAC_NATIVE)
    add_compile_options(-march=native)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND (GMAC_NATIVE OR GMAC_SANITIZE))
    # False alarms of g++: its own AVX-512 intrinsics start from a register that they leave undefined on purpose (GCC
    # bug 105593), and what a sanitizer inserts hides from it that a variant's member is set.
    target_compile_options(gmac-warnings INTERFACE -Wno-maybe-uninitialized -Wno-uninitialized)
endif()
if(GMAC_SANITIZE)
    add_compile_options(-fsanitize=${GMAC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${GMAC_SANITIZE})
endif()

# gmac_add_areas([names]): adds every folder below the current one that has a CMakeLists.txt, or those named.
function(gmac_add_areas)
    file(
        GLOB lists
        CONFIGURE_DEPENDS
        "${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt"
    )
    set(areas "")
    foreach(list IN LISTS lists)
        cmake_path(GET list PARENT_PATH folder)
        cmake_path(GET folder FILENAME area)
        list(APPEND areas ${area})
    endforeach()
    foreach(area IN LISTS ARGN)
        if(NOT area IN_LIST areas)
            message(FATAL_ERROR "there is no area ${area} in ${CMAKE_CURRENT_SOURCE_DIR}; there are: ${areas}")
        endif()
    endforeach()
    if(ARGN)
        set(areas "${ARGN}")
    endif()
    foreach(area IN LISTS areas)
        add_subdirectory(${area})
    endforeach()
endfunction()

# Version 14 of clang-format, Debian 12's default, does not understand requires clauses.
find_program(GMAC_CLANG_FORMAT NAMES clang-format-16 clang-format-19)
mark_as_advanced(GMAC_CLANG_FORMAT)
if(GMAC_CLANG_FORMAT)
    add_custom_target(
        format
        COMMAND find include examples tests bench -name "*.[ch]pp" -exec "${GMAC_CLANG_FORMAT}" -i {} +
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
        VERBATIM
    )
endif()

# The sources of the last commit as one file.
find_program(GMAC_GIT git)
mark_as_advanced(GMAC_GIT)
if(GMAC_GIT)
    add_custom_target(
        release-archive
        COMMAND "${GMAC_GIT}" archive --prefix=gmac-${PROJECT_VERSION}/ -o
                "${PROJECT_BINARY_DIR}/gmac-${PROJECT_VERSION}.tar.gz" HEAD
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
        VERBATIM
    )
endif()
