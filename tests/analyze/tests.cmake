# SPDX-License-Identifier: Apache-2.0
# The tests of src/analyze use internal headers of the part.
file(GLOB sources CONFIGURE_DEPENDS analyze/test_*.c)
foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    string(REGEX REPLACE "^test_" "" name ${stem})
    if(TARGET test_analyze_${name})
        target_include_directories(test_analyze_${name} PRIVATE ${PROJECT_SOURCE_DIR}/src/analyze)
    endif()
endforeach()

# Tests from end to end: programs that show patterns are recorded, and the JSON reports are checked.
if(TARGET glint_inject_preload AND TARGET glint_libcuda)
    foreach(name fixture fixture_parts)
        add_executable(analyze_${name} analyze/${name}.c)
        set_target_properties(analyze_${name} PROPERTIES
            OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/analyze)
        target_include_directories(analyze_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include)
        target_link_libraries(analyze_${name} PRIVATE glint_libcuda ${CMAKE_DL_LIBS})
        if(NOT CMAKE_CROSSCOMPILING)
            string(REPLACE fixture fixtures tests ${name})
            glint_test(analyze.${tests} ${CMAKE_CURRENT_SOURCE_DIR}/analyze/fixtures.sh $<TARGET_FILE:analyze_${name}>
                ${tests}.expected)
            set_property(TEST analyze.${tests} APPEND PROPERTY ENVIRONMENT
                ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0)
        endif()
    endforeach()
endif()
