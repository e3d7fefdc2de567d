# SPDX-License-Identifier: Apache-2.0
# What the tests of device code need: the simulated GPU, and the reference to compare with.

foreach(name IN ITEMS arrays hashes values values_layouts weigh)
    if(TARGET test_device_${name} AND TARGET glint_libcuda)
        target_sources(test_device_${name} PRIVATE device/values_harness.c device/values_reference.c)
        target_compile_definitions(test_device_${name} PRIVATE HARNESS_DRIVER="$<TARGET_FILE:glint_libcuda>")
        target_link_libraries(test_device_${name} PRIVATE ${CMAKE_DL_LIBS} m)
        add_dependencies(test_device_${name} glint_libcuda)
    endif()
endforeach()

add_executable(device_older device/older.c)
set_target_properties(device_older PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/device)
target_link_libraries(device_older PRIVATE glint_device)
glint_test(device.older ${CMAKE_CURRENT_SOURCE_DIR}/device/test_older.sh $<TARGET_FILE:device_older>)
