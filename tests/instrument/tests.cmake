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

file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*/*.ptx ${CMAKE_CURRENT_SOURCE_DIR}/ptx/corpus/*.ptx)
glint_test(instrument.ptxas ${CMAKE_CURRENT_SOURCE_DIR}/instrument/check_ptxas.sh
    $<TARGET_FILE:instrument_rewrite> ${files})

# The oracle: probes against the simulator's log.
add_library(instrument_oracle STATIC instrument/oracle_run.c instrument/oracle_compare.c)
target_link_libraries(instrument_oracle PUBLIC glint_instrument glint_gpusim)
foreach(test exact warps)
    if(TARGET test_instrument_${test})
        target_link_libraries(test_instrument_${test} PRIVATE instrument_oracle)
    endif()
endforeach()

# 500 random kernels, in pieces that may run beside each other; what fails stays in the build folder.
add_executable(instrument_random instrument/random_main.c instrument/random_kernel.c
    instrument/random_access.c instrument/random_flow.c)
set_target_properties(instrument_random PROPERTIES
    OUTPUT_NAME random RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/instrument)
target_link_libraries(instrument_random PRIVATE instrument_oracle)
foreach(first RANGE 1 500 100)
    glint_test(instrument.random_${first} instrument_random 100 ${first})
    set_tests_properties(instrument.random_${first} PROPERTIES
        WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/tests/instrument)
endforeach()
