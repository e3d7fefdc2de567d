// SPDX-License-Identifier: Apache-2.0
// Parsing PTX: the resulting IR, and the errors for text that is not PTX.
#include "testing.h"

// Directives --------------------------------------------------------------------------------------

static void header_is_kept(void **state)
{
    (void)state;
    struct ptx_module *module =
        read_module(".version 9.1\n.target sm_90a, debug\n.address_size 64\n");
    assert_int_equal(module->version_major, 9);
    assert_int_equal(module->version_minor, 1);
    assert_string_equal(module->target, "sm_90a, debug");
    assert_int_equal(module->address_size, 64);
    assert_null(module->first);
    ptx_module_destroy(module);
    module = read_module(".version 3.2 .target sm_20");
    assert_int_equal(module->address_size, 32);
    ptx_module_destroy(module);
}

static struct ptx_var *only_var(const struct ptx_module *module)
{
    assert_non_null(module->first);
    assert_ptr_equal(module->first, module->last);
    assert_int_equal(module->first->kind, PTX_ITEM_VAR);
    return module->first->var;
}

static void variables_have_their_space_type_and_size(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum ptx_space space;
        enum ptx_type type;
        unsigned vec, linkage, align, dims;
        uint64_t size_bytes;
    } cases[] = {
        {".global .u32 v;", PTX_SPACE_GLOBAL, PTX_U32, 1, 0, 0, 0, 4},
        {".visible .global .align 16 .v4 .f32 v[3];", PTX_SPACE_GLOBAL, PTX_F32, 4,
         PTX_LINK_VISIBLE, 16, 1, 48},
        {".extern .shared .align 8 .b8 v[];", PTX_SPACE_SHARED, PTX_B8, 1, PTX_LINK_EXTERN, 8, 1,
         0},
        {".weak .const .f64 v[2][3][4];", PTX_SPACE_CONST, PTX_F64, 1, PTX_LINK_WEAK, 0, 3, 192},
        {".common .global .s16 v;", PTX_SPACE_GLOBAL, PTX_S16, 1, PTX_LINK_COMMON, 0, 0, 2},
        {".global .u8 v[] = {1, 2, 3};", PTX_SPACE_GLOBAL, PTX_U8, 1, 0, 0, 1, 3},
        {".global .u16 v[][2] = {{1, 2}, {3, 4}, {5, 6}};", PTX_SPACE_GLOBAL, PTX_U16, 1, 0, 0, 2,
         12},
        {".global .texref v;", PTX_SPACE_GLOBAL, PTX_TEXREF, 1, 0, 0, 0, 8},
        {".global .u32 v[1 << 4];", PTX_SPACE_GLOBAL, PTX_U32, 1, 0, 0, 1, 64},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), HEAD "%s", cases[i].text);
        struct ptx_module *module = read_module(text);
        const struct ptx_var *var = only_var(module);
        assert_string_equal(var->name, "v");
        assert_int_equal(var->space, cases[i].space);
        assert_int_equal(var->type, cases[i].type);
        assert_int_equal(var->vec, cases[i].vec);
        assert_int_equal(var->linkage, cases[i].linkage);
        assert_int_equal(var->align, cases[i].align);
        assert_int_equal(var->dim_count, cases[i].dims);
        assert_int_equal(var->size_bytes, cases[i].size_bytes);
        assert_int_equal(var->line, 4);
        ptx_module_destroy(module);
    }
}

static void one_declaration_may_name_several_variables(void **state)
{
    (void)state;
    struct ptx_module *module =
        read_module(HEAD ".global .attribute(.managed) .u32 a, b[2], c = 7, d<3>;");
    static const char *const names[] = {"a", "b", "c", "d0", "d1", "d2"};
    const struct ptx_item *item = module->first;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++, item = item->next) {
        assert_non_null(item);
        assert_string_equal(item->var->name, names[i]);
        assert_true(item->var->managed);
        assert_string_equal(item->var->attributes, ".managed");
    }
    assert_null(item);
    ptx_module_destroy(module);
}

static void initialisers_are_token_lists(void **state)
{
    (void)state;
    struct ptx_module *module =
        read_module(HEAD ".global .u32 x;\n.func f();\n"
                         ".global .u64 v[] = {-1, 0xFF, 0f3F800000, 1.5, x, x+4, generic(x)+8, f, "
                         "0xFF00(x), other, {1,}, 2,};");
    const struct ptx_var *var = module->last->var;
    static const struct {
        enum ptx_init_kind kind;
        int64_t bits;
        int64_t offset;
        bool generic;
        uint64_t mask;
    } expected[] = {
        {PTX_INIT_OPEN, 0, 0, false, 0},
        {PTX_INIT_INT, -1, 0, false, 0},
        {PTX_INIT_INT, 0xFF, 0, false, 0},
        {PTX_INIT_F32, 0x3F800000, 0, false, 0},
        {PTX_INIT_F64, 0x3FF8000000000000, 0, false, 0},
        {PTX_INIT_VAR, 0, 0, false, 0},
        {PTX_INIT_VAR, 0, 4, false, 0},
        {PTX_INIT_VAR, 0, 8, true, 0},
        {PTX_INIT_FUNCTION, 0, 0, false, 0},
        {PTX_INIT_VAR, 0, 0, false, 0xFF00},
        {PTX_INIT_NAME, 0, 0, false, 0},
        {PTX_INIT_OPEN, 0, 0, false, 0},
        {PTX_INIT_INT, 1, 0, false, 0},
        {PTX_INIT_CLOSE, 0, 0, false, 0},
        {PTX_INIT_INT, 2, 0, false, 0},
        {PTX_INIT_CLOSE, 0, 0, false, 0},
    };
    assert_int_equal(var->init_count, sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < var->init_count; i++) {
        const struct ptx_init *init = &var->init[i];
        assert_int_equal(init->kind, expected[i].kind);
        assert_int_equal(init->generic, expected[i].generic);
        assert_int_equal(init->mask, expected[i].mask);
        if (init->kind >= PTX_INIT_INT && init->kind <= PTX_INIT_F64)
            assert_int_equal((int64_t)init->bits, expected[i].bits);
        if (init->kind == PTX_INIT_VAR) {
            assert_string_equal(init->var->name, "x");
            assert_int_equal(init->offset, expected[i].offset);
        }
    }
    assert_true(var->init[2].hex);
    assert_false(var->init[1].hex);
    ptx_module_destroy(module);
}

