// SPDX-License-Identifier: Apache-2.0
// Decodes instructions of aarch64 by their classes. Of rarer classes only those instructions are
// decoded that do not name register 0 in any of their fields.
#include "code.h"

#include <string.h>

enum { STUB_SCRATCH = 16, STUB_TARGET = 17 };

static uint32_t bits(uint32_t word, unsigned from, unsigned count)
{
    return word >> from & ((1u << count) - 1);
}

static bool has(uint32_t word, uint32_t mask, uint32_t value)
{
    return (word & mask) == value;
}

// Sign-extends the lowest bits.
static int64_t extend(uint64_t value, unsigned count)
{
    return (int64_t)(value << (64 - count)) >> (64 - count);
}

static unsigned field_d(uint32_t word)
{
    return bits(word, 0, 5);
}

static unsigned field_n(uint32_t word)
{
    return bits(word, 5, 5);
}

static unsigned field_a(uint32_t word)
{
    return bits(word, 10, 5);
}

static unsigned field_m(uint32_t word)
{
    return bits(word, 16, 5);
}

// Of an instruction that is not decoded further: it has no effect on register 0 if it names it
// nowhere.
static enum record_code_flow unless_named(uint32_t word)
{
    return field_d(word) && field_n(word) && field_a(word) && field_m(word) ? RECORD_CODE_NEXT
                                                                            : RECORD_CODE_UNDECODED;
}

static void decode_immediate(uint32_t word, struct record_code *result)
{
    result->flow = RECORD_CODE_NEXT;
    result->writes = field_d(word) == 0;
    switch (bits(word, 23, 3)) {
    case 0:
    case 1: break; // adr, adrp
    case 5:        // movn, movz, movk
        result->reads = bits(word, 29, 2) == 3 && field_d(word) == 0;
        break;
    case 6: // bit fields; bfm keeps other bits
        result->reads = field_n(word) == 0 || (bits(word, 29, 2) == 1 && field_d(word) == 0);
        break;
    case 7: result->reads = field_n(word) == 0 || field_m(word) == 0; break; // extr
    default: result->reads = field_n(word) == 0;
    }
}

static void decode_branch(uint32_t word, uint64_t address, struct record_code *result)
{
    if (has(word, 0x7c000000, 0x14000000)) { // b, bl
        result->flow = word >> 31 ? RECORD_CODE_CALL : RECORD_CODE_JUMP;
        result->target = address + (uint64_t)(extend(bits(word, 0, 26), 26) * 4);
    } else if (has(word, 0xff000000, 0x54000000)) { // b.cond
        result->flow = RECORD_CODE_BRANCH;
        result->target = address + (uint64_t)(extend(bits(word, 5, 19), 19) * 4);
    } else if (has(word, 0x7e000000, 0x34000000)) { // cbz, cbnz
        result->flow = RECORD_CODE_BRANCH;
        result->reads = field_d(word) == 0;
        result->target = address + (uint64_t)(extend(bits(word, 5, 19), 19) * 4);
    } else if (has(word, 0x7e000000, 0x36000000)) { // tbz, tbnz
        result->flow = RECORD_CODE_BRANCH;
        result->reads = field_d(word) == 0;
        result->target = address + (uint64_t)(extend(bits(word, 5, 14), 14) * 4);
    } else if (has(word, 0xfffffc1f, 0xd61f0000)) { // br
        result->flow = RECORD_CODE_LEAVE;
        result->reads = field_n(word) == 0;
    } else if (has(word, 0xfffffc1f, 0xd63f0000)) { // blr
        result->flow = RECORD_CODE_CALL;
        result->reads = field_n(word) == 0;
    } else if (has(word, 0xfffffc1f, 0xd65f0000) || has(word, 0xfffffbff, 0xd65f0bff)) {
        result->flow = RECORD_CODE_RETURN; // ret, retaa, retab
    } else if (has(word, 0xfffff01f, 0xd503201f) || has(word, 0xfffff01f, 0xd503301f)) {
        result->flow = RECORD_CODE_NEXT; // hints: nop, bti, paciasp; barriers
    } else if (has(word, 0xffe0001f, 0xd4200000)) {
        result->flow = RECORD_CODE_STOP; // brk
    }
}

