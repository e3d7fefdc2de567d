// SPDX-License-Identifier: Apache-2.0
// Reads .eh_frame, in DWARF's format of call frame information with the changes that the Linux
// Standard Base describes. A header with a table sorted by address leads to an FDE, and the FDE to
// its CIE. The instructions of both, run up to the wanted address, yield the rule.
#include "cfi.h"

#include <string.h>

#include "base/base.h"

#if defined(__x86_64__)
enum { REG_FP = 6, REG_SP = 7, REG_RA = 16 };
#elif defined(__aarch64__)
enum { REG_FP = 29, REG_SP = 31, REG_RA = 30 };
#endif

enum {
    PE_UDATA2 = 2,
    PE_UDATA4 = 3,
    PE_UDATA8 = 4,
    PE_SDATA2 = 10,
    PE_SDATA4 = 11,
    PE_SDATA8 = 12,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
};

enum {
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE_LOC1 = 0x02,
    CFA_ADVANCE_LOC2 = 0x03,
    CFA_ADVANCE_LOC4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER_STATE = 0x0A,
    CFA_RESTORE_STATE = 0x0B,
    CFA_DEF_CFA = 0x0C,
    CFA_DEF_CFA_REGISTER = 0x0D,
    CFA_DEF_CFA_OFFSET = 0x0E,
    CFA_DEF_CFA_EXPRESSION = 0x0F,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_AARCH64_NEGATE_RA_STATE = 0x2D,
    CFA_GNU_ARGS_SIZE = 0x2E,
    CFA_GNU_NEGATIVE_OFFSET = 0x2F,
    CFA_ADVANCE_LOC = 0x40, // with the operand in the low six bits
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xC0,
};

enum { OP_DEREF = 0x06, OP_BREG0 = 0x70 };

// --- Reading within bounds -----------------------------------------------------------------------

// Reading beyond the end yields zeros and sets `bad`.
struct reader {
    const unsigned char *at, *end;
    bool bad;
};

static uint64_t read_bytes(struct reader *reader, size_t count)
{
    uint64_t value = 0;
    if ((size_t)(reader->end - reader->at) < count) {
        reader->bad = true;
        reader->at = reader->end;
        return 0;
    }
    memcpy(&value, reader->at, count); // both architectures are little-endian
    reader->at += count;
    return value;
}

