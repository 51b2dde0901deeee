# SPDX-License-Identifier: Apache-2.0
# gmac::train in a project that adds this folder and asks for it by GMAC_COMPONENTS, compiled there if something links it, with
# the methods of GMAC_TRAIN_METHODS. Our own build makes it with the examples.
foreach(gmac_need IN ITEMS tbb checkpoint)
    gmac_find_component(${gmac_need} GLOBAL)
endforeach()
find_package(CLI11 CONFIG QUIET GLOBAL)
gmac_find_headers(protozero::protozero protozero/pbf_writer.hpp)
gmac_find_httplib()
foreach(gmac_need IN ITEMS "gmac::tbb|libtbb-dev" "gmac::checkpoint|nlohmann-json3-dev libboost-dev" "CLI11::CLI11|libcli11-dev"
                           "protozero::protozero|libprotozero-dev")
    string(REPLACE "|" ";" gmac_need "${gmac_need}")
    list(GET gmac_need 0 gmac_need_target)
    list(GET gmac_need 1 gmac_need_package)
    if(NOT TARGET ${gmac_need_target})
        message(FATAL_ERROR "GMAC_COMPONENTS has train, which needs ${gmac_need_target}; on Debian: apt-get install ${gmac_need_package}")
    endif()
endforeach()
add_subdirectory(examples/programs/report EXCLUDE_FROM_ALL)
add_subdirectory(examples/programs/train EXCLUDE_FROM_ALL)
