# SPDX-License-Identifier: Apache-2.0
# What lets the simulated GPU log every API call: src/gpusim/calls/calls.awk reads the declarations and
# definitions of a library and makes two files, see there.

find_program(GLINT_AWK NAMES awk REQUIRED)

# glint_calls(NAME INCLUDES DECLARED SOURCE...) makes gpusim/NAME_names.h and gpusim/NAME_calls.c in the
# build folder, where something needs them. The first source is the header that declares the functions;
# NAME_calls.c includes INCLUDES.
function(glint_calls name includes declared)
    set(sources ${ARGN})
    list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/)
    set(script ${PROJECT_SOURCE_DIR}/src/gpusim/calls/calls.awk)
    foreach(output IN ITEMS ${name}_names.h ${name}_calls.c)
        string(REGEX REPLACE ".*_([a-z]+)\\..*" "\\1" make ${output})
        add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/gpusim/${output}
            COMMAND ${GLINT_AWK} -v make=${make} -v declared=${declared} -v "includes=${includes}" -f ${script}
                ${sources} > ${PROJECT_BINARY_DIR}/gpusim/${output}
            DEPENDS ${script} ${sources}
            VERBATIM)
    endforeach()
endfunction()

file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/gpusim)

# glint_inner(NAME SOURCE...): the sources define their functions under their inner names. Interfaces have
# parameters that not every function needs.
function(glint_inner name)
    set(names ${PROJECT_BINARY_DIR}/gpusim/${name}_names.h)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS
        "-include;${names};-Wno-unused-parameter" OBJECT_DEPENDS ${names})
endfunction()