// Loads and stores of general and vector registers.
static void decode_memory(uint32_t word, struct record_code *result)
{
    const bool vector = bits(word, 26, 1);
    const unsigned kind = bits(word, 27, 3);
    bool loads, base_changes = false;
    if (kind == 5) { // pairs
        const unsigned mode = bits(word, 23, 2);
        loads = bits(word, 22, 1);
        base_changes = mode & 1;
        if (!vector && loads)
            result->writes = field_d(word) == 0 || field_a(word) == 0;
        else if (!vector)
            result->reads = field_d(word) == 0 || field_a(word) == 0;
    } else if (kind == 3 && bits(word, 24, 2) == 0) { // literals
        result->flow = RECORD_CODE_NEXT;
        result->writes = !vector && bits(word, 30, 2) != 3 && field_d(word) == 0;
        return;
    } else if (kind == 7) { // one register
        const bool scaled = bits(word, 24, 1), other = bits(word, 21, 1);
        const unsigned mode = bits(word, 10, 2), operation = bits(word, 22, 2);
        const bool prefetches = !vector && operation == 2 && bits(word, 30, 2) == 3;
        if (!scaled && other && mode != 2) { // atomic operations
            result->flow = unless_named(word);
            return;
        }
        loads = operation != 0;
        base_changes = !scaled && !other && (mode & 1);
        if (!scaled && other)
            result->reads = field_m(word) == 0;
        if (!vector && !prefetches) {
            if (loads)
                result->writes = field_d(word) == 0;
            else
                result->reads |= field_d(word) == 0;
        }
    } else { // exclusive and ordered ones, and vectors of structures
        result->flow = unless_named(word);
        return;
    }
    result->flow = RECORD_CODE_NEXT;
    result->reads |= field_n(word) == 0;
    result->writes |= base_changes && field_n(word) == 0;
}

static void decode_registers(uint32_t word, struct record_code *result)
{
    result->flow = RECORD_CODE_NEXT;
    result->reads = field_n(word) == 0 || field_m(word) == 0;
    result->writes = field_d(word) == 0;
    if (has(word, 0x1f000000, 0x1b000000)) { // multiply and add
        result->reads |= field_a(word) == 0;
    } else if (has(word, 0x5fe00000, 0x5ac00000)) { // of one register
        result->reads = field_n(word) == 0;
    } else if (has(word, 0x1fe00000, 0x1a400000)) { // conditional compare
        result->reads = field_n(word) == 0 || (!bits(word, 11, 1) && field_m(word) == 0);
        result->writes = false;
    }
}

// A stub of a procedure linkage table: adrp x16; ldr x17, [x16, #N]; add x16, x16, #N; br x17. The
// addition may be missing.
static bool decode_stub(const unsigned char *code, size_t bytes, uint64_t address,
                        struct record_code *result)
{
    enum { WORDS = 4 };
    uint32_t words[WORDS] = {0};
    memcpy(words, code, bytes < sizeof(words) ? bytes & ~(size_t)3 : sizeof(words));
    const unsigned added = has(words[2], 0xffc003ff, 0x91000210);
    if (!has(words[0], 0x9f00001f, 0x90000000 | STUB_SCRATCH) ||
        !has(words[1], 0xffc003ff, 0xf9400000 | STUB_SCRATCH << 5 | STUB_TARGET) ||
        !has(words[2 + added], 0xffffffff, 0xd61f0000 | STUB_TARGET << 5))
        return false;
    const int64_t pages = extend(bits(words[0], 5, 19) << 2 | bits(words[0], 29, 2), 21);
    *result = (struct record_code){.flow = RECORD_CODE_LEAVE,
                                   .bytes = (3 + added) * 4,
                                   .slot = (address & ~UINT64_C(0xfff)) + (uint64_t)(pages * 4096) +
                                           bits(words[1], 10, 12) * 8};
    return true;
}

struct record_code record_code_arm(const unsigned char *code, size_t bytes, uint64_t address)
{
    struct record_code result = {0};
    uint32_t word;
    if (bytes < sizeof(word) || decode_stub(code, bytes, address, &result))
        return result;
    memcpy(&word, code, sizeof(word));
    const unsigned group = bits(word, 25, 4);
    if ((group & 14) == 8)
        decode_immediate(word, &result);
    else if ((group & 14) == 10)
        decode_branch(word, address, &result);
    else if ((group & 5) == 4)
        decode_memory(word, &result);
    else if ((group & 7) == 5)
        decode_registers(word, &result);
    else if ((group & 7) == 7) // of vector registers; some also name general ones
        result.flow = has(word, 0x5f200c00, 0x1e200800) ? RECORD_CODE_NEXT : unless_named(word);
    result.bytes = sizeof(word);
    if (result.flow == RECORD_CODE_UNDECODED)
        return (struct record_code){0};
    return result;
}
