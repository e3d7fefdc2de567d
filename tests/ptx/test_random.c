// SPDX-License-Identifier: Apache-2.0
// Dominators, post-dominators, loops and reaching definitions of random functions are compared with
// their definitions by brute force: which blocks are reachable if one is removed, which are on a
// cycle, which definitions flow where. Affine forms, trip counts and uniformity are compared with
// runs of the function by several threads.
#include "random_cfg.h"

enum { GRAPHS = 3000, MOST_BLOCKS = 3 * RANDOM_BLOCKS + 8, MOST_VALUES = 512 };

static const char *text_of_failure;
static uint64_t seed_of_failure;

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition))                                                                  \
            fail_msg("seed %llu: %s\n%s", (unsigned long long)seed_of_failure, #condition, \
                     text_of_failure);                                                     \
    } while (0)

// The blocks that are reachable from one block, along edges or against them, if another one is
// removed. The function's end is the block after the last.
struct reach {
    bool blocks[MOST_BLOCKS + 1];
};

static void walk_from(const struct ptx_cfg *cfg, uint32_t from, uint32_t without,
                      struct reach *reach)
{
    uint32_t stack[MOST_BLOCKS * 4], depth = 0;
    memset(reach, 0, sizeof(*reach));
    if (from == without)
        return;
    stack[depth++] = from;
    reach->blocks[from] = true;
    while (depth) {
        const struct ptx_block *block = &cfg->blocks[stack[--depth]];
        for (uint32_t i = 0; i <= block->succ_count; i++) {
            uint32_t to = i < block->succ_count ? block->succs[i] : cfg->block_count;
            if ((i == block->succ_count && !block->ends) || to == without || reach->blocks[to])
                continue;
            reach->blocks[to] = true;
            if (to < cfg->block_count)
                stack[depth++] = to;
        }
    }
}

static void check_dominators(const struct ptx_cfg *cfg)
{
    struct reach all, without;
    walk_from(cfg, 0, PTX_NO_BLOCK, &all);
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        CHECK((cfg->blocks[b].order != PTX_NO_BLOCK) == all.blocks[b]);
        CHECK(all.blocks[b] || cfg->blocks[b].idom == PTX_NO_BLOCK);
    }
    for (uint32_t d = 0; d < cfg->block_count; d++) {
        if (!all.blocks[d])
            continue;
        walk_from(cfg, 0, d, &without);
        for (uint32_t b = 0; b < cfg->block_count; b++) {
            if (!all.blocks[b])
                continue;
            CHECK(ptx_dominates(cfg, d, b) == !without.blocks[b]);
            // The immediate dominator dominates, and every other strict dominator dominates it.
            if (d != b && !without.blocks[b])
                CHECK(ptx_dominates(cfg, d, cfg->blocks[b].idom));
        }
    }
    for (uint32_t b = 1; b < cfg->block_count; b++) {
        if (all.blocks[b])
            CHECK(cfg->blocks[b].idom != b && ptx_dominates(cfg, cfg->blocks[b].idom, b));
    }
    CHECK(cfg->blocks[0].idom == PTX_NO_BLOCK && cfg->blocks[0].pred_count == 0);
}

// Only if every block can reach the end, because post-dominators in endless loops are a convention.
static void check_postdominators(const struct ptx_cfg *cfg)
{
    struct reach all, ways, without;
    walk_from(cfg, 0, PTX_NO_BLOCK, &all);
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        walk_from(cfg, b, PTX_NO_BLOCK, &ways);
        if (all.blocks[b] && !ways.blocks[cfg->block_count])
            return;
    }
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        if (!all.blocks[b])
            continue;
        for (uint32_t p = 0; p < cfg->block_count; p++) {
            if (!all.blocks[p])
                continue;
            walk_from(cfg, b, p, &without);
            bool after = p == b || !without.blocks[cfg->block_count];
            CHECK(ptx_postdominates(cfg, p, b) == after);
            if (p != b && after)
                CHECK(ptx_postdominates(cfg, p, cfg->blocks[b].ipdom));
        }
        CHECK(cfg->blocks[b].ipdom != b);
    }
}

