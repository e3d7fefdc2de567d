# SPDX-License-Identifier: Apache-2.0
# The tests that include failing_memory.h have their calls of the allocator led through it.

foreach(name IN ITEMS arena array file intervals map str)
    if(TARGET test_base_${name})
        target_link_options(test_base_${name} PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
    endif()
endforeach()
