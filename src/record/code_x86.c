// SPDX-License-Identifier: Apache-2.0
// Decodes what compilers make of C and C++ without vector extensions: the one-byte opcodes, and
// those after 0F. Instructions that write only a part of eax are not decoded, because what a later
// instruction reads would have to be followed by parts.
#include "code.h"

#include <string.h>

enum { RAX = 0, RBP = 5, AH = 4 };

struct decoding {
    const unsigned char *code;
    size_t bytes, at;
    uint64_t address;
    bool failed; // the instruction is longer than the bytes, or unknown
    bool operand16, rex, wide, repeats;
    int rex_reg, rex_index, rex_base; // 0 or 8
    int mode, reg, rm;                // of ModRM; reg and rm are register numbers
    bool is_register;                 // rm is a register, not memory
    bool address_reads;               // the address of a memory operand contains rax
    bool relative;                    // the operand is at an address relative to the next one
    int32_t displacement;
    struct record_code result;
};

static uint64_t take(struct decoding *at, unsigned bytes)
{
    uint64_t value = 0;
    if (bytes > at->bytes - at->at) {
        at->failed = true;
        return 0;
    }
    memcpy(&value, at->code + at->at, bytes);
    at->at += bytes;
    return value;
}

static int64_t take_signed(struct decoding *at, unsigned bytes)
{
    const unsigned shift = 64 - 8 * bytes;
    return (int64_t)(take(at, bytes) << shift) >> shift;
}

static void skip_immediate(struct decoding *at) // of the operand's size, at most 32 bits
{
    take(at, at->operand16 ? 2 : 4);
}

// Reads the legacy prefixes and REX, and returns the opcode's first byte.
static unsigned take_prefixes(struct decoding *at)
{
    unsigned byte = (unsigned)take(at, 1);
    for (;; byte = (unsigned)take(at, 1)) {
        const bool segment = byte == 0x2e || byte == 0x3e || byte == 0x26 || byte == 0x36 ||
                             byte == 0x64 || byte == 0x65;
        at->operand16 |= byte == 0x66;
        at->repeats |= byte == 0xf3;
        if (!segment && byte != 0x66 && byte != 0xf2 && byte != 0xf3)
            break;
    }
    if ((byte & 0xf0) == 0x40) {
        at->rex = true;
        at->wide = byte & 8;
        at->rex_reg = byte & 4 ? 8 : 0;
        at->rex_index = byte & 2 ? 8 : 0;
        at->rex_base = byte & 1 ? 8 : 0;
        byte = (unsigned)take(at, 1);
    }
    return byte;
}

static void take_operands(struct decoding *at)
{
    const unsigned byte = (unsigned)take(at, 1);
    at->mode = (int)(byte >> 6);
    at->reg = (int)(byte >> 3 & 7) + at->rex_reg;
    const int low = (int)(byte & 7);
    at->rm = low + at->rex_base;
    at->is_register = at->mode == 3;
    if (at->is_register)
        return;
    bool wide_offset = at->mode == 2;
    if (low == 4) {
        const unsigned scaled = (unsigned)take(at, 1);
        const int base = (int)(scaled & 7);
        at->address_reads = (int)(scaled >> 3 & 7) + at->rex_index == RAX;
        if (at->mode == 0 && base == RBP)
            wide_offset = true;
        else
            at->address_reads |= base + at->rex_base == RAX;
    } else if (at->mode == 0 && low == RBP) {
        at->relative = wide_offset = true;
    } else {
        at->address_reads = at->rm == RAX;
    }
    if (wide_offset)
        at->displacement = (int32_t)take_signed(at, 4);
    else if (at->mode == 1)
        at->displacement = (int32_t)take_signed(at, 1);
    at->result.reads |= at->address_reads;
}

// --- What operands do with rax -------------------------------------------------------------------

static void read_register(struct decoding *at, int number, bool byte)
{
    if (byte && !at->rex && number == AH)
        number = RAX;
    at->result.reads |= number == RAX;
}

static void write_register(struct decoding *at, int number, bool byte)
{
    if (byte && !at->rex && number == AH)
        number = RAX;
    if (number != RAX)
        return;
    at->result.writes = true;
    at->failed |= byte || (at->operand16 && !at->wide); // only a part of it
}

static void read_rm(struct decoding *at, bool byte)
{
    if (at->is_register)
        read_register(at, at->rm, byte);
}

static void write_rm(struct decoding *at, bool byte)
{
    if (at->is_register)
        write_register(at, at->rm, byte);
}

// An operation on two operands, the second of which is the result; `compares`: there is none.
static void combine(struct decoding *at, bool byte, bool to_register, bool compares)
{
    read_register(at, at->reg, byte);
    read_rm(at, byte);
    if (compares)
        return;
    if (to_register)
        write_register(at, at->reg, byte);
    else
        write_rm(at, byte);
}

// --- Opcodes -------------------------------------------------------------------------------------