static void check_loops(const struct ptx_cfg *cfg)
{
    struct reach all, ways;
    bool is_member[MOST_BLOCKS][MOST_BLOCKS] = {{false}}; // header, block
    bool is_header[MOST_BLOCKS] = {false};
    walk_from(cfg, 0, PTX_NO_BLOCK, &all);
    for (uint32_t latch = 0; latch < cfg->block_count; latch++) {
        for (uint32_t i = 0; all.blocks[latch] && i < cfg->blocks[latch].succ_count; i++) {
            uint32_t header = cfg->blocks[latch].succs[i];
            if (!ptx_dominates(cfg, header, latch))
                continue;
            is_header[header] = is_member[header][header] = true;
            // Members reach the latch without passing through the header.
            for (uint32_t b = 0; b < cfg->block_count; b++) {
                walk_from(cfg, b, header, &ways);
                is_member[header][b] |= all.blocks[b] && ways.blocks[latch];
            }
        }
    }
    uint32_t headers = 0, found[MOST_BLOCKS];
    for (uint32_t b = 0; b < cfg->block_count; b++)
        headers += is_header[b];
    CHECK(headers == cfg->loop_count);
    for (uint32_t i = 0; i < cfg->loop_count; i++) {
        const struct ptx_loop *loop = &cfg->loops[i];
        CHECK(is_header[loop->header]);
        found[i] = loop->header;
        uint32_t members = 0, depth = 0, latches = 0, exits = 0;
        for (uint32_t b = 0; b < cfg->block_count; b++) {
            CHECK(ptx_loop_contains(cfg, i, b) == is_member[loop->header][b]);
            members += is_member[loop->header][b];
            depth += is_header[b] && is_member[b][loop->header];
            for (uint32_t k = 0; is_member[loop->header][b] && k < cfg->blocks[b].succ_count; k++) {
                latches += cfg->blocks[b].succs[k] == loop->header;
                exits += !is_member[loop->header][cfg->blocks[b].succs[k]];
            }
        }
        CHECK(members == loop->block_count);
        CHECK(depth == loop->depth);
        CHECK(latches == loop->latch_count);
        CHECK(exits == loop->exit_count);
        CHECK(loop->parent == PTX_NO_LOOP
                  ? depth == 1
                  : loop->parent < i && is_member[found[loop->parent]][loop->header]);
        // The last block of every iteration: it dominates the latches, and no block below it does.
        for (uint32_t b = 0; b < cfg->block_count; b++) {
            bool every = all.blocks[b];
            for (uint32_t k = 0; k < loop->latch_count; k++)
                every &= ptx_dominates(cfg, b, loop->latches[k]);
            CHECK(!all.blocks[b] || every == ptx_dominates(cfg, b, loop->last_common));
        }
        uint32_t outside = 0, entry = PTX_NO_BLOCK;
        for (uint32_t k = 0; k < cfg->blocks[loop->header].pred_count; k++) {
            uint32_t pred = cfg->blocks[loop->header].preds[k];
            if (all.blocks[pred] && !is_member[loop->header][pred]) {
                outside++;
                entry = pred;
            }
        }
        bool alone = outside == 1 && cfg->blocks[entry].succ_count == 1;
        CHECK(loop->preheader == (alone ? entry : PTX_NO_BLOCK));
    }
    // Irreducible: a cycle remains if all branches back to a dominator are removed.
    bool gone[MOST_BLOCKS] = {false};
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < cfg->block_count; b++) {
            bool has_pred = false;
            for (uint32_t k = 0; k < cfg->blocks[b].pred_count; k++) {
                uint32_t pred = cfg->blocks[b].preds[k];
                has_pred |= all.blocks[pred] && !gone[pred] && !ptx_dominates(cfg, b, pred);
            }
            if (!gone[b] && !has_pred)
                changed = gone[b] = true;
        }
    }
    bool cycle = false;
    for (uint32_t b = 0; b < cfg->block_count; b++)
        cycle |= all.blocks[b] && !gone[b];
    CHECK(cycle == cfg->irreducible);
}

