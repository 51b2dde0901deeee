# SPDX-License-Identifier: Apache-2.0
# Run by ctest: builds and runs the consumer project of this folder, `installed` or `subdirectory`; the former as
# `debian` too, where gmac-dev brings the headers.
cmake_minimum_required(VERSION 3.25)

function(run)
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE code)
    if(NOT code EQUAL 0)
        list(JOIN ARGV " " command)
        message(FATAL_ERROR "failed (${code}): ${command}")
    endif()
endfunction()

file(REMOVE_RECURSE "${scratch}")
string(REPLACE ";" "," components "${components}")
set(project ${way})
if(way STREQUAL "debian")
    set(project installed)
endif()
set(configure "${CMAKE_COMMAND}" -G "${generator}" "-DCMAKE_CXX_COMPILER=${compiler}" -S
              "${CMAKE_CURRENT_LIST_DIR}/${project}" -B "${scratch}/build"
)

if(way STREQUAL "installed")
    run("${CMAKE_COMMAND}" --install "${build}" --prefix "${scratch}/first")
    file(RENAME "${scratch}/first" "${scratch}/moved")

    file(GLOB_RECURSE scripts "${scratch}/moved/*.cmake")
    if(NOT scripts)
        message(FATAL_ERROR "no CMake package was installed")
    endif()
    foreach(script IN LISTS scripts)
        file(READ "${script}" text)
        foreach(folder IN ITEMS "${source}" "${build}" "${scratch}" "/usr/include")
            string(FIND "${text}" "${folder}" place)
            if(NOT place EQUAL -1)
                message(FATAL_ERROR "${script} has the absolute path ${folder}")
            endif()
        endforeach()
    endforeach()

    run(${configure} "-DCMAKE_PREFIX_PATH=${scratch}/moved" "-Dversion=${version}" "-Dcomponents=${components}")
    # Only the moved headers were used.
    file(STRINGS "${scratch}/build/gmac-include.txt" include)
    if(NOT include STREQUAL "${scratch}/moved/include")
        message(FATAL_ERROR "gmac::gmac points to ${include}")
    endif()

    # A version that this one does not serve, and a component that does not exist, are refused.
    foreach(wrong IN ITEMS "-Dversion=99.0" "-Dcomponents=no_such_component")
        execute_process(
            COMMAND ${configure} "-DCMAKE_PREFIX_PATH=${scratch}/moved" ${wrong} -B "${scratch}/refused"
            RESULT_VARIABLE code
            OUTPUT_QUIET ERROR_QUIET
        )
        if(code EQUAL 0)
            message(FATAL_ERROR "find_package(gmac) accepted ${wrong}")
        endif()
    endforeach()
elseif(way STREQUAL "debian")
    cmake_path(GET CMAKE_COMMAND PARENT_PATH programs)
    run("${programs}/cpack" --config "${build}/CPackConfig.cmake" -B "${scratch}/packages" -D CPACK_COMPONENTS_ALL=dev)
    set(package "${scratch}/packages/gmac-dev_${version}_all.deb")
    execute_process(
        COMMAND dpkg-deb --show "--showformat=\${Package} \${Version} \${Architecture}: \${Depends}" "${package}"
        OUTPUT_VARIABLE fields
    )
    if(NOT fields STREQUAL "gmac-dev ${version} all: libeigen3-dev, libfmt-dev, libxsimd-dev")
        message(FATAL_ERROR "gmac-dev says of itself: ${fields}")
    endif()

    # Installed by dpkg, into a root of its own.
    set(root "${scratch}/root")
    set(dpkg dpkg "--root=${root}" --log=/dev/null --force-not-root --force-depends)
    file(WRITE "${root}/var/lib/dpkg/status" "")
    file(MAKE_DIRECTORY "${root}/var/lib/dpkg/info" "${root}/var/lib/dpkg/updates")
    run(${dpkg} --install "${package}")
    file(GLOB_RECURSE sources RELATIVE "${source}/include" "${source}/include/*")
    file(GLOB_RECURSE headers RELATIVE "${root}/usr/include" "${root}/usr/include/*")
    if(NOT headers STREQUAL sources)
        message(FATAL_ERROR "gmac-dev has the headers ${headers}")
    endif()
    file(SIZE "${root}/usr/share/doc/gmac-dev/copyright" size)
    run(${configure} "-DCMAKE_PREFIX_PATH=${root}/usr" "-Dversion=${version}" -Dcomponents=)
    file(STRINGS "${scratch}/build/gmac-include.txt" include)
    if(NOT include STREQUAL "${root}/usr/include")
        message(FATAL_ERROR "gmac::gmac points to ${include}")
    endif()
    run("${CMAKE_COMMAND}" --build "${scratch}/build" --target consumer)
    run("${scratch}/build/consumer")

    # And taken away again, without a trace.
    run(${dpkg} --purge gmac-dev)
    if(EXISTS "${root}/usr")
        file(GLOB_RECURSE left "${root}/usr/*")
        message(FATAL_ERROR "gmac-dev left behind: ${left}")
    endif()
    return()
else()
    run(${configure} "-Dgmac_source=${source}" "-Dcomponents=")
    run(${configure} "-Dgmac_source=${source}" "-Dcomponents=${components}")
    # Nothing of our own development leaks into the user's project.
    execute_process(COMMAND "${CMAKE_COMMAND}" --build "${scratch}/build" --target help OUTPUT_VARIABLE targets)
    if(targets MATCHES "test-|gmac-train|gmac-warnings")
        message(FATAL_ERROR "our tests or examples are targets of a project that adds gmac's folder:\n${targets}")
    endif()
    file(STRINGS "${scratch}/build/CMakeCache.txt" flags REGEX "^GMAC_BUILD_(TESTS|EXAMPLES):BOOL=ON")
    if(flags)
        message(FATAL_ERROR "switched on in a project that adds gmac's folder: ${flags}")
    endif()
endif()
run("${CMAKE_COMMAND}" --build "${scratch}/build")
run("${scratch}/build/consumer")
if(components MATCHES "xtensor")
    run("${scratch}/build/products")
endif()
