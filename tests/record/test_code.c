// SPDX-License-Identifier: Apache-2.0
// What single machine instructions do: known answers, and bytes that end too early.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "record/code.h"

enum { ADDRESS = 0x1000, UNDECODED = 1, READS = 2, WRITES = 4 };

struct known {
    const char *text, *code; // code: hexadecimal
    unsigned how;
    enum record_code_flow flow; // 0: NEXT
    uint64_t target, slot;
};

static const struct known x86[] = {
    {"test %eax,%eax", "85c0", READS, 0, 0, 0},
    {"cmp $1,%ebx", "83fb01", 0, 0, 0, 0},
    {"mov %eax,-4(%rbp)", "8945fc", READS, 0, 0, 0},
    {"mov -4(%rbp),%eax", "8b45fc", WRITES, 0, 0, 0},
    {"mov %rax,%rdi", "4889c7", READS, 0, 0, 0},
    {"mov %eax,%eax", "89c0", READS | WRITES, 0, 0, 0},
    {"mov (%rax,%rbx,4),%ecx", "8b0c98", READS, 0, 0, 0},
    {"mov (%rbx,%rax,2),%ecx", "8b0c43", READS, 0, 0, 0},
    {"mov (%rbx,%rcx,8),%rax", "488b04cb", WRITES, 0, 0, 0},
    {"mov %r8d,%ecx", "4489c1", 0, 0, 0, 0},
    {"mov %ecx,%r8d", "4189c8", 0, 0, 0, 0},
    {"lea 8(%rsp),%rax", "488d442408", WRITES, 0, 0, 0},
    {"lea 8(%rax),%rcx", "488d4808", READS, 0, 0, 0},
    {"xor %eax,%eax", "31c0", WRITES, 0, 0, 0},
    {"sub %eax,%eax", "29c0", WRITES, 0, 0, 0},
    {"xor %ecx,%eax", "31c8", READS | WRITES, 0, 0, 0},
    {"xor %eax,%ecx", "31c1", READS, 0, 0, 0},
    {"xor %r8d,%r8d", "4531c0", 0, 0, 0, 0},
    {"and $0x100,%ebx", "81e300010000", 0, 0, 0, 0},
    {"add $8,%eax", "83c008", READS | WRITES, 0, 0, 0},
    {"cmp $0x1000,%eax", "3d00100000", READS, 0, 0, 0},
    {"cmp $0,%al", "3c00", READS, 0, 0, 0},
    {"sete %al", "0f94c0", UNDECODED, 0, 0, 0},
    {"sete %cl", "0f94c1", 0, 0, 0, 0},
    {"movzbl %al,%eax", "0fb6c0", READS | WRITES, 0, 0, 0},
    {"movzbl %cl,%eax", "0fb6c1", WRITES, 0, 0, 0},
    {"mov $7,%eax", "b807000000", WRITES, 0, 0, 0},
    {"movabs $0x1122334455667788,%rax", "48b88877665544332211", WRITES, 0, 0, 0},
    {"movl $5,(%rsp)", "c7042405000000", 0, 0, 0, 0},
    {"movl $5,(%rax)", "c70005000000", READS, 0, 0, 0},
    {"mov $1,%al", "b001", UNDECODED, 0, 0, 0},
    {"mov %ah,%cl", "88e1", READS, 0, 0, 0},
    {"push %rax", "50", READS, 0, 0, 0},
    {"push %r8", "4150", 0, 0, 0, 0},
    {"pop %rax", "58", WRITES, 0, 0, 0},
    {"xchg %eax,%ecx", "91", READS | WRITES, 0, 0, 0},
    {"cltq", "4898", READS | WRITES, 0, 0, 0},
    {"cltd", "99", READS, 0, 0, 0},
    {"shl $2,%eax", "c1e002", READS | WRITES, 0, 0, 0},
    {"imul %ebx,%ecx", "0fafcb", 0, 0, 0, 0},
    {"imul $3,%ebx,%eax", "6bc303", WRITES, 0, 0, 0},
    {"idiv %ecx", "f7f9", READS | WRITES, 0, 0, 0},
    {"neg %eax", "f7d8", READS | WRITES, 0, 0, 0},
    {"not %ecx", "f7d1", 0, 0, 0, 0},
    {"inc %eax", "ffc0", READS | WRITES, 0, 0, 0},
    {"cmove %ecx,%eax", "0f44c1", READS | WRITES, 0, 0, 0},
    {"bswap %eax", "0fc8", READS | WRITES, 0, 0, 0},
    {"cvtsi2sd %eax,%xmm0", "f20f2ac0", READS, 0, 0, 0},
    {"cvttsd2si %xmm0,%eax", "f20f2cc0", WRITES, 0, 0, 0},
    {"movd %xmm0,%eax", "660f7ec0", WRITES, 0, 0, 0},
    {"movq %xmm0,%xmm1", "f30f7ec8", 0, 0, 0, 0},
    {"movaps %xmm0,(%rsp)", "0f290424", 0, 0, 0, 0},
    {"pshufd $0x4e,%xmm0,%xmm1", "660f70c84e", 0, 0, 0, 0},
    {"endbr64", "f30f1efa", 0, 0, 0, 0},
    {"nopw 0(%rax,%rax)", "660f1f0400", READS, 0, 0, 0},
    {"nop", "90", 0, 0, 0, 0},
    {"leave", "c9", 0, 0, 0, 0},
    {"cpuid", "0fa2", UNDECODED, 0, 0, 0},
    {"lock cmpxchg %ecx,(%rbx)", "f00fb10b", UNDECODED, 0, 0, 0},
    {"ud2", "0f0b", 0, RECORD_CODE_STOP, 0, 0},
    {"int3", "cc", 0, RECORD_CODE_STOP, 0, 0},
    {"ret", "c3", 0, RECORD_CODE_RETURN, 0, 0},
    {"jmp .+0x40", "eb3e", 0, RECORD_CODE_JUMP, 0x1040, 0},
    {"jmp .-0x400", "e9fbfbffff", 0, RECORD_CODE_JUMP, 0xc00, 0},
    {"je .+0x10", "740e", 0, RECORD_CODE_BRANCH, 0x1010, 0},
    {"jne .+0x1000", "0f85fa0f0000", 0, RECORD_CODE_BRANCH, 0x2000, 0},
    {"call .+0x100", "e8fb000000", 0, RECORD_CODE_CALL, 0x1100, 0},
    {"call *8(%rip)", "ff1508000000", 0, RECORD_CODE_CALL, 0, 0x100e},
    {"jmp *0x2000(%rip)", "ff2500200000", 0, RECORD_CODE_LEAVE, 0, 0x3006},
    {"call *%rdx", "ffd2", 0, RECORD_CODE_CALL, 0, 0},
    {"call *%rax", "ffd0", READS, RECORD_CODE_CALL, 0, 0},
    {"jmp *%rdx", "ffe2", 0, RECORD_CODE_LEAVE, 0, 0},
    {"jmp *(%rdx,%rax,8)", "ff24c2", READS, RECORD_CODE_LEAVE, 0, 0},
};