// Reaching definitions ----------------------------------------------------------------------------

// Sets of definitions by instruction index. The bit after the last is the initial value.
typedef struct {
    uint64_t words[8];
} set;

static void add(set *to, uint32_t bit)
{
    to->words[bit / 64] |= UINT64_C(1) << bit % 64;
}

static bool join(set *to, const set *from)
{
    bool changed = false;
    for (int i = 0; i < 8; i++) {
        changed |= (from->words[i] & ~to->words[i]) != 0;
        to->words[i] |= from->words[i];
    }
    return changed;
}

static bool is_set_reg(const struct ptx_instr *instr, uint32_t reg)
{
    return !(ptx_flags(instr) & (PTX_FLAG_BRANCH | PTX_FLAG_END)) &&
           instr->operands[0].reg->id == reg;
}

static void pass(const struct ptx_instr *instr, uint32_t reg, set *at)
{
    if (!is_set_reg(instr, reg))
        return;
    if (!instr->guard)
        memset(at, 0, sizeof(*at));
    add(at, instr->index);
}

// Which definitions of the register reach the start of each block.
static void find_reaching(const struct ptx_cfg *cfg, uint32_t reg, set *in)
{
    memset(in, 0, cfg->block_count * sizeof(*in));
    add(&in[0], cfg->function->instr_count);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < cfg->block_count; b++) {
            if (cfg->blocks[b].order == PTX_NO_BLOCK)
                continue;
            set out = in[b];
            for (uint32_t i = 0; i < cfg->blocks[b].instr_count; i++)
                pass(cfg->blocks[b].instrs[i], reg, &out);
            for (uint32_t k = 0; k < cfg->blocks[b].succ_count; k++)
                changed |= join(&in[cfg->blocks[b].succs[k]], &out);
        }
    }
}

// Collects the definitions of a value, through phis and the fallbacks of guarded definitions.
static void find_sources(const struct ptx_ssa *ssa, uint32_t value, bool *seen, set *out)
{
    if (seen[value])
        return;
    seen[value] = true;
    const struct ptx_value *at = &ssa->values[value];
    if (at->kind == PTX_VALUE_ENTRY)
        add(out, ssa->cfg->function->instr_count);
    if (at->kind == PTX_VALUE_DEF)
        add(out, at->instr->index);
    if (at->previous != PTX_NO_VALUE)
        find_sources(ssa, at->previous, seen, out);
    for (uint32_t k = 0; at->arguments && k < ssa->cfg->blocks[at->block].pred_count; k++) {
        if (at->arguments[k] != PTX_NO_VALUE)
            find_sources(ssa, at->arguments[k], seen, out);
    }
}

static void check_use(const struct ptx_ssa *ssa, const struct ptx_instr *instr,
                      const struct ptx_operand *operand, uint32_t reg, const set *reaching)
{
    bool seen[MOST_VALUES] = {false};
    set sources = {{0}};
    uint32_t value = ptx_ssa_value(ssa, instr, operand);
    CHECK(value != PTX_NO_VALUE && ssa->values[value].reg->id == reg);
    find_sources(ssa, value, seen, &sources);
    CHECK(memcmp(&sources, reaching, sizeof(sources)) == 0);
}

