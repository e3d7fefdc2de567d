# SPDX-License-Identifier: Apache-2.0
# Tests of the stand-ins for NVIDIA's libraries. They are programs that link the stand-ins as programs link NVIDIA's, and
# run on the simulated GPU.

if(TARGET glint_cublas_13 AND CMOCKA_LIBRARY AND CMOCKA_INCLUDE)
    # glint_standin_test(NAME LIBRARY...) makes a test from NAME.c with the libraries.
    function(glint_standin_test name)
        add_executable(standins_${name} standins/${name}.c)
        set_target_properties(standins_${name} PROPERTIES
            OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/standins)
        target_include_directories(standins_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
        target_include_directories(standins_${name} SYSTEM PRIVATE ${CMOCKA_INCLUDE})
        target_compile_options(standins_${name} PRIVATE -Wno-strict-prototypes)
        # A test finds functions by name, so no library seems to be needed.
        target_link_options(standins_${name} PRIVATE -Wl,--no-as-needed)
        target_link_libraries(standins_${name} PRIVATE ${ARGN} glint_libcuda ${CMOCKA_LIBRARY} dl m)
        glint_test(standins.${name} standins_${name})
    endfunction()
    glint_standin_test(cublas_vectors glint_cublas_13)
    glint_standin_test(cublas_matrices glint_cublas_13)
    glint_standin_test(cublas_lt glint_cublasLt_13)
    glint_standin_test(curand glint_curand_10)
    glint_standin_test(cufft glint_cufft_12)
    glint_standin_test(cusparse glint_cusparse_12)
    glint_standin_test(cusparse_systems glint_cusparse_12)
endif()

if(TARGET glint_cublas_13 AND NOT CMAKE_CROSSCOMPILING AND NOT GLINT_SANITIZE)
    glint_test(standins.exports sh ${CMAKE_CURRENT_SOURCE_DIR}/standins/exports.sh $<TARGET_FILE_DIR:glint_cublas_13>)
    add_executable(standins_curand_compare standins/curand_compare.c)
    set_target_properties(standins_curand_compare PROPERTIES
        OUTPUT_NAME curand_compare RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/standins)
    target_compile_options(standins_curand_compare PRIVATE -Wno-strict-prototypes)
    target_link_options(standins_curand_compare PRIVATE -Wl,--no-as-needed)
    target_link_libraries(standins_curand_compare PRIVATE glint_curand_10 glint_libcuda dl m)
    glint_test(standins.curand_toolkit sh ${CMAKE_CURRENT_SOURCE_DIR}/standins/toolkit.sh
        $<TARGET_FILE:standins_curand_compare> libcurand.so.10)
    glint_test(standins.nvrtc sh ${CMAKE_CURRENT_SOURCE_DIR}/standins/nvrtc.sh $<TARGET_FILE_DIR:glint_cublas_13>)
    glint_test(standins.programs sh ${CMAKE_CURRENT_SOURCE_DIR}/standins/programs.sh $<TARGET_FILE_DIR:glint_cublas_13>)
endif()
