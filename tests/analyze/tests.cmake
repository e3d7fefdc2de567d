# SPDX-License-Identifier: Apache-2.0
# The tests of src/analyze look into the part.
file(GLOB sources CONFIGURE_DEPENDS analyze/test_*.c)
foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    string(REGEX REPLACE "^test_" "" name ${stem})
    if(TARGET test_analyze_${name})
        target_include_directories(test_analyze_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src/analyze)
    endif()
endforeach()