static void check_definitions(const struct ptx_ssa *ssa)
{
    const struct ptx_cfg *cfg = ssa->cfg;
    CHECK(ssa->value_count <= MOST_VALUES && cfg->function->instr_count < 511);
    for (uint32_t reg = 0; reg < cfg->function->reg_count; reg++) {
        set in[MOST_BLOCKS];
        find_reaching(cfg, reg, in);
        for (uint32_t o = 0; o < cfg->order_count; o++) {
            const struct ptx_block *block = &cfg->blocks[cfg->order[o]];
            set at = in[cfg->order[o]];
            for (uint32_t i = 0; i < block->instr_count; i++) {
                const struct ptx_instr *instr = block->instrs[i];
                if (instr->guard && instr->guard->id == reg)
                    check_use(ssa, instr, NULL, reg, &at);
                for (uint8_t k = 0; k < instr->operand_count; k++) {
                    const struct ptx_operand *operand = &instr->operands[k];
                    if (operand->kind == PTX_OPERAND_REG && operand->reg->id == reg &&
                        ptx_operand_role(instr, k) == PTX_ROLE_USE)
                        check_use(ssa, instr, operand, reg, &at);
                }
                pass(instr, reg, &at);
            }
        }
    }
    // Values come in the order of their blocks; a definition dominates its uses.
    uint32_t last = 0;
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        const struct ptx_value *value = &ssa->values[i];
        CHECK(cfg->blocks[value->block].order >= last);
        last = cfg->blocks[value->block].order;
        for (uint32_t k = 0; k < value->use_count; k++) {
            const struct ptx_use *use = &value->uses[k];
            if (use->instr)
                CHECK(ptx_dominates(cfg, value->block, cfg->block_of[use->instr->index]));
        }
    }
}

// Running -----------------------------------------------------------------------------------------

enum { THREADS = 4, MOST_STEPS = 400, MOST_VISITS = 64 };

// One thread's run: the values at each visit, and how often each block was reached.
struct run {
    uint32_t regs[16];
    uint32_t values[MOST_VALUES]; // the newest
    uint32_t counters[MOST_BLOCKS];
    uint32_t visits[MOST_BLOCKS];
    uint32_t history[MOST_VALUES][MOST_VISITS];
    uint32_t counts[MOST_VALUES];
    uint32_t tid;
    bool ended;
};

static uint32_t read_operand(const struct run *run, const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_REG    ? run->regs[operand->reg->id]
           : operand->kind == PTX_OPERAND_SREG ? run->tid
                                               : (uint32_t)operand->bits;
}

static void note_value(struct run *run, uint32_t value, uint32_t number)
{
    run->values[value] = number;
    if (run->counts[value] < MOST_VISITS)
        run->history[value][run->counts[value]] = number;
    run->counts[value]++;
}

// Evaluates a form with the current values of its symbols.
static uint32_t form_value(const struct ptx_affine *affine, const struct run *run,
                           const struct ptx_linear *form)
{
    uint32_t sum = (uint32_t)form->constant;
    for (uint16_t i = 0; i < form->term_count; i++) {
        uint32_t product = (uint32_t)form->terms[i].coefficient;
        for (uint8_t k = 0; k < form->terms[i].symbol_count; k++) {
            const struct ptx_symbol *symbol = &affine->symbols[form->terms[i].symbols[k]];
            CHECK(symbol->kind == PTX_SYMBOL_TID || symbol->kind == PTX_SYMBOL_COUNTER ||
                  symbol->kind == PTX_SYMBOL_VALUE);
            product *= symbol->kind == PTX_SYMBOL_TID       ? run->tid
                       : symbol->kind == PTX_SYMBOL_COUNTER ? run->counters[symbol->index]
                                                            : run->values[symbol->index];
        }
        sum += product;
    }
    return sum;
}

static void set_value(const struct ptx_facts *facts, struct run *run, uint32_t value)
{
    uint32_t number = run->regs[facts->ssa->values[value].reg->id];
    note_value(run, value, number);
    CHECK(form_value(facts->affine, run, &facts->affine->forms[value]) == number);
}

