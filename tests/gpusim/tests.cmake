# SPDX-License-Identifier: Apache-2.0
# What the tests of src/gpusim need beyond their test_*.c.

include(gpusim/redirect/tests.cmake)
include(gpusim/runtime/tests.cmake)

# The seed corpus of the fuzz target for the log's reader.
add_executable(gpusim_write_log gpusim/write_log.c)
set_target_properties(gpusim_write_log PROPERTIES
    OUTPUT_NAME write_log RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/gpusim)
target_link_libraries(gpusim_write_log PRIVATE glint_gpusim)
set(seeds ${PROJECT_BINARY_DIR}/fuzz/corpus/sim_log)
file(MAKE_DIRECTORY ${seeds})
glint_test(gpusim.log_seeds gpusim_write_log ${seeds})
set_tests_properties(gpusim.log_seeds PROPERTIES FIXTURES_SETUP sim_log_seeds)

# Using a destroyed handle is an error, and ends the program if the option for that is set.
if(TARGET test_gpusim_driver_reset)
    glint_test(gpusim.strict sh -c "GLINT_SIM_STRICT=1 $<TARGET_FILE:test_gpusim_driver_reset> 2>&1 |
        grep 'simulated GPU: the program used an invalid or destroyed [a-z]* handle'")
endif()

# The simulated driver must return the same results as the driver of an H200 did.
if(TARGET glint_cudart_13 AND NOT CMAKE_CROSSCOMPILING)
    add_executable(gpusim_driver_behaviour gpusim/driver/behaviour.c)
    set_target_properties(gpusim_driver_behaviour PROPERTIES
        OUTPUT_NAME driver_behaviour RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/gpusim)
    target_include_directories(gpusim_driver_behaviour PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(gpusim_driver_behaviour PRIVATE dl)
    glint_test(gpusim.driver_behaviour sh ${CMAKE_CURRENT_SOURCE_DIR}/gpusim/driver/test_behaviour.sh
        $<TARGET_FILE_DIR:glint_cudart_13> $<TARGET_FILE:gpusim_driver_behaviour>)
    add_executable(gpusim_driver_answers gpusim/driver/clusters.c)
    set_target_properties(gpusim_driver_answers PROPERTIES
        OUTPUT_NAME driver_answers RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/gpusim)
    target_include_directories(gpusim_driver_answers PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(gpusim_driver_answers PRIVATE dl)
    glint_test(gpusim.driver_answers sh ${CMAKE_CURRENT_SOURCE_DIR}/gpusim/driver/test_behaviour.sh
        $<TARGET_FILE_DIR:glint_cudart_13> $<TARGET_FILE:gpusim_driver_answers> clusters)
endif()

# Programs that are linked with the toolkit's libcuda.so must start.
if(TARGET glint_cudart_13 AND NOT CMAKE_CROSSCOMPILING AND NOT GLINT_SANITIZE)
    glint_test(gpusim.refusals sh ${CMAKE_CURRENT_SOURCE_DIR}/gpusim/driver/test_refusals.sh
        $<TARGET_FILE_DIR:glint_cudart_13>)
    glint_test(gpusim.driver_exports sh ${CMAKE_CURRENT_SOURCE_DIR}/gpusim/driver/test_exports.sh
        $<TARGET_FILE_DIR:glint_cudart_13>)
endif()

# Threads that are canceled in driver calls must not leave a lock held. (The row `cancel` of the matrix also
# records them.)
if(TARGET glint_cudart_13)
    add_executable(gpusim_cancel matrix/cancel.c)
    set_target_properties(gpusim_cancel PROPERTIES
        OUTPUT_NAME cancel RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/gpusim)
    target_include_directories(gpusim_cancel PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(gpusim_cancel PRIVATE pthread dl)
    glint_test(gpusim.cancel gpusim_cancel waiting launching allocating loading mixed)
    set_property(TEST gpusim.cancel APPEND PROPERTY
        ENVIRONMENT LD_LIBRARY_PATH=$<TARGET_FILE_DIR:glint_cudart_13>)
endif()

# Random kernels; scripts/gpu-test runs the same ones on a real GPU.
if(TARGET glint_cudart_13)
    file(GLOB sources CONFIGURE_DEPENDS gpu/random/*.c)
    add_executable(gpusim_random ${sources})
    set_target_properties(gpusim_random PROPERTIES
        OUTPUT_NAME random RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/gpusim)
    target_include_directories(gpusim_random PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(gpusim_random PRIVATE m dl)
    glint_test(gpusim.random gpusim_random 1000)
    glint_test(gpusim.random_clusters gpusim_random --clusters 400)
    set_property(TEST gpusim.random gpusim.random_clusters APPEND PROPERTY
        ENVIRONMENT LD_LIBRARY_PATH=$<TARGET_FILE_DIR:glint_cudart_13>)
endif()
