// SPDX-License-Identifier: Apache-2.0
// Looks up words in the tables. Searches are linear: a spelling is decoded once per module and not
// once per instruction (see ptx_form), so an index would gain nothing.
#include "tables.h"

#include <string.h>

static const struct ptx_type_info types[PTX_TYPE_COUNT] = {
    [PTX_TYPE_NONE] = {"", 0, PTX_CLASS_NONE, 0},
#define PTX_TYPE(id, text, bits, kind, packed) [PTX_##id] = {text, bits, PTX_CLASS_##kind, packed},
#include "types.def"
#undef PTX_TYPE
};

static const char *const spaces[PTX_SPACE_COUNT] = {
    [PTX_SPACE_GENERIC] = "generic",
#define PTX_SPACE(id, text) [PTX_SPACE_##id] = text,
#include "spaces.def"
#undef PTX_SPACE
};

static const struct ptx_sreg_info sregs[PTX_SREG_COUNT] = {
    [PTX_SREG_UNKNOWN] = {"", 0, 0, 0},
#define PTX_SREG(id, text, type, components, dependence) \
    [PTX_SREG_ID_##id] = {text, PTX_##type, components, PTX_SREG_##dependence},
#include "sregs.def"
#undef PTX_SREG
};

struct mod_row {
    const char *name;
    uint8_t kind;
};

// Only the rows behind types and spaces, indexed by mod - PTX_MOD_LAST_SPACE - 1.
static const struct mod_row mods[] = {
#define PTX_MOD(id, text, kind) {text, PTX_KIND_##kind},
#include "modifiers.def"
#undef PTX_MOD
};

#define LOAD    PTX_FLAG_LOAD
#define STORE   PTX_FLAG_STORE
#define ATOMIC  PTX_FLAG_ATOMIC
#define ASYNC   PTX_FLAG_ASYNC
#define TEXTURE PTX_FLAG_TEXTURE
#define BRANCH  PTX_FLAG_BRANCH
#define CALL    PTX_FLAG_CALL
#define END     PTX_FLAG_END
#define SYNC    PTX_FLAG_SYNC
#define EFFECT  PTX_FLAG_EFFECT

static const struct ptx_op_info ops[PTX_OP_COUNT] = {
    [PTX_OP_UNKNOWN] = {"", "?sx*", PTX_FLAG_EFFECT},
#define PTX_OP(id, text, operands, flags) [PTX_OP_##id] = {text, operands, flags},
#include "opcodes.def"
#undef PTX_OP
};

const struct ptx_type_info *ptx_type_info(enum ptx_type type)
{
    return &types[type < PTX_TYPE_COUNT ? type : PTX_TYPE_NONE];
}

const char *ptx_space_name(enum ptx_space space)
{
    return space < PTX_SPACE_COUNT ? spaces[space] : "unknown";
}

const struct ptx_sreg_info *ptx_sreg_info(enum ptx_sreg sreg)
{
    return &sregs[sreg < PTX_SREG_COUNT ? sreg : PTX_SREG_UNKNOWN];
}

const struct ptx_op_info *ptx_op_info(enum ptx_op op)
{
    return &ops[op < PTX_OP_COUNT ? op : PTX_OP_UNKNOWN];
}

void ptx_op_operand_range(enum ptx_op op, unsigned *least, unsigned *most)
{
    const char *cells = ptx_op_info(op)->operands;
    size_t length = strlen(cells);
    const char *optional = strchr(cells, '?');
    bool open = length && cells[length - 1] == '*';
    *least = (unsigned)(optional ? (size_t)(optional - cells) : length) / 2;
    *most = open ? UINT32_MAX : (unsigned)(length - (optional ? 1 : 0)) / 2;
}

struct ptx_cell ptx_op_cell(enum ptx_op op, unsigned operand)
{
    const char *cells = ptx_op_info(op)->operands;
    struct ptx_cell cell = {'s', 'x'};
    for (unsigned i = 0; *cells && *cells != '*'; cells += 2) {
        if (*cells == '?' && *++cells == '\0')
            break;
        cell = (struct ptx_cell){cells[0], cells[1]};
        if (i++ == operand)
            break;
    }
    return cell;
}

const char *ptx_mod_name(enum ptx_mod mod)
{
    if (mod == PTX_MOD_NONE || mod >= PTX_MOD_UNKNOWN)
        return "";
    if ((unsigned)mod < PTX_TYPE_COUNT)
        return types[mod].name;
    if (mod <= PTX_MOD_LAST_SPACE)
        return spaces[mod - PTX_MOD_FIRST_SPACE];
    return mods[mod - PTX_MOD_LAST_SPACE - 1].name;
}

enum ptx_mod_kind ptx_mod_kind(enum ptx_mod mod)
{
    if (mod == PTX_MOD_NONE || mod >= PTX_MOD_UNKNOWN)
        return PTX_KIND_UNKNOWN;
    if ((unsigned)mod < PTX_TYPE_COUNT)
        return PTX_KIND_TYPE;
    if (mod <= PTX_MOD_LAST_SPACE)
        return PTX_KIND_SPACE;
    return mods[mod - PTX_MOD_LAST_SPACE - 1].kind;
}

enum ptx_type ptx_type_find(struct base_str text)
{
    for (unsigned i = 1; i < PTX_TYPE_COUNT; i++) {
        if (base_str_is(text, types[i].name))
            return (enum ptx_type)i;
    }
    return PTX_TYPE_NONE;
}

enum ptx_space ptx_space_find(struct base_str text)
{
    for (unsigned i = 1; i < PTX_SPACE_COUNT; i++) {
        if (base_str_is(text, spaces[i]))
            return (enum ptx_space)i;
    }
    return PTX_SPACE_COUNT;
}

enum ptx_mod ptx_mod_find(struct base_str text)
{
    enum ptx_type type = ptx_type_find(text);
    if (type != PTX_TYPE_NONE)
        return (enum ptx_mod)type;
    enum ptx_space space = ptx_space_find(text);
    if (space != PTX_SPACE_COUNT)
        return (enum ptx_mod)(PTX_MOD_FIRST_SPACE + space);
    for (unsigned i = 0; i < sizeof(mods) / sizeof(mods[0]); i++) {
        if (base_str_is(text, mods[i].name))
            return (enum ptx_mod)(PTX_MOD_LAST_SPACE + 1 + i);
    }
    return PTX_MOD_UNKNOWN;
}

// Encoding of lanes: the top bit, then b or h, the number of digits minus one, and three bits per
// digit.
enum { LANES = 0x8000, LANES_B = 0x4000, LANES_COUNT_SHIFT = 12, LANES_DIGIT_BITS = 3 };

_Static_assert((int)PTX_MOD_UNKNOWN < (int)LANES, "lanes are told from modifiers by their top bit");

uint16_t ptx_select_find(struct base_str text)
{
    // .b1 and .b2 are also types, and .r, .b and .a modifiers of other instructions.
    enum ptx_mod mod = ptx_mod_find(text);
    if (ptx_mod_kind(mod) == PTX_KIND_SELECT || mod == (enum ptx_mod)PTX_B1 ||
        mod == (enum ptx_mod)PTX_B2 || mod == PTX_MOD_R || mod == PTX_MOD_B || mod == PTX_MOD_A)
        return (uint16_t)mod;
    if (text.length < 2 || text.length > 5 || (text.text[0] != 'b' && text.text[0] != 'h'))
        return 0;
    unsigned select = LANES | (text.text[0] == 'b' ? LANES_B : 0);
    select |= (unsigned)(text.length - 2) << LANES_COUNT_SHIFT;
    for (size_t i = 1; i < text.length; i++) {
        if (text.text[i] < '0' || text.text[i] > '7')
            return 0;
        select |= (unsigned)(text.text[i] - '0') << (i - 1) * LANES_DIGIT_BITS;
    }
    return (uint16_t)select;
}

void ptx_select_name(uint16_t select, char out[8])
{
    memset(out, 0, 8);
    if (!(select & LANES)) {
        strncpy(out, ptx_mod_name((enum ptx_mod)select), 7);
        return;
    }
    out[0] = select & LANES_B ? 'b' : 'h';
    for (unsigned i = 0; i <= (select >> LANES_COUNT_SHIFT & 3u); i++)
        out[1 + i] = (char)('0' + (select >> i * LANES_DIGIT_BITS & 7u));
}

enum ptx_sreg ptx_sreg_find(struct base_str text, unsigned *number)
{
    *number = 0;
    for (unsigned i = 1; i < PTX_SREG_COUNT; i++) {
        if (base_str_is(text, sregs[i].name))
            return i == PTX_SREG_ID_ENVREG || i == PTX_SREG_ID_PM || i == PTX_SREG_ID_PM64
                       ? PTX_SREG_UNKNOWN
                       : (enum ptx_sreg)i;
    }
    // Numbered families: %envreg0 to %envreg31, %pm0 to %pm7 and %pm0_64 to %pm7_64.
    static const struct {
        enum ptx_sreg id;
        const char *prefix, *suffix;
        unsigned count;
    } families[] = {
        {PTX_SREG_ID_ENVREG, "%envreg", "", 32},
        {PTX_SREG_ID_PM, "%pm", "", 8},
        {PTX_SREG_ID_PM64, "%pm", "_64", 8},
    };
    for (unsigned i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        size_t prefix = strlen(families[i].prefix);
        if (text.length <= prefix || memcmp(text.text, families[i].prefix, prefix) != 0)
            continue;
        size_t at = prefix;
        unsigned value = 0;
        while (at < text.length && text.text[at] >= '0' && text.text[at] <= '9' && value < 100)
            value = value * 10 + (unsigned)(text.text[at++] - '0');
        struct base_str rest = {text.text + at, text.length - at};
        if (at > prefix && value < families[i].count && base_str_is(rest, families[i].suffix)) {
            *number = value;
            return families[i].id;
        }
    }
    return PTX_SREG_UNKNOWN;
}

// Returns the row with the longest spelling with which the text begins, followed by a dot or the
// end.
static enum ptx_op find_op(const char *text, size_t *length)
{
    enum ptx_op best = PTX_OP_UNKNOWN;
    *length = strcspn(text, ".");
    for (unsigned i = 1; i < PTX_OP_COUNT; i++) {
        if (ops[i].name[0] != text[0])
            continue;
        size_t name = strlen(ops[i].name);
        if (strncmp(text, ops[i].name, name) != 0 || (text[name] != '.' && text[name] != '\0'))
            continue;
        if (best == PTX_OP_UNKNOWN || name > *length) {
            best = (enum ptx_op)i;
            *length = name;
        }
    }
    return best;
}

bool ptx_form_decode(const char *text, struct ptx_form *form)
{
    memset(form, 0, sizeof(*form));
    form->text = text;
    form->vec = 1;
    size_t at;
    form->op = (uint16_t)find_op(text, &at);
    bool spaced = false;
    while (text[at] == '.') {
        size_t length = strcspn(text + at + 1, ".");
        struct base_str word = {text + at + 1, length};
        if (length == 0 || form->mod_count == PTX_FORM_MODS)
            return false;
        enum ptx_mod mod = ptx_mod_find(word);
        form->mods[form->mod_count++] = (uint16_t)mod;
        switch (ptx_mod_kind(mod)) {
        case PTX_KIND_TYPE:
            if (form->type_count < PTX_FORM_TYPES)
                form->types[form->type_count++] = (uint8_t)mod;
            break;
        case PTX_KIND_SPACE: {
            enum ptx_space space = mod <= PTX_MOD_LAST_SPACE ? mod - PTX_MOD_FIRST_SPACE
                                   : mod == PTX_MOD_SHARED_CTA || mod == PTX_MOD_SHARED_CLUSTER
                                       ? PTX_SPACE_SHARED
                                       : PTX_SPACE_PARAM;
            if (spaced)
                form->space2 = (uint8_t)space;
            else
                form->space = (uint8_t)space;
            spaced = true;
            break;
        }
        case PTX_KIND_VEC: form->vec = mod == PTX_MOD_V2 ? 2 : mod == PTX_MOD_V4 ? 4 : 8; break;
        case PTX_KIND_ROUND: form->round = form->round ? form->round : (uint16_t)mod; break;
        case PTX_KIND_CMP: form->cmp = form->cmp ? form->cmp : (uint16_t)mod; break;
        case PTX_KIND_SEM: form->sem = form->sem ? form->sem : (uint16_t)mod; break;
        case PTX_KIND_SCOPE: form->scope = form->scope ? form->scope : (uint16_t)mod; break;
        case PTX_KIND_CACHE: form->cache = form->cache ? form->cache : (uint16_t)mod; break;
        case PTX_KIND_OPERATION:
            form->operation = form->operation ? form->operation : (uint16_t)mod;
            break;
        case PTX_KIND_FLAG:
        case PTX_KIND_SELECT:
        case PTX_KIND_UNKNOWN: break;
        }
        at += 1 + length;
    }
    // The comparisons .lo and .hi are spelled like the halves of a product.
    if ((form->op == PTX_OP_SETP || form->op == PTX_OP_SET) && !form->cmp) {
        if (ptx_form_has(form, PTX_MOD_LO))
            form->cmp = PTX_MOD_LO;
        else if (ptx_form_has(form, PTX_MOD_HI))
            form->cmp = PTX_MOD_HI;
    }
    return text[at] == '\0';
}

bool ptx_form_has(const struct ptx_form *form, enum ptx_mod mod)
{
    for (unsigned i = 0; i < form->mod_count; i++) {
        if (form->mods[i] == (uint16_t)mod)
            return true;
    }
    return false;
}
