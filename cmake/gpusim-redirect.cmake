# SPDX-License-Identifier: Apache-2.0
# Makes libglint-redirect.so, which redirects executables with NVIDIA's static runtime to the simulated GPU's.
# Also makes glint_redirect, the files that unit tests link and with which `glint run` inspects executables.

add_library(glint_redirect STATIC
    src/gpusim/redirect/elf.c
    src/gpusim/redirect/patch.c
    src/gpusim/redirect/program.c)
target_link_libraries(glint_redirect PUBLIC glint_base)
list(APPEND GLINT_PARTS glint_redirect) # for the tests

add_library(glint_redirect_preload SHARED
    src/gpusim/redirect/redirect.c
    src/gpusim/redirect/elf.c
    src/gpusim/redirect/entry.c
    src/gpusim/redirect/patch.c)
set_target_properties(glint_redirect_preload PROPERTIES
    OUTPUT_NAME glint-redirect
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/glint/sim)
# initfirst: see redirect.c. now: the library patches the loader's code, and must not call the loader meanwhile.
# A preloaded library has no sanitizer: the program itself must load the sanitizer.
target_compile_options(glint_redirect_preload PRIVATE -fno-sanitize=all)
target_link_options(glint_redirect_preload PRIVATE
    -fno-sanitize=all -Wl,-z,initfirst -Wl,-z,now -Wl,-z,defs)
glint_old_glibc(glint_redirect_preload)

if(TARGET glint)
    target_link_libraries(glint PRIVATE glint_redirect)
    add_dependencies(glint glint_redirect_preload)
endif()
