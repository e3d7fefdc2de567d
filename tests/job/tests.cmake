# SPDX-License-Identifier: Apache-2.0
# What the tests of src/job need beyond their test_*.c: a program that writes profiles of ranks.

add_executable(job_write_ranks job/write_ranks.c)
set_target_properties(job_write_ranks PROPERTIES
    OUTPUT_NAME write_ranks RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/job)
target_link_libraries(job_write_ranks PRIVATE glint_profile)

if(NOT CMAKE_CROSSCOMPILING)
    glint_test(job.schema sh ${CMAKE_CURRENT_SOURCE_DIR}/job/schema.sh $<TARGET_FILE:job_write_ranks>)
    glint_test(job.page sh ${CMAKE_CURRENT_SOURCE_DIR}/job/page.sh $<TARGET_FILE:job_write_ranks>)
endif()
