# SPDX-License-Identifier: Apache-2.0
# What the tests of src/report need beyond their test_*.c: a program that writes profiles with edge
# cases (command-line tests use it too), a trace decoder, an allocator that fails on demand, and the
# tests that check JSON and SARIF against their schemas and traces against their profiles.

foreach(program IN ITEMS write_samples write_waste write_waits write_caches write_pairs write_page write_flow write_reach check_perfetto)
    add_executable(report_${program} report/${program}.c)
    set_target_properties(report_${program} PROPERTIES
        OUTPUT_NAME ${program} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/report)
    target_link_libraries(report_${program} PRIVATE glint_profile)
endforeach()

# These tests use internal headers of the part.
foreach(test IN ITEMS units table source place perfetto_lanes diff)
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

if(CMOCKA_LIBRARY AND CMOCKA_INCLUDE) # the same test for `glint diff` and `glint check`
    add_executable(test_report_no_memory_gate report/no_memory_gate.c)
    set_target_properties(test_report_no_memory_gate PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/report)
    target_include_directories(test_report_no_memory_gate SYSTEM PRIVATE ${CMOCKA_INCLUDE})
    target_link_libraries(test_report_no_memory_gate PRIVATE glint_report ${CMOCKA_LIBRARY})
    target_link_options(test_report_no_memory_gate PRIVATE
        -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc)
    glint_test(report.no_memory_gate test_report_no_memory_gate)
endif()

if(NOT CMAKE_CROSSCOMPILING) # checks their JSON
    glint_test(report.gate_schema sh ${CMAKE_CURRENT_SOURCE_DIR}/report/gate_schema.sh
        $<TARGET_FILE:report_write_pairs> $<TARGET_FILE:report_write_samples>)
    if(GLINT_SANITIZE MATCHES address AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
        set_property(TEST report.gate_schema APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
    endif()
endif()

# Corrupted profiles: the tests run some of the mutations of each profile; `mutate FILE 1` runs all.
add_executable(report_mutate report/mutate.c)
set_target_properties(report_mutate PROPERTIES
    OUTPUT_NAME mutate RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/report)
target_link_libraries(report_mutate PRIVATE glint_report glint_fix glint_profile)
glint_test(report.mutated_sample report_mutate ${PROJECT_BINARY_DIR}/fuzz/corpus/profile/sample 401)
set_tests_properties(report.mutated_sample PROPERTIES FIXTURES_REQUIRED profile_seeds)
glint_test(report.mutated_job report_mutate ${PROJECT_BINARY_DIR}/fuzz/corpus/job/several 53)
set_tests_properties(report.mutated_job PROPERTIES FIXTURES_REQUIRED job_seeds)
# Profiles that lead to other findings than the sample, which has a few rows of everything.
set(mutable ${PROJECT_BINARY_DIR}/tests/report/mutable)
file(MAKE_DIRECTORY ${mutable}/samples)
glint_test(report.mutable.samples report_write_samples ${mutable}/samples)
set_tests_properties(report.mutable.samples PROPERTIES FIXTURES_SETUP mutable_samples)
foreach(name IN ITEMS waits caches flow waste)
    glint_test(report.mutable.${name} report_write_${name} ${mutable}/${name})
    set_tests_properties(report.mutable.${name} PROPERTIES FIXTURES_SETUP mutable_${name})
    glint_test(report.mutated_${name} report_mutate ${mutable}/${name} 1201)
    set_tests_properties(report.mutated_${name} PROPERTIES FIXTURES_REQUIRED mutable_${name})
endforeach()
foreach(name IN ITEMS values loop timeline)
    glint_test(report.mutated_${name} report_mutate ${mutable}/samples/${name}.glint 1201)
    set_tests_properties(report.mutated_${name} PROPERTIES FIXTURES_REQUIRED mutable_samples)
endforeach()

if(NOT CMAKE_CROSSCOMPILING)
    set(schema_takes $<TARGET_FILE:report_write_waste>)
    set(sarif_takes $<TARGET_FILE:report_write_waste>)
    set(perfetto_takes $<TARGET_FILE:report_check_perfetto>)
    set(perfetto_processor_takes)
    foreach(test IN ITEMS schema sarif perfetto perfetto_processor)
        glint_test(report.${test} sh ${CMAKE_CURRENT_SOURCE_DIR}/report/${test}.sh
            $<TARGET_FILE:profile_write_sample> $<TARGET_FILE:report_write_samples> ${${test}_takes})
        # As for the command-line tests: on aarch64 the leak check takes seconds a process.
        if(GLINT_SANITIZE MATCHES address AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
            set_property(TEST report.${test} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
        endif()
    endforeach()
endif()

# A program and its variants: some changes must keep fingerprints, others must change them. All variants
# have the same file name, as versions of one program would.
if(TARGET glint_inject_preload AND TARGET glint_libcuda)
    file(READ report/changes.c original)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS report/changes.c)
    set(same "${original}")
    string(REPLACE "// HERE" "//\n//\n//" moved "${original}")
    string(REPLACE "8192" "65536" larger "${original}")
    string(REPLACE "second_gpu" "other_gpu" renamed "${original}")
    set(programs)
    foreach(name IN ITEMS same moved larger renamed)
        set(folder ${PROJECT_BINARY_DIR}/tests/report/${name})
        file(CONFIGURE OUTPUT ${folder}/changes.c CONTENT "${${name}}" @ONLY)
        add_executable(report_changes_${name} ${folder}/changes.c)
        set_target_properties(report_changes_${name} PROPERTIES OUTPUT_NAME changes RUNTIME_OUTPUT_DIRECTORY ${folder})
        target_include_directories(report_changes_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
        target_link_libraries(report_changes_${name} PRIVATE glint_libcuda)
        list(APPEND programs $<TARGET_FILE:report_changes_${name}>)
    endforeach()
    if(NOT CMAKE_CROSSCOMPILING)
        glint_test(report.fingerprints sh ${CMAKE_CURRENT_SOURCE_DIR}/report/fingerprints.sh ${programs})
        set_property(TEST report.fingerprints APPEND PROPERTY ENVIRONMENT
            ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0)
    endif()
endif()

# Tests the page's size and what a browser shows. The compiler does not matter, so only the plain native build runs them.
if(NOT CMAKE_CROSSCOMPILING AND NOT GLINT_SANITIZE)
    glint_test(report.flow ${CMAKE_CURRENT_SOURCE_DIR}/report/flow.sh)
    glint_test(report.page_size ${CMAKE_CURRENT_SOURCE_DIR}/report/page_size.sh $<TARGET_FILE:report_write_page>)
    if(TARGET glint_inject_preload)
        glint_test(report.page ${CMAKE_CURRENT_SOURCE_DIR}/report/page.sh $<TARGET_FILE:report_write_page>
            $<TARGET_FILE:profile_write_sample>)
    endif()
endif()
