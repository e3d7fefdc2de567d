# SPDX-License-Identifier: Apache-2.0
# The device code as a C string, for src/device/device.c: each line of reduce.ptx becomes a literal. The
# PTX is in the tree, made by src/device/regenerate, so that no CUDA toolkit is needed. Included before
# the parts are made.

find_program(GLINT_AWK NAMES awk REQUIRED)
set(ptx ${PROJECT_SOURCE_DIR}/src/device/reduce.ptx)
set(text ${PROJECT_BINARY_DIR}/device/reduce.ptx.inc)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/device)
add_custom_command(OUTPUT ${text}
    COMMAND ${GLINT_AWK} "{ gsub(/[\\\\\\\\\"]/, \"\\\\\\\\&\"); print \"\\\"\" $0 \"\\\\n\\\"\" }" ${ptx} > ${text}
    DEPENDS ${ptx}
    VERBATIM)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/device/device.c PROPERTIES
    INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/device OBJECT_DEPENDS ${text})
