// SPDX-License-Identifier: Apache-2.0
// Fills and drains of random kernels against a slow computation of the same: without values, by
// what every register can hold at every place, and without a bound on the number of loads.
#include "random_cfg.h"

enum { KERNELS = 400, MOST_BLOCKS = 8, MOST_LOADS = 40, REGS = 5 };

// What a register can hold: loads of either memory as bits, and something computed.
struct held {
    uint64_t global, shared; // by site
    bool computed;
};

struct state {
    struct held regs[REGS + 1];
    bool reached;
};

static bool join(struct held *to, struct held from)
{
    const struct held before = *to;
    to->global |= from.global;
    to->shared |= from.shared;
    to->computed |= from.computed;
    return to->global != before.global || to->shared != before.shared ||
           to->computed != before.computed;
}

// Appends a kernel whose blocks move values between registers and both memories.
static void write_kernel(struct base_buf *out, uint64_t *random)
{
    const unsigned blocks = 1 + random_below(random, MOST_BLOCKS);
    unsigned loads = 0;
    base_buf_printf(out,
                    HEAD ".global .u32 g;\n.shared .u32 s;\n.entry k()\n{\n.reg .pred %%p;\n"
                         ".reg .u32 %%r<%d>;\n",
                    REGS);
    for (unsigned b = 0; b < blocks; b++) {
        base_buf_printf(out, "L%u:\n", b);
        const unsigned instrs = 1 + random_below(random, 6);
        for (unsigned i = 0; i < instrs; i++) {
            const char *guard = random_below(random, 3) ? "" : "@%p ";
            const unsigned to = random_below(random, REGS), from = random_below(random, REGS),
                           other = random_below(random, REGS);
            const unsigned kind = random_below(random, 16);
            if (kind < 4 && loads < MOST_LOADS) {
                base_buf_printf(out, "%sld.%s %%r%u, [%s];\n", guard,
                                kind ? "global.u32" : "shared.u32", to, kind ? "g" : "s");
                loads++;
            } else if (kind < 7) {
                base_buf_printf(out, "%smov.u32 %%r%u, %%r%u;\n", guard, to, from);
            } else if (kind < 8) {
                base_buf_printf(out, "%smov.u32 %%r%u, 7;\n", guard, to);
            } else if (kind < 10) {
                base_buf_printf(out, "%sselp.b32 %%r%u, %%r%u, %%r%u, %%p;\n", guard, to, from,
                                other);
            } else if (kind < 11) {
                base_buf_printf(out, "%sadd.u32 %%r%u, %%r%u, 1;\n", guard, to, from);
            } else if (kind < 15) {
                base_buf_printf(out, "%sst.shared.u32 [s], %%r%u;\n", guard, from);
            } else {
                base_buf_printf(out, "%sst.global.u32 [g], %%r%u;\n", guard, from);
            }
        }
        if (random_below(random, 3))
            base_buf_printf(out, "@%%p bra L%u;\n", random_below(random, blocks));
    }
    base_buf_puts(out, "ret;\n}\n");
}

static uint32_t find_site(const struct ptx_site *sites, uint32_t count,
                          const struct ptx_instr *instr)
{
    for (uint32_t i = 0; i < count; i++) {
        if (sites[i].instr == instr)
            return i;
    }
    return UINT32_MAX;
}

// Changes the state as an instruction does. Returns what a store of it can bring.
static struct held step(const struct ptx_site *sites, uint32_t count, const struct ptx_instr *instr,
                        struct state *state)
{
    struct held now = {0};
    const uint32_t site = find_site(sites, count, instr);
    switch (ptx_op(instr)) {
    case PTX_OP_ST: return state->regs[instr->operands[1].reg->id];
    case PTX_OP_LD:
        if (instr->form->space == PTX_SPACE_GLOBAL)
            now.global = UINT64_C(1) << site;
        else
            now.shared = UINT64_C(1) << site;
        break;
    case PTX_OP_MOV:
        if (instr->operands[1].kind == PTX_OPERAND_REG)
            now = state->regs[instr->operands[1].reg->id];
        break;
    case PTX_OP_SELP:
        now = state->regs[instr->operands[1].reg->id];
        join(&now, state->regs[instr->operands[2].reg->id]);
        break;
    case PTX_OP_ADD: now.computed = true; break;
    default: return now; // branches and ends
    }
    struct held *to = &state->regs[instr->operands[0].reg->id];
    if (instr->guard)
        join(to, now);
    else
        *to = now;
    return now;
}