static void sums_of_offsets_wrap(void **state)
{
    (void)state;
    struct ptx_module *module =
        read_module(HEAD ".global .u32 x;\n.global .u64 v = generic(x+9223372036854775807)+1;");
    assert_int_equal(module->last->var->init[0].offset, INT64_MIN);
    ptx_module_destroy(module);
}

static void functions_have_parameters_and_attributes(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(
        HEAD
        ".visible .entry k(.param .u64 .ptr .global .align 16 a, .param .align 4 .b8 b[12], "
        ".param .f32 c)\n.maxntid 256, 1, 1\n.minnctapersm 2\n.pragma \"one\", \"two\";\n{ ret; }\n"
        ".extern .func (.reg .u32 out) f (.reg .u32 in, .param .b64 _) .noreturn;\n"
        ".func .attribute(.unified(1, 2)) g() { }");
    struct ptx_function *kernel = find_function(module, "k");
    assert_true(kernel->is_entry);
    assert_true(kernel->has_body);
    assert_int_equal(kernel->linkage, PTX_LINK_VISIBLE);
    assert_int_equal(kernel->param_count, 3);
    assert_true(kernel->params[0]->is_ptr);
    assert_int_equal(kernel->params[0]->ptr_space, PTX_SPACE_GLOBAL);
    assert_int_equal(kernel->params[0]->ptr_align, 16);
    assert_int_equal(kernel->params[0]->align, 0);
    assert_int_equal(kernel->params[1]->size_bytes, 12);
    assert_int_equal(kernel->params[1]->index, 1);
    assert_int_equal(kernel->params[2]->type, PTX_F32);
    const struct ptx_attr *attr = ptx_function_attr(kernel, ".maxntid");
    assert_non_null(attr);
    assert_int_equal(attr->count, 3);
    assert_int_equal(attr->values[0], 256);
    assert_int_equal(ptx_function_attr(kernel, ".minnctapersm")->values[0], 2);
    assert_string_equal(ptx_function_attr(kernel, ".pragma")->text, "\"one\", \"two\"");
    assert_null(ptx_function_attr(kernel, ".reqntid"));
    const struct ptx_function *f = find_function(module, "f");
    assert_false(f->is_entry);
    assert_false(f->has_body);
    assert_int_equal(f->return_count, 1);
    assert_int_equal(f->param_count, 2);
    assert_int_equal(f->params[0]->space, PTX_SPACE_REG);
    assert_non_null(ptx_function_attr(f, ".noreturn"));
    assert_string_equal(find_function(module, "g")->attributes, ".unified(1, 2)");
    assert_null(ptx_function_find(module, "h"));
    ptx_module_destroy(module);
}

static void a_definition_follows_its_declaration(void **state)
{
    (void)state;
    struct ptx_module *module =
        read_module(HEAD ".func f();\n.entry k() { call f; ret; }\n.func f() { ret; }\n.func f();");
    assert_true(find_function(module, "f")->has_body);
    const struct ptx_instr *call = find_instr(find_function(module, "k"), 0);
    assert_int_equal(call->operands[0].kind, PTX_OPERAND_FUNCTION);
    assert_string_equal(call->operands[0].function->name, "f");
    ptx_module_destroy(module);
}

static void files_aliases_pragmas_and_sections_are_items(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(
        HEAD ".file 1 \"a \\\" b.cu\"\n.file 2 \"c.cu\", 12345, 678\n.pragma \"x\";\n"
             ".func f() {}\n.alias g, f;\n"
             ".section .debug_str\n{\nL0:\n.b8 104, 105, 0, 106, 0\nL1:\n.b8 107\n.b32 1\n}\n"
             ".section .debug_info { .b64 L1, L1-L0, .debug_str+4, -3, 0xFF, L0-8 }");
    assert_string_equal(ptx_file_path(module, 1), "a \\\" b.cu");
    assert_string_equal(ptx_file_path(module, 2), "c.cu");
    assert_null(ptx_file_path(module, 3));
    const struct ptx_item *item = module->first->next;
    assert_true(item->file.has_stamp);
    assert_int_equal(item->file.timestamp, 12345);
    assert_int_equal(item->file.size, 678);
    item = item->next;
    assert_int_equal(item->kind, PTX_ITEM_PRAGMA);
    assert_string_equal(item->text, "\"x\"");
    item = item->next->next;
    assert_int_equal(item->kind, PTX_ITEM_ALIAS);
    assert_string_equal(item->alias.alias, "g");
    assert_string_equal(item->alias.target, "f");
    char *text = ptx_debug_string(module, "L0", 0);
    assert_string_equal(text, "hi");
    free(text);
    text = ptx_debug_string(module, "L0", 3);
    assert_string_equal(text, "j");
    free(text);
    text = ptx_debug_string(module, "L1", 0); // the .b32 after it is no text
    assert_string_equal(text, "k");
    free(text);
    assert_null(ptx_debug_string(module, "L2", 0));
    item = module->last;
    assert_string_equal(item->section.name, "debug_info");
    assert_int_equal(item->section.count, 1);
    const struct ptx_init *data = item->section.lines[0].data;
    assert_int_equal(item->section.lines[0].count, 6);
    assert_int_equal(data[0].kind, PTX_INIT_NAME);
    assert_true(data[1].difference);
    assert_string_equal(data[1].other, "L0");
    assert_string_equal(data[2].name, ".debug_str");
    assert_int_equal(data[2].offset, 4);
    assert_int_equal((int64_t)data[3].bits, -3);
    assert_true(data[4].hex);
    assert_int_equal(data[5].offset, -8);
    ptx_module_destroy(module);
}