static void enter_block(const struct ptx_facts *facts, struct run *run, uint32_t from,
                        uint32_t block)
{
    const struct ptx_cfg *cfg = facts->cfg;
    uint32_t loop = cfg->blocks[block].loop;
    run->visits[block]++;
    if (loop != PTX_NO_LOOP && cfg->loops[loop].header == block) {
        bool round = from != PTX_NO_BLOCK && ptx_loop_contains(cfg, loop, from);
        run->counters[loop] = round ? run->counters[loop] + 1 : 0;
    }
    for (const uint32_t *phi = facts->ssa->phis[block]; phi && *phi != PTX_NO_VALUE; phi++)
        set_value(facts, run, *phi);
}

static void execute(struct run *run, const struct ptx_instr *instr)
{
    const struct ptx_operand *at = instr->operands;
    uint32_t a = read_operand(run, &at[1]);
    uint32_t b = instr->operand_count > 2 ? read_operand(run, &at[2]) : 0;
    uint32_t c = instr->operand_count > 3 ? read_operand(run, &at[3]) : 0;
    uint32_t *to = &run->regs[at[0].reg->id];
    switch (ptx_op(instr)) {
    case PTX_OP_MOV: *to = a; break;
    case PTX_OP_ADD: *to = a + b; break;
    case PTX_OP_SUB: *to = a - b; break;
    case PTX_OP_MAD: *to = a * b + c; break;
    case PTX_OP_SETP: *to = instr->form->cmp == PTX_MOD_EQ ? a == b : a < b; break;
    default: CHECK(!"an opcode that the generator makes");
    }
}

static void run_thread(const struct ptx_facts *facts, struct run *run)
{
    const struct ptx_cfg *cfg = facts->cfg;
    const struct ptx_ssa *ssa = facts->ssa;
    uint32_t block = 0, from = PTX_NO_BLOCK, steps = 0;
    for (uint32_t i = 0; i < ssa->value_count; i++) {
        if (ssa->values[i].kind == PTX_VALUE_ENTRY)
            note_value(run, i, 0);
    }
    for (;;) {
        enter_block(facts, run, from, block);
        const struct ptx_block *at = &cfg->blocks[block];
        uint32_t next = block + 1;
        for (uint32_t i = 0; i < at->instr_count; i++) {
            const struct ptx_instr *instr = at->instrs[i];
            if (steps++ == MOST_STEPS)
                return;
            bool executed = !instr->guard || run->regs[instr->guard->id] != instr->guard_negated;
            if (ptx_flags(instr) & PTX_FLAG_END) {
                run->ended |= executed;
                if (executed)
                    return;
            } else if (ptx_flags(instr) & PTX_FLAG_BRANCH) {
                const struct ptx_label *label = instr->operands[instr->operand_count - 1].label;
                if (label->kind != PTX_LABEL_CODE)
                    label =
                        label->targets[read_operand(run, &instr->operands[0]) % label->target_count]
                            .label;
                struct ptx_stmt *stmt = (struct ptx_stmt *)&label->stmt;
                while (stmt && stmt->kind != PTX_STMT_INSTR)
                    stmt = stmt->next;
                if (executed)
                    next = stmt ? cfg->block_of[((struct ptx_instr *)stmt)->index]
                                : cfg->block_count - 1;
            } else {
                if (executed)
                    execute(run, instr);
                uint32_t value = ptx_ssa_value(ssa, instr, &instr->operands[0]);
                set_value(facts, run, value);
            }
        }
        run->ended = next == cfg->block_count;
        if (run->ended)
            return;
        from = block;
        block = next;
    }
}

