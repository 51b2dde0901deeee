# SPDX-License-Identifier: Apache-2.0
# `cmake --build BUILD --target docs`: the API reference with the guides as BUILD/docs/html/index.html. Doxygen's warnings are
# errors; GMAC_DOCS_WARNINGS_AS_ERRORS is there for versions of it that warn of other things than 1.9.4, Debian 12's.
option(GMAC_DOCS_WARNINGS_AS_ERRORS "Treat Doxygen's warnings as errors" ON)

find_program(GMAC_DOXYGEN doxygen)
find_program(GMAC_DOT dot)
mark_as_advanced(GMAC_DOXYGEN GMAC_DOT)
gmac_optional(doxygen "${GMAC_DOXYGEN}" doxygen "the API reference, target docs")
gmac_optional(dot "${GMAC_DOT}" graphviz "the API reference, target docs")

if(GMAC_DOXYGEN AND GMAC_DOT)
    set(gmac_docs_folder "${PROJECT_BINARY_DIR}/docs")
    set(gmac_docs_warnings NO)
    if(GMAC_DOCS_WARNINGS_AS_ERRORS)
        set(gmac_docs_warnings FAIL_ON_WARNINGS) # after all of them are told
    endif()
    configure_file(docs/reference/Doxyfile.in docs/Doxyfile @ONLY)
    add_custom_target(
        docs
        COMMAND "${CMAKE_COMMAND}" -E rm -rf "${gmac_docs_folder}/html" # or pages that went stay
        COMMAND "${GMAC_DOXYGEN}" "${gmac_docs_folder}/Doxyfile"
        COMMAND "${CMAKE_COMMAND}" -E echo "${gmac_docs_folder}/html/index.html"
        VERBATIM
    )
else()
    add_custom_target(
        docs
        COMMAND "${CMAKE_COMMAND}" -E echo
                "docs needs doxygen and dot, and CMake did not find both: apt-get install doxygen graphviz, and configure anew"
        COMMAND "${CMAKE_COMMAND}" -E false
        VERBATIM
    )
endif()
