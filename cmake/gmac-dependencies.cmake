# SPDX-License-Identifier: Apache-2.0
# What gmac::gmac needs, and nothing else. GLOBAL, because a project that uses add_subdirectory links the targets from
# its own directory.
include("${CMAKE_CURRENT_LIST_DIR}/gmac-find.cmake")

gmac_find_required(GLOBAL)

# The opt-in targets. A project that adds this folder names those that it wants and needs them; our own build takes what
# is there.
if(PROJECT_IS_TOP_LEVEL)
    set(GMAC_COMPONENTS "${gmac_components}" CACHE STRING "The opt-in targets to make: ${gmac_components}")
else()
    set(GMAC_COMPONENTS "" CACHE STRING "The opt-in targets to make: ${gmac_components}")
endif()
set(gmac_found_components "")
foreach(component IN LISTS GMAC_COMPONENTS)
    if(component STREQUAL "train") # compiled by who adds this folder, see gmac-train.cmake
        continue()
    endif()
    gmac_find_component(${component} GLOBAL)
    if(gmac_${component}_FOUND)
        list(APPEND gmac_found_components ${component})
    elseif(NOT PROJECT_IS_TOP_LEVEL)
        message(FATAL_ERROR "GMAC_COMPONENTS has ${component}, but what it needs was not found (known: ${gmac_components} train)")
    endif()
endforeach()