// All threads end: values that depend on nothing are equal in all of them.
static void compare_threads(const struct ptx_facts *facts, const struct run *runs)
{
    const struct ptx_cfg *cfg = facts->cfg;
    for (unsigned t = 0; t < THREADS; t++) {
        if (!runs[t].ended)
            return;
    }
    for (unsigned t = 1; t < THREADS; t++) {
        for (uint32_t b = 0; b < cfg->block_count; b++) {
            if (cfg->blocks[b].order != PTX_NO_BLOCK && !ptx_block_deps(facts->uniformity, b)) {
                CHECK(runs[t].visits[b] == runs[0].visits[b]);
            }
        }
        for (uint32_t i = 0; i < facts->ssa->value_count; i++) {
            uint32_t block = facts->ssa->values[i].block;
            // Visits correspond if all threads make them equally often, or at most one.
            bool together = !ptx_block_deps(facts->uniformity, block) ||
                            (cfg->blocks[block].loop == PTX_NO_LOOP && !cfg->irreducible);
            if (facts->uniformity->deps[i] || !together)
                continue;
            uint32_t count =
                runs[0].counts[i] < runs[t].counts[i] ? runs[0].counts[i] : runs[t].counts[i];
            for (uint32_t k = 0; k < count && k < MOST_VISITS; k++)
                CHECK(runs[t].history[i][k] == runs[0].history[i][k]);
        }
    }
}

// An exact trip count is how often the header runs each time the loop is entered; other counts are
// bounds. Few loops are entered twice here, so checking the last time is enough.
static void check_trips(const struct ptx_facts *facts, const struct run *run)
{
    for (uint32_t i = 0; i < facts->cfg->loop_count; i++) {
        const struct ptx_trip *trip = &facts->affine->trips[i];
        if (!trip->known || !trip->is_constant || !run->ended ||
            !run->visits[facts->cfg->loops[i].header])
            continue;
        CHECK(trip->exact ? run->counters[i] + 1 == trip->constant
                          : run->counters[i] + 1 <= trip->constant);
    }
}

static void random_functions_run_as_the_facts_say(void **state)
{
    (void)state;
    struct base_buf text = {0};
    static struct run runs[THREADS];
    unsigned ended = 0;
    for (seed_of_failure = 1; seed_of_failure <= GRAPHS; seed_of_failure++) {
        uint64_t random = seed_of_failure * 104729;
        unsigned number = 1;
        text.length = 0;
        base_buf_puts(&text, HEAD);
        random_function(&text, &random, "k", &number);
        text_of_failure = text.text;
        struct ptx_module *module = read_module(text.text);
        struct ptx_facts *facts;
        struct base_error error = {0};
        assert_int_equal(ptx_facts_create(find_function(module, "k"), 0, &facts, &error), BASE_OK);
        for (unsigned t = 0; t < THREADS; t++) {
            memset(&runs[t], 0, sizeof(runs[t]));
            runs[t].tid = t;
            run_thread(facts, &runs[t]);
            check_trips(facts, &runs[t]);
            ended += runs[t].ended;
        }
        compare_threads(facts, runs);
        ptx_facts_destroy(facts);
        ptx_module_destroy(module);
    }
    assert_true(ended > GRAPHS);
    base_buf_fini(&text);
}

static void random_functions_have_the_facts_that_follow_from_definitions(void **state)
{
    (void)state;
    struct base_buf text = {0};
    for (seed_of_failure = 1; seed_of_failure <= GRAPHS; seed_of_failure++) {
        uint64_t random = seed_of_failure * 7919;
        unsigned number = 1;
        text.length = 0;
        base_buf_puts(&text, HEAD);
        random_function(&text, &random, "k", &number);
        text_of_failure = text.text;
        struct ptx_module *module = read_module(text.text);
        struct ptx_facts *facts;
        struct base_error error = {0};
        assert_int_equal(ptx_facts_create(find_function(module, "k"), 0, &facts, &error), BASE_OK);
        CHECK(facts->cfg->block_count <= MOST_BLOCKS);
        check_dominators(facts->cfg);
        check_postdominators(facts->cfg);
        check_loops(facts->cfg);
        check_definitions(facts->ssa);
        ptx_facts_destroy(facts);
        ptx_module_destroy(module);
    }
    base_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_functions_have_the_facts_that_follow_from_definitions),
        cmocka_unit_test(random_functions_run_as_the_facts_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
