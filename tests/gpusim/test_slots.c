// SPDX-License-Identifier: Apache-2.0
// Slots of registers: in random functions, no two registers that are live at the same place
// overlap, and the recorded lifetime of a register covers all places where it is live. The test
// computes liveness independently, for each register and place, by walking the graph of
// instructions. Registers with successive lifetimes share slots.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpusim/machine/decode.h"

enum { BLOCKS = 9, REGS = 7, KINDS = 4, FUNCTIONS = 400 };

static uint64_t random_bits(uint64_t *state) // splitmix64
{
    uint64_t bits = *state += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

static unsigned below(uint64_t *state, unsigned limit)
{
    return (unsigned)(random_bits(state) % limit);
}

static void add_instr(struct base_buf *text, uint64_t *state)
{
    unsigned a = below(state, REGS), b = below(state, REGS), c = below(state, REGS);
    if (below(state, 4) == 0)
        base_buf_printf(text, "@%s%%p%u ", below(state, 2) ? "!" : "", below(state, REGS));
    switch (below(state, 7)) {
    case 0: base_buf_printf(text, "add.s32 %%r%u, %%r%u, %%r%u;\n", a, b, c); break;
    case 1: base_buf_printf(text, "mov.u32 %%r%u, %u;\n", a, b); break;
    case 2: base_buf_printf(text, "mul.wide.u32 %%d%u, %%r%u, %%r%u;\n", a, b, c); break;
    case 3:
        base_buf_printf(text, "setp.lt.s64 %%p%u|%%p%u, %%d%u, %%d%u;\n", a, a == b, b, c);
        break;
    case 4: base_buf_printf(text, "mov.b64 {%%r%u, %%r%u}, %%d%u;\n", a, a == b, c); break;
    case 5: base_buf_printf(text, "ld.global.v2.u32 %%v%u, [%%d%u];\n", a, b); break;
    default: base_buf_printf(text, "mov.u32 %%v%u.y, %%v%u.x;\n", a, b);
    }
}

static void add_function(struct base_buf *text, uint64_t *state)
{
    base_buf_printf(text,
                    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"
                    ".reg .b32 %%r<%d>;\n.reg .b64 %%d<%d>;\n.reg .pred %%p<%d>;\n"
                    ".reg .v2 .b32 %%v<%d>;\n",
                    REGS, REGS, REGS, REGS);
    unsigned blocks = 1 + below(state, BLOCKS);
    for (unsigned i = 0; i < blocks; i++) {
        base_buf_printf(text, "L%u:\n", i);
        for (unsigned k = below(state, 6); k > 0; k--)
            add_instr(text, state);
        unsigned to = below(state, blocks);
        switch (below(state, 4)) {
        case 0: base_buf_printf(text, "bra L%u;\n", to); break;
        case 1: base_buf_printf(text, "@%%p%u bra L%u;\n", below(state, REGS), to); break;
        case 2: base_buf_printf(text, "@%%p%u ret;\n", below(state, REGS)); break;
        default: break;
        }
    }
    base_buf_printf(text, "ret;\n}\n");
}

static const struct ptx_reg *reg_of(const struct ptx_instr *instr, const struct ptx_ref *ref)
{
    return ref->operand ? ref->operand->reg : instr->guard;
}

struct graph {
    const struct ptx_cfg *cfg;
    const struct ptx_ssa *ssa;
};

// Finds out whether the instruction uses the register, overwrites it completely, or neither.
static void effect(const struct graph *graph, const struct ptx_instr *instr, uint32_t reg,
                   bool *uses, bool *sets)
{
    *uses = *sets = false;
    for (uint32_t i = graph->ssa->ref_start[instr->index];
         i < graph->ssa->ref_start[instr->index + 1]; i++) {
        const struct ptx_ref *ref = &graph->ssa->refs[i];
        if (reg_of(instr, ref)->id != reg)
            continue;
        if (!ref->is_def)
            *uses = true;
        else if (!instr->guard && !ref->operand->select)
            *sets = true;
    }
}

// Whether the register's value may be used from that instruction of the block on.
static bool alive_from(const struct graph *graph, uint32_t block, uint32_t at, uint32_t reg,
                       bool *been)
{
    const struct ptx_block *here = &graph->cfg->blocks[block];
    for (uint32_t i = at; i < here->instr_count; i++) {
        bool uses, sets;
        effect(graph, here->instrs[i], reg, &uses, &sets);
        if (uses)
            return true;
        if (sets)
            return false;
    }
    for (uint32_t s = 0; s < here->succ_count; s++) {
        uint32_t next = here->succs[s];
        if (been[next])
            continue;
        been[next] = true;
        if (alive_from(graph, next, 0, reg, been))
            return true;
    }
    return false;
}

static uint32_t bytes_of(const struct ptx_reg *reg)
{
    return reg->type == PTX_PRED
               ? 4
               : LANES * sim_decode_lane_bytes((enum ptx_type)reg->type) * reg->vec;
}

static bool overlap(const struct ptx_reg *one, slot at, const struct ptx_reg *other, slot where)
{
    return at < where + bytes_of(other) && where < at + bytes_of(one);
}

// Lifetimes are in the order of registers, without predicates.
static const struct sim_life *life_of(const struct sim_code *code,
                                      const struct ptx_function *function, uint32_t reg)
{
    uint32_t index = 0;
    for (uint32_t i = 0; i < reg; i++)
        index += function->regs[i]->type != PTX_PRED;
    assert_true(index < code->life_count);
    return &code->lives[index];
}

// All registers that the instruction names or that are live after it are disjoint and have a
// lifetime there.
static void check_place(const struct graph *graph, const struct sim_code *code, const slot *slots,
                        uint32_t block, uint32_t at, uint64_t seed)
{
    const struct ptx_function *function = graph->cfg->function;
    const struct ptx_instr *instr = graph->cfg->blocks[block].instrs[at];
    const struct ptx_reg *alive[KINDS * REGS];
    unsigned count = 0;
    for (uint32_t i = 0; i < function->reg_count; i++) {
        bool been[2 * BLOCKS + 16] = {false};
        bool named = false;
        for (uint32_t r = graph->ssa->ref_start[instr->index];
             r < graph->ssa->ref_start[instr->index + 1]; r++)
            named |= reg_of(instr, &graph->ssa->refs[r])->id == function->regs[i]->id;
        assert_true(graph->cfg->block_count < sizeof(been));
        if (named || alive_from(graph, block, at + 1, function->regs[i]->id, been))
            alive[count++] = function->regs[i];
    }
    for (unsigned a = 0; a < count; a++) {
        if (alive[a]->type != PTX_PRED) {
            const struct sim_life *life = life_of(code, function, alive[a]->id);
            assert_int_equal(life->at, slots[alive[a]->id]);
            assert_int_equal(life->bytes, bytes_of(alive[a]));
            assert_in_range(instr->index, life->first, life->last);
        }
        for (unsigned b = a + 1; b < count; b++) {
            if (overlap(alive[a], slots[alive[a]->id], alive[b], slots[alive[b]->id]))
                fail_msg("seed %llu, line %u: %s and %s share", (unsigned long long)seed,
                         instr->stmt.line, alive[a]->name, alive[b]->name);
        }
    }
}

static void check_function(const struct base_buf *text, uint64_t seed)
{
    struct base_error error;
    struct ptx_module *module;
    jmp_buf escape;
    struct base_arena arena;
    if (ptx_parse(text->text, text->length, "random", &module, &error) != BASE_OK)
        fail_msg("seed %llu does not parse:\n%s", (unsigned long long)seed, text->text);
    base_arena_init(&arena, 0);
    assert_int_equal(setjmp(escape), 0);
    arena.escape = &escape;
    struct graph graph;
    graph.cfg = ptx_cfg_build(module->first->function, &arena);
    graph.ssa = ptx_ssa_build(graph.cfg, &arena);
    slot *slots;
    const struct sim_contraction *contractions = sim_decode_contractions(module, graph.ssa, &arena);
    struct sim_code code = {0};
    sim_decode_slots(graph.ssa, contractions, &arena, &arena, &slots, &code);
    for (uint32_t i = 0; i < module->first->function->reg_count; i++) {
        const struct ptx_reg *reg = module->first->function->regs[i];
        assert_true(slots[i] + bytes_of(reg) <= code.register_bytes);
        assert_true(reg->type == PTX_PRED || slots[i] + bytes_of(reg) <= code.slot_bytes);
        assert_int_equal(slots[i] % (reg->type == PTX_PRED ? 4 : 128), 0);
    }
    for (uint32_t b = 0; b < graph.cfg->block_count; b++) {
        for (uint32_t i = 0; i < graph.cfg->blocks[b].instr_count; i++) {
            if (graph.cfg->blocks[b].order != PTX_NO_BLOCK)
                check_place(&graph, &code, slots, b, i, seed);
        }
    }
    base_arena_fini(&arena);
    ptx_module_destroy(module);
}

static void registers_alive_together_are_apart(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= FUNCTIONS; seed++) {
        struct base_buf text = {0};
        uint64_t random = seed * 7907;
        add_function(&text, &random);
        check_function(&text, seed);
        base_buf_fini(&text);
    }
}

