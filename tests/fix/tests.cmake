# SPDX-License-Identifier: Apache-2.0
# A program that uses the driver API, for tests of `glint fix`.

if(TARGET glint_inject_preload)
    add_executable(fix_wasteful fix/wasteful.c)
    set_target_properties(fix_wasteful PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/fix)
    target_link_options(fix_wasteful PRIVATE -Wl,--build-id)
    target_link_libraries(fix_wasteful PRIVATE glint_libcuda)
endif()
