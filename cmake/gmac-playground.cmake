# SPDX-License-Identifier: Apache-2.0
# The page docs/playground: a build of its own, by Emscripten's compiler, which needs nothing of the rest of the project but
# the headers. `cmake --workflow --preset playground` leaves it in build/playground/index.html.

# Of the system's headers only those that are headers alone: /usr/include itself is the C library of another machine.
set(gmac_headers "${PROJECT_BINARY_DIR}/include")
file(MAKE_DIRECTORY "${gmac_headers}")
foreach(need IN ITEMS "Eigen:Core:libeigen3-dev" "unsupported:Eigen/NonLinearOptimization:libeigen3-dev"
              "fmt:core.h:libfmt-dev" "xsimd:xsimd.hpp:libxsimd-dev")
    string(REPLACE ":" ";" need "${need}")
    list(GET need 0 folder)
    list(GET need 1 header)
    list(GET need 2 package)
    find_path(GMAC_${folder}_FOLDER "${folder}/${header}" PATHS /usr/include /usr/include/eigen3 NO_CMAKE_FIND_ROOT_PATH)
    mark_as_advanced(GMAC_${folder}_FOLDER)
    if(NOT GMAC_${folder}_FOLDER)
        message(FATAL_ERROR "the playground needs ${folder}/${header}; on Debian: apt-get install ${package}")
    endif()
    file(CREATE_LINK "${GMAC_${folder}_FOLDER}/${folder}" "${gmac_headers}/${folder}" SYMBOLIC)
endforeach()

add_library(gmac-wasm INTERFACE)
target_compile_features(gmac-wasm INTERFACE cxx_std_20)
target_include_directories(
    gmac-wasm INTERFACE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/examples/environments"
                        "${PROJECT_SOURCE_DIR}/examples/programs"
)
target_include_directories(gmac-wasm SYSTEM INTERFACE "${gmac_headers}")
# xsimd 8 has no WebAssembly, but SSE2, whose intrinsics Emscripten translates. An error prints its message and aborts.
target_compile_options(gmac-wasm INTERFACE -msimd128 -msse2 -fno-exceptions)
target_compile_definitions(gmac-wasm INTERFACE FMT_HEADER_ONLY EIGEN_DONT_VECTORIZE)
target_link_libraries(gmac-wasm INTERFACE gmac-warnings)

set(playground "${PROJECT_SOURCE_DIR}/examples/programs/playground")
add_library(
    gmac-playground OBJECT "${playground}/cart_pole.cpp" "${playground}/chain.cpp"
                           "${playground}/../five_state/experiment.cpp"
)
target_link_libraries(gmac-playground PUBLIC gmac-wasm)

# gmac_link_wasm(<target> <option> …): one file of JavaScript with the WebAssembly in it, and 32 MiB of memory.
function(gmac_link_wasm target)
    target_link_libraries(${target} PRIVATE gmac-playground)
    target_link_options(${target} PRIVATE -sSINGLE_FILE=1 -sFILESYSTEM=0 -sINITIAL_MEMORY=33554432 ${ARGN})
endfunction()

# The page needs no file more, but so it is known that the whole library compiles.
file(CONFIGURE OUTPUT whole-library.cpp CONTENT "#include <gmac/gmac.hpp>\n")
add_executable(playground-engine "${PROJECT_BINARY_DIR}/whole-library.cpp")
gmac_link_wasm(
    playground-engine --no-entry -sMODULARIZE=1 -sEXPORT_NAME=make_playground -sENVIRONMENT=web,worker,node
    -sEXPORTED_RUNTIME_METHODS=HEAPF64,HEAPU32
)

# Training frames per second, for Node and, compiled by hand, for this machine.
add_executable(playground-speed "${playground}/speed.cpp")
gmac_link_wasm(playground-speed -sENVIRONMENT=node)

set(page "${PROJECT_SOURCE_DIR}/docs/playground")
add_custom_command(
    OUTPUT "${PROJECT_BINARY_DIR}/index.html"
    COMMAND
        "${CMAKE_COMMAND}" "-Dpage=${page}" "-Dcompiled=$<TARGET_FILE:playground-engine>"
        "-Dresult=${PROJECT_BINARY_DIR}/index.html" -P "${PROJECT_SOURCE_DIR}/cmake/scripts/playground.cmake"
    DEPENDS playground-engine "${page}/index.html" "${page}/style.css" "${page}/page.js" "${page}/engine.js"
            "${page}/canvas.js" "${page}/robot.js" "${page}/replay.js" "${page}/hopper.json"
            "${PROJECT_SOURCE_DIR}/cmake/scripts/playground.cmake"
    VERBATIM
)
add_custom_target(playground ALL DEPENDS "${PROJECT_BINARY_DIR}/index.html")

if(GMAC_BUILD_TESTS)
    enable_testing()
    foreach(program IN ITEMS node chromium chromedriver)
        string(TOUPPER GMAC_${program} variable)
        find_program(${variable} ${program} NO_CMAKE_FIND_ROOT_PATH)
        mark_as_advanced(${variable})
        if(NOT ${variable})
            message(FATAL_ERROR "the playground's tests need ${program}; apt-get install $(cat cmake/debian-packages-playground.txt)")
        endif()
    endforeach()
    set(tests "${PROJECT_SOURCE_DIR}/tests/playground")
    add_test(NAME playground-engine COMMAND "${GMAC_NODE}" --test "${tests}/engine.mjs")
    add_test(NAME playground-page COMMAND "${GMAC_NODE}" --test "${tests}/page.mjs")
    set_tests_properties(
        playground-engine playground-page
        PROPERTIES
            TIMEOUT 600
            RUN_SERIAL TRUE # they look at the clock
            ENVIRONMENT
            "GMAC_ENGINE=$<TARGET_FILE:playground-engine>;GMAC_PAGE=${PROJECT_BINARY_DIR}/index.html;GMAC_RECORDING=${page}/hopper.json;GMAC_SCREENSHOTS=${PROJECT_BINARY_DIR}/screenshots;GMAC_CHROMIUM=${GMAC_CHROMIUM};GMAC_CHROMEDRIVER=${GMAC_CHROMEDRIVER}"
    )
endif()