// Returns the bytes that the function needs, and the slots of its first `count` registers.
static uint32_t place(const char *text, slot *out, uint32_t count)
{
    struct base_error error;
    struct ptx_module *module;
    struct base_arena arena;
    jmp_buf escape;
    assert_int_equal(ptx_parse(text, strlen(text), "text", &module, &error), BASE_OK);
    base_arena_init(&arena, 0);
    assert_int_equal(setjmp(escape), 0);
    arena.escape = &escape;
    slot *slots;
    const struct ptx_cfg *cfg = ptx_cfg_build(module->first->function, &arena);
    const struct ptx_ssa *ssa = ptx_ssa_build(cfg, &arena);
    struct sim_code code = {0};
    sim_decode_slots(ssa, sim_decode_contractions(module, ssa, &arena), &arena, &arena, &slots,
                     &code);
    memcpy(out, slots, count * sizeof(slot));
    base_arena_fini(&arena);
    ptx_module_destroy(module);
    return code.register_bytes;
}

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n"

static void registers_that_follow_each_other_share(void **state)
{
    (void)state;
    slot slots[5];
    uint32_t bytes = place(HEAD ".reg .b32 %r<5>;\nmov.u32 %r0, %tid.x;\nadd.s32 %r1, %r0, 1;\n"
                                "add.s32 %r2, %r1, 1;\nadd.s32 %r3, %r2, 1;\nadd.s32 %r4, %r3, 1;\n"
                                "st.shared.u32 [%r4], %r4;\nret;\n}\n",
                           slots, 5);
    assert_int_equal(bytes, 2 * LANES * 4);
}

// An instruction between a product and the sum that the product is fused into.
#define BETWEEN(mul)                                                                  \
    HEAD ".reg .f32 %f<5>;\nmov.f32 %f0, 0f3F800000;\nmov.f32 %f1, 0f40000000;\n" mul \
         " %f2, %f0, %f1;\nmov.f32 %f3, 0f40400000;\nsub.f32 %f4, %f3, %f2;\n"        \
         "st.shared.f32 [0], %f4;\nret;\n}\n"

static void sources_of_a_product_live_until_its_sum(void **state)
{
    (void)state;
    slot fused[5], apart[5];
    place(BETWEEN("mul.f32"), fused, 5);
    place(BETWEEN("mul.rn.f32"), apart, 5);
    assert_true(fused[3] != fused[0] && fused[3] != fused[1]);
    assert_true(apart[3] == apart[0] || apart[3] == apart[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_alive_together_are_apart),
        cmocka_unit_test(registers_that_follow_each_other_share),
        cmocka_unit_test(sources_of_a_product_live_until_its_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
