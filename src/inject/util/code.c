// SPDX-License-Identifier: Apache-2.0
// Which code in an image of device code a device runs.
#include "code.h"

unsigned util_code_fitness(const struct fatbin_entry *entry, unsigned major, unsigned minor)
{
    const unsigned device = major * 10 + minor;
    const bool same = entry->arch == device, family = entry->arch / 10 == major;
    if (entry->arch > device || (entry->arch_suffix == 'a' && !same) ||
        (entry->arch_suffix == 'f' && !family))
        return 0;
    switch (entry->kind) {
    case FATBIN_CUBIN: return family ? 10000 + entry->arch : 0;
    case FATBIN_PTX: return 1 + entry->arch;
    default: return 0;
    }
}

bool util_code_is_taken(const struct fatbin_image *image, const struct fatbin_entry *ptx,
                        unsigned major, unsigned minor)
{
    const struct fatbin_entry *best = NULL;
    for (size_t i = 0; i < image->entries.count; i++) {
        const struct fatbin_entry *entry = &image->entries.items[i];
        if (entry->fatbin_index == ptx->fatbin_index &&
            util_code_fitness(entry, major, minor) >
                (best ? util_code_fitness(best, major, minor) : 0))
            best = entry;
    }
    return best && best->arch == ptx->arch && best->arch_suffix == ptx->arch_suffix;
}
