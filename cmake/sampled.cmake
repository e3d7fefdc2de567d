# SPDX-License-Identifier: Apache-2.0
# Compiles the patch of sampled launches (src/inject/sampled/patch.cu) where nvcc is. It must be machine code for each
# kind of GPU: the Sanitizer API accepts PTX, which then does nothing. Without nvcc there is no patch, and
# `glint record --sample-native` says so.

find_program(GLINT_NVCC NAMES nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
if(GLINT_NVCC)
    execute_process(COMMAND ${GLINT_NVCC} --list-gpu-code OUTPUT_VARIABLE gpus RESULT_VARIABLE failed ERROR_QUIET)
    string(REGEX MATCHALL "sm_[0-9]+" gpus "${gpus}")
    if(NOT failed AND gpus)
        set(patch ${PROJECT_SOURCE_DIR}/src/inject/sampled/patch.cu)
        set(patched ${PROJECT_BINARY_DIR}/lib/glint/sampled.fatbin)
        set(codes)
        foreach(gpu IN LISTS gpus)
            string(REPLACE sm_ compute_ virtual ${gpu})
            list(APPEND codes -gencode arch=${virtual},code=${gpu})
        endforeach()
        file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib/glint)
        add_custom_command(OUTPUT ${patched}
            COMMAND ${GLINT_NVCC} --compile-as-tools-patch --fatbin -Wno-deprecated-gpu-targets
                ${codes} -o ${patched} ${patch}
            DEPENDS ${patch} ${PROJECT_SOURCE_DIR}/src/inject/sampled/mark.h
            COMMENT "Compiling the patch of sampled launches"
            VERBATIM)
        add_custom_target(glint_sampled_patch DEPENDS ${patched})
        add_dependencies(glint_inject_preload glint_sampled_patch)
        install(FILES ${patched} DESTINATION lib/glint)
    endif()
endif()