static void jump(struct decoding *at, enum record_code_flow flow, unsigned bytes)
{
    const int64_t distance = take_signed(at, bytes);
    at->result.flow = flow;
    at->result.target = at->address + at->at + (uint64_t)distance;
}

// add, or, adc, sbb, and, sub, xor, cmp.
static void decode_arithmetic(struct decoding *at, unsigned opcode)
{
    const unsigned operation = opcode >> 3 & 7, form = opcode & 7;
    const bool compares = operation == 7;
    if (form > 5) {
        at->failed = true;
        return;
    }
    if (form == 4 || form == 5) { // with eax and an immediate
        if (form == 4)
            take(at, 1);
        else
            skip_immediate(at);
        at->result.reads = true;
        if (!compares)
            write_register(at, RAX, form == 4);
        return;
    }
    take_operands(at);
    // xor and sub of a register with itself set it to 0.
    const bool clears =
        (operation == 6 || operation == 5) && at->is_register && at->reg == at->rm && (form & 1);
    if (clears)
        write_rm(at, false);
    else
        combine(at, !(form & 1), form & 2, compares);
}

// F6 and F7: test, not, neg, mul, imul, div, idiv.
static void decode_unary(struct decoding *at, bool byte)
{
    take_operands(at);
    const int operation = at->reg & 7;
    read_rm(at, byte);
    if (operation < 2) {
        if (byte)
            take(at, 1);
        else
            skip_immediate(at);
    } else if (operation < 4) {
        write_rm(at, byte);
    } else {
        at->result.reads = true;
        write_register(at, RAX, byte);
    }
}

// FE and FF: inc, dec, call, jmp, push.
static void decode_group5(struct decoding *at, bool byte)
{
    take_operands(at);
    const int operation = at->reg & 7;
    const uint64_t slot = at->relative ? at->address + at->at + (uint64_t)at->displacement : 0;
    read_rm(at, byte);
    if (operation < 2) {
        write_rm(at, byte);
    } else if (!byte && (operation == 2 || operation == 4)) {
        at->result.flow = operation == 2 ? RECORD_CODE_CALL : RECORD_CODE_LEAVE;
        at->result.slot = slot;
    } else if (byte || operation != 6) {
        at->failed = true;
    }
}

// mov in all forms, lea, xchg, test.
static void decode_move(struct decoding *at, unsigned opcode)
{
    const bool byte = !(opcode & 1);
    take_operands(at);
    switch (opcode) {
    case 0x84:
    case 0x85: combine(at, byte, false, true); break;
    case 0x86:
    case 0x87:
        combine(at, byte, false, false);
        write_register(at, at->reg, byte);
        break;
    case 0x88:
    case 0x89:
        read_register(at, at->reg, byte);
        write_rm(at, byte);
        break;
    case 0x8a:
    case 0x8b:
        read_rm(at, byte);
        write_register(at, at->reg, byte);
        break;
    case 0x8d: write_register(at, at->reg, false); break;
    case 0xc6:
    case 0xc7:
        if (byte)
            take(at, 1);
        else
            skip_immediate(at);
        write_rm(at, byte);
        at->failed |= (at->reg & 7) != 0;
        break;
    default: at->failed = true;
    }
}

// Shifts and rotations, with an immediate, by one or by cl; 80 to 83, arithmetic with an immediate.
static void decode_immediate(struct decoding *at, unsigned opcode)
{
    const bool byte = !(opcode & 1), shifts = opcode >= 0xc0;
    take_operands(at);
    if (opcode == 0x81)
        skip_immediate(at);
    else if (opcode < 0xd0)
        take(at, 1);
    read_rm(at, byte);
    if (shifts || (at->reg & 7) != 7)
        write_rm(at, byte);
}

