// SPDX-License-Identifier: Apache-2.0
// ENTRY(room, name) defines a function that keeps the caller's return address and registers in
// place, because the function that it leads to examines them (dlsym's RTLD_NEXT, dlopen's paths,
// swapcontext). `name` calls `room_choose_name` with its first three arguments and the caller's
// return address. It then jumps to the address that this returns, with its first three arguments
// unchanged.
#ifndef GLINT_INJECT_UTIL_ENTRY_H
#define GLINT_INJECT_UTIL_ENTRY_H

#if defined(__x86_64__)
#define ENTRY(room, name)                                                       \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n" \
            "    .cfi_startproc\n    endbr64\n"                                 \
            "    push %rdi\n    .cfi_adjust_cfa_offset 8\n"                     \
            "    push %rsi\n    .cfi_adjust_cfa_offset 8\n"                     \
            "    push %rdx\n    .cfi_adjust_cfa_offset 8\n"                     \
            "    mov 24(%rsp), %rcx\n"                                          \
            "    call " #room "_choose_" #name "\n"                             \
            "    pop %rdx\n    .cfi_adjust_cfa_offset -8\n"                     \
            "    pop %rsi\n    .cfi_adjust_cfa_offset -8\n"                     \
            "    pop %rdi\n    .cfi_adjust_cfa_offset -8\n"                     \
            "    jmp *%rax\n    .cfi_endproc\n.size " #name ", . - " #name "\n")
#elif defined(__aarch64__)
#define ENTRY(room, name)                                                                      \
    __asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name ":\n"                \
            "    .cfi_startproc\n    hint #34\n"                                               \
            "    stp x29, x30, [sp, #-48]!\n"                                                  \
            "    .cfi_def_cfa_offset 48\n    .cfi_offset x29, -48\n    .cfi_offset x30, -40\n" \
            "    mov x29, sp\n    stp x0, x1, [sp, #16]\n    str x2, [sp, #32]\n"              \
            "    mov x3, x30\n    bl " #room "_choose_" #name "\n"                             \
            "    mov x16, x0\n    ldp x0, x1, [sp, #16]\n    ldr x2, [sp, #32]\n"              \
            "    ldp x29, x30, [sp], #48\n"                                                    \
            "    .cfi_restore x29\n    .cfi_restore x30\n    .cfi_def_cfa_offset 0\n"          \
            "    br x16\n    .cfi_endproc\n.size " #name ", . - " #name "\n")
#endif

#endif
