# SPDX-License-Identifier: Apache-2.0
# libcuda.so.1 of the simulated GPU, made of the part gpusim and what it uses. driver_proc.c names
# every function of the driver interface, so that it alone draws all of them from the part's archive.

add_library(glint_libcuda SHARED ${PROJECT_SOURCE_DIR}/src/gpusim/driver_proc.c)
set_target_properties(glint_libcuda PROPERTIES
    OUTPUT_NAME cuda
    VERSION 1
    SOVERSION 1
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/glint/sim
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/gpusim/driver.map)
target_link_libraries(glint_libcuda PRIVATE glint_gpusim -lpthread -lm)
target_link_options(glint_libcuda PRIVATE
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/gpusim/driver.map -Wl,-z,defs
    -Wl,-z,nodelete # its threads run on where somebody closes it
    -Wl,-Bsymbolic) # its functions call each other past whoever stands before them, as NVIDIA's do
