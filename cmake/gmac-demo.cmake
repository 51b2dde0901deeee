# SPDX-License-Identifier: Apache-2.0
# The main job, which `cmake --workflow --preset demo` builds and runs.
set(gmac_demo_arguments --preset hopper-fast --threads 2 --out runs/demo --overwrite)

if(TARGET gmac-train)
    add_custom_target(
        demo
        COMMAND gmac-train ${gmac_demo_arguments}
        WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
        USES_TERMINAL
        VERBATIM
        COMMENT "gmac-train trains GMAC on a hopping robot"
    )
else()
    add_custom_target(
        demo
        COMMAND "${CMAKE_COMMAND}" -E echo
                "gmac-train was left out, since a library is missing; the lines that begin with -- gmac: say which"
        COMMAND "${CMAKE_COMMAND}" -E false
        VERBATIM
    )
endif()