static void positions_hold_for_what_follows(void **state)
{
    (void)state;
    struct ptx_module *module =
        read_module(KERNEL("ret;\n.loc 1 10 3\nret;\nret;\n.loc 2 20 5, function_name L_str+7, "
                           "inlined_at 1 11 4\nret;"));
    struct ptx_function *function = find_function(module, "k");
    assert_null(find_instr(function, 0)->loc);
    assert_int_equal(find_instr(function, 1)->loc->line, 10);
    assert_ptr_equal(find_instr(function, 1)->loc, find_instr(function, 2)->loc);
    const struct ptx_loc *loc = find_instr(function, 3)->loc;
    assert_int_equal(loc->file, 2);
    assert_int_equal(loc->column, 5);
    assert_true(loc->inlined);
    assert_string_equal(loc->name_label, "L_str");
    assert_int_equal(loc->name_offset, 7);
    assert_int_equal(loc->at_file, 1);
    assert_int_equal(loc->at_line, 11);
    assert_int_equal(loc->at_column, 4);
    assert_int_equal(find_instr(function, 0)->stmt.line, 9);
    assert_int_equal(find_instr(function, 3)->stmt.line, 14);
    ptx_module_destroy(module);
}

// Operands ----------------------------------------------------------------------------------------

// Parses a kernel that starts with the instruction and returns the instruction's operands.
static struct ptx_operand *operands_of(const char *instr, struct ptx_module **module)
{
    char text[1024];
    snprintf(text, sizeof(text),
             HEAD
             ".global .u32 g[8];\n.func f();\n.entry k(.param .u64 arg)\n{\n.reg .pred %%p, %%q;\n"
             ".reg .b32 %%r<10>;\n.reg .b64 %%rd<10>;\n.reg .v4 .f32 %%v;\n%s\nL: ret;\n"
             "TS: .branchtargets L;\nPROTO: .callprototype (.reg .u32 _) _ ();\n}",
             instr);
    *module = read_module(text);
    return find_instr(find_function(*module, "k"), 0)->operands;
}

static void operands_have_their_forms(void **state)
{
    (void)state;
    struct ptx_module *module;
    struct ptx_operand *at = operands_of("mov.b32 %r1, %r2;", &module);
    assert_int_equal(at[0].kind, PTX_OPERAND_REG);
    assert_string_equal(at[0].reg->name, "%r1");
    assert_int_equal(at[1].reg->type, PTX_B32);
    assert_ptr_not_equal(at[0].reg, at[1].reg);
    ptx_module_destroy(module);

    at = operands_of("mov.u32 %r1, %tid.y;", &module);
    assert_int_equal(at[1].kind, PTX_OPERAND_SREG);
    assert_int_equal(at[1].sreg, PTX_SREG_ID_TID);
    assert_int_equal(at[1].select, PTX_MOD_Y);
    ptx_module_destroy(module);

    at = operands_of("mov.u32 %r1, %envreg31;", &module);
    assert_int_equal(at[1].sreg, PTX_SREG_ID_ENVREG);
    assert_int_equal(at[1].number, 31);
    ptx_module_destroy(module);

    at = operands_of("mov.f32 %v.x, %v.w;", &module);
    assert_int_equal(at[0].reg->vec, 4);
    assert_int_equal(at[0].select, PTX_MOD_X);
    assert_int_equal(at[1].select, PTX_MOD_W);
    ptx_module_destroy(module);

    at = operands_of("mov.u64 %rd1, g+12;", &module);
    assert_int_equal(at[1].kind, PTX_OPERAND_VAR);
    assert_int_equal(at[1].offset, 12);
    ptx_module_destroy(module);

    at = operands_of("mov.u64 %rd1, g[3];", &module);
    assert_int_equal(at[1].flags, PTX_OPERAND_INDEXED);
    assert_int_equal(at[1].offset, 3);
    ptx_module_destroy(module);

    at = operands_of("ld.global.u32 %r1, g[%r2+3];", &module);
    assert_int_equal(at[1].kind, PTX_OPERAND_ADDRESS);
    assert_true(at[1].flags & PTX_OPERAND_INDEXED);
    assert_int_equal(at[1].elements[1].kind, PTX_OPERAND_REG);
    assert_int_equal(at[1].offset, 3);
    ptx_module_destroy(module);

    at = operands_of("mov.u64 %rd1, f;", &module);
    assert_int_equal(at[1].kind, PTX_OPERAND_FUNCTION);
    ptx_module_destroy(module);

    at = operands_of("ld.global.u32 %r1, [%rd1];", &module);
    assert_int_equal(at[1].kind, PTX_OPERAND_ADDRESS);
    assert_int_equal(at[1].count, 1);
    assert_int_equal(at[1].flags, 0);
    ptx_module_destroy(module);

    at = operands_of("ld.global.u32 %r1, [%rd1 + 8 - 24];", &module);
    assert_int_equal(at[1].offset, -16);
    assert_int_equal(at[1].flags, PTX_OPERAND_OFFSET);
    ptx_module_destroy(module);

    at = operands_of("ld.global.u32 %r1, [g+4*2];", &module);
    assert_int_equal(at[1].elements[0].kind, PTX_OPERAND_VAR);
    assert_int_equal(at[1].offset, 8);
    assert_int_equal(at[1].elements[0].offset, 0);
    ptx_module_destroy(module);

    at = operands_of("ld.param.u64 %rd1, [arg+0];", &module);
    assert_true(at[1].elements[0].var->is_param);
    assert_int_equal(at[1].flags, PTX_OPERAND_OFFSET);
    ptx_module_destroy(module);

    at = operands_of("ld.global.v2.u32 {%r1, _}, [16];", &module);
    assert_int_equal(at[0].kind, PTX_OPERAND_VECTOR);
    assert_int_equal(at[0].count, 2);
    assert_int_equal(at[0].elements[1].kind, PTX_OPERAND_SINK);
    assert_int_equal(at[1].elements[0].kind, PTX_OPERAND_INT);
    assert_int_equal(at[1].elements[0].bits, 16);
    ptx_module_destroy(module);

    at = operands_of("setp.eq.and.u32 %p|%q, %r1, 1, !%p;", &module);
    assert_int_equal(at[0].kind, PTX_OPERAND_PAIR);
    assert_string_equal(at[0].elements[1].reg->name, "%q");
    assert_int_equal(at[3].flags, PTX_OPERAND_NOT);
    ptx_module_destroy(module);

    at = operands_of("vadd.u32.u32.u32 %r1, %r2.b0, -%r3.h1;", &module);
    assert_int_equal(at[2].flags, PTX_OPERAND_NEGATED);
    assert_int_equal(at[1].select, PTX_MOD_SEL_B0);
    assert_int_equal(at[2].select, PTX_MOD_SEL_H1);
    ptx_module_destroy(module);

    at = operands_of("call (%r1), %rd1, (%r2, 5), PROTO;", &module);
    struct ptx_call call;
    assert_true(ptx_call_parts(find_instr(find_function(module, "k"), 0), &call));
    assert_ptr_equal(call.returns, &at[0]);
    assert_int_equal(call.target->kind, PTX_OPERAND_REG);
    assert_int_equal(call.arguments->count, 2);
    assert_int_equal(call.candidates->kind, PTX_OPERAND_LABEL);
    assert_int_equal(call.candidates->label->kind, PTX_LABEL_PROTOTYPE);
    assert_int_equal(call.candidates->label->prototype->return_count, 1);
    ptx_module_destroy(module);

    at = operands_of("brx.idx %r1, TS;", &module);
    assert_int_equal(at[1].label->kind, PTX_LABEL_BRANCH_TARGETS);
    assert_int_equal(at[1].label->target_count, 1);
    assert_string_equal(at[1].label->targets[0].label->name, "L");
    ptx_module_destroy(module);

    at = operands_of("tex.2d.v4.f32.f32 {%r1, %r2, %r3, %r4}, [%rd1, {%r5, %r6}];", &module);
    assert_int_equal(at[1].count, 2);
    assert_int_equal(at[1].elements[1].kind, PTX_OPERAND_VECTOR);
    ptx_module_destroy(module);
}

