# SPDX-License-Identifier: Apache-2.0
# Makes the stand-ins for NVIDIA's libraries on the simulated GPU: libcublas.so.13 and .so.12, and so on. Names and symbol
# versions are NVIDIA's. They lie in a folder that only programs on the simulated GPU search.

# Converts PTX to C strings, as cmake/device.cmake does.
set(texts ${PROJECT_BINARY_DIR}/standins)
file(MAKE_DIRECTORY ${texts})

# glint_standin_kernels(ROOM MODULE...) converts src/standins/ROOM/MODULE.ptx to ROOM_MODULE.ptx.inc, and sets ROOM_texts.
function(glint_standin_kernels room)
    set(made)
    foreach(module IN LISTS ARGN)
        set(ptx ${PROJECT_SOURCE_DIR}/src/standins/${room}/${module}.ptx)
        set(text ${texts}/${room}_${module}.ptx.inc)
        add_custom_command(OUTPUT ${text}
            COMMAND ${GLINT_AWK} "{ gsub(/[\\\\\\\\\"]/, \"\\\\\\\\&\"); print \"\\\"\" $0 \"\\\\n\\\"\" }" ${ptx} > ${text}
            DEPENDS ${ptx}
            VERBATIM)
        list(APPEND made ${text})
    endforeach()
    set(${room}_texts ${made} PARENT_SCOPE)
endfunction()

# The function that the program called must stay on the call path: the recorder names the call after it. The API has
# functions without prototypes here, and parameters that are not used.
set(glint_standin_options -fno-optimize-sibling-calls -Wno-missing-prototypes)

# glint_standin(NAME ROOM VERSION SOURCE...) makes libNAME.so.VERSION from files of src/standins/ROOM, compiled with
# STANDIN_VERSION=VERSION.
function(glint_standin name room version)
    set(target glint_${name}_${version})
    set(soname lib${name}.so.${version})
    set(map ${texts}/${soname}.map)
    file(CONFIGURE OUTPUT ${map} CONTENT "${soname} {\nglobal:\n    ${name}[A-Z]*;\nlocal:\n    *;\n};\n")
    list(TRANSFORM ARGN PREPEND src/standins/${room}/ OUTPUT_VARIABLE sources)
    add_library(${target} SHARED ${sources} src/standins/common/common.c)
    target_compile_options(${target} PRIVATE ${glint_standin_options})
    target_compile_definitions(${target} PRIVATE STANDIN_VERSION=${version})
    target_include_directories(${target} PRIVATE ${texts})
    set_target_properties(${target} PROPERTIES
        OUTPUT_NAME ${name}
        SUFFIX .so.${version}
        NO_SONAME ON # CMake would choose another soname
        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/glint/sim
        INSTALL_RPATH $ORIGIN
        BUILD_WITH_INSTALL_RPATH ON
        LINK_DEPENDS ${map})
    target_link_options(${target} PRIVATE -Wl,-soname,${soname} -Wl,--version-script=${map}
        -Wl,-Bsymbolic-functions -Wl,-z,defs)
    target_link_libraries(${target} PRIVATE glint_libcuda m pthread)
    glint_old_glibc(${target})
    set_property(GLOBAL APPEND PROPERTY GLINT_STANDINS ${target})
endfunction()

glint_standin_kernels(cublas level1 level3 lt)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/standins/cublas/launch.c ${PROJECT_SOURCE_DIR}/src/standins/cublas/lt_matmul.c
    PROPERTIES OBJECT_DEPENDS "${cublas_texts}")
foreach(version IN ITEMS 13 12)
    glint_standin(cublas cublas ${version} launch.c status.c handle.c level1.c level2.c level3.c gemm.c extensions.c missing.c)
    glint_standin(cublasLt cublas ${version} launch.c status.c lt_descriptors.c lt_matmul.c lt_missing.c)
endforeach()

glint_standin_kernels(curand sequences)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/standins/curand/generator.c PROPERTIES OBJECT_DEPENDS "${curand_texts}")
glint_standin(curand curand 10 generator.c start.c missing.c)

glint_standin_kernels(cufft transform)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/standins/cufft/run.c PROPERTIES OBJECT_DEPENDS "${cufft_texts}")
foreach(version IN ITEMS 12 11)
    glint_standin(cufft cufft ${version} handle.c tables.c run.c missing.c)
endforeach()

glint_standin_kernels(cusparse sparse)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/standins/cusparse/handle.c PROPERTIES OBJECT_DEPENDS "${cusparse_texts}")
glint_standin(cusparse cusparse 12 handle.c descriptors.c products.c conversions.c multiplications.c solutions.c missing.c)
