# SPDX-License-Identifier: Apache-2.0
# What the tests of libglint.so need: a recorder that prints, and programs to be recorded.

if(NOT TARGET glint_inject_preload)
    return()
endif()

add_executable(inject_watch inject/watch.c)
set_target_properties(inject_watch PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
target_link_libraries(inject_watch PRIVATE glint_event glint_base)
