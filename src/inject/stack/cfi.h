// SPDX-License-Identifier: Apache-2.0
// Rules for getting from a frame to its caller's, read from the call frame information (.eh_frame)
// of executables and libraries. The structures here express the rules of nearly all code; for
// others the result is CFI_OTHER, and libgcc's unwinder is used. x86_64 and aarch64.
#ifndef GLINT_INJECT_STACK_CFI_H
#define GLINT_INJECT_STACK_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The CFA is the stack pointer that the caller has once the call has returned.
enum stack_cfi_kind {
    CFI_STOP = 0, // no information about this code
    CFI_END,      // the outermost frame
    CFI_SP,       // CFA = stack pointer + cfa_offset
    CFI_FP,       // CFA = frame pointer + cfa_offset
    CFI_FP_DEREF, // CFA = the word at frame pointer + cfa_offset (x86_64: realigned stacks)
    CFI_OTHER,    // cannot be expressed here
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

// The tables of an image in memory: its PT_GNU_EH_FRAME segment, and the readable bytes around it,
// which include .eh_frame.
struct stack_cfi_tables {
    const unsigned char *header; // NULL: none
    size_t header_bytes;
    const unsigned char *readable, *readable_end;
};

// Returns the rule for the instruction at address pc. Allocates nothing and reads nothing outside
// of the tables, whatever they contain.
struct stack_cfi_rule stack_cfi_find(const struct stack_cfi_tables *tables, uint64_t pc);

#endif
