# SPDX-License-Identifier: Apache-2.0
# Runs the port for vcpkg with functions of the same names in the place of vcpkg's own, as their documentation describes
# them, and looks at the package that it leaves.
cmake_minimum_required(VERSION 3.25)
set(port "${source}/cmake/packaging/vcpkg")
set(CURRENT_PACKAGES_DIR "${scratch}/packages/gmac")
file(REMOVE_RECURSE "${scratch}")

file(READ "${port}/vcpkg.json" manifest)
string(JSON manifest_name GET "${manifest}" name)
string(JSON manifest_version GET "${manifest}" version)
if(NOT "${manifest_name} ${manifest_version}" STREQUAL "gmac ${version}")
    message(FATAL_ERROR "vcpkg.json is of ${manifest_name} ${manifest_version}, the project has version ${version}")
endif()

function(vcpkg_cmake_configure)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
    execute_process(
        COMMAND "${CMAKE_COMMAND}" -G "${generator}" "-DCMAKE_CXX_COMPILER=${compiler}" -S "${arg_SOURCE_PATH}" -B
                "${scratch}/build" "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" ${arg_OPTIONS}
        OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY
    )
endfunction()
function(vcpkg_cmake_install)
    execute_process(
        COMMAND "${CMAKE_COMMAND}" --build "${scratch}/build" --target install OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY
    )
endfunction()
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH" "")
    file(RENAME "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}" "${CURRENT_PACKAGES_DIR}/share/gmac")
endfunction()
function(vcpkg_install_copyright)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
    file(COPY_FILE ${arg_FILE_LIST} "${CURRENT_PACKAGES_DIR}/share/gmac/copyright")
endfunction()

include("${port}/portfile.cmake")

file(GLOB_RECURSE found RELATIVE "${CURRENT_PACKAGES_DIR}" "${CURRENT_PACKAGES_DIR}/*")
file(GLOB_RECURSE expected RELATIVE "${source}" "${source}/include/*")
foreach(file IN ITEMS copyright gmac-config-version.cmake gmac-config.cmake gmac-find.cmake gmac-targets.cmake)
    list(APPEND expected share/gmac/${file})
endforeach()
if(NOT found STREQUAL expected)
    message(FATAL_ERROR "the port installs\n${found}\nand not\n${expected}")
endif()
