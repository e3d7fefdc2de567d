# SPDX-License-Identifier: Apache-2.0
# What the tests of libglint.so need: stack frames of many shapes for the test of call paths, and libraries
# for it to load and unload; a recorder that prints, and programs to be recorded.

if(TARGET test_inject_stack)
    set(signed "")
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
        set(signed -mbranch-protection=pac-ret+leaf)
    endif()
    # frames_object(NAME OPTION...) compiles frames.c once more.
    function(frames_object name)
        add_library(frames_${name} OBJECT inject/frames/frames.c)
        target_compile_definitions(frames_${name} PRIVATE FRAMES_TABLE=frames_${name})
        target_compile_options(frames_${name} PRIVATE -fno-sanitize=all -fno-inline ${ARGN})
        target_sources(test_inject_stack PRIVATE $<TARGET_OBJECTS:frames_${name}>)
    endfunction()
    frames_object(O0 -O0 -fexceptions)
    frames_object(O2 -O2 -fomit-frame-pointer -fexceptions)
    frames_object(O2_fp -O2 -fno-omit-frame-pointer -fexceptions)
    frames_object(Os -Os -fomit-frame-pointer)
    frames_object(O3_signed -O3 -fomit-frame-pointer -fexceptions ${signed})
    frames_object(none -O2 -fno-exceptions -fno-asynchronous-unwind-tables -fno-unwind-tables)
    if(CMAKE_CROSSCOMPILING_EMULATOR)
        target_compile_definitions(test_inject_stack PRIVATE TEST_EMULATED)
    endif()
    target_link_libraries(test_inject_stack PRIVATE ${CMAKE_DL_LIBS} pthread)
    function(plugin name bytes value)
        add_library(test_plugin_${name} MODULE inject/frames/plugin.c)
        target_compile_definitions(test_plugin_${name} PRIVATE PLUGIN_BYTES=${bytes} PLUGIN_VALUE=${value})
        target_compile_options(test_plugin_${name} PRIVATE -fno-sanitize=all)
        set_target_properties(test_plugin_${name} PROPERTIES PREFIX ""
            LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
        add_dependencies(test_inject_stack test_plugin_${name})
    endfunction()
    plugin(100 100 1)
    plugin(300 300 1)
    plugin(two 100 2)
endif()

# inject_source(NAME FILE...) adds source files of libglint.so, which no part's library has, to a unit test.
function(inject_source name)
    if(TARGET test_inject_${name})
        list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/src/inject/)
        target_sources(test_inject_${name} PRIVATE ${ARGN})
    endif()
endfunction()
inject_source(objects core/objects.c)
inject_source(blocks guard/blocks.c)
inject_source(template core/layer.c)
inject_source(correct_blocks correct/memory/blocks.c)
inject_source(constant shadow/constant.c)
if(TARGET test_inject_constant) # it is compared with the reference of the scan
    target_sources(test_inject_constant PRIVATE device/values_reference.c)
    target_link_libraries(test_inject_constant PRIVATE m)
endif()