static const struct known arm[] = {
    {"cbz w0, .+0x20", "00010034", READS, RECORD_CODE_BRANCH, 0x1020, 0},
    {"cbnz w19, .-0x40", "13feff35", 0, RECORD_CODE_BRANCH, 0xfc0, 0},
    {"tbz w0, #3, .+0x20", "00011836", READS, RECORD_CODE_BRANCH, 0x1020, 0},
    {"b.ne .+0x10", "81000054", 0, RECORD_CODE_BRANCH, 0x1010, 0},
    {"b .+0x400", "00010014", 0, RECORD_CODE_JUMP, 0x1400, 0},
    {"bl .-0x1000", "00fcff97", 0, RECORD_CODE_CALL, 0x0, 0},
    {"blr x8", "00013fd6", 0, RECORD_CODE_CALL, 0, 0},
    {"blr x0", "00003fd6", READS, RECORD_CODE_CALL, 0, 0},
    {"br x2", "40001fd6", 0, RECORD_CODE_LEAVE, 0, 0},
    {"ret", "c0035fd6", 0, RECORD_CODE_RETURN, 0, 0},
    {"brk #0x1", "200020d4", 0, RECORD_CODE_STOP, 0, 0},
    {"nop", "1f2003d5", 0, 0, 0, 0},
    {"bti c", "5f2403d5", 0, 0, 0, 0},
    {"mov w19, w0", "f303002a", READS, 0, 0, 0},
    {"mov w0, w19", "e003132a", WRITES, 0, 0, 0},
    {"mov w0, #5", "a0008052", WRITES, 0, 0, 0},
    {"movk w0, #5, lsl #16", "a000a072", READS | WRITES, 0, 0, 0},
    {"cmp w0, #0", "1f000071", READS, 0, 0, 0},
    {"cmp w19, w20", "7f02146b", 0, 0, 0, 0},
    {"add x0, sp, #16", "e0430091", WRITES, 0, 0, 0},
    {"adrp x0, .+0x1000", "00000090", WRITES, 0, 0, 0},
    {"and w0, w0, #0xff", "001c0012", READS | WRITES, 0, 0, 0},
    {"sxtw x0, w1", "207c4093", WRITES, 0, 0, 0},
    {"bfi w0, w1, #4, #4", "200c1c33", READS | WRITES, 0, 0, 0},
    {"bfi w1, w0, #4, #4", "010c1c33", READS, 0, 0, 0},
    {"csel w0, w1, w2, eq", "2000821a", WRITES, 0, 0, 0},
    {"ccmp w0, #0, #0, ne", "0018407a", READS, 0, 0, 0},
    {"ccmp w1, #0, #0, ne", "2018407a", 0, 0, 0, 0},
    {"madd w1, w2, w3, w0", "4100031b", READS, 0, 0, 0},
    {"str w0, [sp, #12]", "e00f00b9", READS, 0, 0, 0},
    {"str w1, [x0]", "010000b9", READS, 0, 0, 0},
    {"ldr w0, [sp, #12]", "e00f40b9", WRITES, 0, 0, 0},
    {"ldr w1, [x0, #8]", "010840b9", READS, 0, 0, 0},
    {"ldr x0, [x0]", "000040f9", READS | WRITES, 0, 0, 0},
    {"ldr x1, [x2, x0, lsl #3]", "417860f8", READS, 0, 0, 0},
    {"ldr x1, [x0], #8", "018440f8", READS | WRITES, 0, 0, 0},
    {"stp x29, x30, [sp, #-16]!", "fd7bbfa9", 0, 0, 0, 0},
    {"stp x0, x1, [sp]", "e00700a9", READS, 0, 0, 0},
    {"ldp x1, x0, [sp]", "e10340a9", WRITES, 0, 0, 0},
    {"ldp x29, x30, [sp], #16", "fd7bc1a8", 0, 0, 0, 0},
    {"ldr d0, [sp]", "e00340fd", 0, 0, 0, 0},
    {"str d0, [x0]", "000000fd", READS, 0, 0, 0},
    {"fadd d0, d0, d1", "0028611e", 0, 0, 0, 0},
    {"fmov d1, x0", "0100679e", UNDECODED, 0, 0, 0},
    {"scvtf d2, w1", "2200621e", UNDECODED, 0, 0, 0},
    {"ldxr w0, [x1]", "207c5f88", UNDECODED, 0, 0, 0},
    {"ldadd w1, w2, [x3]", "620021b8", UNDECODED, 0, 0, 0},
    {"mrs x0, tpidr_el0", "40d03bd5", UNDECODED, 0, 0, 0},
};

