# SPDX-License-Identifier: Apache-2.0
# Sets the compiler options of the part gpusim, and makes libcuda.so.1 from it and the parts it uses.

# PTX specifies which multiplications and additions are fused; the compiler must not fuse others.
target_compile_options(glint_gpusim PRIVATE -ffp-contract=off -fno-math-errno -fno-trapping-math)
# The simulator spends its time in loops over 32 lanes; gcc does not vectorize some of them at -O2.
target_compile_options(glint_gpusim PRIVATE -O3 $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
target_link_libraries(glint_gpusim PUBLIC m pthread)

# The generated wrappers of the driver's functions write the log. missing.c writes it itself; proc.c
# defines no API functions.
file(GLOB sources CONFIGURE_DEPENDS src/gpusim/driver/*.c)
list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/src/gpusim/driver/missing.c ${PROJECT_SOURCE_DIR}/src/gpusim/driver/proc.c)
set(declared 1 cudaabi/driver.h gpusim/driver/missing.c)
glint_generate(driver_names.h names "" ${declared})
glint_generate(driver_calls.c calls gpusim/calls/calls.h ${declared})
glint_generate(driver_per_thread.c per_thread gpusim/driver/per_thread.h ${declared})
set(per_thread ${PROJECT_BINARY_DIR}/gpusim/driver_per_thread.c)
glint_inner(driver_names.h ${sources} ${per_thread})
target_sources(glint_gpusim PRIVATE ${PROJECT_BINARY_DIR}/gpusim/driver_calls.c ${per_thread})

# glint_make_libcuda(TARGET PART FOLDER [MAP]) makes libcuda.so.1 in FOLDER from the archive of PART. proc.c refers to
# every function of the driver API, so the linker takes all of them from the archive. MAP says what is exported.
function(glint_make_libcuda target part folder)
    set(map ${PROJECT_SOURCE_DIR}/src/gpusim/driver/driver.map ${ARGN})
    list(GET map -1 map)
    add_library(${target} SHARED ${PROJECT_SOURCE_DIR}/src/gpusim/driver/proc.c)
    set_target_properties(${target} PROPERTIES
        OUTPUT_NAME cuda
        VERSION 1
        SOVERSION 1
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder}
        LINK_DEPENDS ${map})
    target_link_libraries(${target} PRIVATE ${part} -lpthread -lm)
    glint_old_glibc(${target})
    target_link_options(${target} PRIVATE
        -Wl,--version-script=${map} -Wl,-z,defs
        -Wl,-z,nodelete # its threads keep running after dlclose
        -Wl,-Bsymbolic) # its functions call each other directly, bypassing preloaded hooks, as NVIDIA's do
endfunction()

glint_make_libcuda(glint_libcuda glint_gpusim lib/glint/sim)

# That library runs on any x86_64. A second one is for processors with AVX2 and FMA; it is in a subfolder
# that the loader searches first, since glibc 2.33.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT GLINT_SANITIZE)
    get_target_property(sources glint_gpusim SOURCES)
    get_target_property(options glint_gpusim COMPILE_OPTIONS)
    get_target_property(libraries glint_gpusim LINK_LIBRARIES)
    add_library(glint_gpusim_v3 STATIC EXCLUDE_FROM_ALL ${sources})
    target_compile_options(glint_gpusim_v3 PRIVATE ${options} -march=x86-64-v3)
    target_link_libraries(glint_gpusim_v3 PUBLIC ${libraries})
    glint_make_libcuda(glint_libcuda_v3 glint_gpusim_v3 lib/glint/sim/glibc-hwcaps/x86-64-v3)
endif()
