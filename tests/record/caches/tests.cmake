# SPDX-License-Identifier: Apache-2.0
# What profiles say of caches, against the simulated GPU's log.

if(TARGET glint_inject_preload AND NOT CMAKE_CROSSCOMPILING AND NOT GLINT_SANITIZE)
    add_executable(record_against_lines record/caches/against_lines.c)
    target_link_libraries(record_against_lines PRIVATE glint_profile glint_gpusim)
    add_executable(record_lines record/caches/lines.c)
    target_link_libraries(record_lines PRIVATE glint_libcuda)
    foreach(name IN ITEMS against_lines lines)
        set_target_properties(record_${name} PROPERTIES
            OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record)
    endforeach()
    glint_test(record.caches_lines ${CMAKE_CURRENT_SOURCE_DIR}/record/caches/run)
    set_property(TEST record.caches_lines APPEND PROPERTY ENVIRONMENT
        "LINES=$<TARGET_FILE:record_lines>" "AGAINST_LINES=$<TARGET_FILE:record_against_lines>")
endif()
