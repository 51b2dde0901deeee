# SPDX-License-Identifier: Apache-2.0
# An overlay port of the sources that it lies in: vcpkg install gmac --overlay-ports=cmake/packaging/vcpkg
set(VCPKG_BUILD_TYPE release) # headers only
cmake_path(SET SOURCE_PATH NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../..")

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DGMAC_BUILD_TESTS=OFF -DGMAC_BUILD_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/gmac)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/cmake" "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