// Finds what each site can bring, by sites.
static void find_brought(const struct ptx_cfg *cfg, const struct ptx_site *sites, uint32_t count,
                         struct held *brought)
{
    struct state in[4 * MOST_BLOCKS] = {0};
    assert_true(cfg->block_count <= 4 * MOST_BLOCKS);
    in[0].reached = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 0; b < cfg->block_count; b++) {
            const struct ptx_block *block = &cfg->blocks[b];
            struct state at = in[b];
            for (uint32_t i = 0; at.reached && i < block->instr_count; i++) {
                const struct held held = step(sites, count, block->instrs[i], &at);
                if (ptx_op(block->instrs[i]) == PTX_OP_ST)
                    join(&brought[find_site(sites, count, block->instrs[i])], held);
            }
            for (uint32_t k = 0; at.reached && k < block->succ_count; k++) {
                struct state *next = &in[block->succs[k]];
                changed |= !next->reached;
                next->reached = true;
                for (unsigned r = 0; r <= REGS; r++)
                    changed |= join(&next->regs[r], at.regs[r]);
            }
        }
    }
}

static void check_site(const struct ptx_site *site, const struct ptx_staging *staging,
                       const struct held *held, const char *text)
{
    const bool to_shared = site->actual_space == PTX_SPACE_SHARED;
    const uint64_t wanted = to_shared ? held->global : held->shared;
    const bool is = wanted && !held->computed && !(to_shared ? held->shared : held->global);
    const enum ptx_staging_kind kind = !is         ? PTX_STAGING_NONE
                                       : to_shared ? PTX_STAGING_FILL
                                                   : PTX_STAGING_DRAIN;
    uint64_t listed = 0;
    for (uint8_t i = 0; i < staging->source_count; i++)
        listed |= UINT64_C(1) << staging->sources[i];
    const unsigned loads = is ? (unsigned)__builtin_popcountll(wanted) : 0;
    const bool more = loads > PTX_STAGING_SOURCES;
    if (staging->kind != (uint8_t)kind || (is && listed & ~wanted) || staging->more != more ||
        staging->source_count != (more ? PTX_STAGING_SOURCES : loads) ||
        (unsigned)__builtin_popcountll(listed) != staging->source_count)
        fail_msg("line %u: %s with %u sources, not %s with %u\n%s", site->instr->stmt.line,
                 ptx_staging_name((enum ptx_staging_kind)staging->kind), staging->source_count,
                 ptx_staging_name(kind), loads, text);
}

static void fills_and_drains_are_those_of_all_ways(void **state)
{
    (void)state;
    unsigned kinds[3] = {0}, most = 0;
    for (uint64_t seed = 1; seed <= KERNELS; seed++) {
        uint64_t random = seed * 15485863;
        struct base_buf text = {0};
        struct ptx_facts *facts;
        struct ptx_site *sites;
        struct ptx_staging *stagings;
        struct base_error error = {0};
        uint32_t count;
        write_kernel(&text, &random);
        struct ptx_module *module = read_module(text.text);
        assert_int_equal(ptx_facts_create(find_function(module, "k"), 0, &facts, &error), BASE_OK);
        assert_int_equal(ptx_sites_find(facts, &sites, &count, &error), BASE_OK);
        assert_int_equal(ptx_staging_find(facts, sites, count, &stagings, &error), BASE_OK);
        struct held brought[64] = {0};
        assert_true(count <= 64);
        find_brought(facts->cfg, sites, count, brought);
        for (uint32_t i = 0; i < count; i++) {
            check_site(&sites[i], &stagings[i], &brought[i], text.text);
            kinds[stagings[i].kind]++;
            most = stagings[i].source_count > most ? stagings[i].source_count : most;
        }
        ptx_facts_destroy(facts);
        ptx_module_destroy(module);
        base_buf_fini(&text);
    }
    // The kernels are no trivial ones.
    assert_in_range(kinds[PTX_STAGING_FILL], 100, 10000);
    assert_in_range(kinds[PTX_STAGING_DRAIN], 20, 10000);
    assert_in_range(most, 4, PTX_STAGING_SOURCES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_and_drains_are_those_of_all_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
