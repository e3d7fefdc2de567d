# SPDX-License-Identifier: Apache-2.0
# Builds one library in many variants for the test of symbols: with debug information, as nvcc builds it,
# without .debug_aranges, with symbols only, stripped, and with the debug information in a separate
# file.

if(TARGET test_record_symbols)
    set(folder ${PROJECT_BINARY_DIR}/tests/record)
    # nvcc passes the host compiler a copy of the source with a name like this.
    configure_file(record/fixture/target.c ${folder}/target.cudafe1.c COPYONLY)
    foreach(name IN ITEMS full layout)
        add_library(test_target_${name} MODULE)
        target_include_directories(test_target_${name} PRIVATE record/fixture)
        target_compile_options(test_target_${name} PRIVATE -fno-sanitize=all -O2 -g)
        target_link_options(test_target_${name} PRIVATE -fno-sanitize=all -Wl,--build-id)
        set_target_properties(test_target_${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${folder})
    endforeach()
    target_sources(test_target_full PRIVATE record/fixture/target.c)
    target_sources(test_target_layout PRIVATE ${folder}/target.cudafe1.c)
    set(full ${folder}/test_target_full.so)
    # The path of the debug file is derived from the build id: ab/cdef....debug.
    file(WRITE ${folder}/keep-debug "#!/bin/sh
set -eu
id=$(${CMAKE_READELF} -n \"$1\" | sed -n 's/.*Build ID: //p')
rest=\${id#??}
mkdir -p \"$2/.build-id/\${id%\"$rest\"}\"
${CMAKE_OBJCOPY} --only-keep-debug \"$1\" \"$2/.build-id/\${id%\"$rest\"}/$rest.debug\"
")
    add_custom_command(OUTPUT ${folder}/test_target_stripped.so DEPENDS test_target_full
        COMMAND ${CMAKE_OBJCOPY} --remove-section=.debug_aranges ${full} ${folder}/test_target_unindexed.so
        COMMAND ${CMAKE_OBJCOPY} --strip-debug ${full} ${folder}/test_target_symbols.so
        COMMAND sh ${folder}/keep-debug ${full} ${folder}/debug
        COMMAND ${CMAKE_OBJCOPY} --strip-all ${full} ${folder}/test_target_stripped.so)
    add_custom_target(test_targets DEPENDS ${folder}/test_target_stripped.so)
    add_dependencies(test_record_symbols test_targets test_target_layout)
    target_link_libraries(test_record_symbols PRIVATE ${CMAKE_DL_LIBS})
endif()

# The seed of the fuzz target for records.
add_executable(record_write_seeds record/write_seeds.c)
set_target_properties(record_write_seeds PROPERTIES
    OUTPUT_NAME write_seeds RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz/corpus/record)
glint_test(record.seeds record_write_seeds ${PROJECT_BINARY_DIR}/fuzz/corpus/record/probes)
set_tests_properties(record.seeds PROPERTIES FIXTURES_SETUP record_seeds)

# A program that uses the driver API; the tests record it, and kill it during recording.
if(TARGET glint_inject_preload)
    if(NOT GLINT_SANITIZE) # a sanitizer must be loaded before any preloaded library
        add_library(record_fast_clock SHARED record/fast_clock.c)
        set_target_properties(record_fast_clock PROPERTIES
            LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record C_VISIBILITY_PRESET default)
        target_link_libraries(record_fast_clock PRIVATE ${CMAKE_DL_LIBS})
    endif()
    add_executable(record_busy record/busy.c)
    set_target_properties(record_busy PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record)
    target_link_libraries(record_busy PRIVATE glint_libcuda)
    add_executable(record_hidden record/hidden.c)
    set_target_properties(record_hidden PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record)
    target_link_libraries(record_hidden PRIVATE glint_libcuda ${CMAKE_DL_LIBS})
endif()

# A program with an imitated static CUDA runtime, in three variants: without debug information, with debug
# information for its own code only, and without symbols.
if(TARGET glint_inject_preload AND NOT CMAKE_CROSSCOMPILING)
    set(options -fno-sanitize=all -O2 -fno-optimize-sibling-calls)
    add_library(record_cudatools SHARED record/runtime/tools.c)
    add_library(record_vendor OBJECT record/runtime/vendor.c)
    foreach(name IN ITEMS symbols lines stripped)
        add_executable(record_runtime_${name} record/runtime/program.c $<TARGET_OBJECTS:record_vendor>)
        target_link_libraries(record_runtime_${name} PRIVATE record_cudatools glint_libcuda)
        target_compile_options(record_runtime_${name} PRIVATE ${options} -g0)
        glint_test(record.static_runtime.${name} ${CMAKE_CURRENT_SOURCE_DIR}/record/test_static_runtime.sh ${name}
            $<TARGET_FILE:record_runtime_${name}>)
    endforeach()
    target_compile_options(record_runtime_lines PRIVATE -g)
    target_link_options(record_runtime_stripped PRIVATE -s)
    set_target_properties(record_cudatools PROPERTIES OUTPUT_NAME cudatools C_VISIBILITY_PRESET default
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record)
    set_target_properties(record_vendor record_runtime_symbols record_runtime_lines record_runtime_stripped PROPERTIES
        C_VISIBILITY_PRESET default RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/record)
    foreach(target IN ITEMS record_vendor record_cudatools)
        target_compile_options(${target} PRIVATE ${options} -g0)
    endforeach()
    target_link_libraries(record_cudatools PRIVATE glint_libcuda)
endif()

# Programs that nvcc builds; scripts/gpu-test runs the same test on a GPU.
if(TARGET glint_inject_preload AND NOT CMAKE_CROSSCOMPILING AND NOT GLINT_SANITIZE)
    foreach(name IN ITEMS plain lines shared)
        glint_test(record.nvcc_names.${name} ${CMAKE_CURRENT_SOURCE_DIR}/record/test_nvcc_names.sh ${name})
    endforeach()
    glint_test(record.sources ${CMAKE_CURRENT_SOURCE_DIR}/record/test_sources.sh)
    glint_test(record.python_frames ${CMAKE_CURRENT_SOURCE_DIR}/record/test_python.sh)
endif()

include(record/probes/tests.cmake)
include(record/values/tests.cmake)
include(record/caches/tests.cmake)

# Ranks of MPI.
if(NOT CMAKE_CROSSCOMPILING AND NOT GLINT_SANITIZE)
    glint_test(record.openmpi ${CMAKE_CURRENT_SOURCE_DIR}/record/test_mpi.sh openmpi 8)
    glint_test(record.mpich ${CMAKE_CURRENT_SOURCE_DIR}/record/test_mpi.sh mpich 4)
endif()
