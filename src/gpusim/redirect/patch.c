// SPDX-License-Identifier: Apache-2.0
// Makes the machine code that replaces the beginning of a function.
#include "patch.h"

// Both machines are little-endian in code and data.
static void put(unsigned char *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

size_t redirect_patch_slot(enum redirect_machine machine, uint64_t slot,
                           unsigned char code[REDIRECT_PATCH_BYTES])
{
    if (machine == REDIRECT_X86_64) {
        put(code, 0xbb49, 2); // movabs $slot, %r11
        put(code + 2, slot, 8);
        put(code + 10, 0x23ff41, 3); // jmp *(%r11)
        return 13;
    }
    put(code, 0x58000071, 4);     // ldr x17, . + 12
    put(code + 4, 0xf9400230, 4); // ldr x16, [x17]
    put(code + 8, 0xd61f0200, 4); // br x16
    put(code + 12, slot, 8);
    return 20;
}

size_t redirect_patch_jump(enum redirect_machine machine, uint64_t from, uint64_t to,
                           unsigned char code[REDIRECT_PATCH_BYTES])
{
    if (machine == REDIRECT_X86_64) {
        int64_t distance = (int64_t)(to - (from + 5));
        if (distance < INT32_MIN || distance > INT32_MAX)
            return 0;
        code[0] = 0xe9; // jmp distance
        put(code + 1, (uint64_t)distance, 4);
        return 5;
    }
    int64_t distance = (int64_t)(to - from);
    int64_t reach = INT64_C(1) << 27;
    if (distance % 4 != 0 || distance < -reach || distance >= reach)
        return 0;
    put(code, 0x14000000 | ((uint64_t)(distance / 4) & 0x3ffffff), 4); // b distance
    return 4;
}

size_t redirect_patch_return(enum redirect_machine machine,
                             unsigned char code[REDIRECT_PATCH_BYTES])
{
    if (machine == REDIRECT_X86_64) {
        code[0] = 0xc3; // ret
        return 1;
    }
    put(code, 0xd65f03c0, 4); // ret
    return 4;
}
