# SPDX-License-Identifier: Apache-2.0
# `cpack` in the build folder makes the Debian packages gmac-dev and, where programs are built, gmac-tools and gmac-train-dev.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the authors of gmac")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "distributional actor-critic learning in C++")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)

set(CPACK_COMPONENTS_ALL dev)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME gmac-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libeigen3-dev, libfmt-dev, libxsimd-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS
    "libtbb-dev, nlohmann-json3-dev, libboost-dev, libxtensor-dev, libxtensor-blas-dev, libopenblas-dev, libtorch-dev, libopenmpi-dev")
set(CPACK_DEBIAN_DEV_DESCRIPTION
    "Value heads that are distributions, their losses with exact gradients,
targets by SR(lambda), and agents that learn with them, as headers in C++20
with a CMake package.")

# What is compiled for this machine's instruction set may not run on another.
if(gmac_tools AND NOT GMAC_NATIVE)
    list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
if(TARGET gmac_train AND NOT GMAC_NATIVE)
    list(APPEND CPACK_COMPONENTS_ALL train)
endif()
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME gmac-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "gnuplot-nox, fonts-dejavu-core")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION
    "gmac-train trains agents on classic tasks, robots, games and environments
of one's own; the others evaluate, draw, run and export what it has learned.")

set(CPACK_DEBIAN_TRAIN_PACKAGE_NAME gmac-train-dev)
set(CPACK_DEBIAN_TRAIN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TRAIN_PACKAGE_DEPENDS "gmac-dev (= ${PROJECT_VERSION}), libtbb-dev")
if(TARGET httplib::httplib)
    string(APPEND CPACK_DEBIAN_TRAIN_PACKAGE_DEPENDS ", libcpp-httplib-dev")
endif()
set(CPACK_DEBIAN_TRAIN_PACKAGE_RECOMMENDS "gnuplot-nox, fonts-dejavu-core")
set(CPACK_DEBIAN_TRAIN_DESCRIPTION
    "A static library with all that gmac-train has but its environments, and
a CMake package: a program for environments of one's own in three lines.")

# Where Debian looks for a package's licence.
foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER ${component} package)
    set(package ${CPACK_DEBIAN_${package}_PACKAGE_NAME})
    install(
        CODE
            "if(CMAKE_INSTALL_PREFIX MATCHES \"/usr$\")
    file(INSTALL \"${PROJECT_SOURCE_DIR}/LICENSE\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/share/doc/${package}\" RENAME copyright)
endif()"
        COMPONENT ${component}
    )
endforeach()
include(CPack)
