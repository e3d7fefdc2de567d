# SPDX-License-Identifier: Apache-2.0
# Recorded programs, and what probes told of them, against the simulated GPU's log.

add_executable(record_against_log
    record/probes/against_log.c record/probes/told.c record/probes/logged.c record/probes/blocks.c
    record/probes/requests.c instrument/logged_request.c)
set_target_properties(record_against_log PROPERTIES
    OUTPUT_NAME against_log RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record)
target_link_libraries(record_against_log PRIVATE glint_profile glint_gpusim)

# What nvcc builds here has no sanitizer of its own, and runs on this processor.
if(TARGET glint_inject_preload AND NOT CMAKE_CROSSCOMPILING AND NOT GLINT_SANITIZE)
    file(STRINGS record/probes/programs rows REGEX "^[a-z0-9]")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS record/probes/programs)
    set(compares "AGAINST_LOG=$<TARGET_FILE:record_against_log>")
    foreach(row IN LISTS rows)
        string(REGEX MATCH "^[^ ]+" name "${row}")
        set(near_misses)
        if(name MATCHES "^(bfs|device_functions|heap_kept|heap_threads|sgemm_tiled)$")
            set(near_misses --near-misses)
        endif()
        glint_test(record.probes_${name} ${CMAKE_CURRENT_SOURCE_DIR}/record/probes/run ${near_misses} ${name})
        set_property(TEST record.probes_${name} APPEND PROPERTY ENVIRONMENT ${compares})
    endforeach()
    glint_test(record.probes_heap_notes ${CMAKE_CURRENT_SOURCE_DIR}/record/probes/heap_notes)
    glint_test(record.probes_repeats ${CMAKE_CURRENT_SOURCE_DIR}/record/probes/repeats)
    set_property(TEST record.probes_repeats APPEND PROPERTY ENVIRONMENT ${compares})
    glint_test(record.probes_wraps ${CMAKE_CURRENT_SOURCE_DIR}/record/probes/wraps)
    set_property(TEST record.probes_wraps APPEND PROPERTY ENVIRONMENT ${compares})
endif()
