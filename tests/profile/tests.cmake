# SPDX-License-Identifier: Apache-2.0
# What the tests of src/profile need beyond their test_*.c: a program that writes the sample profile,
# the fuzz target's seed, an allocator that fails on demand, and the test of docs/reference/profile.md.

add_executable(profile_write_sample profile/write_sample.c)
set_target_properties(profile_write_sample PROPERTIES
    OUTPUT_NAME write_sample RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/profile)
target_link_libraries(profile_write_sample PRIVATE glint_profile)

if(CMOCKA_LIBRARY AND CMOCKA_INCLUDE)
    add_executable(test_profile_no_memory profile/no_memory.c)
    set_target_properties(test_profile_no_memory PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/profile)
    target_include_directories(test_profile_no_memory SYSTEM PRIVATE ${CMOCKA_INCLUDE})
    target_link_libraries(test_profile_no_memory PRIVATE glint_profile ${CMOCKA_LIBRARY})
    target_link_options(test_profile_no_memory PRIVATE
        -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc)
    glint_test(profile.no_memory test_profile_no_memory)
endif()

set(seeds ${PROJECT_BINARY_DIR}/fuzz/corpus/profile)
file(MAKE_DIRECTORY ${seeds})
glint_test(profile.seeds profile_write_sample ${seeds}/sample)
set_tests_properties(profile.seeds PROPERTIES FIXTURES_SETUP profile_seeds)

if(NOT CMAKE_CROSSCOMPILING)
    glint_test(profile.docs sh ${CMAKE_CURRENT_SOURCE_DIR}/profile/docs.sh $<TARGET_FILE:profile_write_sample>)
    # As for the command-line tests: on aarch64 the leak check takes seconds a process.
    if(GLINT_SANITIZE MATCHES address AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
        set_property(TEST profile.docs APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    endif()
endif()
