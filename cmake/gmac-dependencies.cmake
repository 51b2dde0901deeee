# SPDX-License-Identifier: Apache-2.0
# What gmac::gmac needs, and nothing else. GLOBAL, because a project that uses add_subdirectory links the targets from
# its own directory.
include("${CMAKE_CURRENT_LIST_DIR}/gmac-find.cmake")

gmac_find_required(GLOBAL)

# The opt-in targets exist where their dependency is there; whoever links a missing one is told its name by CMake.
set(gmac_found_components "")
foreach(component IN LISTS gmac_components)
    gmac_find_component(${component} GLOBAL)
    if(gmac_${component}_FOUND)
        list(APPEND gmac_found_components ${component})
    endif()
endforeach()
