// SPDX-License-Identifier: Apache-2.0
// How to go from a frame to its caller's, read from the call frame information (.eh_frame) that
// compilers leave in every executable and library. Only what nearly all code needs can be said
// here: for the rest the answer is CFI_OTHER, and libgcc's unwinder knows. x86_64 and aarch64.
#ifndef GLINT_INJECT_STACK_CFI_H
#define GLINT_INJECT_STACK_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The CFA is the stack pointer that the caller has once the call has returned.
enum stack_cfi_kind {
    CFI_STOP = 0, // nothing is known of this code
    CFI_END,      // the outermost frame
    CFI_SP,       // CFA = stack pointer + cfa_offset
    CFI_FP,       // CFA = frame pointer + cfa_offset
    CFI_FP_DEREF, // CFA = what is at frame pointer + cfa_offset (x86_64: realigned stacks)
    CFI_OTHER,    // more than can be said here
    CFI_LINK,     // as CFI_SP, and the return address is still in the link register: so only the
                  // innermost frame can be, of a function that was interrupted
};

enum stack_cfi_fp { // where the caller's frame pointer is
    CFI_FP_SAME = 0,
    CFI_FP_AT_CFA, // saved at CFA + fp_offset
    CFI_FP_AT_FP,  // saved at frame pointer + fp_offset
    CFI_FP_LOST,
};

struct stack_cfi_rule {
    uint8_t kind;  // enum stack_cfi_kind
    uint8_t fp;    // enum stack_cfi_fp
    uint8_t signs; // the return address is signed (aarch64)
    int32_t cfa_offset;
    int32_t ra_offset; // the return address is saved at CFA + ra_offset
    int32_t fp_offset;
};

// What an image in memory has: its PT_GNU_EH_FRAME segment, and the bytes around it that may be
// read, which hold .eh_frame too.
struct stack_cfi_tables {
    const unsigned char *header; // NULL: none
    size_t header_bytes;
    const unsigned char *readable, *readable_end;
};

// The rule that holds where the instruction at address pc is executed. Takes no memory and reads
// nothing outside the tables, whatever they hold.
struct stack_cfi_rule stack_cfi_find(const struct stack_cfi_tables *tables, uint64_t pc);

#endif
