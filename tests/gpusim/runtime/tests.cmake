# SPDX-License-Identifier: Apache-2.0
# Tests of libcudart as programs see it: a shared library found in lib/glint/sim.

set(runtime_tests ${CMAKE_CURRENT_SOURCE_DIR}/gpusim/runtime)
if(TARGET glint_cudart_13)
    glint_test(gpusim.all_calls_logged sh ${runtime_tests}/test_logged.sh $<TARGET_FILE_DIR:glint_cudart_13>
        ${PROJECT_BINARY_DIR}/gpusim ${PROJECT_SOURCE_DIR}/src/gpusim)
endif()
# Programs that nvcc builds here have no sanitizer, and run on this processor.
if(TARGET glint_cudart_13 AND NOT CMAKE_CROSSCOMPILING AND NOT GLINT_SANITIZE)
    set(folder $<TARGET_FILE_DIR:glint_cudart_13>)
    foreach(name IN ITEMS exports used_functions)
        glint_test(gpusim.runtime_${name} sh ${runtime_tests}/test_${name}.sh ${folder})
    endforeach()
    foreach(name IN ITEMS behaviour returns waits)
        glint_test(gpusim.runtime_${name} sh ${runtime_tests}/test_behaviour.sh ${folder} ${name})
    endforeach()
    glint_test(gpusim.runtime_device_runtime sh ${runtime_tests}/test_behaviour.sh ${folder} device_runtime
        -rdc=true -lcudadevrt)
    glint_test(gpusim.runtime_children sh ${runtime_tests}/test_children.sh)
    set(program sh ${runtime_tests}/test_program.sh ${folder})
    glint_test(gpusim.runtime_features ${program} ${runtime_tests}/features.cu)
    glint_test(gpusim.runtime_features_per_thread ${program} ${runtime_tests}/features.cu
        --default-stream per-thread)
    glint_test(gpusim.runtime_thrust ${program} ${runtime_tests}/thrust.cu)
endif()

if(TARGET glint_cudart_13 AND CMOCKA_LIBRARY AND CMOCKA_INCLUDE)
    # Linked only with the shared libraries, like a user's program, and not with glint's static ones.
    add_executable(test_gpusim_runtime_calls gpusim/runtime/calls.c)
    set_target_properties(test_gpusim_runtime_calls PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/gpusim)
    target_include_directories(test_gpusim_runtime_calls SYSTEM PRIVATE ${CMOCKA_INCLUDE})
    target_link_libraries(test_gpusim_runtime_calls PRIVATE glint_cudart_13 ${CMOCKA_LIBRARY} dl)
    add_dependencies(test_gpusim_runtime_calls glint_cudart_12 glint_cudart_11_0)
    glint_test(gpusim.runtime_calls test_gpusim_runtime_calls)

    # Loads the libraries itself; it links the part only for the log's reader.
    add_executable(test_gpusim_runtime_log gpusim/runtime/log.c)
    set_target_properties(test_gpusim_runtime_log PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/gpusim)
    target_include_directories(test_gpusim_runtime_log SYSTEM PRIVATE ${CMOCKA_INCLUDE})
    target_link_libraries(test_gpusim_runtime_log PRIVATE glint_gpusim ${CMOCKA_LIBRARY} dl)
    add_dependencies(test_gpusim_runtime_log glint_cudart_13 glint_cudart_12 glint_cudart_11_0)
    glint_test(gpusim.runtime_log test_gpusim_runtime_log)
endif()
