// SPDX-License-Identifier: Apache-2.0
// The patch of a tool for the vendor's Sanitizer API that does nothing: it measures what the API
// itself costs. It is called for each access of a thread to global memory.
#include <sanitizer_patching.h>

extern "C" __device__ __noinline__ SanitizerPatchResult noop_access(void *user, uint64_t pc,
                                                                    void *address, uint32_t bytes,
                                                                    uint32_t flags,
                                                                    const void *value)
{
    (void)user, (void)pc, (void)address, (void)bytes, (void)flags, (void)value;
    return SANITIZER_PATCH_SUCCESS;
}
