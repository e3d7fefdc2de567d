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

# inject_test(NAME SCRIPT ARGUMENT...) runs a script. What is preloaded comes before a sanitizer, and the
# programs leave the end of their memory to the process's.
function(inject_test name script)
    glint_test(inject.${name} ${CMAKE_CURRENT_SOURCE_DIR}/inject/${script} ${ARGN})
    set_property(TEST inject.${name} APPEND PROPERTY ENVIRONMENT
        ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0)
endfunction()

foreach(name IN ITEMS objects arrays pools copies launches streams graphs contexts names forks errno closed killed timed)
    inject_test(records.${name} test_records.sh ${name})
endforeach()
set_property(TEST inject.records.timed APPEND PROPERTY ENVIRONMENT GLINT_TIMESTAMPS=1)
inject_test(records.doors test_records.sh doors $<TARGET_FILE:inject_doors> $<TARGET_FILE:inject_fake>)
foreach(name IN ITEMS exports full header threads)
    inject_test(${name} test_${name}.sh)
endforeach()
if(NOT GLINT_SANITIZE) # nvcc's programs have no sanitizer, which the simulated GPU's libraries then need
    inject_test(nvcc test_nvcc.sh)
endif()
