// SPDX-License-Identifier: Apache-2.0
// Makes the machine code that replaces the beginning of a function. These are pure functions from
// addresses to bytes, for x86_64 and aarch64 on either host, so that both are tested everywhere.
//
// A call of a redirected function goes through a slot, a word in memory that holds the target's
// address. The code preserves all argument registers and leaves the slot's address in a register
// that calls through a linkage table may overwrite: r11 on x86_64, x17 on aarch64 (where x16 is
// overwritten too). By it, the slot's first target knows which function was called.
#ifndef GLINT_GPUSIM_REDIRECT_PATCH_H
#define GLINT_GPUSIM_REDIRECT_PATCH_H

#include <stddef.h>
#include <stdint.h>

enum redirect_machine { REDIRECT_X86_64, REDIRECT_AARCH64 };

enum { REDIRECT_PATCH_BYTES = 20 }; // the longest

// Makes position-independent code that jumps to the slot's target. Returns its length.
size_t redirect_patch_slot(enum redirect_machine machine, uint64_t slot,
                           unsigned char code[REDIRECT_PATCH_BYTES]);

// Makes a jump to code nearby, for functions that are too short for redirect_patch_slot(). Returns
// its length, or 0 if the target is out of reach or, on aarch64, not aligned.
size_t redirect_patch_jump(enum redirect_machine machine, uint64_t from, uint64_t to,
                           unsigned char code[REDIRECT_PATCH_BYTES]);

// Makes a return instruction, for constructors. Returns its length.
size_t redirect_patch_return(enum redirect_machine machine,
                             unsigned char code[REDIRECT_PATCH_BYTES]);

#endif
