# SPDX-License-Identifier: Apache-2.0
# Three components: dev, the headers and the CMake package; train, the library gmac::train, where it is built; and tools, the
# programs.
include(CMakePackageConfigHelpers)

set(gmac_package_folder "${CMAKE_INSTALL_DATAROOTDIR}/cmake/gmac")

install(DIRECTORY include/gmac DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev FILES_MATCHING PATTERN "*.hpp"
        PATTERN "*.h")
install(TARGETS gmac gmac-native EXPORT gmac COMPONENT dev)
install(EXPORT gmac NAMESPACE gmac:: FILE gmac-targets.cmake DESTINATION "${gmac_package_folder}" COMPONENT dev)

# The library itself is installed by examples/programs/train.
set(gmac_train_with_httplib OFF)
if(TARGET gmac_train AND TARGET httplib::httplib)
    set(gmac_train_with_httplib ON)
endif()

configure_package_config_file(
    cmake/gmac-config.cmake.in gmac-config.cmake
    INSTALL_DESTINATION "${gmac_package_folder}"
    NO_SET_AND_CHECK_MACRO
)
# Headers only, so 32 and 64 bits share the package.
write_basic_package_version_file(gmac-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(
    FILES "${CMAKE_CURRENT_BINARY_DIR}/gmac-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/gmac-config-version.cmake"
          cmake/gmac-find.cmake
    DESTINATION "${gmac_package_folder}"
    COMPONENT dev
)
install(FILES LICENSE CHANGELOG.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT dev)
