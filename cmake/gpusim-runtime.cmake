# SPDX-License-Identifier: Apache-2.0
# Makes the simulated GPU's runtime: libcudart.so.13, .so.12 and .so.11.0. They share one set of objects; each
# adds the one or two files of runtime/versions in which it differs. Names and symbol versions are NVIDIA's, so
# that executables linked with `-cudart shared` find them.

file(GLOB sources CONFIGURE_DEPENDS src/gpusim/runtime/*.c)
list(TRANSFORM sources REPLACE "${PROJECT_SOURCE_DIR}/src/" "" OUTPUT_VARIABLE glint_runtime_sources)
set(per_thread ${PROJECT_BINARY_DIR}/gpusim/runtime_per_thread.c)
add_library(glint_runtime OBJECT ${sources} ${per_thread} src/gpusim/calls/calls.c src/gpusim/calls/reasons.c src/gpusim/locks.c)
# The function that the program called must stay on the call path: the recorder names the call after it.
set(glint_runtime_options -fno-optimize-sibling-calls)
target_compile_options(glint_runtime PRIVATE ${glint_runtime_options})

# Every function gets an inner name; the functions that only older versions have are already named so.
set(common 0 cudaabi/runtime.h ${glint_runtime_sources})
glint_generate(runtime_names.h names "" ${common} gpusim/runtime/versions/v13.c)
glint_generate(runtime_per_thread.c per_thread gpusim/runtime/per_thread.h ${common})
file(GLOB versions CONFIGURE_DEPENDS src/gpusim/runtime/versions/*.c)
glint_inner(runtime_names.h ${sources} ${versions} ${per_thread})

# glint_cudart(SUFFIX SOURCE...) makes libcudart.so.SUFFIX. The sources are in runtime/versions.
function(glint_cudart suffix)
    set(GLINT_CUDART_SONAME libcudart.so.${suffix})
    set(map ${PROJECT_BINARY_DIR}/gpusim/${GLINT_CUDART_SONAME}.map)
    configure_file(src/gpusim/runtime/runtime.map.in ${map} @ONLY)
    string(REPLACE "." "_" name ${suffix})
    set(target glint_cudart_${name})
    list(TRANSFORM ARGN PREPEND gpusim/runtime/versions/ OUTPUT_VARIABLE own)
    set(calls runtime_${name}_calls.c)
    glint_generate(${calls} calls "gpusim/runtime/versions/old.h gpusim/calls/calls.h" 0 cudaabi/runtime.h
        ${glint_runtime_sources} ${own})
    list(TRANSFORM own PREPEND src/ OUTPUT_VARIABLE sources)
    add_library(${target} SHARED ${sources} ${PROJECT_BINARY_DIR}/gpusim/${calls}
        $<TARGET_OBJECTS:glint_runtime>)
    target_compile_options(${target} PRIVATE ${glint_runtime_options})
    set_target_properties(${target} PROPERTIES
        OUTPUT_NAME cudart
        SUFFIX .so.${suffix}
        NO_SONAME ON # CMake would choose another soname
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/glint/sim
        INSTALL_RPATH $ORIGIN
        BUILD_WITH_INSTALL_RPATH ON # the files are installed as they are, and name no folder of the build
        LINK_DEPENDS ${map})
    # Bsymbolic-functions: a call between two functions of the library ignores libraries that are loaded earlier.
    target_link_options(${target} PRIVATE -Wl,-soname,${GLINT_CUDART_SONAME} -Wl,--version-script=${map}
        -Wl,-Bsymbolic-functions -Wl,-z,defs)
    target_link_libraries(${target} PRIVATE glint_base glint_libcuda pthread)
    glint_old_glibc(${target})
endfunction()

if(TARGET glint_libcuda)
    glint_cudart(13 v13.c)
    glint_cudart(12 v12.c old.c)
    glint_cudart(11.0 v11.c old.c)
endif()
