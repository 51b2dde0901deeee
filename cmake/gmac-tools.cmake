# SPDX-License-Identifier: Apache-2.0
# The programs for users of the library, gmac_tools. Their manual pages and completions for bash and zsh are made of what
# they say to --help, and installed with them: those that were built.
set(gmac_tools "")
if(CMAKE_CROSSCOMPILING OR GMAC_SANITIZE)
    return()
endif()

if(GMAC_INSTALL) # Debian's zsh looks elsewhere
    install(
        CODE
            "set(gmac_zsh_folder site-functions)
if(CMAKE_INSTALL_PREFIX MATCHES \"/usr$\")
    set(gmac_zsh_folder vendor-completions)
endif()"
        COMPONENT tools
    )
endif()
foreach(tool IN ITEMS gmac-train gmac-sweep gmac-evaluate gmac-play gmac-report gmac-curves gmac-scores gmac-densities gmac-act
                      gmac-export gmac-five-state gmac-cliff)
    if(NOT TARGET ${tool})
        continue()
    endif()
    list(APPEND gmac_tools ${tool})
    set(pages "${PROJECT_BINARY_DIR}/pages")
    add_custom_command(
        OUTPUT "${pages}/${tool}.stamp"
        COMMAND bash "${CMAKE_CURRENT_LIST_DIR}/scripts/tool_pages.sh" "$<TARGET_FILE:${tool}>" ${PROJECT_VERSION}
                "${pages}" "$<$<BOOL:${GMAC_HELP2MAN}>:${GMAC_HELP2MAN}>"
        COMMAND "${CMAKE_COMMAND}" -E touch "${pages}/${tool}.stamp"
        DEPENDS ${tool} cmake/scripts/tool_pages.sh cmake/scripts/completion.awk
        VERBATIM
    )
    add_custom_target(${tool}-pages ALL DEPENDS "${pages}/${tool}.stamp")
    if(GMAC_INSTALL)
        install(TARGETS ${tool} COMPONENT tools OPTIONAL)
        install(FILES "${pages}/man1/${tool}.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools OPTIONAL)
        install(FILES "${pages}/bash/${tool}" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
                COMPONENT tools OPTIONAL)
        install(FILES "${pages}/zsh/_${tool}" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/\${gmac_zsh_folder}"
                COMPONENT tools OPTIONAL)
    endif()
endforeach()

# The licences of what is compiled into them, as Debian's packages bring them.
if(GMAC_INSTALL AND gmac_tools)
    install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}/licences" RENAME gmac COMPONENT tools)
    install(FILES examples/environments/process/gmac_environment.py DESTINATION "${CMAKE_INSTALL_DATADIR}/gmac"
            COMPONENT tools)
    foreach(package IN ITEMS libxsimd-dev libfmt-dev libeigen3-dev libtbb-dev nlohmann-json3-dev libboost-dev libcli11-dev
                             libprotozero-dev libcpp-httplib-dev libbullet-dev)
        install(FILES "/usr/share/doc/${package}/copyright" DESTINATION "${CMAKE_INSTALL_DOCDIR}/licences"
                RENAME ${package} COMPONENT tools OPTIONAL)
    endforeach()
endif()
