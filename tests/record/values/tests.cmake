# SPDX-License-Identifier: Apache-2.0
# What profiles say about values, against the replayed log of the simulated GPU.

add_executable(record_replayed record/values/replayed.c record/values/expect.c record/values/replay.c)
set_target_properties(record_replayed PROPERTIES
    OUTPUT_NAME replayed RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record)
target_link_libraries(record_replayed PRIVATE glint_gpusim)
if(TARGET test_record_replay)
    target_sources(test_record_replay PRIVATE record/values/expect.c record/values/replay.c)
endif()

if(TARGET glint_inject_preload AND NOT CMAKE_CROSSCOMPILING AND NOT GLINT_SANITIZE)
    # replays(NAME SOURCE ARGUMENT...) replays the log of a program.
    function(replays name)
        glint_test(record.replays_${name} ${CMAKE_CURRENT_SOURCE_DIR}/record/values/replays ${ARGN})
        set_property(TEST record.replays_${name} APPEND PROPERTY ENVIRONMENT "REPLAYED=$<TARGET_FILE:record_replayed>")
    endfunction()
    replays(driver tests/matrix/driver.c plain graphs pools managed threads)
    replays(runtime tests/matrix/runtime.cu plain graphs pools managed)
    replays(features tests/gpusim/runtime/features.cu)
    replays(heap tests/record/probes/heap.cu churn keep given kinds streams graph)
    replays(network examples/network/network.cu)

    # recorded(NAME) is a test that records the program of the same name.
    function(recorded name)
        add_executable(record_${name} record/values/${name}.c)
        set_target_properties(record_${name} PROPERTIES
            OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record)
        target_link_libraries(record_${name} PRIVATE glint_libcuda)
        glint_test(record.values_${name} ${CMAKE_CURRENT_SOURCE_DIR}/record/values/${name})
        string(TOUPPER ${name} variable)
        set_property(TEST record.values_${name} APPEND PROPERTY
            ENVIRONMENT "${variable}=$<TARGET_FILE:record_${name}>")
    endfunction()
    recorded(small)
    recorded(shared)
endif()

# The numbers of fields are computed by the reference of the scan.
if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/device/values_reference.c)
    add_executable(record_compare_values
        record/values/compare.c record/values/accessed.c record/values/contents.c record/values/stores.c
        record/values/weighed.c record/values/told.c record/values/pair.c record/values/expect.c
        record/values/replay.c device/values_reference.c)
    set_target_properties(record_compare_values PROPERTIES
        OUTPUT_NAME compare_values RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record)
    target_include_directories(record_compare_values PRIVATE device)
    target_link_libraries(record_compare_values PRIVATE glint_record glint_profile glint_gpusim m)
    glint_unit_test(record record/values/test_compare.c)
    if(TARGET test_record_compare)
        target_sources(test_record_compare PRIVATE
            record/values/accessed.c record/values/contents.c record/values/stores.c record/values/told.c
            record/values/pair.c
            record/values/expect.c record/values/replay.c device/values_reference.c)
    endif()
    if(TARGET glint_inject_preload AND NOT CMAKE_CROSSCOMPILING AND NOT GLINT_SANITIZE)
        file(STRINGS record/values/programs rows REGEX "^[a-z0-9]")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS record/values/programs)
        foreach(row IN LISTS rows)
            string(REGEX MATCH "^[^ ]+" name "${row}")
            set(near_misses)
            if(name MATCHES "^(bigrams|weighed|graph_work)$")
                set(near_misses --near-misses)
            endif()
            glint_test(record.values_${name} ${CMAKE_CURRENT_SOURCE_DIR}/record/values/run ${near_misses} ${name})
            set_property(TEST record.values_${name} APPEND PROPERTY
                ENVIRONMENT "COMPARE_VALUES=$<TARGET_FILE:record_compare_values>")
        endforeach()
        glint_test(record.values_brought ${CMAKE_CURRENT_SOURCE_DIR}/record/values/brought)
        glint_test(record.values_parts ${CMAKE_CURRENT_SOURCE_DIR}/record/values/parts)
        glint_test(record.values_ordered ${CMAKE_CURRENT_SOURCE_DIR}/record/values/streams)
        glint_test(record.values_rows ${CMAKE_CURRENT_SOURCE_DIR}/record/values/rows)
        glint_test(record.values_near ${CMAKE_CURRENT_SOURCE_DIR}/record/values/near)
        glint_test(record.values_effects ${CMAKE_CURRENT_SOURCE_DIR}/record/values/effects)
        glint_test(record.values_captured ${CMAKE_CURRENT_SOURCE_DIR}/record/values/captured)
    endif()
endif()
