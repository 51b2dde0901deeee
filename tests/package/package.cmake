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

# train_and_look(<folder with my-train and short-train>): what a stranger does first.
function(train_and_look programs)
    set(runs "${scratch}/runs")
    set(small --hidden 8 --envs 4 --steps 32 --epochs 1 --no-pictures --evaluation-episodes 2)
    run("${programs}/short-train" --frames 512 --out "${runs}/short" ${small})
    run("${programs}/my-train" --frames 512 --out "${runs}/mine" --env-option columns=4 ${small})
    run("${programs}/my-train" --resume "${runs}/mine" --frames 1024)
    run("${programs}/my-train" evaluate "${runs}/mine" --episodes 2 --out "${runs}/scores.json")
    run("${programs}/my-train" play "${runs}/mine" --steps 20)
    run("${programs}/my-train" report "${runs}/mine")
    foreach(file IN ITEMS mine/checkpoint.safetensors mine/play.html mine/report.html scores.json)
        if(NOT EXISTS "${runs}/${file}")
            message(FATAL_ERROR "my-train has left no ${file}")
        endif()
    endforeach()
    file(READ "${runs}/mine/config.json" config)
    string(JSON columns GET "${config}" env-option columns)
    string(JSON frames GET "${config}" frames)
    if(NOT "${columns} ${frames}" STREQUAL "4 1024")
        message(FATAL_ERROR "my-train has stored ${columns} columns and ${frames} frames")
    endif()
    execute_process(COMMAND "${programs}/my-train" --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
    foreach(part IN ITEMS "mine/cliff" "--env-option wind=0.1" "my-train evaluate --help")
        string(FIND "${help}" "${part}" place)
        if(place EQUAL -1)
            message(FATAL_ERROR "my-train --help lacks ${part}:\n${help}")
        endif()
    endforeach()
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
    if(train)
        string(APPEND components ",train")
    endif()
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

    # The library has a package of its own, of one architecture.
    if(train AND EXISTS "${build}/examples/programs/train/libgmac-train.a")
        execute_process(
            COMMAND ${configure} "-DCMAKE_PREFIX_PATH=${root}/usr" -Dversion= -Dcomponents=train -B "${scratch}/refused"
            RESULT_VARIABLE code
            ERROR_VARIABLE said
            OUTPUT_QUIET
        )
        if(code EQUAL 0 OR NOT said MATCHES "gmac-train-dev")
            message(FATAL_ERROR "without gmac-train-dev it is said: ${said}")
        endif()
        run("${programs}/cpack" --config "${build}/CPackConfig.cmake" -B "${scratch}/packages" -D
            CPACK_COMPONENTS_ALL=train)
        file(GLOB package "${scratch}/packages/gmac-train-dev_${version}_*.deb")
        run(${dpkg} --install "${package}")
        run(${configure} "-DCMAKE_PREFIX_PATH=${root}/usr" "-Dversion=${version}" -Dcomponents=train)
        run("${CMAKE_COMMAND}" --build "${scratch}/build" --target my-train short-train)
        train_and_look("${scratch}/build")
        run(${dpkg} --purge gmac-train-dev)
    endif()

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
    # The library that trains is a target where it is asked for, and compiled if something that is built links it.
    if(train)
        run(${configure} "-Dgmac_source=${source}" "-Dcomponents=train" -DGMAC_TRAIN_METHODS=ppo -B "${scratch}/train")
        execute_process(COMMAND "${CMAKE_COMMAND}" --build "${scratch}/train" --target help OUTPUT_VARIABLE targets)
        if(NOT targets MATCHES "short-train" OR targets MATCHES "test-|my-train|gmac-train:")
            message(FATAL_ERROR "with the component train the targets are:\n${targets}")
        endif()
    endif()
    file(STRINGS "${scratch}/build/CMakeCache.txt" flags REGEX "^GMAC_BUILD_(TESTS|EXAMPLES):BOOL=ON")
    if(flags)
        message(FATAL_ERROR "switched on in a project that adds gmac's folder: ${flags}")
    endif()
endif()
run("${CMAKE_COMMAND}" --build "${scratch}/build")
run("${scratch}/build/consumer")
if(components MATCHES "train")
    train_and_look("${scratch}/build")
endif()
if(components MATCHES "xtensor")
    run("${scratch}/build/products")
endif()