typedef struct record_code decode(const unsigned char *code, size_t bytes, uint64_t address);

static size_t bytes_of(const char *text, unsigned char *bytes)
{
    const size_t count = strlen(text) / 2;
    for (size_t i = 0; i < count; i++)
        bytes[i] =
            (unsigned char)strtoul((const char[]){text[2 * i], text[2 * i + 1], 0}, NULL, 16);
    return count;
}

static void check(const struct known *known, size_t count, decode *as)
{
    for (size_t i = 0; i < count; i++) {
        const struct known *row = &known[i];
        unsigned char bytes[16];
        const size_t length = bytes_of(row->code, bytes);
        // A copy of exactly this size, so that sanitizers see what is read beyond it.
        for (size_t cut = 0; cut <= length; cut++) {
            unsigned char *copy = malloc(cut ? cut : 1);
            assert_non_null(copy);
            memcpy(copy, bytes, cut);
            const struct record_code code = as(copy, cut, ADDRESS);
            free(copy);
            if (cut < length || row->how & UNDECODED) {
                // Some instructions are the start of others.
                if (code.flow != RECORD_CODE_UNDECODED && (cut == length || code.bytes > cut))
                    fail_msg("%s is decoded of %zu bytes", row->text, cut);
                continue;
            }
            if (code.flow != (row->flow ? row->flow : RECORD_CODE_NEXT) || code.bytes != length ||
                code.reads != !!(row->how & READS) || code.writes != !!(row->how & WRITES) ||
                code.target != row->target || code.slot != row->slot)
                fail_msg("%s: flow %d, %u bytes, reads %d, writes %d, target %llx, slot %llx",
                         row->text, (int)code.flow, code.bytes, code.reads, code.writes,
                         (unsigned long long)code.target, (unsigned long long)code.slot);
        }
    }
}

