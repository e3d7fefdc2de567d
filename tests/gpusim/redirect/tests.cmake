# SPDX-License-Identifier: Apache-2.0
# Tests the redirection of static CUDA runtimes as a whole: with an imitated runtime, for each processor
# that programs can be built for and run on here, and with programs that nvcc builds.

set(redirect_tests ${CMAKE_CURRENT_SOURCE_DIR}/gpusim/redirect)
glint_test(gpusim.redirect_imitation sh ${redirect_tests}/test_imitation.sh
    ${PROJECT_SOURCE_DIR}/src ${CMAKE_C_COMPILER} ${CMAKE_CROSSCOMPILING_EMULATOR})
if(NOT CMAKE_CROSSCOMPILING)
    if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
        set(other x86_64)
    else()
        set(other aarch64)
    endif()
    glint_test(gpusim.redirect_imitation_${other} sh ${redirect_tests}/test_imitation.sh
        ${PROJECT_SOURCE_DIR}/src ${other}-linux-gnu-gcc qemu-${other})
    glint_test(gpusim.redirect_nvcc sh ${redirect_tests}/test_nvcc.sh
        ${PROJECT_SOURCE_DIR}/src $<TARGET_FILE:glint_redirect_preload> ${CMAKE_C_COMPILER})
endif()
