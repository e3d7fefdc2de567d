# SPDX-License-Identifier: Apache-2.0
# Recorded programs, and what probes told of them, against the simulated GPU's log.

add_executable(record_against_log
    record/probes/against_log.c record/probes/told.c record/probes/logged.c record/probes/blocks.c
    record/probes/requests.c instrument/logged_request.c)
set_target_properties(record_against_log PROPERTIES
    OUTPUT_NAME against_log RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record)
target_link_libraries(record_against_log PRIVATE glint_profile glint_gpusim)

# Random kernels of tests/instrument, launched again and again. No CUDA toolkit is needed.
if(TARGET glint_inject_preload AND NOT CMAKE_CROSSCOMPILING)
    add_executable(record_random_repeats record/probes/random_repeats.c instrument/random_run.c
        instrument/random_kernel.c instrument/random_access.c instrument/random_flow.c instrument/random_forms.c
        instrument/random_impure.c instrument/random_shared.c)
    set_target_properties(record_random_repeats PROPERTIES
        OUTPUT_NAME random_repeats RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record)
    target_include_directories(record_random_repeats PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(record_random_repeats PRIVATE glint_base glint_libcuda)
    glint_test(record.probes_random_repeats ${CMAKE_CURRENT_SOURCE_DIR}/record/probes/random_repeats 1 24)
    set_property(TEST record.probes_random_repeats APPEND PROPERTY ENVIRONMENT
        "AGAINST_LOG=$<TARGET_FILE:record_against_log>" "RANDOM_REPEATS=$<TARGET_FILE:record_random_repeats>")
endif()

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