static void guards_are_registers(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(KERNEL("@%p ret;\n@!%p ret;\n@ ! %p ret;\nret;"));
    struct ptx_function *function = find_function(module, "k");
    assert_string_equal(find_instr(function, 0)->guard->name, "%p");
    assert_false(find_instr(function, 0)->guard_negated);
    assert_true(find_instr(function, 1)->guard_negated);
    assert_true(find_instr(function, 2)->guard_negated);
    assert_null(find_instr(function, 3)->guard);
    ptx_module_destroy(module);
}

static void constants_are_evaluated(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum ptx_operand_kind kind;
        uint64_t bits;
        unsigned flags;
    } cases[] = {
        {"0", PTX_OPERAND_INT, 0, 0},
        {"42", PTX_OPERAND_INT, 42, 0},
        {"-42", PTX_OPERAND_INT, (uint64_t)-42, 0},
        {"0x1F", PTX_OPERAND_INT, 31, PTX_OPERAND_HEX},
        {"0X1fU", PTX_OPERAND_INT, 31, PTX_OPERAND_HEX | PTX_OPERAND_UNSIGNED},
        {"017", PTX_OPERAND_INT, 15, 0},
        {"0b101", PTX_OPERAND_INT, 5, 0},
        {"7U", PTX_OPERAND_INT, 7, PTX_OPERAND_UNSIGNED},
        {"18446744073709551615", PTX_OPERAND_INT, UINT64_MAX, PTX_OPERAND_UNSIGNED},
        {"-9223372036854775808", PTX_OPERAND_INT, (uint64_t)INT64_MIN, 0},
        {"~0", PTX_OPERAND_INT, UINT64_MAX, 0},
        {"!5", PTX_OPERAND_INT, 0, 0},
        {"!0", PTX_OPERAND_INT, 1, 0},
        {"WARP_SZ", PTX_OPERAND_INT, 32, 0},
        {"!WARP_SZ", PTX_OPERAND_INT, 0, 0},
        {"WARP_SZ - 1", PTX_OPERAND_INT, 31, 0},
        {"2 + 3 * 4", PTX_OPERAND_INT, 14, 0},
        {"(2 + 3) * 4", PTX_OPERAND_INT, 20, 0},
        {"1 << 4 | 1", PTX_OPERAND_INT, 17, 0},
        {"-7 / 2", PTX_OPERAND_INT, (uint64_t)-3, 0},
        {"-7 % 3", PTX_OPERAND_INT, (uint64_t)-1, 0},
        {"7U / 2", PTX_OPERAND_INT, 3, PTX_OPERAND_UNSIGNED},
        {"-1 >> 4", PTX_OPERAND_INT, UINT64_MAX, 0},
        {"-1 < 0", PTX_OPERAND_INT, 1, 0},
        {"-1 < 0U", PTX_OPERAND_INT, 0, 0},
        {"1 ? 2 : 3", PTX_OPERAND_INT, 2, 0},
        {"0 ? 2 : 3", PTX_OPERAND_INT, 3, 0},
        {"1 && 0 || 1", PTX_OPERAND_INT, 1, 0},
        {"5 & 6 ^ 1", PTX_OPERAND_INT, 5, 0},
        {"(.u64) -1", PTX_OPERAND_INT, UINT64_MAX, PTX_OPERAND_UNSIGNED},
        {"(.s64) 7U", PTX_OPERAND_INT, 7, 0},
        {"9223372036854775807 + 1", PTX_OPERAND_INT, (uint64_t)INT64_MIN, 0},
        {"-9223372036854775808 / -1", PTX_OPERAND_INT, (uint64_t)INT64_MIN, 0},
        {"0f3F800000", PTX_OPERAND_F32, 0x3F800000, PTX_OPERAND_HEX},
        {"-0f3F800000", PTX_OPERAND_F32, 0xBF800000, PTX_OPERAND_HEX},
        {"0d3FF0000000000000", PTX_OPERAND_F64, 0x3FF0000000000000, PTX_OPERAND_HEX},
        {"1.5", PTX_OPERAND_F64, 0x3FF8000000000000, 0},
        {".5", PTX_OPERAND_F64, 0x3FE0000000000000, 0},
        {"1e2", PTX_OPERAND_F64, 0x4059000000000000, 0},
        {"1.5E-1", PTX_OPERAND_F64, 0x3FC3333333333333, 0},
        {"1.0 + 0.5", PTX_OPERAND_F64, 0x3FF8000000000000, 0},
        {"3 / 2.0", PTX_OPERAND_F64, 0x3FF8000000000000, 0},
        {"1.5 < 2", PTX_OPERAND_INT, 1, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char instr[128];
        struct ptx_module *module;
        snprintf(instr, sizeof(instr), "mov.b64 %%rd1, %s;", cases[i].text);
        const struct ptx_operand *at = operands_of(instr, &module);
        if (at[1].kind != cases[i].kind || at[1].bits != cases[i].bits ||
            at[1].flags != cases[i].flags)
            fail_msg("%s: kind %u, bits 0x%llx, flags %u", cases[i].text, at[1].kind,
                     (unsigned long long)at[1].bits, at[1].flags);
        ptx_module_destroy(module);
    }
}