static void decode_one(struct decoding *at, unsigned opcode)
{
    const int low = (int)(opcode & 7) + at->rex_base;
    switch (opcode) {
    case 0x50 ... 0x57: read_register(at, low, false); break;
    case 0x58 ... 0x5f: write_register(at, low, false); break;
    case 0x63: // movsxd
        take_operands(at);
        read_rm(at, false);
        write_register(at, at->reg, false);
        break;
    case 0x68: skip_immediate(at); break;
    case 0x6a: take(at, 1); break;
    case 0x69:
    case 0x6b:
        take_operands(at);
        if (opcode == 0x6b)
            take(at, 1);
        else
            skip_immediate(at);
        read_rm(at, false);
        write_register(at, at->reg, false);
        break;
    case 0x70 ... 0x7f: jump(at, RECORD_CODE_BRANCH, 1); break;
    case 0x80:
    case 0x81:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xd0 ... 0xd3: decode_immediate(at, opcode); break;
    case 0x84 ... 0x8b:
    case 0x8d:
    case 0xc6:
    case 0xc7: decode_move(at, opcode); break;
    case 0x90: at->failed = low != RAX; break; // nop, pause
    case 0x91 ... 0x97:                        // xchg with rax
        at->result.reads = true;
        write_register(at, RAX, false);
        break;
    case 0x98: // cwde, cdqe
        at->result.reads = true;
        write_register(at, RAX, false);
        break;
    case 0x99: // cdq, cqo
        at->result.reads = true;
        break;
    case 0xa4:
    case 0xa5: break; // movs
    case 0xa8:
    case 0xa9:
    case 0xaa:
    case 0xab:
        if (opcode == 0xa8)
            take(at, 1);
        else if (opcode == 0xa9)
            skip_immediate(at);
        at->result.reads = true;
        break;
    case 0xb0 ... 0xb7:
        take(at, 1);
        // clang sets al alone just before it calls a function with variable arguments.
        if (opcode == 0xb0 && low == RAX && at->at < at->bytes && at->code[at->at] == 0xe8)
            at->result.writes = true;
        else
            write_register(at, low, true);
        break;
    case 0xb8 ... 0xbf:
        take(at, at->wide ? 8 : at->operand16 ? 2 : 4);
        write_register(at, low, false);
        break;
    case 0xc2:
    case 0xc3:
        if (opcode == 0xc2)
            take(at, 2);
        at->result.flow = RECORD_CODE_RETURN;
        break;
    case 0xc9: break; // leave
    case 0xcc:
    case 0xf4: at->result.flow = RECORD_CODE_STOP; break;
    case 0xe8: jump(at, RECORD_CODE_CALL, 4); break;
    case 0xe9: jump(at, RECORD_CODE_JUMP, 4); break;
    case 0xeb: jump(at, RECORD_CODE_JUMP, 1); break;
    case 0xf6:
    case 0xf7: decode_unary(at, opcode == 0xf6); break;
    case 0xfe:
    case 0xff: decode_group5(at, opcode == 0xfe); break;
    default: at->failed = true;
    }
}

// Opcodes after 0F: conditional jumps, moves and sets, extensions, and SSE, whose registers are
// others.
static void decode_two(struct decoding *at)
{
    const unsigned opcode = (unsigned)take(at, 1);
    if (opcode == 0x0b) { // ud2
        at->result.flow = RECORD_CODE_STOP;
        return;
    }
    if (opcode >= 0x80 && opcode <= 0x8f) {
        jump(at, RECORD_CODE_BRANCH, 4);
        return;
    }
    if (opcode >= 0xc8 && opcode <= 0xcf) { // bswap
        const int number = (int)(opcode & 7) + at->rex_base;
        read_register(at, number, false);
        write_register(at, number, false);
        return;
    }
    if (opcode == 0x77) // emms
        return;
    take_operands(at);
    switch (opcode) {
    case 0x0d:
    case 0x18 ... 0x1f: // prefetches, nops, endbr64
    case 0x10 ... 0x17:
    case 0x28:
    case 0x29:
    case 0x2b:
    case 0x2e:
    case 0x2f:
    case 0x51 ... 0x6d:
    case 0x6f:
    case 0x74 ... 0x76:
    case 0x7c:
    case 0x7d:
    case 0x7f:
    case 0xd0 ... 0xd6:
    case 0xd8 ... 0xfe: break;
    case 0x70:
    case 0xc2:
    case 0xc6: take(at, 1); break;
    case 0x71 ... 0x73: take(at, 1); break;
    case 0x2a: // cvtsi2sd
    case 0x6e: read_rm(at, false); break;
    case 0x7e: // movd to a register; with F3 to a vector register
        at->operand16 = false;
        if (!at->repeats)
            write_rm(at, false);
        break;
    case 0x40 ... 0x4f: // cmov
    case 0xaf:          // imul
        combine(at, false, true, false);
        break;
    case 0x90 ... 0x9f: write_rm(at, true); break;
    case 0xa3: combine(at, false, false, true); break;
    case 0xb6:
    case 0xb7:
    case 0xbe:
    case 0xbf: // movzx, movsx
        read_rm(at, !(opcode & 1));
        write_register(at, at->reg, false);
        break;
    case 0xba:
        take(at, 1);
        read_rm(at, false);
        if ((at->reg & 7) > 4)
            write_rm(at, false);
        break;
    case 0x2c:
    case 0x2d:
    case 0x50:
    case 0xd7: // conversions of vector registers
        at->operand16 = false;
        write_register(at, at->reg, false);
        break;
    default: at->failed = true;
    }
}

struct record_code record_code_x86(const unsigned char *code, size_t bytes, uint64_t address)
{
    enum { MOST_BYTES = 15 };
    struct decoding at = {.code = code,
                          .bytes = bytes < MOST_BYTES ? bytes : MOST_BYTES,
                          .address = address,
                          .result = {.flow = RECORD_CODE_NEXT}};
    const unsigned opcode = take_prefixes(&at);
    if (at.failed)
        return (struct record_code){0};
    if (opcode == 0x0f)
        decode_two(&at);
    else if (opcode < 0x40)
        decode_arithmetic(&at, opcode);
    else
        decode_one(&at, opcode);
    at.result.bytes = (uint32_t)at.at;
    if (at.failed)
        return (struct record_code){0};
    return at.result;
}
