// SPDX-License-Identifier: Apache-2.0
// Where patched functions lead at first: machine code that calls C. Both entries are jumped to with
// the slot's address in r11 (x86_64) or x17 (aarch64), as redirect_patch_slot() makes it, and with
// everything else as the caller of the patched function left it. Internal to src/gpusim.
#ifndef GLINT_GPUSIM_REDIRECT_ENTRY_H
#define GLINT_GPUSIM_REDIRECT_ENTRY_H

struct redirect_slot;

#pragma GCC visibility push(hidden) // called by name from assembly, without a linkage table

// Has the slot bound, then calls what it leads to.
void redirect_bind_entry(void);
// Returns to the caller what redirect_missing() returns.
void redirect_missing_entry(void);

// Both in redirect.c.
void redirect_bind(struct redirect_slot *slot);
long redirect_missing(struct redirect_slot *slot);

#pragma GCC visibility pop

#endif
