# SPDX-License-Identifier: Apache-2.0
# What the tests of src/job need beyond their test_*.c: programs that write profiles of ranks and job profiles.

add_executable(job_write_ranks job/write_ranks.c)
set_target_properties(job_write_ranks PROPERTIES
    OUTPUT_NAME write_ranks RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/job)
target_link_libraries(job_write_ranks PRIVATE glint_profile)

# The first inputs of fuzz_job, which tests/report/tests.cmake mutates.
add_executable(job_write_seeds job/write_seeds.c)
set_target_properties(job_write_seeds PROPERTIES
    OUTPUT_NAME write_seeds RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/job)
target_link_libraries(job_write_seeds PRIVATE glint_merge glint_profile)
set(seeds ${PROJECT_BINARY_DIR}/fuzz/corpus/job)
file(MAKE_DIRECTORY ${seeds})
glint_test(job.seeds job_write_seeds ${seeds})
set_tests_properties(job.seeds PROPERTIES FIXTURES_SETUP job_seeds)

if(NOT CMAKE_CROSSCOMPILING)
    glint_test(job.schema sh ${CMAKE_CURRENT_SOURCE_DIR}/job/schema.sh $<TARGET_FILE:job_write_ranks>)
    glint_test(job.page sh ${CMAKE_CURRENT_SOURCE_DIR}/job/page.sh $<TARGET_FILE:job_write_ranks>)
endif()
