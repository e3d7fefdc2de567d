// SPDX-License-Identifier: Apache-2.0
// The machine code that takes the place of a function's beginning: pure functions from addresses to
// bytes, for x86_64 and aarch64 alike whatever the host, so that both are tested everywhere.
// Internal to src/gpusim.
//
// A call of a redirected function goes through a slot, a word in memory that holds the address to
// go to. The code keeps all registers that carry arguments and leaves the slot's address in the one
// register that calls through a linkage table may spoil: r11 on x86_64, x17 on aarch64. (x16 too is
// spoilt there.) So what the slot first leads to can tell which function was called.
#ifndef GLINT_GPUSIM_REDIRECT_PATCH_H
#define GLINT_GPUSIM_REDIRECT_PATCH_H

#include <stddef.h>
#include <stdint.h>

enum redirect_machine { REDIRECT_X86_64, REDIRECT_AARCH64 };

enum { REDIRECT_PATCH_BYTES = 20 }; // the longest

// Code that goes where the slot says; runs at any address. Returns its length.
size_t redirect_patch_slot(enum redirect_machine machine, uint64_t slot,
                           unsigned char code[REDIRECT_PATCH_BYTES]);

// For functions too short for that: a jump to code nearby. Returns its length, or 0 where the
// target is out of its reach or, on aarch64, not aligned.
size_t redirect_patch_jump(enum redirect_machine machine, uint64_t from, uint64_t to,
                           unsigned char code[REDIRECT_PATCH_BYTES]);

// For constructors: a return. Returns its length.
size_t redirect_patch_return(enum redirect_machine machine,
                             unsigned char code[REDIRECT_PATCH_BYTES]);

#endif
