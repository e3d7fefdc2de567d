// SPDX-License-Identifier: Apache-2.0
// Which of the code in an image of device code a device takes.
#include "code.h"

unsigned code_fitness(const struct fatbin_entry *entry, unsigned major, unsigned minor)
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
