# SPDX-License-Identifier: Apache-2.0
# What the tests of libglint.so need: a recorder that prints, and programs to be recorded.

if(NOT TARGET glint_inject_preload)
    return()
endif()

add_executable(inject_watch inject/watch.c)
set_target_properties(inject_watch PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
target_link_libraries(inject_watch PRIVATE glint_event glint_base)

add_executable(inject_program inject/program.c)
set_target_properties(inject_program PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
target_link_libraries(inject_program PRIVATE glint_libcuda ${CMAKE_DL_LIBS} pthread)

add_executable(inject_doors inject/doors.c)
set_target_properties(inject_doors PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
add_library(inject_next SHARED inject/next.c)
set_target_properties(inject_next PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
target_link_libraries(inject_next PRIVATE ${CMAKE_DL_LIBS})
target_link_libraries(inject_doors PRIVATE inject_next ${CMAKE_DL_LIBS})

add_library(inject_fake SHARED inject/fake.c)
set_target_properties(inject_fake PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)

foreach(name IN ITEMS objects arrays pools copies launches streams graphs contexts names forks errno closed killed)
    glint_test(inject.records.${name} ${CMAKE_CURRENT_SOURCE_DIR}/inject/test_records.sh ${name})
endforeach()
glint_test(inject.records.doors ${CMAKE_CURRENT_SOURCE_DIR}/inject/test_records.sh
    doors $<TARGET_FILE:inject_doors> $<TARGET_FILE:inject_fake>)
glint_test(inject.records.timed ${CMAKE_CURRENT_SOURCE_DIR}/inject/test_records.sh timed)
set_property(TEST inject.records.timed APPEND PROPERTY ENVIRONMENT GLINT_TIMESTAMPS=1)
foreach(name IN ITEMS exports full header nvcc threads)
    glint_test(inject.${name} ${CMAKE_CURRENT_SOURCE_DIR}/inject/test_${name}.sh)
endforeach()
