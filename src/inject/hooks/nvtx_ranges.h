// SPDX-License-Identifier: Apache-2.0
// Ranges of time that a program announces through NVTX. They are recorded, and launches may be
// watched only inside of some of them (probe/range.h).
#ifndef GLINT_INJECT_HOOKS_NVTX_RANGES_H
#define GLINT_INJECT_HOOKS_NVTX_RANGES_H

#include "cudaabi/cudaabi.h"

// Stores functions into the tables of a copy of NVTX, of which each library of the program may have
// its own.
void hooks_nvtx_ranges_join(NvtxGetExportTableFunc_t get_export_table);

// Does the same for the extension for payloads, whose ranges end as others do. Returns 1 if the
// extension is used.
int hooks_nvtx_ranges_join_payloads(const nvtxExtModuleInfo_t *module);

#endif
