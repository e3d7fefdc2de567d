# SPDX-License-Identifier: Apache-2.0
# What the tests of src/instrument need beyond their test_*.c.

if(NOT TARGET glint_instrument)
    return()
endif()

# Writes a PTX file with probes, for tests that look at the result as text.
add_executable(instrument_rewrite instrument/rewrite.c)
set_target_properties(instrument_rewrite PROPERTIES
    OUTPUT_NAME rewrite RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/instrument)
target_link_libraries(instrument_rewrite PRIVATE glint_instrument)

file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*/*.ptx ${CMAKE_CURRENT_SOURCE_DIR}/ptx/corpus/*.ptx
    ${CMAKE_CURRENT_SOURCE_DIR}/instrument/*.ptx)
foreach(check ptxas names)
    glint_test(instrument.${check} ${CMAKE_CURRENT_SOURCE_DIR}/instrument/check_${check}.sh
        $<TARGET_FILE:instrument_rewrite> ${files})
endforeach()

# Checks each probe template separately.
if(TARGET test_instrument_probes)
    target_include_directories(test_instrument_probes PRIVATE ${PROJECT_BINARY_DIR}/instrument)
    glint_test(instrument.probes_ptxas ${CMAKE_CURRENT_SOURCE_DIR}/instrument/check_probes.sh
        $<TARGET_FILE:test_instrument_probes>)
endif()

# Fills a template, too.
if(TARGET test_instrument_described)
    target_include_directories(test_instrument_described PRIVATE ${PROJECT_BINARY_DIR}/instrument)
endif()

# The oracle compares what probes report with the simulator's log.
add_library(instrument_oracle STATIC instrument/oracle_run.c instrument/oracle_compare.c
    instrument/oracle_values.c instrument/oracle_accessed.c instrument/oracle_words.c instrument/oracle_ranges.c
    instrument/oracle_reuse.c instrument/oracle_trace.c instrument/logged_request.c instrument/words_run.c)
target_link_libraries(instrument_oracle PUBLIC glint_instrument glint_gpusim)
foreach(test accessed banks bulk clusters counters described early edges exact masks ranges requests reuse trace values
    warps words)
    if(TARGET test_instrument_${test})
        target_link_libraries(test_instrument_${test} PRIVATE instrument_oracle)
    endif()
endforeach()

# 500 random kernels, in groups that can run in parallel, each in half of the ways (see random_main.c). With sanitizers,
# which take ten times as long, only the first of each group run. Failing kernels stay in the build folder.
add_executable(instrument_random instrument/random_main.c instrument/random_kernel.c
    instrument/random_access.c instrument/random_flow.c instrument/random_forms.c instrument/random_shared.c
    instrument/random_impure.c instrument/random_repeats.c instrument/random_run.c)
set_target_properties(instrument_random PROPERTIES
    OUTPUT_NAME random RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/instrument)
target_link_libraries(instrument_random PRIVATE instrument_oracle)
set(count 100)
if(GLINT_SANITIZE)
    set(count 30)
endif()
foreach(first RANGE 1 500 100)
    glint_test(instrument.random_${first} instrument_random ${count} ${first})
    set_tests_properties(instrument.random_${first} PROPERTIES
        WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests/instrument)
    list(APPEND oracle_tests instrument.random_${first})
endforeach()

# Launches of such kernels, compared with each other. With 480 kernels or more, everything that keeps a kernel from
# repeating itself must have been seen to do so.
set(count 500)
if(GLINT_SANITIZE)
    set(count 50)
endif()
glint_test(instrument.random_repeats instrument_random --repeats ${count} 1)
set_tests_properties(instrument.random_repeats PROPERTIES
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests/instrument)
list(APPEND oracle_tests instrument.random_repeats)

# On aarch64 the leak check takes seconds per process, and each kernel runs in its own process.
list(APPEND oracle_tests instrument.accessed instrument.banks instrument.bulk instrument.clusters instrument.counters
    instrument.described instrument.early instrument.edges instrument.exact instrument.masks instrument.requests instrument.reuse
    instrument.trace instrument.values instrument.warps instrument.words)
foreach(test IN LISTS oracle_tests)
    if(TEST ${test} AND GLINT_SANITIZE MATCHES address AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
        set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    endif()
endforeach()
