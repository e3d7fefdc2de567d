# SPDX-License-Identifier: Apache-2.0
# Generates C from the declarations and definitions of the simulated GPU's API functions;
# src/gpusim/calls/calls.awk documents the output.

find_program(GLINT_AWK NAMES awk REQUIRED)

# glint_generate(OUTPUT MAKE INCLUDES DECLARED SOURCE...) makes gpusim/OUTPUT in the build folder if a target
# needs it. The first source is the header that declares the functions; OUTPUT includes INCLUDES.
function(glint_generate output make includes declared)
    set(sources ${ARGN})
    list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/)
    set(script ${PROJECT_SOURCE_DIR}/src/gpusim/calls/calls.awk)
    add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/gpusim/${output}
        COMMAND ${GLINT_AWK} -v make=${make} -v declared=${declared} -v "includes=${includes}" -f ${script}
            ${sources} > ${PROJECT_BINARY_DIR}/gpusim/${output}
        DEPENDS ${script} ${sources}
        VERBATIM)
endfunction()

file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/gpusim)

# glint_inner(NAMES SOURCE...) makes the sources define their functions under the inner names of gpusim/NAMES.
# The CUDA API prescribes the parameters, so a function need not use all of them.
function(glint_inner names)
    set(names ${PROJECT_BINARY_DIR}/gpusim/${names})
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS
        "-include;${names};-Wno-unused-parameter" OBJECT_DEPENDS ${names})
endfunction()
