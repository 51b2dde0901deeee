# SPDX-License-Identifier: Apache-2.0
# `cmake --build BUILD --target single-header`: all that gmac/gmac.hpp reaches as one file, BUILD/single-header/gmac/gmac.hpp.
file(
    GLOB_RECURSE gmac_headers
    CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/include/gmac/*.hpp"
)
set(gmac_single_header "${PROJECT_BINARY_DIR}/single-header/gmac/gmac.hpp")
set(gmac_single_header_script "${CMAKE_CURRENT_LIST_DIR}/scripts/single_header.awk")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/single-header/gmac")
add_custom_command(
    OUTPUT "${gmac_single_header}"
    COMMAND awk -v "folder=${PROJECT_SOURCE_DIR}/include" -v header=gmac/gmac.hpp -v "output=${gmac_single_header}" -f
            "${gmac_single_header_script}"
    DEPENDS ${gmac_headers} "${gmac_single_header_script}"
    VERBATIM
)
set(gmac_in_all "")
if(GMAC_BUILD_TESTS) # a test compiles it
    set(gmac_in_all ALL)
endif()
add_custom_target(single-header ${gmac_in_all} DEPENDS "${gmac_single_header}")
