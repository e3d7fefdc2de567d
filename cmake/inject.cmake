# SPDX-License-Identifier: Apache-2.0
# Makes libglint.so, which `glint record` preloads into programs. Also makes libglint-sync.so and libglint-mpi.so,
# which intercept the C library and MPI while first uses are tracked (src/inject/hooks/inside.h).

# The parts that it uses are compiled again, without sanitizers: the program itself must load a sanitizer.
set(sources "")
foreach(room IN LISTS GLINT_ROOMS)
    if(room MATCHES "^inject/" AND NOT room MATCHES "^inject/(libc|mpi|template)$")
        file(GLOB_RECURSE room_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.c)
        list(APPEND sources ${room_sources})
    endif()
endforeach()
file(GLOB part_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/src/event/*.c ${PROJECT_SOURCE_DIR}/src/plan/*.c ${PROJECT_SOURCE_DIR}/src/base/*.c
    ${PROJECT_SOURCE_DIR}/src/fatbin/*.c ${PROJECT_SOURCE_DIR}/src/ptx/*.c ${PROJECT_SOURCE_DIR}/src/instrument/*.c
    ${PROJECT_SOURCE_DIR}/src/device/*.c)
# The driver's functions that glint knows, sorted, for src/inject/hooks/asked.c.
set(names ${PROJECT_BINARY_DIR}/inject/driver_names.inc)
set(header ${PROJECT_SOURCE_DIR}/src/cudaabi/driver.h)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/inject)
add_custom_command(OUTPUT ${names}
    COMMAND ${PROJECT_SOURCE_DIR}/scripts/list-driver-names ${header} > ${names}
    DEPENDS ${header} ${PROJECT_SOURCE_DIR}/scripts/list-driver-names
    VERBATIM)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/inject/hooks/asked.c PROPERTIES
    INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/inject OBJECT_DEPENDS ${names})
add_library(glint_inject_preload SHARED ${sources} ${part_sources})
set_target_properties(glint_inject_preload PROPERTIES
    OUTPUT_NAME glint
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/glint
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/inject/libglint.map)
target_link_libraries(glint_inject_preload PRIVATE ${CMAKE_DL_LIBS} m pthread)
glint_link_libraries(glint_inject_preload ${GLINT_LIBRARIES_fatbin})
glint_old_glibc(glint_inject_preload)
# Bsymbolic: references to hooks within libglint.so bind to its own hooks, even if another library
# defines the same names. wrap: see pool.c.
target_compile_options(glint_inject_preload PRIVATE -fno-sanitize=all)
target_link_options(glint_inject_preload PRIVATE
    -fno-sanitize=all -Wl,-z,now -Wl,-z,defs -Wl,-z,nodelete -Wl,-Bsymbolic -Wl,--as-needed
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/inject/libglint.map
    -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=free)
# A recorded call passes through dozens of small functions in several files, so all files are optimized
# together. SLP vectorization is off: gathering small fields in vector registers costs more than it saves.
# pool.c and system.c are excluded: --wrap leads to the one by names that only the linker knows, and the compiler
# knows the functions of the other as the C library's. Atomics are inline:
# ARM's outlined ones first call a function that checks the processor. For the few atomics of a record,
# that check costs more than the better instructions save.
include(CheckIPOSupported)
check_ipo_supported(RESULT glint_whole LANGUAGES C OUTPUT reason)
if(glint_whole AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(whole -flto -O3 -fno-plt)
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
        list(APPEND whole -mno-outline-atomics)
    endif()
    target_compile_options(glint_inject_preload PRIVATE ${whole} -fno-tree-slp-vectorize)
    target_link_options(glint_inject_preload PRIVATE ${whole} -flto-partition=one)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/inject/util/pool.c
        ${PROJECT_SOURCE_DIR}/src/inject/system/system.c PROPERTIES COMPILE_OPTIONS -fno-lto)
endif()

# glint_outer(NAME FOLDER) makes libglint-NAME.so from src/inject/FOLDER. Bsymbolic: the addresses that it passes to
# libglint.so are those of its own functions. It links no parts, and uses only declarations of their headers.
function(glint_outer name folder)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/inject/${folder}/*.c)
    set(map ${PROJECT_SOURCE_DIR}/src/inject/${folder}/libglint-${name}.map)
    add_library(glint_${name}_preload SHARED ${sources} ${PROJECT_SOURCE_DIR}/src/inject/util/next.c)
    set_target_properties(glint_${name}_preload PROPERTIES
        OUTPUT_NAME glint-${name}
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/glint
        LINK_DEPENDS ${map})
    target_compile_options(glint_${name}_preload PRIVATE -fno-sanitize=all)
    target_link_options(glint_${name}_preload PRIVATE
        -fno-sanitize=all -Wl,-z,now -Wl,-z,defs -Wl,-z,nodelete -Wl,-Bsymbolic -Wl,--as-needed
        -Wl,--version-script=${map})
    glint_old_glibc(glint_${name}_preload)
    add_dependencies(glint_inject_preload glint_${name}_preload)
endfunction()
glint_outer(sync libc)
glint_outer(mpi mpi)

if(TARGET glint)
    add_dependencies(glint glint_inject_preload)
endif()
