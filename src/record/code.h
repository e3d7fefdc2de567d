// SPDX-License-Identifier: Apache-2.0
// Single machine instructions of x86_64 and aarch64: their length, where they continue, and what
// they do with the register in which functions return an integer. Internal.
#ifndef GLINT_RECORD_CODE_H
#define GLINT_RECORD_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_code_flow {
    RECORD_CODE_UNDECODED = 0, // not among the instructions that are known; nothing else is set
    RECORD_CODE_NEXT,          // continues with the next instruction
    RECORD_CODE_JUMP,          // at `target`
    RECORD_CODE_BRANCH,        // at `target`, or with the next one
    RECORD_CODE_CALL,          // calls `target`, or through `slot`; both 0: through a register
    RECORD_CODE_LEAVE,         // continues elsewhere, through `slot`; 0: through a register
    RECORD_CODE_RETURN,
    RECORD_CODE_STOP, // a trap
};

struct record_code {
    enum record_code_flow flow;
    uint32_t bytes;
    bool reads;      // the register that holds a function's result, or a part of it
    bool writes;     // all of it
    uint64_t target; // an address
    uint64_t slot;   // the address of a pointer to the code
};

// Decodes the instruction at the start of `code`, of which `bytes` may be read. `address` is its
// own. The result register is eax or rax.
struct record_code record_code_x86(const unsigned char *code, size_t bytes, uint64_t address);
// The same; the result register is w0 or x0, which also passes the first argument. A stub of a
// procedure linkage table counts as one instruction, RECORD_CODE_LEAVE.
struct record_code record_code_arm(const unsigned char *code, size_t bytes, uint64_t address);

#endif