static void instructions_of_x86_are_known(void **state)
{
    (void)state;
    check(x86, sizeof(x86) / sizeof(x86[0]), record_code_x86);
}

static void instructions_of_arm_are_known(void **state)
{
    (void)state;
    check(arm, sizeof(arm) / sizeof(arm[0]), record_code_arm);
}

// With and without the addition, which newer linkers leave out for full RELRO; near misses.
static void stubs_of_arm_are_one_instruction(void **state)
{
    (void)state;
    static const struct {
        uint32_t words[4];
        uint32_t bytes;
        uint64_t slot;
    } stubs[] = {
        {{0x90000010, 0xf9400a11, 0x91004210, 0xd61f0220}, 16, 0x1010},
        {{0xb0000010, 0xf9400a11, 0xd61f0220, 0xd503201f}, 12, 0x2010},
        {{0xf0fffff0, 0xf9400e11, 0x91006210, 0xd61f0220}, 16, 0x18},
        {{0x90000011, 0xf9400a11, 0x91004210, 0xd61f0220}, 4, 0},
        {{0x90000010, 0xf9400a12, 0x91004210, 0xd61f0220}, 4, 0},
        {{0x90000010, 0xf9400a11, 0x91004210, 0xd61f0200}, 4, 0},
    };
    for (size_t i = 0; i < sizeof(stubs) / sizeof(stubs[0]); i++) {
        const struct record_code code =
            record_code_arm((const unsigned char *)stubs[i].words, 16, ADDRESS);
        assert_int_equal(code.flow, stubs[i].slot ? RECORD_CODE_LEAVE : RECORD_CODE_NEXT);
        assert_int_equal(code.bytes, stubs[i].bytes);
        assert_int_equal(code.slot, stubs[i].slot);
    }
}

// clang tells functions with variable arguments in al how many vector registers are used.
static void al_alone_is_set_just_before_a_call(void **state)
{
    (void)state;
    const unsigned char call[] = {0xb0, 0, 0xe8, 0, 0, 0, 0}, other[] = {0xb0, 0, 0x84, 0xc0};
    const struct record_code code = record_code_x86(call, sizeof(call), ADDRESS);
    assert_int_equal(code.flow, RECORD_CODE_NEXT);
    assert_true(code.writes && !code.reads);
    assert_int_equal(record_code_x86(other, sizeof(other), ADDRESS).flow, RECORD_CODE_UNDECODED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_of_x86_are_known),
        cmocka_unit_test(instructions_of_arm_are_known),
        cmocka_unit_test(stubs_of_arm_are_one_instruction),
        cmocka_unit_test(al_alone_is_set_just_before_a_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
