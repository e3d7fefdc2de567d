# SPDX-License-Identifier: Apache-2.0
# The programs of tests/hostile: a test per theme runs every second program once in every mode, with the
# analyses that glint fix needs. `make hostile` runs all of them more often and with all analyses, and measures.

file(GLOB sources CONFIGURE_DEPENDS hostile/*.c)
list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/hostile/plugin.c)
add_executable(hostile ${sources})
add_library(hostile_plugin MODULE hostile/plugin.c)
add_dependencies(hostile hostile_plugin)
foreach(target IN ITEMS hostile hostile_plugin)
    set_target_properties(${target} PROPERTIES PREFIX "" ENABLE_EXPORTS ON
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/hostile
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/hostile)
    target_link_libraries(${target} PRIVATE glint_libcuda ${CMAKE_DL_LIBS} pthread rt)
endforeach()
target_compile_definitions(hostile PRIVATE HOSTILE_PLUGIN="$<TARGET_FILE:hostile_plugin>")

file(STRINGS hostile/programs.def rows REGEX "^[A-Z]+\\(")
list(TRANSFORM rows REPLACE "^[A-Z]+\\(([a-z]+),.*" "\\1")
list(REMOVE_DUPLICATES rows)
foreach(theme IN LISTS rows)
    glint_test(hostile.${theme} ${CMAKE_CURRENT_SOURCE_DIR}/hostile/run -e 2 -a objects,sync ${theme})
    set_property(TEST hostile.${theme} APPEND PROPERTY ENVIRONMENT HOSTILE_PROGRAM=$<TARGET_FILE:hostile>
        GLINT_PROTECT_PAGES=0) # some of these programs would notice that
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS hostile/programs.def)
