# SPDX-License-Identifier: Apache-2.0
# Bundles the script and the style of the HTML report from web/ for src/report/html_bundle.c, with
# esbuild, which npm fetches into the build folder. Without npm, glint is built without the HTML report,
# and `glint report --format html` says so. Included before the parts are made.

find_program(GLINT_NPM NAMES npm)
find_program(GLINT_NODE NAMES node)
set(page_folder ${PROJECT_BINARY_DIR}/web)
set(page_texts ${page_folder}/page.js.inc ${page_folder}/page.css.inc ${page_folder}/job.js.inc ${page_folder}/job.css.inc)
if(GLINT_NPM AND GLINT_NODE)
    file(GLOB page_sources CONFIGURE_DEPENDS web/src/* web/build web/*.mjs web/*.json)
    add_custom_command(OUTPUT ${page_texts}
        COMMAND ${PROJECT_SOURCE_DIR}/web/build ${PROJECT_SOURCE_DIR}/web ${page_folder}
        DEPENDS ${page_sources}
        COMMENT "Bundling the page"
        VERBATIM)
else()
    message(STATUS "npm was not found: glint is built without --format html (`make deps` installs npm)")
    foreach(text IN LISTS page_texts)
        file(CONFIGURE OUTPUT ${text} CONTENT "\"\"\n")
    endforeach()
endif()
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/report/html_bundle.c PROPERTIES
    INCLUDE_DIRECTORIES ${page_folder} OBJECT_DEPENDS "${page_texts}")
