// SPDX-License-Identifier: Apache-2.0
// The kernel passes the address of the headers to each program. PT_PHDR says where they lie in the
// file; an executable without it is not moved.
#include "executable.h"

#include <sys/auxv.h>

bool util_find_executable(struct util_executable *found)
{
    const uint64_t address = getauxval(AT_PHDR);
    *found = (struct util_executable){
        .headers = (const ElfW(Phdr) *)(uintptr_t)address, // NOLINT(performance-no-int-to-ptr)
        .count = (unsigned)getauxval(AT_PHNUM),
        .start = UINT64_MAX,
    };
    if (!found->headers || getauxval(AT_PHENT) != sizeof(ElfW(Phdr)))
        return false;
    for (unsigned i = 0; i < found->count; i++) {
        if (found->headers[i].p_type == PT_PHDR)
            found->bias = address - found->headers[i].p_vaddr;
    }
    for (unsigned i = 0; i < found->count; i++) {
        const uint64_t from = found->bias + found->headers[i].p_vaddr,
                       to = from + found->headers[i].p_memsz;
        if (found->headers[i].p_type != PT_LOAD)
            continue;
        found->start = from < found->start ? from : found->start;
        found->end = to > found->end ? to : found->end;
    }
    return found->start < found->end;
}
