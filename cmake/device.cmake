# SPDX-License-Identifier: Apache-2.0
# Converts the device code to C strings for src/device/device.c; each line of a module becomes a literal.
# The tree contains the PTX, which src/device/regenerate generates, so the build needs no CUDA toolkit.
# Included before the parts are made.

find_program(GLINT_AWK NAMES awk REQUIRED)
set(texts)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/device)
foreach(module IN ITEMS reduce reduce_few reduce_counts values values_others weigh)
    set(ptx ${PROJECT_SOURCE_DIR}/src/device/${module}.ptx)
    set(text ${PROJECT_BINARY_DIR}/device/${module}.ptx.inc)
    add_custom_command(OUTPUT ${text}
        COMMAND ${GLINT_AWK} "{ gsub(/[\\\\\\\\\"]/, \"\\\\\\\\&\"); print \"\\\"\" $0 \"\\\\n\\\"\" }" ${ptx} > ${text}
        DEPENDS ${ptx}
        VERBATIM)
    list(APPEND texts ${text})
endforeach()
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/device/device.c PROPERTIES
    INCLUDE_DIRECTORIES ${PROJECT_BINARY_DIR}/device OBJECT_DEPENDS "${texts}")
