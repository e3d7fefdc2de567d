# SPDX-License-Identifier: Apache-2.0
# What the tests of src/report need beyond their test_*.c: a program that writes profiles at the
# edges, for the command-line tests too, memory that runs out on demand, and the test that holds the
# JSON to its schema.

add_executable(report_write_samples report/write_samples.c)
set_target_properties(report_write_samples PROPERTIES
    OUTPUT_NAME write_samples RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/report)
target_link_libraries(report_write_samples PRIVATE glint_profile)

add_executable(report_write_page report/write_page.c)
set_target_properties(report_write_page PROPERTIES
    OUTPUT_NAME write_page RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/report)
target_link_libraries(report_write_page PRIVATE glint_profile)

# These look into the part.
foreach(test IN ITEMS units table)
    if(TARGET test_report_${test})
        target_include_directories(test_report_${test} PRIVATE ${PROJECT_SOURCE_DIR}/src/report)
    endif()
endforeach()

if(CMOCKA_LIBRARY AND CMOCKA_INCLUDE)
    add_executable(test_report_no_memory report/no_memory.c)
    set_target_properties(test_report_no_memory PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/report)
    target_include_directories(test_report_no_memory SYSTEM PRIVATE ${CMOCKA_INCLUDE})
    target_link_libraries(test_report_no_memory PRIVATE glint_report ${CMOCKA_LIBRARY})
    target_link_options(test_report_no_memory PRIVATE
        -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc)
    glint_test(report.no_memory test_report_no_memory)
endif()

if(NOT CMAKE_CROSSCOMPILING)
    glint_test(report.schema sh ${CMAKE_CURRENT_SOURCE_DIR}/report/schema.sh
        $<TARGET_FILE:profile_write_sample> $<TARGET_FILE:report_write_samples>)
    # As for the command-line tests: on aarch64 the leak check takes seconds a process.
    if(GLINT_SANITIZE MATCHES address AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
        set_property(TEST report.schema APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    endif()
endif()

# The page: its size, and what it shows in a browser. The same whatever the compiler, so the native plain build does.
if(NOT CMAKE_CROSSCOMPILING AND NOT GLINT_SANITIZE)
    glint_test(report.page_size ${CMAKE_CURRENT_SOURCE_DIR}/report/page_size.sh $<TARGET_FILE:report_write_page>)
    if(TARGET glint_inject_preload)
        glint_test(report.page ${CMAKE_CURRENT_SOURCE_DIR}/report/page.sh $<TARGET_FILE:report_write_page>)
    endif()
endif()