static void forms_are_decoded(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(
        KERNEL("ld.relaxed.gpu.global.L1::no_allocate.v4.f32 {%r1, %r2, %r3, %r4}, [%rd1];\n"
               "ld .global .u32 %r1 , [ %rd1 ] ;\ncp.async.ca.shared.global [%r1], [%rd1], 16;\n"
               "cvt.rn.sat.f16.f32 %r1, %r2;\nbar.warp.sync 1;"));
    struct ptx_function *function = find_function(module, "k");
    const struct ptx_form *form = find_instr(function, 0)->form;
    assert_int_equal(form->op, PTX_OP_LD);
    assert_int_equal(form->space, PTX_SPACE_GLOBAL);
    assert_int_equal(form->vec, 4);
    assert_int_equal(form->types[0], PTX_F32);
    assert_int_equal(form->sem, PTX_MOD_RELAXED);
    assert_int_equal(form->scope, PTX_MOD_GPU);
    assert_string_equal(find_instr(function, 1)->form->text, "ld.global.u32");
    form = find_instr(function, 2)->form;
    assert_int_equal(form->op, PTX_OP_CP_ASYNC);
    assert_int_equal(form->space, PTX_SPACE_SHARED);
    assert_int_equal(form->space2, PTX_SPACE_GLOBAL);
    form = find_instr(function, 3)->form;
    assert_int_equal(form->type_count, 2);
    assert_int_equal(form->types[1], PTX_F32);
    assert_true(ptx_form_has(form, PTX_MOD_SAT));
    assert_int_equal(form->round, PTX_MOD_RN);
    assert_int_equal(find_instr(function, 4)->form->op, PTX_OP_BAR_WARP_SYNC);
    ptx_module_destroy(module);
}

// Words that the tables do not contain are kept unchanged.
static void unknown_words_are_printed_back(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "frobnicate.sync.b32 %r1, %r2, 5;",     "ld.global.new_modifier::x9.u32 %r1, [%rd1];",
        "frobnicate.u32 %r1, %newsreg;",        "frobnicate;",
        "@%p frobnicate [%rd1+4], {%r1, %r2};",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 HEAD
                 ".entry k()\n{\n.reg .pred %%p;\n.reg .b32 %%r<10>;\n.reg .b64 %%rd<10>;\n%s\n}",
                 lines[i]);
        struct ptx_module *module = read_module(text);
        struct base_buf out = {0};
        ptx_print_instr(find_instr(find_function(module, "k"), 0), &out);
        assert_string_equal(out.text, lines[i]);
        base_buf_fini(&out);
        ptx_module_destroy(module);
    }
}

// Scopes ------------------------------------------------------------------------------------------

static void inner_names_hide_outer_ones(void **state)
{
    (void)state;
    struct ptx_module *module =
        read_module(HEAD ".global .u32 x;\n.entry k()\n{\n.reg .b32 %r<5>, a;\n"
                         "mov.b32 a, %r1;\n"                // 0
                         "{\n.reg .b64 a;\nmov.b64 a, 1;\n" // 1
                         "mov.b32 %r1, 2;\n"                // 2: the outer family
                         "{\n.reg .f32 %r<3>;\nmov.b32 %r1, %r2;\nmov.b32 %r4, 1;\n}\n" // 3, 4
                         "mov.b32 %r2, %r1;\n"                                          // 5
                         "}\n"
                         "mov.b32 a, %r2;\n"                                  // 6
                         "{\n.reg .b16 x;\nmov.b16 x, 1;\n}\nmov.b64 a, x;\n" // 7, 8
                         "}");
    struct ptx_function *function = find_function(module, "k");
#define REG(instr, operand) (find_instr(function, instr)->operands[operand].reg)
    assert_int_equal(REG(0, 0)->type, PTX_B32);
    assert_int_equal(REG(1, 0)->type, PTX_B64);
    assert_ptr_equal(REG(0, 1), REG(2, 0));
    assert_int_equal(REG(3, 0)->type, PTX_F32);
    assert_int_equal(REG(3, 0)->scope->depth, 2);
    assert_int_equal(REG(4, 0)->type, PTX_B32); // %r4 is no member of the inner family
    assert_ptr_equal(REG(5, 1), REG(0, 1));
    assert_ptr_equal(REG(6, 0), REG(0, 0));
    assert_ptr_equal(REG(6, 1), REG(5, 0));
    assert_int_equal(REG(7, 0)->type, PTX_B16);
    assert_int_equal(find_instr(function, 8)->operands[1].kind, PTX_OPERAND_VAR);
#undef REG
    ptx_module_destroy(module);
}

