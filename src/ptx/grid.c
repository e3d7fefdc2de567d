// SPDX-License-Identifier: Apache-2.0
// Computes grids of addresses by recursion over definitions. A budget of visits bounds the time; an
// address that exceeds it is lost.
#include "grid.h"

enum { VISITS = 256, DEPTH = 24 };

// The state of one query.
struct query {
    const struct ptx_facts *facts;
    const struct ptx_root *root;
    unsigned visits;
    uint32_t open[DEPTH]; // phis whose arguments are being followed
    unsigned depth;
};

// What is known of a number or an address: it is a constant modulo a step, or a phi of `open` plus
// another constant modulo another step.
struct part {
    uint64_t constant, step, still;
    bool never;    // it is always relative to such a phi
    bool has_root; // the root is one of the summands
    bool lost;
    bool loops; // it may be relative to such a phi
    uint64_t loop_constant, loop_step;
};

uint64_t ptx_gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static const struct part anything = {.step = 1, .still = 1};
static const struct part the_root = {.has_root = true};

static struct part value_part(struct query *query, uint32_t value);

static uint64_t magnitude(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

// Returns a number of which every value of the part is a multiple; 0 if all values are 0.
static uint64_t multiple(const struct part *part)
{
    return part->loops || part->has_root || part->lost
               ? 1
               : ptx_gcd(magnitude((int64_t)part->constant), part->step);
}

static struct part sum(struct part a, struct part b)
{
    struct part both = {
        .constant = a.constant + b.constant,
        .step = ptx_gcd(a.step, b.step),
        .still = ptx_gcd(a.still, b.still),
        .never = a.never || b.never,
        .has_root = a.has_root || b.has_root,
        .lost = a.lost || b.lost || (a.has_root && b.has_root),
        .loops = a.loops || b.loops,
    };
    if (a.loops && b.loops)
        return (struct part){.step = 1, .still = 1, .has_root = both.has_root, .lost = true};
    if (both.loops) {
        const struct part *loop = a.loops ? &a : &b, *other = a.loops ? &b : &a;
        both.loop_constant = loop->loop_constant + other->constant;
        both.loop_step = ptx_gcd(loop->loop_step, other->step);
    }
    return both;
}

static struct part scaled(struct part part, int64_t factor)
{
    if (factor == 1)
        return part;
    const uint64_t by = magnitude(factor);
    if (part.loops || part.has_root)
        return (struct part){.step = by, .still = by, .lost = part.lost || part.has_root};
    part.constant *= (uint64_t)factor;
    part.step *= by;
    part.still *= by;
    return part;
}

// Returns what holds for either of two values.
static struct part join(struct part a, struct part b)
{
    struct part both = a.never ? b : a;
    if (!a.never && !b.never) {
        const uint64_t apart = magnitude((int64_t)(a.constant - b.constant));
        both.step = ptx_gcd(ptx_gcd(a.step, b.step), apart);
        both.still = ptx_gcd(ptx_gcd(a.still, b.still), apart);
        both.lost |= a.has_root != b.has_root;
    }
    const struct part *loop = a.loops ? &a : &b;
    both.loops = a.loops || b.loops;
    both.loop_constant = loop->loop_constant;
    both.loop_step = loop->loop_step;
    if (a.loops && b.loops)
        both.loop_step = ptx_gcd(ptx_gcd(a.loop_step, b.loop_step),
                                 magnitude((int64_t)(a.loop_constant - b.loop_constant)));
    both.never = a.never && b.never;
    both.lost |= a.lost || b.lost;
    return both;
}

static bool has_root(const struct query *query, const struct ptx_origin *origin)
{
    for (uint8_t i = 0; query->root && i < origin->count; i++) {
        if (ptx_same_root(&origin->roots[i], query->root))
            return true;
    }
    return false;
}

static struct part symbol_part(struct query *query, const struct ptx_symbol *symbol)
{
    const struct ptx_root *root = query->root;
    switch ((enum ptx_symbol_kind)symbol->kind) {
    case PTX_SYMBOL_PARAM:
        return root->kind == PTX_ROOT_PARAM && symbol->index == root->index &&
                       symbol->offset == root->offset
                   ? the_root
                   : anything;
    case PTX_SYMBOL_VAR:
        return root->kind == PTX_ROOT_VAR && symbol->var == root->var ? the_root : anything;
    case PTX_SYMBOL_COUNTER: return (struct part){.step = 1};
    case PTX_SYMBOL_VALUE:
        return symbol->index == PTX_NO_VALUE ? anything : value_part(query, symbol->index);
    default: return anything;
    }
}

static struct part form_part(struct query *query, const struct ptx_linear *form)
{
    const struct ptx_affine *affine = query->facts->affine;
    struct part total = {.constant = (uint64_t)form->constant};
    for (uint16_t i = 0; i < form->term_count; i++) {
        const struct ptx_term *term = &form->terms[i];
        struct part product = symbol_part(query, &affine->symbols[term->symbols[0]]);
        for (uint8_t k = 1; k < term->symbol_count; k++) {
            struct part factor = symbol_part(query, &affine->symbols[term->symbols[k]]);
            const uint64_t of_both = multiple(&product) * multiple(&factor);
            const bool counts = product.still == 0 || factor.still == 0;
            product = (struct part){.step = of_both, .still = counts ? 0 : of_both};
        }
        total = sum(total, scaled(product, term->coefficient));
    }
    return total;
}

static struct part operand_part(struct query *query, const struct ptx_instr *instr, unsigned index)
{
    if (index >= instr->operand_count)
        return anything;
    struct ptx_linear form = ptx_operand_form(query->facts->affine, instr, &instr->operands[index]);
    return form_part(query, &form);
}

// Returns the greatest power of two that divides all values of an operand.
static uint64_t low_bit(struct query *query, const struct ptx_instr *instr, unsigned index)
{
    struct part part = operand_part(query, instr, index);
    uint64_t of = multiple(&part);
    return of ? of & (0 - of) : UINT64_C(1) << 63;
}

static struct part aligned_part(uint64_t step, bool has_root)
{
    return (struct part){.step = step, .still = step, .has_root = has_root};
}

// Handles the results of instructions that are not affine.
static struct part instr_part(struct query *query, const struct ptx_value *value, bool from_root)
{
    const struct ptx_instr *instr = value->instr;
    const enum ptx_op op = ptx_op(instr);
    struct part a, b;
    uint64_t bit, other;
    switch (op) {
    case PTX_OP_LD:
        // A parameter of a device function, or one of several in a vector.
        return from_root && instr->form->space == PTX_SPACE_PARAM ? the_root : anything;
    case PTX_OP_MOV:
    case PTX_OP_CVTA: return operand_part(query, instr, 1);
    case PTX_OP_SELP:
    case PTX_OP_SLCT:
    case PTX_OP_MIN:
    case PTX_OP_MAX:
        a = operand_part(query, instr, 1);
        b = operand_part(query, instr, 2);
        if (a.has_root != b.has_root && !a.loops && !b.loops)
            return a.has_root ? a : b;
        return join(a, b);
    case PTX_OP_ADD: return sum(operand_part(query, instr, 1), operand_part(query, instr, 2));
    case PTX_OP_SUB:
        return sum(operand_part(query, instr, 1), scaled(operand_part(query, instr, 2), -1));
    case PTX_OP_MAD:
        a = operand_part(query, instr, 1);
        b = operand_part(query, instr, 2);
        bit = multiple(&a) * multiple(&b);
        return sum(aligned_part(bit, false), operand_part(query, instr, 3));
    case PTX_OP_MUL:
        a = operand_part(query, instr, 1);
        b = operand_part(query, instr, 2);
        return aligned_part(ptx_form_has(instr->form, PTX_MOD_HI) ? 1 : multiple(&a) * multiple(&b),
                            false);
    case PTX_OP_AND:
        // A mask clears low bits; the root itself is aligned as far as masks of addresses go.
        a = operand_part(query, instr, 1);
        b = operand_part(query, instr, 2);
        bit = low_bit(query, instr, 1);
        other = low_bit(query, instr, 2);
        return aligned_part(bit > other ? bit : other, a.has_root || b.has_root);
    case PTX_OP_OR:
    case PTX_OP_XOR:
        bit = low_bit(query, instr, 1);
        other = low_bit(query, instr, 2);
        return aligned_part(bit < other ? bit : other, false);
    case PTX_OP_SHL:
    case PTX_OP_CVT: return aligned_part(low_bit(query, instr, 1), false);
    default: return anything;
    }
}

static struct part phi_part(struct query *query, uint32_t index)
{
    const struct ptx_value *phi = &query->facts->ssa->values[index];
    const struct ptx_provenance *provenance = query->facts->provenance;
    const bool wanted = has_root(query, &provenance->origins[index]);
    struct part all = {.never = true};
    query->open[query->depth++] = index;
    for (uint32_t i = 0; i < query->facts->cfg->blocks[phi->block].pred_count; i++) {
        const uint32_t argument = phi->arguments[i];
        // What does not come from the root does not matter to it.
        if (argument != PTX_NO_VALUE &&
            (!wanted || has_root(query, &provenance->origins[argument])))
            all = join(all, value_part(query, argument));
    }
    query->depth--;
    if (all.never && !all.loops)
        return (struct part){.step = 1, .still = 1, .lost = wanted};
    // What an iteration adds to the phi is a step of the loop. It may also be relative to a phi
    // further out.
    const uint64_t turn = ptx_gcd(magnitude((int64_t)all.loop_constant), all.loop_step);
    all.step = ptx_gcd(all.step, turn);
    all.loops &= query->depth > 0;
    all.loop_constant = 0;
    all.loop_step = turn;
    return all;
}

static struct part value_part(struct query *query, uint32_t index)
{
    const struct ptx_value *value = &query->facts->ssa->values[index];
    const struct ptx_linear *form = &query->facts->affine->forms[index];
    const bool from_root = has_root(query, &query->facts->provenance->origins[index]);
    for (unsigned i = 0; i < query->depth; i++) {
        if (query->open[i] == index)
            return (struct part){.never = true, .loops = true};
    }
    if (query->depth == DEPTH || query->visits == 0)
        return (struct part){.step = 1, .still = 1, .lost = from_root};
    query->visits--;
    const struct ptx_symbol *first =
        form->term_count == 1 ? &query->facts->affine->symbols[form->terms[0].symbols[0]] : NULL;
    const bool itself = first && first->kind == PTX_SYMBOL_VALUE && first->index == index &&
                        form->terms[0].symbol_count == 1 && form->terms[0].coefficient == 1;
    if (!itself)
        return form_part(query, form);
    if (value->kind == PTX_VALUE_PHI)
        return phi_part(query, index);
    if (value->kind == PTX_VALUE_ENTRY)
        return from_root ? the_root : anything;
    struct part part = instr_part(query, value, from_root);
    return value->previous == PTX_NO_VALUE ? part : join(part, value_part(query, value->previous));
}

struct ptx_grid ptx_address_grid(const struct ptx_facts *facts, const struct ptx_instr *instr,
                                 const struct ptx_operand *address, const struct ptx_root *root)
{
    struct query query = {.facts = facts, .root = root, .visits = VISITS};
    struct ptx_linear form = ptx_operand_form(facts->affine, instr, address);
    struct part part = form_part(&query, &form);
    if (!part.has_root || part.lost || part.loops)
        return (struct ptx_grid){.step = 1, .still = 1, .lost = true};
    struct ptx_grid grid = {part.constant, part.step, part.still, false};
    if (part.step) {
        const uint64_t rest = magnitude((int64_t)part.constant) % part.step;
        grid.constant = rest && (int64_t)part.constant < 0 ? part.step - rest : rest;
    }
    return grid;
}

struct ptx_grid ptx_grid_aligned(struct ptx_grid grid, uint32_t bytes)
{
    if (!grid.step || !bytes || bytes & (bytes - 1))
        return grid;
    const uint64_t common = ptx_gcd(grid.step, bytes);
    if (grid.constant % common)
        return grid; // the root itself is less aligned
    while (grid.constant % bytes)
        grid.constant += grid.step;
    grid.step = grid.step / common * bytes;
    grid.still = grid.still / ptx_gcd(grid.still, bytes) * (grid.still ? bytes : 1);
    return grid;
}
