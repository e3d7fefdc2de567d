# SPDX-License-Identifier: Apache-2.0
# The simulated GPU's runtime: libcudart.so.13, .so.12 and .so.11.0, one set of objects and for each
# version the file or two in which it differs. Names and symbol versions are NVIDIA's, so that executables
# linked with `-cudart shared` find them.

set(glint_runtime_sources array convert copy device errors fill graph launch memory missing node per_thread
    register state stream)
list(TRANSFORM glint_runtime_sources REPLACE "(.+)" "gpusim/runtime_\\1.c")
list(TRANSFORM glint_runtime_sources PREPEND src/ OUTPUT_VARIABLE sources)
add_library(glint_runtime OBJECT ${sources} src/gpusim/calls.c)
# The function that a program called has to be on the call path: the recorder names calls by it.
set(glint_runtime_options -fno-optimize-sibling-calls)
target_compile_options(glint_runtime PRIVATE ${glint_runtime_options})

# Inner names for all of them; the older versions' own functions have theirs already.
glint_calls(runtime gpusim/calls.h 0 cudaabi/runtime.h ${glint_runtime_sources} gpusim/runtime_v13.c)
glint_inner(runtime ${sources} src/gpusim/runtime_v13.c src/gpusim/runtime_v12.c src/gpusim/runtime_v11.c
    src/gpusim/runtime_old.c)

# glint_cudart(SUFFIX SOURCE...) makes libcudart.so.SUFFIX.
function(glint_cudart suffix)
    set(GLINT_CUDART_SONAME libcudart.so.${suffix})
    set(map ${PROJECT_BINARY_DIR}/gpusim/${GLINT_CUDART_SONAME}.map)
    configure_file(src/gpusim/runtime.map.in ${map} @ONLY)
    string(REPLACE "." "_" name ${suffix})
    set(target glint_cudart_${name})
    glint_calls(runtime_${name} "gpusim/runtime_old.h gpusim/calls.h" 0 cudaabi/runtime.h ${glint_runtime_sources}
        ${ARGN})
    set(sources ${ARGN})
    list(TRANSFORM sources PREPEND src/)
    add_library(${target} SHARED ${sources} ${PROJECT_BINARY_DIR}/gpusim/runtime_${name}_calls.c
        $<TARGET_OBJECTS:glint_runtime>)
    target_compile_options(${target} PRIVATE ${glint_runtime_options})
    set_target_properties(${target} PROPERTIES
        OUTPUT_NAME cudart
        SUFFIX .so.${suffix}
        NO_SONAME ON # CMake would make one of its own
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/glint/sim
        BUILD_RPATH $ORIGIN
        INSTALL_RPATH $ORIGIN
        LINK_DEPENDS ${map})
    # Symbolic: one function of the library that calls another means its own, whoever is loaded before.
    target_link_options(${target} PRIVATE -Wl,-soname,${GLINT_CUDART_SONAME} -Wl,--version-script=${map}
        -Wl,-Bsymbolic-functions -Wl,-z,defs)
    target_link_libraries(${target} PRIVATE glint_base glint_libcuda pthread)
endfunction()

if(TARGET glint_libcuda)
    glint_cudart(13 gpusim/runtime_v13.c)
    glint_cudart(12 gpusim/runtime_v12.c gpusim/runtime_old.c)
    glint_cudart(11.0 gpusim/runtime_v11.c gpusim/runtime_old.c)
endif()
