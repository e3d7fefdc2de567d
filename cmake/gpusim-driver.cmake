# SPDX-License-Identifier: Apache-2.0
# The compiler options of the part gpusim, and libcuda.so.1, made of the part and what it uses.

# PTX says where a product and a sum are fused; the compiler must not.
target_compile_options(glint_gpusim PRIVATE -ffp-contract=off -fno-math-errno -fno-trapping-math)
# Loops over 32 lanes are what it does: gcc leaves some of them scalar at -O2.
target_compile_options(glint_gpusim PRIVATE -O3 $<$<C_COMPILER_ID:Clang>:-Wno-pass-failed>)
target_link_libraries(glint_gpusim PUBLIC m pthread)

# The driver's API functions write the log. missing.c does so itself, proc.c defines none.
file(GLOB sources CONFIGURE_DEPENDS src/gpusim/driver/*.c)
list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/src/gpusim/driver/missing.c ${PROJECT_SOURCE_DIR}/src/gpusim/driver/proc.c)
set(declared 1 cudaabi/driver.h gpusim/driver/missing.c)
glint_generate(driver_names.h names "" ${declared})
glint_generate(driver_calls.c calls gpusim/calls/calls.h ${declared})
glint_generate(driver_per_thread.c per_thread gpusim/driver/per_thread.h ${declared})
set(per_thread ${PROJECT_BINARY_DIR}/gpusim/driver_per_thread.c)
glint_inner(driver_names.h ${sources} ${per_thread})
target_sources(glint_gpusim PRIVATE ${PROJECT_BINARY_DIR}/gpusim/driver_calls.c ${per_thread})

# glint_make_libcuda(TARGET PART FOLDER) makes libcuda.so.1 from the part's archive PART in FOLDER. proc.c names
# every function of the driver interface, so that it alone draws all of them from the archive.
function(glint_make_libcuda target part folder)
    add_library(${target} SHARED ${PROJECT_SOURCE_DIR}/src/gpusim/driver/proc.c)
    set_target_properties(${target} PROPERTIES
        OUTPUT_NAME cuda
        VERSION 1
        SOVERSION 1
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder}
        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/gpusim/driver/driver.map)
    target_link_libraries(${target} PRIVATE ${part} -lpthread -lm)
    target_link_options(${target} PRIVATE
        -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/gpusim/driver/driver.map -Wl,-z,defs
        -Wl,-z,nodelete # its threads run on where somebody closes it
        -Wl,-Bsymbolic) # its functions call each other past whoever stands before them, as NVIDIA's do
endfunction()

glint_make_libcuda(glint_libcuda glint_gpusim lib/glint/sim)

# Any x86_64 can run that; for those with AVX2 and FMA there is a second one, in a folder beside it where
# the loader (from glibc 2.33 on) looks first.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT GLINT_SANITIZE)
    get_target_property(sources glint_gpusim SOURCES)
    get_target_property(options glint_gpusim COMPILE_OPTIONS)
    get_target_property(libraries glint_gpusim LINK_LIBRARIES)
    add_library(glint_gpusim_v3 STATIC EXCLUDE_FROM_ALL ${sources})
    target_compile_options(glint_gpusim_v3 PRIVATE ${options} -march=x86-64-v3)
    target_link_libraries(glint_gpusim_v3 PUBLIC ${libraries})
    glint_make_libcuda(glint_libcuda_v3 glint_gpusim_v3 lib/glint/sim/glibc-hwcaps/x86-64-v3)
endif()
