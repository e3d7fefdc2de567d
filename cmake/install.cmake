# SPDX-License-Identifier: Apache-2.0
# Defines `cmake --install build --prefix P`. bin/glint finds its libraries in ../lib/glint, so P can be moved. glint
# generates its man pages and completions from the tables that it parses command lines with.

add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/share.made
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/make-share
        "$<JOIN:$<TARGET_PROPERTY:glint,CROSSCOMPILING_EMULATOR>, > $<TARGET_FILE:glint>" ${PROJECT_BINARY_DIR}/share
    COMMAND ${CMAKE_COMMAND} -E touch ${PROJECT_BINARY_DIR}/share.made
    DEPENDS glint ${PROJECT_SOURCE_DIR}/scripts/make-share ${PROJECT_SOURCE_DIR}/docs/reference/patterns.md
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "Making man pages, completions and the page about patterns")
add_custom_target(share ALL DEPENDS ${PROJECT_BINARY_DIR}/share.made)

# Builds what is installed, and nothing else: `cmake --install` works after it.
add_custom_target(installed DEPENDS glint share)
foreach(part simulator glint_inject_preload glint-merge-mpi)
    if(TARGET ${part})
        add_dependencies(installed ${part})
    endif()
endforeach()

install(TARGETS glint RUNTIME DESTINATION bin)
if(TARGET glint_inject_preload)
    install(TARGETS glint_inject_preload glint_sync_preload glint_mpi_preload LIBRARY DESTINATION lib/glint)
endif()
# The folder is installed as built, with a subfolder for each kind of processor and its symbolic links.
install(DIRECTORY ${PROJECT_BINARY_DIR}/lib/glint/sim DESTINATION lib/glint OPTIONAL USE_SOURCE_PERMISSIONS)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/glint DESTINATION include)
install(DIRECTORY ${PROJECT_BINARY_DIR}/share DESTINATION .)
