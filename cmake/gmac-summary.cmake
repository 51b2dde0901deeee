# SPDX-License-Identifier: Apache-2.0
message(STATUS "gmac ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
list(JOIN gmac_found_components ", " gmac_component_list)
message(STATUS "gmac: opt-in targets found: native, ${gmac_component_list}")

get_property(gmac_missing_list GLOBAL PROPERTY gmac_missing)
foreach(gmac_missing_line IN LISTS gmac_missing_list)
    string(REPLACE "|" ";" gmac_missing_line "${gmac_missing_line}")
    list(GET gmac_missing_line 0 gmac_name)
    list(GET gmac_missing_line 1 gmac_package)
    list(GET gmac_missing_line 2 gmac_purpose)
    message(STATUS "gmac: ${gmac_name} is missing, which switches off: ${gmac_purpose} "
                   "(Debian: apt-get install ${gmac_package})")
endforeach()
