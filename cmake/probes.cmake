# SPDX-License-Identifier: Apache-2.0
# Converts the PTX templates of src/instrument/probes to C: src/instrument/probes.awk generates two files from them.
# Included before the parts are made.

find_program(GLINT_AWK NAMES awk REQUIRED)
set(script ${PROJECT_SOURCE_DIR}/src/instrument/probes.awk)
set(made ${PROJECT_BINARY_DIR}/instrument/probe_names.h ${PROJECT_BINARY_DIR}/instrument/probe_data.inc)
file(GLOB templates CONFIGURE_DEPENDS src/instrument/probes/*.ptx)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/instrument)
foreach(output IN LISTS made)
    string(REGEX REPLACE ".*_([a-z]+)\\.[a-z]+$" "\\1" make ${output})
    add_custom_command(OUTPUT ${output}
        COMMAND ${GLINT_AWK} -v make=${make} -f ${script} ${templates} > ${output}
        DEPENDS ${script} ${templates}
        VERBATIM)
endforeach()
file(GLOB sources CONFIGURE_DEPENDS src/instrument/*.c)
set_source_files_properties(${sources} PROPERTIES
    INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/instrument OBJECT_DEPENDS "${made}")
