# SPDX-License-Identifier: Apache-2.0
# Recorded programs, and what probes told of them, against the simulated GPU's log.

add_executable(record_against_log record/probes/against_log.c record/probes/told.c record/probes/logged.c)
set_target_properties(record_against_log PROPERTIES
    OUTPUT_NAME against_log RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record)
target_link_libraries(record_against_log PRIVATE glint_profile glint_gpusim)
