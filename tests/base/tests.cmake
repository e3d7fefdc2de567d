# SPDX-License-Identifier: Apache-2.0
# In tests that include failing_memory.h, the linker redirects calls of the allocator to it.

foreach(name IN ITEMS arena array file intervals map str)
    if(TARGET test_base_${name})
        target_link_options(test_base_${name} PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
    endif()
endforeach()