static uint64_t read_uleb(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = read_bytes(reader, 1);
        if (shift < 64)
            value |= (byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static int64_t read_sleb(struct reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint64_t byte = read_bytes(reader, 1);
        if (shift < 64)
            value |= (byte & 0x7F) << shift;
        shift += 7;
        if (!(byte & 0x80)) {
            if (shift < 64 && byte & 0x40)
                value |= UINT64_MAX << shift;
            return (int64_t)value;
        }
    }
}

// Returns a reader of `length` bytes from `at` on, or fewer if fewer are readable.
static struct reader part(const struct stack_cfi_tables *tables, const unsigned char *at,
                          size_t length)
{
    if (at < tables->readable || at >= tables->readable_end)
        return (struct reader){tables->readable, tables->readable, true};
    size_t left = (size_t)(tables->readable_end - at);
    return (struct reader){at, at + (length < left ? length : left), false};
}

// Reads the value of an encoded pointer; *known becomes false for encodings that are not used here.
static uint64_t read_encoded(struct reader *reader, unsigned encoding, bool *known)
{
    uint64_t base = 0;
    if ((encoding & 0x70) == PE_PCREL)
        base = (uint64_t)(uintptr_t)reader->at;
    else if (encoding & 0xF0)
        *known = false;
    switch (encoding & 0x0F) {
    case PE_UDATA2: return base + read_bytes(reader, 2);
    case PE_UDATA4: return base + read_bytes(reader, 4);
    case PE_SDATA2: return base + (uint64_t)(int64_t)(int16_t)read_bytes(reader, 2);
    case PE_SDATA4: return base + (uint64_t)(int64_t)(int32_t)read_bytes(reader, 4);
    case 0:
    case PE_UDATA8:
    case PE_SDATA8: return base + read_bytes(reader, 8);
    default: *known = false; return 0;
    }
}

// --- From the address to the FDE -----------------------------------------------------------------

// Returns the last FDE in the sorted table that begins at or before pc; NULL: none. *known becomes
// false if the table has a form that linkers do not write today.
static const unsigned char *find_fde(const struct stack_cfi_tables *tables, uint64_t pc,
                                     bool *known)
{
    struct reader header = part(tables, tables->header, tables->header_bytes);
    unsigned version = (unsigned)read_bytes(&header, 1);
    unsigned frame_encoding = (unsigned)read_bytes(&header, 1);
    unsigned count_encoding = (unsigned)read_bytes(&header, 1);
    unsigned table_encoding = (unsigned)read_bytes(&header, 1);
    if (header.bad || version != 1 || table_encoding != (PE_DATAREL | PE_SDATA4)) {
        *known = false;
        return NULL;
    }
    read_encoded(&header, frame_encoding, known);
    uint64_t count = read_encoded(&header, count_encoding, known);
    if (header.bad || !*known)
        return NULL;
    enum { ENTRY_BYTES = 8 }; // address and FDE, both relative to the header
    size_t most = (size_t)(header.end - header.at) / ENTRY_BYTES;
    const int64_t wanted = (int64_t)(pc - (uint64_t)(uintptr_t)tables->header);
    int32_t entry[2] = {0, 0};
    const size_t low = base_search(
        0, count < most ? (size_t)count : most, i,
        (memcpy(entry, header.at + i * ENTRY_BYTES, sizeof(entry)), entry[0] <= wanted));
    if (!low)
        return NULL;
    memcpy(entry, header.at + (low - 1) * ENTRY_BYTES, sizeof(entry));
    return (const unsigned char *)((uintptr_t)tables->header + (uintptr_t)(intptr_t)entry[1]);
}

// --- CIE -----------------------------------------------------------------------------------------

struct cie {
    uint64_t code_align;
    int64_t data_align;
    unsigned fde_encoding;
    bool signal;   // the next frame was interrupted by a signal
    bool has_data; // FDEs have augmentation data
    struct reader instructions;
};

// Returns a record's contents behind its length; bad if it has none.
static struct reader read_record(const struct stack_cfi_tables *tables, const unsigned char *at)
{
    struct reader all = part(tables, at, SIZE_MAX);
    uint32_t length = (uint32_t)read_bytes(&all, 4);
    if (all.bad || length == 0 || length == UINT32_MAX || length > (size_t)(all.end - all.at))
        all.bad = true;
    else
        all.end = all.at + length;
    return all;
}

static bool read_cie(const struct stack_cfi_tables *tables, const unsigned char *at,
                     struct cie *cie)
{
    struct reader reader = read_record(tables, at);
    uint32_t id = (uint32_t)read_bytes(&reader, 4);
    unsigned version = (unsigned)read_bytes(&reader, 1);
    char letters[8] = {0};
    size_t count = 0;
    for (char c; (c = (char)read_bytes(&reader, 1)); letters[count++] = c)
        if (count == sizeof(letters) - 1)
            return false;
    *cie = (struct cie){.code_align = read_uleb(&reader), .data_align = read_sleb(&reader)};
    uint64_t ra = version == 1 ? read_bytes(&reader, 1) : read_uleb(&reader);
    if (reader.bad || id || (version != 1 && version != 3) || ra != REG_RA)
        return false;
    if (count) {
        if (letters[0] != 'z')
            return false;
        cie->has_data = true;
        uint64_t length = read_uleb(&reader);
        if (length > (size_t)(reader.end - reader.at))
            return false;
        const unsigned char *instructions = reader.at + length;
        bool known = true;
        for (size_t i = 1; i < count; i++) {
            switch (letters[i]) {
            case 'R': cie->fde_encoding = (unsigned)read_bytes(&reader, 1); break;
            case 'L': read_bytes(&reader, 1); break;
            case 'P': read_encoded(&reader, (unsigned)read_bytes(&reader, 1) & 0x0F, &known); break;
            case 'S': cie->signal = true; break;
            case 'B': break; // signed with the other key
            default: return false;
            }
        }
        if (!known)
            return false;
        reader.at = instructions;
    }
    cie->instructions = reader;
    return !reader.bad;
}

// --- Instructions --------------------------------------------------------------------------------

enum where { SAME, AT_CFA, AT_FP, UNDEFINED, ELSEWHERE };

struct place {
    enum where where;
    int64_t offset;
};

struct stack_cfi_state {
    enum stack_cfi_kind cfa; // CFI_SP, CFI_FP, CFI_FP_DEREF, CFI_OTHER
    int64_t cfa_offset;
    struct place fp, ra;
    bool signs;
};

enum { REMEMBERED = 4 };

struct machine {
    struct stack_cfi_state now, initial;
    struct stack_cfi_state remembered[REMEMBERED];
    unsigned depth;
    uint64_t at; // the address that `now` holds for
    bool failed; // an unknown instruction
};

static void set_place(struct stack_cfi_state *state, uint64_t reg, enum where where, int64_t offset)
{
    if (reg == REG_FP)
        state->fp = (struct place){where, offset};
    else if (reg == REG_RA)
        state->ra = (struct place){where, offset};
}

static void set_cfa(struct stack_cfi_state *state, uint64_t reg, int64_t offset)
{
    state->cfa = reg == REG_SP ? CFI_SP : reg == REG_FP ? CFI_FP : CFI_OTHER;
    state->cfa_offset = offset;
}

static void restore(struct machine *machine, uint64_t reg)
{
    if (reg == REG_FP)
        machine->now.fp = machine->initial.fp;
    else if (reg == REG_RA)
        machine->now.ra = machine->initial.ra;
}

// Parses the expression "frame pointer + offset"; if deref is not NULL, also with a load from
// there.
static bool read_expression(struct reader *reader, int64_t *offset, bool *deref)
{
    uint64_t length = read_uleb(reader);
    if (length > (size_t)(reader->end - reader->at)) {
        reader->bad = true;
        return false;
    }
    struct reader inner = {reader->at, reader->at + length, false};
    reader->at = inner.end;
    uint64_t operation = read_bytes(&inner, 1);
    *offset = read_sleb(&inner);
    if (deref && inner.at < inner.end)
        *deref = read_bytes(&inner, 1) == OP_DEREF;
    return !inner.bad && operation == OP_BREG0 + REG_FP && inner.at == inner.end;
}

static void run_extended(struct machine *machine, struct reader *reader, const struct cie *cie,
                         unsigned opcode)
{
    struct stack_cfi_state *now = &machine->now;
    uint64_t reg;
    int64_t offset = 0;
    bool deref = false;
    switch (opcode) {
    case 0: break;
    case CFA_ADVANCE_LOC1: machine->at += read_bytes(reader, 1) * cie->code_align; break;
    case CFA_ADVANCE_LOC2: machine->at += read_bytes(reader, 2) * cie->code_align; break;
    case CFA_ADVANCE_LOC4: machine->at += read_bytes(reader, 4) * cie->code_align; break;
    case CFA_OFFSET_EXTENDED:
        reg = read_uleb(reader);
        set_place(now, reg, AT_CFA, (int64_t)read_uleb(reader) * cie->data_align);
        break;
    case CFA_OFFSET_EXTENDED_SF:
        reg = read_uleb(reader);
        set_place(now, reg, AT_CFA, read_sleb(reader) * cie->data_align);
        break;
    case CFA_GNU_NEGATIVE_OFFSET:
        reg = read_uleb(reader);
        set_place(now, reg, AT_CFA, -(int64_t)read_uleb(reader) * cie->data_align);
        break;
    case CFA_RESTORE_EXTENDED: restore(machine, read_uleb(reader)); break;
    case CFA_UNDEFINED: set_place(now, read_uleb(reader), UNDEFINED, 0); break;
    case CFA_SAME_VALUE: set_place(now, read_uleb(reader), SAME, 0); break;
    case CFA_REGISTER:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF: // the sign of the second operand does not matter, because it is skipped
        set_place(now, read_uleb(reader), ELSEWHERE, 0);
        read_uleb(reader);
        break;
    case CFA_REMEMBER_STATE:
        machine->failed |= machine->depth == REMEMBERED;
        if (!machine->failed)
            machine->remembered[machine->depth++] = *now;
        break;
    case CFA_RESTORE_STATE:
        machine->failed |= machine->depth == 0;
        if (!machine->failed)
            *now = machine->remembered[--machine->depth];
        break;
    case CFA_DEF_CFA:
        reg = read_uleb(reader);
        set_cfa(now, reg, (int64_t)read_uleb(reader));
        break;
    case CFA_DEF_CFA_SF:
        reg = read_uleb(reader);
        set_cfa(now, reg, read_sleb(reader) * cie->data_align);
        break;
    case CFA_DEF_CFA_REGISTER: set_cfa(now, read_uleb(reader), now->cfa_offset); break;
    case CFA_DEF_CFA_OFFSET: now->cfa_offset = (int64_t)read_uleb(reader); break;
    case CFA_DEF_CFA_OFFSET_SF: now->cfa_offset = read_sleb(reader) * cie->data_align; break;
    case CFA_DEF_CFA_EXPRESSION:
        now->cfa = read_expression(reader, &offset, &deref) && deref ? CFI_FP_DEREF : CFI_OTHER;
        now->cfa_offset = offset;
        break;
    case CFA_EXPRESSION: {
        reg = read_uleb(reader);
        enum where where = read_expression(reader, &offset, NULL) ? AT_FP : ELSEWHERE;
        set_place(now, reg, where, offset);
        break;
    }
    case CFA_VAL_EXPRESSION:
        set_place(now, read_uleb(reader), ELSEWHERE, 0);
        read_expression(reader, &offset, NULL);
        break;
    case CFA_GNU_ARGS_SIZE: read_uleb(reader); break;
#if defined(__aarch64__)
    case CFA_AARCH64_NEGATE_RA_STATE: now->signs = !now->signs; break;
#endif
    default: machine->failed = true;
    }
}

// Runs instructions until they end or advance beyond pc.
static void run(struct machine *machine, struct reader reader, const struct cie *cie, uint64_t pc)
{
    while (reader.at < reader.end && !reader.bad && !machine->failed) {
        unsigned opcode = (unsigned)read_bytes(&reader, 1);
        uint64_t operand = opcode & 0x3F;
        switch (opcode & 0xC0) {
        case CFA_ADVANCE_LOC: machine->at += operand * cie->code_align; break;
        case CFA_OFFSET:
            set_place(&machine->now, operand, AT_CFA,
                      (int64_t)read_uleb(&reader) * cie->data_align);
            break;
        case CFA_RESTORE: restore(machine, operand); break;
        default: run_extended(machine, &reader, cie, opcode);
        }
        if (machine->at > pc)
            return; // an advance changes nothing else
    }
    machine->failed |= reader.bad;
}

static bool fits(int64_t offset)
{
    return offset >= INT32_MIN && offset <= INT32_MAX;
}

static struct stack_cfi_rule rule_of(const struct stack_cfi_state *state)
{
    struct stack_cfi_rule rule = {.kind = (uint8_t)state->cfa, .signs = state->signs};
    if (state->ra.where == UNDEFINED)
        return (struct stack_cfi_rule){.kind = CFI_END};
    if (state->ra.where == SAME) {
        const bool plain =
            state->cfa == CFI_SP && fits(state->cfa_offset) && state->fp.where == SAME;
        return (struct stack_cfi_rule){.kind = plain ? CFI_LINK : CFI_STOP,
                                       .signs = state->signs,
                                       .cfa_offset = plain ? (int32_t)state->cfa_offset : 0};
    }
    if (state->ra.where != AT_CFA || !fits(state->ra.offset) || !fits(state->cfa_offset) ||
        !fits(state->fp.offset))
        return (struct stack_cfi_rule){.kind = CFI_OTHER};
    rule.cfa_offset = (int32_t)state->cfa_offset;
    rule.ra_offset = (int32_t)state->ra.offset;
    rule.fp_offset = (int32_t)state->fp.offset;
    switch (state->fp.where) {
    case SAME: rule.fp = CFI_FP_SAME; break;
    case AT_CFA: rule.fp = CFI_FP_AT_CFA; break;
    case AT_FP: rule.fp = CFI_FP_AT_FP; break;
    default: rule.fp = CFI_FP_LOST;
    }
    return rule;
}

struct stack_cfi_rule stack_cfi_find(const struct stack_cfi_tables *tables, uint64_t pc)
{
    const struct stack_cfi_rule stop = {.kind = CFI_STOP}, other = {.kind = CFI_OTHER};
    if (!tables->header)
        return stop;
    bool known = true;
    const unsigned char *at = find_fde(tables, pc, &known);
    if (!known)
        return other;
    if (!at)
        return stop;
    struct reader fde = read_record(tables, at);
    const unsigned char *cie_field = fde.at;
    uint32_t back = (uint32_t)read_bytes(&fde, 4);
    if (fde.bad || !back || back > (size_t)(cie_field - tables->readable))
        return stop;
    struct cie cie;
    if (!read_cie(tables, cie_field - back, &cie))
        return other;
    uint64_t begin = read_encoded(&fde, cie.fde_encoding, &known);
    uint64_t range = read_encoded(&fde, cie.fde_encoding & 0x0F, &known);
    if (cie.has_data) {
        uint64_t length = read_uleb(&fde);
        if (length > (size_t)(fde.end - fde.at))
            return stop;
        fde.at += length;
    }
    if (!known)
        return other;
    if (fde.bad || pc - begin >= range)
        return stop;
    if (cie.signal)
        return other;
    struct machine machine = {.now = {.cfa = CFI_OTHER}, .at = begin};
    run(&machine, cie.instructions, &cie, UINT64_MAX);
    machine.initial = machine.now;
    machine.at = begin;
    run(&machine, fde, &cie, pc);
    return machine.failed ? other : rule_of(&machine.now);
}
