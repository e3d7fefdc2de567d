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
endif()
