# SPDX-License-Identifier: Apache-2.0
# Binds what glint ships to glibc 2.28, whatever newer glibc the build machine has: glint_old_glibc(TARGET).
# scripts/make-glibc-stubs says how.

option(GLINT_OLD_GLIBC "What is built runs on glibc 2.28 and later, not only on this machine's" ON)

# Sanitizers bring libraries that need the glibc of the build machine.
set(stubs ${PROJECT_BINARY_DIR}/glibc)
if(GLINT_OLD_GLIBC AND NOT GLINT_SANITIZE AND NOT GLINT_FUZZ)
    add_custom_command(OUTPUT ${stubs}/libc.so
        COMMAND ${PROJECT_SOURCE_DIR}/scripts/make-glibc-stubs ${stubs} $<TARGET_FILE:glint_glibc> ${CMAKE_C_COMPILER}
        DEPENDS ${PROJECT_SOURCE_DIR}/scripts/make-glibc-stubs glint_glibc
        COMMENT "Making libraries of glibc 2.28 to link with"
        VERBATIM)
    add_custom_target(glint_glibc_stubs DEPENDS ${stubs}/libc.so)
endif()

# An executable's start code is led to src/glibc/start.c. Libraries that an executable links may need newer symbols.
function(glint_old_glibc target)
    if(NOT TARGET glint_glibc_stubs)
        return()
    endif()
    set(stubs ${PROJECT_BINARY_DIR}/glibc)
    add_dependencies(${target} glint_glibc_stubs)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${stubs}/libc.so)
    target_link_options(${target} PRIVATE -L${stubs})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")
        target_link_options(${target} PRIVATE -Wl,--wrap=__libc_start_main -Wl,--allow-shlib-undefined)
    endif()
endfunction()
