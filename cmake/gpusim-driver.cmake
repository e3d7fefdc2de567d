# SPDX-License-Identifier: Apache-2.0
# libcuda.so.1 of the simulated GPU, made of the part gpusim and what it uses. driver_proc.c names
# every function of the driver interface, so that it alone draws all of them from the part's archive.

# glint_make_libcuda(TARGET PART FOLDER) makes it from the part's archive PART in FOLDER.
function(glint_make_libcuda target part folder)
    add_library(${target} SHARED ${PROJECT_SOURCE_DIR}/src/gpusim/driver_proc.c)
    set_target_properties(${target} PROPERTIES
        OUTPUT_NAME cuda
        VERSION 1
        SOVERSION 1
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder}
        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/gpusim/driver.map)
    target_link_libraries(${target} PRIVATE ${part} -lpthread -lm)
    target_link_options(${target} PRIVATE
        -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/gpusim/driver.map -Wl,-z,defs
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
