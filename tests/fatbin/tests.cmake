# SPDX-License-Identifier: Apache-2.0
# What the tests of src/fatbin need beyond their test_*.c: an allocator that fails on demand, files that
# nvcc made, and a program that writes the fuzz target's seed corpus.

if(CMOCKA_LIBRARY AND CMOCKA_INCLUDE)
    add_executable(test_fatbin_no_memory fatbin/no_memory.c)
    set_target_properties(test_fatbin_no_memory PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fatbin)
    target_include_directories(test_fatbin_no_memory SYSTEM PRIVATE ${CMOCKA_INCLUDE})
    target_link_libraries(test_fatbin_no_memory PRIVATE glint_fatbin ${CMOCKA_LIBRARY})
    target_link_options(test_fatbin_no_memory PRIVATE
        -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=strdup)
    glint_test(fatbin.no_memory test_fatbin_no_memory)
endif()

foreach(helper IN ITEMS list_entries write_corpus)
    add_executable(fatbin_${helper} fatbin/${helper}.c)
    set_target_properties(fatbin_${helper} PROPERTIES
        OUTPUT_NAME ${helper} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fatbin)
    target_link_libraries(fatbin_${helper} PRIVATE glint_fatbin)
endforeach()
set(seeds ${PROJECT_BINARY_DIR}/fuzz/corpus/fatbin)
file(MAKE_DIRECTORY ${seeds})
glint_test(fatbin.seeds fatbin_write_corpus ${seeds})
set_tests_properties(fatbin.seeds PROPERTIES FIXTURES_SETUP fatbin_seeds)
if(NOT CMAKE_CROSSCOMPILING)
    glint_test(fatbin.nvcc sh ${CMAKE_CURRENT_SOURCE_DIR}/fatbin/test_nvcc.sh $<TARGET_FILE:fatbin_list_entries>)
    # As for the command-line tests: on aarch64 the leak check takes seconds a process.
    if(GLINT_SANITIZE MATCHES address AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
        set_property(TEST fatbin.nvcc APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    endif()
endif()
