# SPDX-License-Identifier: Apache-2.0
# In the test that includes failing_memory.h, the linker redirects calls of the allocator to it.

if(TARGET test_cache_memory)
    target_link_options(test_cache_memory PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
endif()
