# SPDX-License-Identifier: Apache-2.0
# The test that includes failing_memory.h has its calls of the allocator led through it.

if(TARGET test_ptx_memory)
    target_link_options(test_ptx_memory PRIVATE -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc)
endif()