static void labels_belong_to_their_scope(void **state)
{
    (void)state;
    struct ptx_module *module =
        read_module(KERNEL("bra L;\n"               // 0: outer, which follows
                           "{\nbra L;\n"            // 1: inner, which follows
                           "L: bra L;\n"            // 2
                           "{\nbra L;\nbra M;\n}\n" // 3: the nearest; 4: outermost
                           "}\n"
                           "{\nbra L;\n}\n"       // 5: outer
                           "L: ret;\nM: bra k;\n" // 6, 7: a function, as no label has the name
                           "{ bra M; }"));        // 8
    struct ptx_function *function = find_function(module, "k");
#define TARGET(instr) (find_instr(function, instr)->operands[0].label)
    assert_ptr_equal(TARGET(0), TARGET(5));
    assert_ptr_equal(TARGET(1), TARGET(2));
    assert_ptr_equal(TARGET(1), TARGET(3));
    assert_ptr_not_equal(TARGET(0), TARGET(1));
    assert_ptr_equal(TARGET(4), TARGET(8));
    assert_int_equal(find_instr(function, 7)->operands[0].kind, PTX_OPERAND_FUNCTION);
#undef TARGET
    ptx_module_destroy(module);
}

// A forward branch to a label that has the same name as a function or variable of the module.
static void labels_hide_functions_and_variables(void **state)
{
    (void)state;
    struct ptx_module *module =
        read_module(HEAD ".global .u32 x;\n.func f();\n.entry k() { bra f; bra x; f: x: ret; }");
    struct ptx_function *function = find_function(module, "k");
    assert_int_equal(find_instr(function, 0)->operands[0].kind, PTX_OPERAND_LABEL);
    assert_int_equal(find_instr(function, 1)->operands[0].kind, PTX_OPERAND_LABEL);
    ptx_module_destroy(module);
}

static void large_families_cost_nothing(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(
        HEAD ".entry k() { .reg .b32 %r<4000000000>; .reg .b64 %z<0>, %q<18446744073709551615>; "
             "mov.b32 %r3999999999, %r0; mov.b64 %q999999999999999999, 1; }");
    struct ptx_function *function = find_function(module, "k");
    assert_int_equal(function->reg_count, 3);
    assert_true(ptx_module_bytes(module) < 1 << 16);
    ptx_module_destroy(module);
}

static void deep_nesting_is_read(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    struct base_buf text = {0};
    base_buf_puts(&text, HEAD ".entry k() { .reg .b32 %r<9>; L: mov.b32 %r1, 1;\n");
    for (int i = 0; i < DEPTH; i++)
        base_buf_puts(&text, "{ bra L; ");
    base_buf_puts(&text, "mov.b32 %r1, %r2;");
    for (int i = 0; i < DEPTH; i++)
        base_buf_puts(&text, "}");
    base_buf_puts(&text, "}");
    struct ptx_module *module = read_module(text.text);
    struct ptx_function *function = find_function(module, "k");
    assert_int_equal(function->scope_count, DEPTH + 1);
    assert_string_equal(find_instr(function, DEPTH)->operands[0].label->name, "L");
    ptx_module_destroy(module);
    base_buf_fini(&text);
}

// Layout ------------------------------------------------------------------------------------------

static void layout_does_not_matter(void **state)
{
    (void)state;
    struct ptx_module *plain = read_module(KERNEL("add.u32 %r1, %r2, %r3;\nret;"));
    char *expected = print_module(plain);
    ptx_module_destroy(plain);
    static const char *const others[] = {
        KERNEL("add.u32\r\n%r1,\r\n%r2 ,%r3;\r\nret;\r\n"),
        KERNEL("/* a\n * comment */ add.u32 %r1, // one\n %r2, /**/ %r3; ret;"),
        KERNEL(";;add.u32\t%r1,\f%r2,\v%r3;;; ret ;;"),
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct ptx_module *module = read_module(others[i]);
        char *text = print_module(module);
        assert_string_equal(text, expected);
        free(text);
        ptx_module_destroy(module);
    }
    free(expected);
}

// Texts in fatbins are padded.
static void trailing_nul_bytes_are_ignored(void **state)
{
    (void)state;
    static const char text[] = HEAD ".entry k() { ret; }\n\0\0\0";
    struct ptx_module *module;
    struct base_error error;
    assert_int_equal(ptx_parse(text, sizeof(text), "x", &module, &error), BASE_OK);
    ptx_module_destroy(module);
}

static void errors_need_no_place_for_them(void **state)
{
    (void)state;
    struct ptx_module *module;
    assert_int_equal(ptx_parse("x", 1, "x", &module, NULL), BASE_SYNTAX);
    assert_null(module);
}

// Errors and their positions ----------------------------------------------------------------------

