# SPDX-License-Identifier: Apache-2.0
# gmac::gmac asks for C++20 and its dependencies; gmac::native adds this machine's instruction set and nothing else.
include(GNUInstallDirs)

add_library(gmac INTERFACE)
add_library(gmac::gmac ALIAS gmac)
target_compile_features(gmac INTERFACE cxx_std_20)
target_include_directories(
    gmac INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
)
target_link_libraries(gmac INTERFACE Eigen3::Eigen xsimd fmt::fmt)

add_library(gmac-native INTERFACE)
add_library(gmac::native ALIAS gmac-native)
set_target_properties(gmac-native PROPERTIES EXPORT_NAME native)
target_compile_options(gmac-native INTERFACE "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang>:-march=native>")