# Shadow memory alone, on the simulated GPU: see shadow_harness.h.
foreach(name IN ITEMS shadow shadow_bounds shadow_elements shadow_reduce shadow_replays)
    if(TARGET test_inject_${name} AND TARGET glint_libcuda)
        file(GLOB shadow_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/inject/shadow/*.c
            ${PROJECT_SOURCE_DIR}/src/inject/core/objects.c ${PROJECT_SOURCE_DIR}/src/inject/core/order.c
            ${PROJECT_SOURCE_DIR}/src/inject/core/tail.c)
        target_sources(test_inject_${name} PRIVATE inject/shadow_harness.c inject/shadow_world.c ${shadow_sources})
        target_compile_definitions(test_inject_${name} PRIVATE HARNESS_DRIVER="$<TARGET_FILE:glint_libcuda>")
        target_link_libraries(test_inject_${name} PRIVATE ${CMAKE_DL_LIBS} pthread)
        add_dependencies(test_inject_${name} glint_libcuda)
    endif()
endforeach()

if(NOT TARGET glint_inject_preload)
    return()
endif()

add_executable(inject_watch inject/watch.c)
set_target_properties(inject_watch PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
target_link_libraries(inject_watch PRIVATE glint_event glint_base)

add_executable(inject_program inject/program.c)
set_target_properties(inject_program PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
target_include_directories(inject_program PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(inject_program PRIVATE glint_libcuda ${CMAKE_DL_LIBS} pthread)
add_library(inject_late MODULE inject/late.c)
set_target_properties(inject_late PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
target_compile_definitions(inject_program PRIVATE LATE_LIBRARY="$<TARGET_FILE:inject_late>")
set_target_properties(inject_program PROPERTIES ENABLE_EXPORTS ON)

# inject_program(NAME) makes the program inject_NAME from NAME.c and links it with the driver.
function(inject_program name)
    add_executable(inject_${name} inject/${name}.c)
    set_target_properties(inject_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
    target_link_libraries(inject_${name} PRIVATE glint_libcuda ${CMAKE_DL_LIBS} pthread)
endfunction()
inject_program(clocks)
inject_program(compiled)
inject_program(correct)
inject_program(devices)
inject_program(dying)
inject_program(failing)
inject_program(first_use)
inject_program(forms)
inject_program(held)
inject_program(given_back)
inject_program(hidden)
inject_program(host_blocks)
inject_program(little_stack)
inject_program(mapped)
inject_program(sources)
inject_program(spare)
inject_program(streams)
inject_program(undisturbed)
inject_program(backed)
inject_program(nvtx)
inject_program(nvtx_ranges)
inject_program(older)
inject_program(persistent)
inject_program(own_names)
inject_program(pooled)
inject_program(probed)
inject_program(queries)
inject_program(ranged)
inject_program(results)
inject_program(room)
inject_program(alike)
inject_program(sampled)
inject_program(shared)
inject_program(tensors)
target_link_options(inject_tensors PRIVATE -Wl,-z,dynamic-undefined-weak)
inject_program(traced)
inject_program(transfers)
inject_program(unknown)
inject_program(variables)
inject_program(waited)

# A stand-in for the library of the Sanitizer API.
add_library(inject_sanitizer MODULE inject/sanitizer.c)
set_target_properties(inject_sanitizer PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject
    C_VISIBILITY_PRESET default)
target_compile_options(inject_sanitizer PRIVATE -fno-sanitize=all -Wno-missing-prototypes)
target_link_options(inject_sanitizer PRIVATE -fno-sanitize=all)
target_link_libraries(inject_sanitizer PRIVATE ${CMAKE_DL_LIBS})

# Stand-ins for CUPTI. The test gives them its name.
foreach(name IN ITEMS cupti cupti_hidden)
    add_library(inject_${name} MODULE inject/${name}.c)
    set_target_properties(inject_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject
        C_VISIBILITY_PRESET default)
    target_compile_options(inject_${name} PRIVATE -fno-sanitize=all -Wno-missing-prototypes)
    target_link_options(inject_${name} PRIVATE -fno-sanitize=all)
    target_link_libraries(inject_${name} PRIVATE ${CMAKE_DL_LIBS})
endforeach()

add_executable(inject_doors inject/doors.c)
set_target_properties(inject_doors PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
add_library(inject_next SHARED inject/next.c)
set_target_properties(inject_next PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
target_link_libraries(inject_next PRIVATE ${CMAKE_DL_LIBS})
target_link_libraries(inject_doors PRIVATE inject_next ${CMAKE_DL_LIBS})

add_library(inject_linked MODULE inject/linked.c)
set_target_properties(inject_linked PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
target_link_libraries(inject_linked PRIVATE glint_libcuda)

add_library(inject_fake SHARED inject/fake.c)
set_target_properties(inject_fake PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)

add_library(inject_fake_driver SHARED inject/fake_driver.c)
set_target_properties(inject_fake_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject/fake_driver)

add_library(inject_newer_driver SHARED inject/fake_driver.c inject/newer_driver.c)
set_target_properties(inject_newer_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject/newer_driver)
add_executable(inject_asked inject/asked.c)
set_target_properties(inject_asked PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
target_link_libraries(inject_asked PRIVATE ${CMAKE_DL_LIBS})

# A simulated driver that exports what CUDA 11.4's does. Its folder is named like that of the simulated GPU.
file(STRINGS ${PROJECT_SOURCE_DIR}/src/gpusim/driver/procs.def rows REGEX "^PROC[(]")
set(newer "")
foreach(row IN LISTS rows)
    string(REGEX REPLACE "^PROC[(]([^,]+), ([0-9]+), ([^,]+), ([^)]+)[)].*" "\\2;\\3;\\4" row "${row}")
    list(GET row 0 version)
    if(version GREATER 11040)
        list(REMOVE_AT row 0)
        list(APPEND newer ${row})
    endif()
endforeach()
list(REMOVE_DUPLICATES newer)
list(REMOVE_ITEM newer NONE)
list(JOIN newer "; " newer)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/tests/inject/older_driver.map
    CONTENT "{ global: cu[A-Z]*; local: *; @newer@; };\n" @ONLY)
glint_make_libcuda(inject_older_driver glint_gpusim tests/inject/older_driver/lib/glint/sim
    ${PROJECT_BINARY_DIR}/tests/inject/older_driver.map)

# Stand-ins for PyTorch's libraries: one allocator, whose calls are bound when they are first made, or all at once
# and in closed pages.
function(tensors_library name folder source)
    add_library(tensors_${name} SHARED inject/${source}.c)
    set_target_properties(tensors_${name} PROPERTIES OUTPUT_NAME ${folder}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject/tensors/${name})
    target_compile_options(tensors_${name} PRIVATE -fno-sanitize=all -fplt -fvisibility=default)
    target_link_options(tensors_${name} PRIVATE -fno-sanitize=all ${ARGN})
endfunction()
tensors_library(c10 c10 tensors_c10)
foreach(binding IN ITEMS lazy now)
    tensors_library(${binding} c10_cuda tensors_allocator -Wl,-z,relro -Wl,-z,${binding})
    target_link_libraries(tensors_${binding} PRIVATE tensors_c10)
endforeach()

# A stand-in for NCCL, and a program that is linked with it in two ways. It has another name, because the simulated GPU
# refuses programs that need NVIDIA's.
add_library(inject_nccl SHARED inject/collectives_nccl.c)
set_target_properties(inject_nccl PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject/collectives)
target_compile_options(inject_nccl PRIVATE -fno-sanitize=all -fplt -fvisibility=default)
target_link_options(inject_nccl PRIVATE -fno-sanitize=all)
target_link_libraries(inject_nccl PRIVATE glint_libcuda)
foreach(binding IN ITEMS lazy now)
    add_executable(inject_collectives_${binding} inject/collectives.c)
    set_target_properties(inject_collectives_${binding} PROPERTIES
        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
    target_compile_options(inject_collectives_${binding} PRIVATE -fplt)
    target_link_options(inject_collectives_${binding} PRIVATE -Wl,-z,relro -Wl,-z,${binding})
    target_link_libraries(inject_collectives_${binding} PRIVATE inject_nccl glint_libcuda ${CMAKE_DL_LIBS})
endforeach()

# inject_test(NAME SCRIPT ARGUMENT...) runs a script. ASAN_OPTIONS: libglint.so is loaded before the
# sanitizer, and the programs do not free their memory before they exit.
function(inject_test name script)
    glint_test(inject.${name} ${CMAKE_CURRENT_SOURCE_DIR}/inject/${script} ${ARGN})
    set_property(TEST inject.${name} APPEND PROPERTY ENVIRONMENT
        ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0)
endfunction()

inject_test(exports test_exports.sh)
if(CMAKE_CROSSCOMPILING) # the host's loader would preload the library into the emulator too
    return()
endif()
foreach(name IN ITEMS objects arrays pools copies launches streams graphs contexts names forks errno closed killed loading timed)
    inject_test(records.${name} test_records.sh ${name})
endforeach()
set_property(TEST inject.records.timed APPEND PROPERTY ENVIRONMENT GLINT_TIMESTAMPS=1)
inject_test(devices test_devices.sh $<TARGET_FILE:inject_devices>)
foreach(name IN ITEMS order destroyed several asks full beyond contexts captures churn meanwhile contexts_meanwhile)
    inject_test(pooled.${name} test_pooled.sh $<TARGET_FILE:inject_pooled> ${name})
endforeach()
foreach(name IN ITEMS fill copy launch data graph asks full tight ends after peak random)
    inject_test(backed.${name} test_backed.sh $<TARGET_FILE:inject_backed> ${name})
endforeach()
foreach(name IN ITEMS plain far distance tagged halves)
    inject_test(hidden.${name} test_hidden.sh $<TARGET_FILE:inject_hidden> ${name})
endforeach()
inject_test(clocks test_clocks.sh $<TARGET_FILE:inject_clocks>)
inject_test(records.nvtx test_records.sh nvtx $<TARGET_FILE:inject_nvtx>)
inject_test(nvtx test_nvtx.sh $<TARGET_FILE:inject_nvtx>)
inject_test(nvtx_ranges test_nvtx_ranges.sh $<TARGET_FILE:inject_nvtx_ranges>)
find_program(PYTHON_PROGRAM python3)
if(PYTHON_PROGRAM AND NOT CMAKE_CROSSCOMPILING AND NOT GLINT_SANITIZE)
    inject_test(operators test_operators.sh ${PYTHON_PROGRAM} $<TARGET_FILE:tensors_lazy>)
endif()
inject_test(tensors test_tensors.sh $<TARGET_FILE:inject_tensors> $<TARGET_FILE:tensors_lazy> $<TARGET_FILE:tensors_now>)
inject_test(collectives test_collectives.sh $<TARGET_FILE:inject_collectives_lazy>
    $<TARGET_FILE:inject_collectives_now>)
inject_test(records.variables test_records.sh variables $<TARGET_FILE:inject_variables>
    ${PROJECT_BINARY_DIR}/tests/inject/variables.ptx)
inject_test(records.mappings test_records.sh mappings $<TARGET_FILE:inject_shared> mappings)
inject_test(records.handles test_records.sh handles $<TARGET_FILE:inject_shared> handles)
set_property(TEST inject.records.handles APPEND PROPERTY ENVIRONMENT
    GLINT_TEST_DRIVER=$<TARGET_FILE_DIR:inject_fake_driver>)
# inject_probed(NAME MODE [VARIABLE=VALUE...]) checks that probed.c does the same with probes, and compares its
# records with expected/probes-NAME.
function(inject_probed name mode)
    inject_test(probes.${name} test_records.sh probes-${name} $<TARGET_FILE:inject_probed> ${mode}
        ${PROJECT_BINARY_DIR}/tests/inject/probed-${name}.ptx)
    set_property(TEST inject.probes.${name} APPEND PROPERTY ENVIRONMENT GLINT_PROBES=1 GLINT_CACHE= ${ARGN})
endfunction()
inject_probed(launches launches)
inject_probed(modules modules)
inject_probed(attributes modules GLINT_PROBES=7)
inject_probed(names names)
inject_probed(links links)
inject_probed(graphs graphs)
inject_probed(samples samples GLINT_SAMPLE=3)
inject_probed(kernels samples GLINT_KERNELS=^pi)
inject_probed(elements launches GLINT_PROBES=3)
inject_probed(counts graphs GLINT_PROBES=7)
inject_test(probes.threads test_probed_threads.sh $<TARGET_FILE:inject_probed>)
inject_test(probes.timed test_records.sh probes-timed $<TARGET_FILE:inject_program> timed)
set_property(TEST inject.probes.timed APPEND PROPERTY ENVIRONMENT GLINT_PROBES=3 GLINT_CACHE= GLINT_TIMESTAMPS=1)
add_executable(inject_forge inject/forge.c)
set_target_properties(inject_forge PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
target_link_libraries(inject_forge PRIVATE glint_instrument glint_base)
inject_test(probes.refused test_refused.sh $<TARGET_FILE:inject_probed> $<TARGET_FILE:inject_forge>)
inject_test(harmless.queries test_harmless.sh $<TARGET_FILE:inject_queries>)
foreach(name IN ITEMS address trap left streams graph contexts destroyed child)
    inject_test(harmless.failing_${name} test_harmless.sh $<TARGET_FILE:inject_failing> ${name})
endforeach()
inject_test(streams test_streams.sh $<TARGET_FILE:inject_streams>)
inject_test(own_names test_own_names.sh $<TARGET_FILE:inject_own_names>)
inject_test(harmless.little_stack test_harmless.sh $<TARGET_FILE:inject_little_stack>)
inject_test(probes.persistent test_persistent.sh $<TARGET_FILE:inject_persistent>)
inject_test(asked test_asked.sh $<TARGET_FILE:inject_asked> $<TARGET_FILE_DIR:inject_newer_driver>)
inject_test(probes.ranged test_ranged.sh $<TARGET_FILE:inject_ranged>)
inject_test(probes.older test_older.sh $<TARGET_FILE:inject_older> $<TARGET_FILE_DIR:inject_older_driver>)
inject_test(probes.compiled test_compiled.sh $<TARGET_FILE:inject_compiled> ${CMAKE_CURRENT_SOURCE_DIR}/inject/compiled.ptx)
inject_test(alike test_alike.sh $<TARGET_FILE:inject_alike>)
inject_test(sampled test_sampled.sh $<TARGET_FILE:inject_sampled> $<TARGET_FILE:inject_sanitizer>)
inject_test(sampled_cupti test_sampled_cupti.sh $<TARGET_FILE:inject_sampled> $<TARGET_FILE:inject_sanitizer>
    $<TARGET_FILE:inject_cupti> $<TARGET_FILE:inject_cupti_hidden>)
inject_test(probes.room test_room.sh $<TARGET_FILE:inject_room>)
inject_test(given_back test_given_back.sh $<TARGET_FILE:inject_given_back>)
inject_test(probes.cache test_cache.sh $<TARGET_FILE:inject_probed>)
inject_test(records.waited test_records.sh waited $<TARGET_FILE:inject_waited>)
inject_test(dying test_dying.sh $<TARGET_FILE:inject_dying>)
inject_test(forms test_forms.sh $<TARGET_FILE:inject_forms>)
inject_test(mapped test_mapped.sh $<TARGET_FILE:inject_mapped>)
inject_test(unknown test_unknown.sh $<TARGET_FILE:inject_unknown>)
inject_test(traced test_traced.sh $<TARGET_FILE:inject_traced>)
inject_test(waited test_waited.sh $<TARGET_FILE:inject_waited>)
inject_test(records.doors test_records.sh doors $<TARGET_FILE:inject_doors> $<TARGET_FILE:inject_fake>
    $<TARGET_FILE:inject_linked>)
if(NOT GLINT_SANITIZE) # sanitizers replace mmap, and need more address space than the test's limit leaves
    add_library(inject_scarce SHARED inject/scarce.c)
    set_target_properties(inject_scarce PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
    target_link_libraries(inject_scarce PRIVATE ${CMAKE_DL_LIBS})
    inject_test(memory test_memory.sh $<TARGET_FILE:inject_scarce>)
endif()
# Not with sanitizers, which replace the allocator and handle SIGSEGV.
if(NOT GLINT_SANITIZE)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/inject/first_use.c)
    inject_test(first_use.copies test_first_use.sh $<TARGET_FILE:inject_first_use> ${source} reads after_free writes asynchronous
        events stream_waits never_used overwritten on_stack in_heap in_variable aligned registered edges part_of_block rows columns often)
    inject_test(first_use.others test_first_use.sh $<TARGET_FILE:inject_first_use> ${source} neighbours touched_beside handed_beside
        other_thread many_threads host_function managed graphs forks vforks)
    inject_test(first_use.system test_first_use.sh $<TARGET_FILE:inject_first_use> ${source} system_writes system_vectors
        system_beside system_prints system_sends copied_back handler_before handler_after dies blocked stack_overflow no_mpi)
    inject_test(undisturbed.memory test_undisturbed.sh $<TARGET_FILE:inject_undisturbed> system_in_managed system_in_pinned
        locks_beside readers allocator weak_mpi)
    set(signals blocked_by_attribute:protected blocked_in_timer:protected blocked_in_sigsuspend:protected
        blocked_in_ppoll:protected blocked_by_sighold:protected blocked_by_number:protected blocked_in_context:protected
        blocked_by_itself:protected blocked_in_thread blocked_the_usual_way own_faults)
    inject_test(undisturbed.signals test_undisturbed.sh $<TARGET_FILE:inject_undisturbed> ${signals})
    inject_test(undisturbed.held test_held.sh $<TARGET_FILE:inject_held> late late_writes late_in_child closed_again
        closed_again_for_writes closed_in_part)
    inject_test(undisturbed.mappings test_undisturbed.sh $<TARGET_FILE:inject_undisturbed> mapping_limit)
    # Pages are moved away, so that the system can wait for them. These tests protect them.
    inject_test(protected.copies test_first_use.sh $<TARGET_FILE:inject_first_use> ${source} reads writes asynchronous in_heap
        in_variable aligned edges part_of_block often neighbours many_threads forks vforks)
    inject_test(protected.system test_first_use.sh $<TARGET_FILE:inject_first_use> ${source} system_writes system_vectors
        system_prints handler_before handler_after dies blocked stack_overflow)
    inject_test(protected.undisturbed test_undisturbed.sh $<TARGET_FILE:inject_undisturbed> locks_beside readers mapping_limit
        ${signals})
    inject_test(protected.threads test_results.sh $<TARGET_FILE:inject_results> "waiting_threads:3 read")
    foreach(name IN ITEMS protected.copies protected.system protected.undisturbed protected.threads undisturbed.held)
        set_property(TEST inject.${name} APPEND PROPERTY ENVIRONMENT GLINT_PAGER=0 GLINT_PROTECT_PAGES=1)
    endforeach()
    inject_test(unknown_waits test_unknown_waits.sh $<TARGET_FILE:inject_first_use> reads:none never_used:none in_variable:none
        on_stack:stack managed:managed in_heap:small)
    # Where pages cannot be moved away and must not be protected, they stay open.
    inject_test(refused.waits test_unknown_waits.sh $<TARGET_FILE:inject_first_use> reads:given_up never_used:given_up
        asynchronous:given_up on_stack:given_up managed:managed)
    inject_test(refused.undisturbed test_undisturbed.sh $<TARGET_FILE:inject_results> raw_write:note raw_read:note names:note
        messages:note queues:note locked:note lists:note polls:note kernel_aio:note ring:note other_process:note
        child:note masked:note waiting_threads:note)
    foreach(name IN ITEMS refused.waits refused.undisturbed)
        set_property(TEST inject.${name} APPEND PROPERTY ENVIRONMENT GLINT_PAGER=0 GLINT_PROTECT_PAGES=0)
    endforeach()
    inject_test(refused.unprivileged test_unprivileged.sh $<TARGET_FILE:inject_results>)
    # Results that are handed to the system past the C library.
    inject_test(results.system test_undisturbed.sh $<TARGET_FILE:inject_results> raw_write raw_read names messages queues
        locked lists:protected buffers polls)
    inject_test(results.others test_undisturbed.sh $<TARGET_FILE:inject_results> kernel_aio ring ring_polled
        ring_registered:note other_process child announced_child closed_files masked little_stack waiting_threads)
    inject_test(results.seen test_results.sh $<TARGET_FILE:inject_results> "raw_write:3 system" "kernel_aio:3 system"
        "other_process:3 system" "masked:3 read" "little_stack:3 read" "child:3 read" "waiting_threads:3 read")
    set(both async-copy:drop-sync)
    inject_test(correct.syncs test_correct.sh $<TARGET_FILE:inject_correct> syncs:${both} streams:${both} new_stream:${both}
        event_syncs:${both} queries:${both} host_functions:${both} prints:async-copy shared:async-copy threads:${both} contexts:async-copy)
    inject_test(correct.copies test_correct.sh $<TARGET_FILE:inject_correct> copies:async-copy never_read:async-copy forgotten:async-copy
        chains:async-copy memory_goes:async-copy many:async-copy refused:async-copy other_threads:async-copy
        signals:async-copy forks:async-copy ends:async-copy fails:async-copy)
    inject_test(correct.uses test_correct.sh $<TARGET_FILE:inject_first_use> reads:async-copy on_stack:async-copy
        in_heap:async-copy in_variable:async-copy rows:async-copy system_writes:async-copy system_vectors:async-copy
        system_prints:async-copy system_sends:async-copy handler_before:async-copy handler_after:async-copy
        dies:async-copy blocked:async-copy stack_overflow:async-copy vforks:async-copy graphs:async-copy
        managed:async-copy)
    inject_test(correct.results test_correct.sh $<TARGET_FILE:inject_results> raw_write:async-copy raw_read:async-copy
        names:async-copy locked:async-copy polls:async-copy kernel_aio:async-copy ring:async-copy ring_polled:async-copy
        other_process:async-copy child:async-copy announced_child:async-copy closed_files:async-copy masked:async-copy
        little_stack:async-copy waiting_threads:async-copy)
    # MPI implementations whose handles are pointers, and ones whose handles are ints.
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/inject/mpi.c)
    set(cases sends reads receives columns in_place of_root gathers under_way beside persistent puts by_name)
    list(TRANSFORM cases PREPEND mpi_)
    list(TRANSFORM cases APPEND :async-copy OUTPUT_VARIABLE corrected)
    foreach(handles IN ITEMS pointers ints)
        string(TOUPPER FAKE_MPI_${handles} definition)
        add_library(inject_fake_mpi_${handles} SHARED inject/fake_mpi.c)
        set_target_properties(inject_fake_mpi_${handles} PROPERTIES OUTPUT_NAME mpi SOVERSION 40
            LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject/mpi_${handles})
        target_compile_definitions(inject_fake_mpi_${handles} PUBLIC ${definition})
        add_executable(inject_mpi_${handles} inject/mpi.c)
        set_target_properties(inject_mpi_${handles} PROPERTIES
            RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
        target_compile_definitions(inject_mpi_${handles} PRIVATE MPI_LIBRARY="$<TARGET_FILE:inject_fake_mpi_${handles}>")
        target_link_libraries(inject_mpi_${handles} PRIVATE inject_fake_mpi_${handles} glint_libcuda ${CMAKE_DL_LIBS})
        inject_test(first_use.mpi_${handles} test_first_use.sh $<TARGET_FILE:inject_mpi_${handles}> ${source} ${cases})
        inject_test(first_use.launched_${handles} test_launched.sh $<TARGET_FILE:inject_mpi_${handles}>)
        inject_test(correct.mpi_${handles} test_correct.sh $<TARGET_FILE:inject_mpi_${handles}> ${corrected})
    endforeach()
    inject_test(correct.seen test_correct_seen.sh $<TARGET_FILE:inject_correct>)
    # Other code that reads the program's memory: a plugin, and the same plugin named like an RDMA library.
    inject_program(readers)
    foreach(name IN ITEMS readers_plugin ibverbs)
        add_library(inject_${name} SHARED inject/readers_plugin.c)
        target_compile_options(inject_${name} PRIVATE -fno-sanitize=all)
        set_target_properties(inject_${name} PROPERTIES OUTPUT_NAME ${name}
            LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
        add_dependencies(inject_readers inject_${name})
    endforeach()
    target_compile_definitions(inject_readers PRIVATE READERS_PLUGIN="$<TARGET_FILE:inject_readers_plugin>"
        READERS_VERBS="$<TARGET_FILE:inject_ibverbs>")
    # The same program, linked with the library that is named like an RDMA library.
    add_executable(inject_readers_linked inject/readers.c)
    set_target_properties(inject_readers_linked PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
    target_compile_definitions(inject_readers_linked PRIVATE READERS_PLUGIN="" READERS_VERBS="$<TARGET_FILE:inject_ibverbs>")
    target_link_libraries(inject_readers_linked PRIVATE -Wl,--no-as-needed inject_ibverbs glint_libcuda ${CMAKE_DL_LIBS} pthread)
    inject_test(correct.readers test_correct.sh $<TARGET_FILE:inject_readers> io_uring:off io_uring_late:off io_uring_own:off
        deepbind:off namespaces:off rdma_late:off rdma_thread:off own_memory:off own_memory_number:off own_memory_folder:off
        own_memory_stream:off own_memory_itself:off own_process:off other_process:off plain_library:async-copy others:async-copy)
    inject_test(correct.readers_linked test_correct.sh $<TARGET_FILE:inject_readers_linked> rdma_late:off)
    inject_test(transfers test_transfers.sh $<TARGET_FILE:inject_transfers> synchronous small asynchronous in_flight
        host_function rows boxes unreadable slow_to_read managed closed threads)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/inject/host_blocks.c)
    inject_test(host_blocks test_host_blocks.sh $<TARGET_FILE:inject_host_blocks> ${source} allocated aligned reallocated small
        mapped elsewhere threads forks child)
    inject_test(sources test_sources.sh $<TARGET_FILE:inject_sources> same changed unmapped closed truncated at_once small
        pinned copied_back after_use twice freed filtered)
    inject_test(spare test_spare.sh $<TARGET_FILE:inject_spare>)
    # A program that defines its own allocator, in its executable or in a library.
    add_executable(inject_own_malloc inject/host_blocks.c inject/own_malloc.c)
    target_compile_definitions(inject_own_malloc PRIVATE OWN_IN_EXECUTABLE)
    set_target_properties(inject_own_malloc PROPERTIES ENABLE_EXPORTS ON)
    add_library(inject_allocator SHARED inject/own_malloc.c)
    add_executable(inject_own_allocator inject/host_blocks.c)
    target_link_libraries(inject_own_allocator PRIVATE inject_allocator)
    foreach(name IN ITEMS malloc allocator)
        set_target_properties(inject_own_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
        target_link_libraries(inject_own_${name} PRIVATE glint_libcuda ${CMAKE_DL_LIBS} pthread)
        inject_test(host_blocks.own_${name} test_host_blocks.sh $<TARGET_FILE:inject_own_${name}> ${source} own_allocator)
    endforeach()
    target_compile_options(inject_allocator PRIVATE -fno-builtin)
    target_compile_options(inject_own_malloc PRIVATE -fno-builtin)
    set_target_properties(inject_allocator PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/inject)
endif()
foreach(name IN ITEMS full header threads)
    inject_test(${name} test_${name}.sh)
endforeach()
if(GLINT_SANITIZE) # programs that a test builds have no sanitizer, but the simulated GPU's libraries then need one
    set_property(TEST inject.nvtx inject.nvtx_ranges APPEND PROPERTY ENVIRONMENT GLINT_TEST_VENDOR=no)
else()
    inject_test(nvcc test_nvcc.sh)
    inject_test(variables test_variables.sh)
    inject_test(probes.parts test_parts.sh)
endif()