static void bad_text_is_explained(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "1:1: expected '.version', found the end of the text"},
        {"hello", "1:1: expected '.version', found 'hello'"},
        {".version 8.0\n", "1:1: expected '.version' and '.target'"},
        {".version eight", "1:10: expected a version such as 9.0, found 'eight'"},
        {".version 8\n", "2:1: expected '.' in a version such as 9.0, found the end of the text"},
        {".version 8 0\n", "1:12: expected '.' in a version such as 9.0, found '0'"},
        {".version 8.x\n", "1:12: expected a version such as 9.0, found 'x'"},
        {".version 8.0\n.target 90", "2:9: expected a target such as sm_90, found '90'"},
        {".version 8.0\n.target sm_90, 90", "2:16: expected a target such as sm_90, found '90'"},
        {".version 8.0\n.target sm_80\n.address_size 48",
         "3:1: expected an address size of 32 or 64, found 48"},
        {HEAD ".bogus x;", "4:1: expected a directive, found '.bogus'"},
        {HEAD "mov.u32 x, y;", "4:1: expected a directive, found 'mov.u32'"},
        {HEAD ".global .u32;", "4:13: expected a variable's name, found ';'"},
        {HEAD ".global x;", "4:9: expected a type, found 'x'"},
        {HEAD ".global .u33 x;", "4:9: expected a type or attribute of a variable, found '.u33'"},
        {HEAD ".global .align 3 .u32 x;",
         "4:9: expected an alignment that is a power of two, found 3"},
        {HEAD ".global .align -4 .u32 x;", "4:16: expected an alignment in bytes, found a number "
                                           "that is negative or not whole"},
        {HEAD ".global .u32 x", "4:15: expected ';', found the end of the text"},
        {HEAD ".global .u32 x[4;", "4:17: expected ']', found ';'"},
        {HEAD ".global .u32 x = {1, 2;", "4:23: expected ',', found ';'"},
        {HEAD ".global .u32 x = ;", "4:18: expected a value, found ';'"},
        {HEAD ".global .u64 x[2][9223372036854775807];",
         "4:15: this array does not fit 64-bit addresses"},
        {HEAD ".global .u32 x<70000>;", "4:14: expected at most 65536 variables"},
        {HEAD ".global .attribute(.managed .u32 x;",
         "4:20: this parenthesis has no end: expected ')'"},
        {HEAD ".visible .version 8.0", "4:1: expected a function or a variable behind its linkage"},
        {HEAD ".entry", "4:7: expected a function's name, found the end of the text"},
        {HEAD ".entry k", "4:9: expected '{', ';' or a directive, found the end of the text"},
        {HEAD ".entry k() {", "4:12: this body has no end: expected '}'"},
        {HEAD ".entry k() {{}", "4:12: this body has no end: expected '}'"},
        {HEAD ".entry k() {}\n.entry k() {}", "5:8: function 'k' has two bodies"},
        {HEAD ".global .u32 k;\n.entry k() {}", "5:8: 'k' is declared twice"},
        {HEAD ".entry k(.global .u32 x) {}", "4:10: expected '.param' or '.reg', found '.global'"},
        {HEAD ".entry k(.param .u32 x .param .u32 y) {}",
         "4:24: expected ',' or ')', found '.param'"},
        {HEAD ".entry k() .maxntid 1, 2, 3, 4 {}",
         "4:30: expected at most three numbers, found '4'"},
        {HEAD ".section .x { .u33 1 }", "4:16: expected .b8, .b16, .b32 or .b64 in a section"},
        {HEAD ".section .x { L }", "4:17: expected ':', found '}'"},
        {HEAD ".file 1 name", "4:9: expected a string, found 'name'"},
        {HEAD ".alias a b;", "4:10: expected ',', found 'b'"},
        {KERNEL("mov.u32 %r1, %r10;"), "9:14: register '%r10' is not declared"},
        {KERNEL("bra NOWHERE;"), "9:1: 'NOWHERE' is not declared"},
        {KERNEL("{ L: }\nbra L;\nbra M;"), "10:1: 'L' is not declared"},
        {KERNEL("mov.u32 %r1;"), "9:1: 'mov.u32' takes 2 operands, found 1"},
        {KERNEL("mov.u32 %r1, 1, 2;"), "9:1: 'mov.u32' takes 2 operands, found 3"},
        {KERNEL("ld.global.u32 %r1;"), "9:1: 'ld.global.u32' takes at least 2 operands, found 1"},
        {KERNEL("add.u32 %r1, %r2 %r3;"), "9:18: expected ',' or ';', found '%r3'"},
        {KERNEL("mov.u32 %r1, ;"), "9:14: expected an operand, found ';'"},
        {KERNEL("mov..u32 %r1, 1;"), "9:5: expected a modifier, found '.u32'"},
        {KERNEL("mov .u32 . %r1, 1;"), "9:12: expected a modifier, found '%r1'"},
        {KERNEL("L: L:"), "9:4: 'L' is declared twice"},
        {KERNEL(".reg .b32 a, a;"), "9:15: 'a' is declared twice"},
        {KERNEL(".reg .b32 %r<5>;"), "9:11: '%r<>' is declared twice"},
        {KERNEL(".reg .bogus x;"), "9:7: expected a type of registers, found '.bogus'"},
        {KERNEL(".reg x;"), "9:6: expected a type, found 'x'"},
        {KERNEL(".bogus x;"), "9:1: expected a directive or an instruction, found '.bogus'"},
        {KERNEL("@%r1 ret;"), "9:2: expected a predicate register behind '@'"},
        {KERNEL("@%p;"), "9:4: expected an instruction, found ';'"},
        {KERNEL("ld.global.u32 %r1, [%rd1;"), "9:25: expected '+', ',' or ']', found ';'"},
        {KERNEL("ld.global.u32 %r1, [%rd1+x];"), "9:26: expected a constant, found 'x'"},
        {KERNEL("ld.global.u32 %r1, [%rd1+1.5];"), "9:25: an offset must be a whole number"},
        {KERNEL("mov.u32 {%r1, %r2, 5;"), "9:21: expected '}', found ';'"},
        {KERNEL("mov.u32 %r1, 0x;"), "9:16: expected a number, found ';'"},
        {KERNEL("mov.u32 %r1, 99999999999999999999;"), "9:14: this integer does not fit 64 bits"},
        {KERNEL("mov.f32 %r1, 0f3F80;"),
         "9:14: expected 8 hexadecimal digits in a floating-point number"},
        {KERNEL("mov.u32 %r1, 1/0;"), "9:15: division by zero in a constant"},
        {KERNEL("mov.u32 %r1, 1.0 & 2;"),
         "9:18: floating-point numbers cannot be combined with '&'"},
        {KERNEL("mov.u32 %r1, ~1.0;"), "9:14: '~' does not apply to a floating-point number"},
        {KERNEL("mov.u32 %r1, (.f32) 5;"), "9:16: a constant is cast to .s64 or .u64, not to .f32"},
        {KERNEL("mov.u32 %r1, 1 ? 2;"), "9:19: expected ':', found ';'"},
        {KERNEL("mov.u32 %r1, %tid.q;"),
         "9:19: expected a component such as .x, .b0 or .h10, found '.q'"},
        {KERNEL("mov.u32 %r1.shared::cluster, 1;"),
         "9:13: expected a component such as .x, .b0 or .h10, found '.shared::cluster'"},
        {KERNEL("mov.u32 {{{{{{{{{{%r1}}}}}}}}}}, 1;"),
         "9:18: expected an operand that is less deeply nested, found '{'"},
        {KERNEL(".loc 1 2 3, nonsense"),
         "9:13: expected 'function_name' or 'inlined_at', found 'nonsense'"},
        {KERNEL(".loc one 2 3"), "9:6: expected a file's number, found 'one'"},
        {KERNEL(".loc 4294967296 2 3"),
         "9:6: expected a file's number, found a number that is too large"},
        {KERNEL(".pragma nounroll;"), "9:9: expected a string, found 'nounroll'"},
        {KERNEL(".pragma \"nounroll;"), "9:9: this string has no end: expected '\"'"},
        {KERNEL("/* no end"), "9:1: this comment has no end: expected '*/'"},
        {KERNEL("\x01"),
         "9:1: expected a directive, a label or an instruction, found the byte 0x01"},
        {KERNEL("\xC3\xA9"),
         "9:1: expected a directive, a label or an instruction, found the byte 0xc3"},
        {KERNEL("call (%r1, nothing;"), "9:19: expected ')', found ';'"},
        {KERNEL("mov.u32 %r1, #0;"), "9:14: expected an operand, found '#'"},
        {KERNEL("TS: .branchtargets;"), "9:19: expected an operand, found ';'"},
        {KERNEL("}"), "10:1: expected a directive, found '}'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ptx_module *module;
        struct base_error error;
        char expected[256];
        enum base_code code =
            ptx_parse(cases[i].text, strlen(cases[i].text), "bad.ptx", &module, &error);
        if (code != BASE_SYNTAX) {
            print_error("accepted: %s\n", cases[i].text);
            ptx_module_destroy(module);
        }
        assert_int_equal(code, BASE_SYNTAX);
        assert_int_equal(error.code, BASE_SYNTAX);
        assert_null(module);
        snprintf(expected, sizeof(expected), "bad.ptx:%s", cases[i].message);
        assert_string_equal(error.text[0], expected);
        assert_int_equal(error.causes, 1);
    }
}

static void expressions_may_be_too_deep(void **state)
{
    (void)state;
    struct base_buf text = {0};
    base_buf_puts(&text, HEAD ".entry k() { .reg .b32 r;\nmov.b32 r, ");
    for (int i = 0; i < 100; i++)
        base_buf_putc(&text, '(');
    struct ptx_module *module;
    struct base_error error;
    assert_int_equal(ptx_parse(text.text, text.length, "bad.ptx", &module, &error), BASE_SYNTAX);
    assert_string_equal(error.text[0], "bad.ptx:5:77: expected a simpler expression, found '('");
    text.length = 0;
    base_buf_puts(&text, HEAD ".entry k() { .reg .b32 r;\nmov.b32 r, 1");
    for (int i = 0; i < 5000; i++)
        base_buf_puts(&text, "?1:1");
    assert_int_equal(ptx_parse(text.text, text.length, "bad.ptx", &module, &error), BASE_SYNTAX);
    base_buf_fini(&text);
}

static void nul_bytes_inside_are_no_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
        const char *message;
    } cases[] = {
#define CASE(text, message) {text, sizeof(text) - 1, message}
        CASE(KERNEL("ret;\0ret;"),
             "9:5: expected a directive, a label or an instruction, found the byte 0x00"),
        CASE(KERNEL(".pragma \"a\0b\";"), "9:9: expected text, found the byte 0x00 in it"),
        CASE(HEAD ".file 1 \"\0\"", "4:9: expected text, found the byte 0x00 in it"),
        CASE(HEAD ".global .attribute(.ma\0naged) .u32 x;",
             "4:20: expected text, found the byte 0x00 in it"),
        CASE(HEAD "\0.entry k() {}", "4:1: expected a directive, found the byte 0x00"),
#undef CASE
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ptx_module *module;
        struct base_error error;
        char expected[256];
        assert_int_equal(ptx_parse(cases[i].text, cases[i].length, "bad.ptx", &module, &error),
                         BASE_SYNTAX);
        snprintf(expected, sizeof(expected), "bad.ptx:%s", cases[i].message);
        assert_string_equal(error.text[0], expected);
    }
}

static void long_names_are_cut_in_messages(void **state)
{
    (void)state;
    struct base_buf text = {0};
    base_buf_puts(&text, HEAD ".entry k() { bra ");
    for (int i = 0; i < 1000; i++)
        base_buf_putc(&text, 'x');
    base_buf_puts(&text, "; }");
    struct ptx_module *module;
    struct base_error error;
    assert_int_equal(ptx_parse(text.text, text.length, "bad.ptx", &module, &error), BASE_SYNTAX);
    assert_true(strlen(error.text[0]) < 120);
    base_buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_is_kept),
        cmocka_unit_test(variables_have_their_space_type_and_size),
        cmocka_unit_test(one_declaration_may_name_several_variables),
        cmocka_unit_test(initialisers_are_token_lists),
        cmocka_unit_test(sums_of_offsets_wrap),
        cmocka_unit_test(functions_have_parameters_and_attributes),
        cmocka_unit_test(a_definition_follows_its_declaration),
        cmocka_unit_test(files_aliases_pragmas_and_sections_are_items),
        cmocka_unit_test(positions_hold_for_what_follows),
        cmocka_unit_test(operands_have_their_forms),
        cmocka_unit_test(guards_are_registers),
        cmocka_unit_test(constants_are_evaluated),
        cmocka_unit_test(forms_are_decoded),
        cmocka_unit_test(unknown_words_are_printed_back),
        cmocka_unit_test(inner_names_hide_outer_ones),
        cmocka_unit_test(labels_belong_to_their_scope),
        cmocka_unit_test(labels_hide_functions_and_variables),
        cmocka_unit_test(large_families_cost_nothing),
        cmocka_unit_test(deep_nesting_is_read),
        cmocka_unit_test(layout_does_not_matter),
        cmocka_unit_test(trailing_nul_bytes_are_ignored),
        cmocka_unit_test(errors_need_no_place_for_them),
        cmocka_unit_test(bad_text_is_explained),
        cmocka_unit_test(expressions_may_be_too_deep),
        cmocka_unit_test(nul_bytes_inside_are_no_text),
        cmocka_unit_test(long_names_are_cut_in_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
