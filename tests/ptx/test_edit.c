// SPDX-License-Identifier: Apache-2.0
// Edits: where the text is inserted, that it runs exactly when it should, and that a failed edit
// leaves nothing behind. The tests walk the original and the edited function with the same random
// values of conditions, and compare what the walks pass. If ptxas is installed, it must accept the
// edited text.
#include "random_cfg.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MARK "membar.sys;"

// The same with a scope and a label at its end, as in conditional code.
#define MARK_IN_SCOPE "{\n.reg .u32 %own;\nmov.u32 %own, %tid.x;\n" MARK "\nbra PAST;\nPAST:\n}"

// Assembling --------------------------------------------------------------------------------------

static const char *find_ptxas(void)
{
    static const char *const usual = "/usr/local/cuda/bin/ptxas";
    if (system("command -v ptxas >/dev/null 2>&1") == 0)
        return "ptxas";
    return access(usual, X_OK) == 0 ? usual : NULL;
}

static void assemble(const char *text)
{
    const char *ptxas = find_ptxas();
    if (!ptxas) {
        print_message("SKIP: no ptxas: the edited text was not assembled\n");
        return;
    }
    char path[] = "/tmp/glint-edit-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    char command[256];
    snprintf(command, sizeof(command), "%s -arch sm_80 -O0 -o /dev/null %s", ptxas, path);
    int status = system(command);
    if (status != 0)
        print_error("%s\n", text);
    unlink(path);
    assert_int_equal(status, 0);
}

// The edited text can be parsed again and means the same.
static void check_text(const struct ptx_module *module)
{
    char *text = print_module(module);
    struct ptx_module *again;
    struct base_error error = {0};
    if (ptx_parse(text, strlen(text), "edited.ptx", &again, &error) != BASE_OK)
        fail_msg("%s\n%s", error.text[0], text);
    char *second = print_module(again);
    assert_string_equal(text, second);
    free(second);
    free(text);
    ptx_module_destroy(again);
}

// Inserting text ----------------------------------------------------------------------------------

// Prints the statements of the only kernel, one per line.
static char *body_text(struct ptx_module *module)
{
    char *text = print_module(module);
    char *start = strstr(text, "{\n");
    assert_non_null(start);
    memmove(text, start, strlen(start) + 1);
    return text;
}

static void assert_body(struct ptx_module *module, const char *expected)
{
    char *text = body_text(module);
    assert_string_equal(text, expected);
    free(text);
    check_text(module);
}

static void insert(struct ptx_function *function, struct ptx_stmt *before, const char *text)
{
    struct base_error error = {0};
    if (ptx_insert_text(function, before, text, NULL, 0, &error) != BASE_OK)
        fail_msg("%s", error.text[0]);
}

static void text_goes_before_and_after_an_instruction(void **state)
{
    (void)state;
    struct ptx_module *module =
        read_module(HEAD ".entry k()\n{\n.reg .b64 %rd<3>;\n.pragma \"used_bytes_mask 15\";\n"
                         "ld.global.u32 _, [%rd1];\nret;\n}");
    struct ptx_function *function = find_function(module, "k");
    insert(function, ptx_place_before(find_instr(function, 0)), "bar.sync 1;");
    insert(function, ptx_place_after(find_instr(function, 1)), "bar.sync 2;");
    insert(function, ptx_place_entry(function), "bar.sync 3;");
    insert(function, NULL, "bar.sync 4;");
    assert_body(module, "{\n\t.reg .b64 %rd<3>;\n\tbar.sync 3;\n\tbar.sync 1;\n"
                        "\t.pragma \"used_bytes_mask 15\";\n\tld.global.u32 _, [%rd1];\n"
                        "\tbar.sync 2;\n\tret;\n\tbar.sync 4;\n}\n");
    assert_int_equal(find_instr(function, 1)->stmt.line, 0);
    ptx_module_destroy(module);
}

static void text_goes_into_an_empty_body(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(HEAD ".entry k()\n{\n}");
    struct ptx_function *function = find_function(module, "k");
    assert_null(ptx_place_entry(function));
    insert(function, ptx_place_entry(function), "ret;");
    assert_body(module, "{\n\tret;\n}\n");
    ptx_module_destroy(module);
}

static void text_has_scopes_arguments_and_names_of_the_module(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(
        HEAD ".global .u32 counter;\n.func f();\n.entry k(.param .u64 n)\n{\n.reg .b32 %r<3>;\n"
             "mov.b32 %r1, 1;\n{\n.reg .b64 x;\nmov.b64 x, 2;\n}\nret;\n}");
    struct ptx_function *function = find_function(module, "k");
    struct ptx_instr *first = find_instr(function, 0);
    struct ptx_operand arguments[] = {
        ptx_operand_of(first->operands[0].reg),
        {.kind = PTX_OPERAND_INT, .bits = 7},
        {.kind = PTX_OPERAND_VAR, .var = function->params[0]},
    };
    struct base_error error = {0};
    assert_int_equal(ptx_insert_text(function, ptx_place_after(first),
                                     "{ .reg .b32 x; .reg .b64 y; .reg .pred p; AGAIN: add.u32 x, "
                                     "#0, #1; ld.param.u64 y, [#2]; ld.param.u64 y, [#2+8]; "
                                     "red.global.add.u32 [counter], x; setp.eq.u32 p, x, 0; "
                                     "@p bra AGAIN; call f; }",
                                     arguments, 3, &error),
                     BASE_OK);
    insert(function, &find_instr(function, 8)->stmt, "here: bra here;");
    assert_body(module,
                "{\n\t.reg .b32 %r<3>;\n\tmov.b32 %r1, 1;\n\t{\n\t.reg .b32 x;\n\t.reg .b64 y;\n"
                "\t.reg .pred p;\nAGAIN:\n\tadd.u32 x, %r1, 7;\n\tld.param.u64 y, [n];\n"
                "\tld.param.u64 y, [n+8];\n\tred.global.add.u32 [counter], x;\n"
                "\tsetp.eq.u32 p, x, 0;\n\t@p bra AGAIN;\n\tcall f;\n\t}\n\t{\n\t.reg .b64 x;\n"
                "here:\n\tbra here;\n\tmov.b64 x, 2;\n\t}\n\tret;\n}\n");
    // The new instruction has the position of its neighbor, and its register is the function's.
    assert_ptr_equal(find_instr(function, 1)->operands[1].reg, first->operands[0].reg);
    ptx_module_destroy(module);
}

static void guards_can_be_arguments(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(KERNEL("@%p ret;"));
    struct ptx_function *function = find_function(module, "k");
    struct ptx_operand guard = ptx_operand_of(find_instr(function, 0)->guard);
    assert_int_equal(ptx_insert_text(function, &find_instr(function, 0)->stmt, "@!#0 bar.sync 1;",
                                     &guard, 1, NULL),
                     BASE_OK);
    assert_string_equal(find_instr(function, 0)->guard->name, "%p");
    assert_true(find_instr(function, 0)->guard_negated);
    check_text(module);
    ptx_module_destroy(module);
}

static void registers_parameters_and_variables_are_added(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(
        HEAD ".file 1 \"a.cu\"\n.global .u32 glint_x0;\n.entry k(.param .u32 n)\n{\n"
             ".reg .b32 %r<3>, %glint_t0;\nmov.b32 %r1, %glint_t0;\nret;\n}\n.entry e()\n{\n}");
    struct ptx_function *function = find_function(module, "k");
    struct ptx_reg *reg = ptx_add_reg(function, PTX_U64, "t");
    assert_non_null(reg);
    assert_int_equal(reg->type, PTX_U64);
    assert_string_not_equal(reg->name, "%glint_t0");
    assert_ptr_equal(function->regs[reg->id], reg);
    struct ptx_reg *other = ptx_add_reg(function, PTX_PRED, "t");
    assert_string_not_equal(reg->name, other->name);
    struct ptx_var *param = ptx_add_param(function, PTX_U64, "glint_buffer");
    assert_int_equal(param->index, 1);
    assert_int_equal(function->param_count, 2);
    assert_ptr_equal(function->params[1], param);
    assert_int_equal(param->size_bytes, 8);
    struct base_error error = {0};
    assert_int_equal(ptx_add_var(module, ".global .align 8 .b8 glint_data[64];", &error), BASE_OK);
    struct ptx_operand arguments[] = {ptx_operand_of(reg), {.kind = PTX_OPERAND_VAR, .var = param}};
    assert_int_equal(ptx_insert_text(function, ptx_place_entry(function),
                                     "ld.param.u64 #0, [#1]; st.global.u64 [glint_data+8], #0;",
                                     arguments, 2, &error),
                     BASE_OK);
    assert_non_null(ptx_add_param(find_function(module, "e"), PTX_U32, "only"));
    assert_non_null(ptx_add_reg(find_function(module, "e"), PTX_U32, "u"));
    char *text = print_module(module);
    // Before the functions, after the existing variables.
    const char *var = strstr(text, ".global .align 8 .b8 glint_data[64];");
    assert_non_null(var);
    assert_true(var > strstr(text, "glint_x0"));
    assert_true(var < strstr(text, ".entry"));
    assemble(text);
    free(text);
    check_text(module);
    ptx_module_destroy(module);
}

// Failing -----------------------------------------------------------------------------------------

static void failed_edits_change_nothing(void **state)
{
    (void)state;
    struct ptx_module *module =
        read_module(HEAD ".global .u32 x;\n.func f();\n.entry k(.param .u32 n)\n{\n.reg .pred "
                         "%p;\n.reg .b32 %r<3>;\n"
                         "L:\nmov.b32 %r1, 1;\n@%p bra L;\n@%p ret;\nM:\n@%p bra M;\nret;\n}");
    struct ptx_function *function = find_function(module, "k");
    char *before = print_module(module);
    size_t regs = function->reg_count;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"mov.b32", "test.ptx:1:8: expected an operand, found the end of the text"},
        {"bar.sync 1; mov.b32 %r1, 1;", "test.ptx:1:21: register '%r1' is not declared"},
        {".reg .b32 a; bra L;", "test.ptx:1:14: 'L' is not declared"},
        {"{ .reg .b32 a; mov.b32 a, 1;", "test.ptx:1:29: expected '}', found the end of the text"},
        {"bar.sync 1; }", "test.ptx:1:13: expected a statement, found '}'"},
        {"mov.b32 #0, 1;", "test.ptx:1:9: expected an operand, found '#'"},
        {"bar.sync 1; mov.b32 #", "test.ptx:1:21: expected an operand, found '#'"},
        {".entry z() {}", "test.ptx:1:1: expected a directive or an instruction, found '.entry'"},
        {"A: bra A; A:", "test.ptx:1:11: 'A' is declared twice"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ptx_stmt *const places[] = {function->first, NULL, &find_instr(function, 1)->stmt};
        for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++) {
            struct base_error error = {0};
            assert_int_equal(ptx_insert_text(function, places[k], bad[i].text, NULL, 0, &error),
                             BASE_SYNTAX);
            assert_string_equal(error.text[0], bad[i].message);
            assert_string_equal(error.text[1], "editing k");
            char *after = print_module(module);
            assert_string_equal(after, before);
            free(after);
            assert_int_equal(function->reg_count, regs);
        }
        struct base_arena arena;
        jmp_buf escape;
        base_arena_init(&arena, 0);
        arena.escape = &escape;
        assert_int_equal(setjmp(escape), 0);
        struct ptx_cfg *cfg = ptx_cfg_build(function, &arena);
        assert_int_equal(cfg->loop_count, 2);
        for (uint32_t loop = 0; loop < 2; loop++) {
            assert_int_not_equal(ptx_insert_preheader(cfg, loop, bad[i].text, NULL, 0, NULL),
                                 BASE_OK);
            assert_int_not_equal(ptx_insert_exits(cfg, loop, bad[i].text, NULL, 0, NULL), BASE_OK);
        }
        base_arena_fini(&arena);
        char *after = print_module(module);
        assert_string_equal(after, before);
        free(after);
    }
    static const char *const bad_vars[] = {
        ".global .u32 x;",           // exists already
        ".global .u32 f;",           // a function
        ".global .u32 a, b;",        // two
        ".global .u32 a; x",         // more text
        ".global .u64 x = newname;", // exists already; its initializer has a new name
        ".func g();",                // no variable
        ".func g() { ret; }",
        ".version 9.0",
        ".target sm_90",
        ".address_size 32",
        ".global .u32",
        ".pragma \"x\";",
        "",
    };
    for (size_t i = 0; i < sizeof(bad_vars) / sizeof(bad_vars[0]); i++) {
        struct base_error error = {0};
        if (ptx_add_var(module, bad_vars[i], &error) == BASE_OK)
            fail_msg("accepted: %s", bad_vars[i]);
        char *after = print_module(module);
        assert_string_equal(after, before);
        free(after);
    }
    // A failed edit leaves nothing: its names are free, and text cannot refer to them.
    assert_int_equal(
        ptx_insert_text(function, NULL, "{ .reg .b64 y; mov.b64 y, a; }", NULL, 0, NULL),
        BASE_SYNTAX);
    assert_int_equal(ptx_add_var(module, ".global .u32 a;", NULL), BASE_OK);
    assert_int_equal(ptx_add_var(module, ".global .u32 g;", NULL), BASE_OK);
    assert_int_equal(
        ptx_insert_text(function, NULL, "{ .reg .b64 y; mov.b64 y, a; }", NULL, 0, NULL), BASE_OK);
    insert(function, NULL, "red.global.add.u32 [x], 1;");
    check_text(module);
    free(before);
    ptx_module_destroy(module);
}

// Loops: what a walk passes -----------------------------------------------------------------------

enum edit_kind { EDIT_PREHEADER, EDIT_EXITS };

enum { MOST_ANSWERS = 40, MOST_STEPS = 2000 };

// Walks a function from its start and notes the numbers of the definitions and the marks that it
// passes. With a cfg, it notes marks where they are expected: where the loop is entered or left.
struct walk {
    uint64_t answers;
    unsigned answered, steps;
    const struct ptx_cfg *cfg;
    uint32_t loop;
    enum edit_kind kind;
    bool inside;
    struct base_buf *out;
};

static bool answer(struct walk *walk, const struct ptx_instr *instr)
{
    if (!instr->guard)
        return true;
    walk->answered++;
    return (random_bits(&walk->answers) & 1) != instr->guard_negated;
}

static void note_move(struct walk *walk, const struct ptx_instr *next)
{
    if (!walk->cfg)
        return;
    uint32_t block = next ? walk->cfg->block_of[next->index] : PTX_NO_BLOCK;
    bool inside = next && ptx_loop_contains(walk->cfg, walk->loop, block);
    if (walk->kind == EDIT_PREHEADER ? inside && !walk->inside : !inside && walk->inside)
        base_buf_puts(walk->out, "M ");
    walk->inside = inside;
}

static void walk_function(struct walk *walk, struct ptx_function *function)
{
    struct ptx_stmt *at = function->first;
    while (walk->answered < MOST_ANSWERS && walk->steps++ < MOST_STEPS) {
        while (at && at->kind != PTX_STMT_INSTR)
            at = at->next;
        const struct ptx_instr *instr = at ? ptx_stmt_instr(at) : NULL;
        note_move(walk, instr);
        if (!instr)
            return;
        at = at->next;
        const struct ptx_operand *last =
            instr->operand_count ? &instr->operands[instr->operand_count - 1] : NULL;
        switch (ptx_op(instr)) {
        case PTX_OP_MEMBAR: base_buf_puts(walk->out, "M "); break;
        case PTX_OP_MOV:
        case PTX_OP_MAD:
        case PTX_OP_ADD:
            if (last->kind == PTX_OPERAND_INT)
                base_buf_printf(walk->out, "%llu ", (unsigned long long)last->bits);
            break;
        case PTX_OP_BRA:
            if (answer(walk, instr))
                at = &last->label->stmt;
            break;
        case PTX_OP_BRX_IDX:
            if (answer(walk, instr)) {
                walk->answered++;
                uint32_t index = random_below(&walk->answers, last->label->target_count);
                at = &last->label->targets[index].label->stmt;
            }
            break;
        case PTX_OP_RET:
        case PTX_OP_EXIT:
            if (answer(walk, instr)) {
                note_move(walk, NULL);
                return;
            }
            break;
        default: break;
        }
    }
}

// Compares the walks of a function and of an edited copy of it, for one loop and many answers.
static void check_loop_edit(const char *text, const char *name, uint32_t loop, enum edit_kind kind,
                            const char *mark)
{
    struct ptx_module *original = read_module(text), *copy = read_module(text);
    struct ptx_function *function = find_function(original, name);
    struct ptx_function *edited = find_function(copy, name);
    struct ptx_facts *facts, *stale;
    struct base_error error = {0};
    assert_int_equal(ptx_facts_create(function, 0, &facts, &error), BASE_OK);
    assert_int_equal(ptx_facts_create(edited, 0, &stale, &error), BASE_OK);
    enum base_code code = kind == EDIT_PREHEADER
                              ? ptx_insert_preheader(stale->cfg, loop, mark, NULL, 0, &error)
                              : ptx_insert_exits(stale->cfg, loop, mark, NULL, 0, &error);
    if (code != BASE_OK)
        fail_msg("%s\n%s", error.text[0], text);
    ptx_facts_destroy(stale);
    // The walk is over the function as parsed from the printed text.
    char *printed = print_module(copy);
    struct ptx_module *again;
    if (ptx_parse(printed, strlen(printed), "edited.ptx", &again, &error) != BASE_OK)
        fail_msg("%s\n%s\nfrom\n%s", error.text[0], printed, text);
    struct base_buf expected = {0}, found = {0};
    for (uint64_t seed = 0; seed < 24; seed++) {
        struct walk plain = {
            .answers = seed, .cfg = facts->cfg, .loop = loop, .kind = kind, .out = &expected};
        struct walk changed = {.answers = seed, .out = &found};
        expected.length = found.length = 0;
        base_buf_puts(&expected, "");
        base_buf_puts(&found, "");
        walk_function(&plain, function);
        walk_function(&changed, find_function(again, name));
        // An endless walk is cut off at some step.
        if (plain.steps >= MOST_STEPS || changed.steps >= MOST_STEPS ||
            plain.answered >= MOST_ANSWERS || changed.answered >= MOST_ANSWERS) {
            size_t shorter = expected.length < found.length ? expected.length : found.length;
            expected.length = found.length = shorter;
            if (shorter)
                expected.text[shorter] = found.text[shorter] = '\0';
        }
        if (expected.length != found.length ||
            (expected.length && memcmp(expected.text, found.text, expected.length) != 0))
            fail_msg("loop %u, %s, answers %llu:\nexpected %s\nfound    %s\nin\n%s\nfrom\n%s", loop,
                     kind == EDIT_PREHEADER ? "preheader" : "exits", (unsigned long long)seed,
                     expected.text, found.text, printed, text);
    }
    base_buf_fini(&expected);
    base_buf_fini(&found);
    free(printed);
    ptx_facts_destroy(facts);
    ptx_module_destroy(again);
    ptx_module_destroy(copy);
    ptx_module_destroy(original);
}

static uint32_t count_loops(const char *text, const char *name)
{
    struct ptx_module *module = read_module(text);
    struct ptx_facts *facts;
    struct base_error error = {0};
    assert_int_equal(ptx_facts_create(find_function(module, name), 0, &facts, &error), BASE_OK);
    uint32_t count = facts->cfg->loop_count;
    ptx_facts_destroy(facts);
    ptx_module_destroy(module);
    return count;
}

#define SHAPE(name, body)                                                                 \
    {                                                                                     \
        name, ".entry " name "()\n{\n.reg .pred %p, %q;\n.reg .u32 %r<4>;\n" body "\n}\n" \
    }

static const struct {
    const char *name, *text;
} shapes[] = {
    SHAPE("with_preheader",
          "mov.u32 %r1, 1;\nH: mov.u32 %r1, 2;\n@%p bra H;\nmov.u32 %r1, 3;\nret;"),
    SHAPE("preheader_that_jumps",
          "mov.u32 %r1, 1;\nbra H;\nmov.u32 %r1, 9;\nH: mov.u32 %r1, 2;\n@%p bra H;\nret;"),
    SHAPE("preheader_with_ret", "mov.u32 %r1, 1;\n@%p ret;\nH: mov.u32 %r1, 2;\n@%p bra H;\nret;"),
    SHAPE("two_entries",
          "@%p bra H;\nmov.u32 %r1, 1;\nH: mov.u32 %r1, 2;\n@%q bra H;\nmov.u32 %r1, 3;\nret;"),
    SHAPE("skipped", "@%p bra OUT;\nH: mov.u32 %r1, 2;\n@%q bra H;\nmov.u32 %r1, 3;\nOUT: ret;"),
    SHAPE("at_the_start", "H: mov.u32 %r1, 2;\n@%q bra H;\nmov.u32 %r1, 3;\nret;"),
    SHAPE(
        "latch_falls_into_header",
        "mov.u32 %r1, 1;\nbra H;\nBODY: mov.u32 %r1, 2;\nH: mov.u32 %r1, 3;\n@%p bra BODY;\nret;"),
    SHAPE("latch_falls_entries_jump",
          "@%p bra H;\nmov.u32 %r1, 1;\nbra H;\nBODY: mov.u32 %r1, 2;\nH: mov.u32 %r1, 3;\n"
          "@%q bra BODY;\nmov.u32 %r1, 4;\nret;"),
    SHAPE("indexed_entry",
          "TS: .branchtargets A, H, H;\nbrx.idx %r1, TS;\nA: mov.u32 %r1, 1;\nret;\n"
          "H: mov.u32 %r1, 2;\n@%p bra H;\nret;"),
    SHAPE("shared_list",
          "TS: .branchtargets H, OUT;\nmov.u32 %r1, 1;\nbrx.idx %r1, TS;\nH: mov.u32 %r1, 2;\n"
          "brx.idx %r1, TS;\nOUT: mov.u32 %r1, 3;\nret;"),
    SHAPE("guarded_index",
          "mov.u32 %r1, 1;\nTS: .branchtargets H, OUT, NEXT;\nH: mov.u32 %r1, 2;\n"
          "@%p brx.idx %r1, TS;\nNEXT: mov.u32 %r1, 3;\nOUT: mov.u32 %r1, 4;\nret;"),
    SHAPE("nested",
          "mov.u32 %r1, 1;\nO: mov.u32 %r1, 2;\nI: mov.u32 %r1, 3;\n@%p bra I;\nmov.u32 %r1, 4;\n"
          "@%q bra O;\nmov.u32 %r1, 5;\nret;"),
    SHAPE("nested_at_once", "O: I: mov.u32 %r1, 3;\n@%p bra I;\n@%q bra O;\nmov.u32 %r1, 5;\nret;"),
    SHAPE("while_loop",
          "mov.u32 %r1, 1;\nH: mov.u32 %r1, 2;\n@%p bra OUT;\nmov.u32 %r1, 3;\nbra H;\n"
          "OUT: mov.u32 %r1, 4;\nret;"),
    SHAPE("two_exits",
          "mov.u32 %r1, 1;\nH: mov.u32 %r1, 2;\n@%p bra OUT;\nmov.u32 %r1, 3;\n@%q bra H;\n"
          "mov.u32 %r1, 4;\nOUT: mov.u32 %r1, 5;\nret;"),
    SHAPE("exits_to_one_block",
          "H: mov.u32 %r1, 2;\n@%p bra OUT;\nmov.u32 %r1, 3;\n@%q bra OUT;\nmov.u32 %r1, 4;\n"
          "@%p bra H;\nOUT: mov.u32 %r1, 5;\nret;"),
    SHAPE("exit_shared_with_others",
          "@%p bra OUT;\nH: mov.u32 %r1, 2;\n@%p bra OUT;\nmov.u32 %r1, 3;\nbra H;\n"
          "OUT: mov.u32 %r1, 5;\nret;"),
    SHAPE("guarded_ret",
          "H: mov.u32 %r1, 2;\n@%p ret;\nmov.u32 %r1, 3;\n@!%q exit;\n@%q bra H;\nret;"),
    SHAPE("out_of_both",
          "O: mov.u32 %r1, 1;\nI: mov.u32 %r1, 2;\n@%p bra OUT;\n@%q bra I;\nmov.u32 %r1, 3;\n"
          "@%q bra O;\nOUT: mov.u32 %r1, 4;\nret;"),
    SHAPE("off_the_end", "mov.u32 %r1, 1;\nH: mov.u32 %r1, 2;\n@%p bra H;"),
    SHAPE("enters_or_ends",
          "mov.u32 %r1, 1;\nbra E;\nH: mov.u32 %r1, 2;\n@%p bra H;\nret;\nE: mov.u32 %r1, 3;\n"
          "@%q bra H;"),
    SHAPE("label_at_end", "H: mov.u32 %r1, 2;\n@%p bra END;\nmov.u32 %r1, 3;\nbra H;\nEND:"),
    // Labels of one block in several scopes, as inline assembly produces them.
    SHAPE(
        "scoped_wait",
        "mov.u32 %r1, 1;\n{\nW: mov.u32 %r1, 2;\n@%p bra DONE;\nbra W;\nDONE:\n}\nmov.u32 %r1, 3;\n"
        "ret;"),
    SHAPE("wait_before_header",
          "@%q bra H;\n{\nW: mov.u32 %r1, 2;\n@%p bra DONE;\nbra W;\nDONE:\n}\n"
          "H: mov.u32 %r1, 3;\n@%q bra H;\nret;"),
    SHAPE("waits_in_a_row", "{\nW: mov.u32 %r1, 1;\n@%p bra DONE;\nbra W;\nDONE:\n}\n"
                            "{\nW: mov.u32 %r1, 2;\n@%p bra DONE;\nbra W;\nDONE:\n}\n"
                            "H: mov.u32 %r1, 3;\n@%q bra H;\nret;"),
    SHAPE("header_run_of_labels",
          "@%p bra TOP;\nmov.u32 %r1, 1;\n{\n@%q bra E;\nmov.u32 %r1, 2;\nE:\n}\n"
          "TOP: mov.u32 %r1, 3;\n@%p bra TOP;\nret;"),
    SHAPE("inner_label_of_header",
          "{\n@%q bra E;\nmov.u32 %r1, 2;\nE:\n}\n{\nT: mov.u32 %r1, 3;\n@%p bra T;\n}\nret;"),
};

static void edits_of_loops_run_when_they_should(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        char text[1024];
        snprintf(text, sizeof(text), HEAD "%s", shapes[i].text);
        uint32_t loops = count_loops(text, shapes[i].name);
        assert_true(loops > 0);
        for (uint32_t loop = 0; loop < loops; loop++) {
            check_loop_edit(text, shapes[i].name, loop, EDIT_PREHEADER, MARK);
            check_loop_edit(text, shapes[i].name, loop, EDIT_EXITS, MARK);
            check_loop_edit(text, shapes[i].name, loop, EDIT_PREHEADER, MARK_IN_SCOPE);
            check_loop_edit(text, shapes[i].name, loop, EDIT_EXITS, MARK_IN_SCOPE);
        }
    }
}

static void edits_of_random_loops_run_when_they_should(void **state)
{
    (void)state;
    struct base_buf text = {0};
    for (uint64_t seed = 1; seed <= 150; seed++) {
        uint64_t random = seed;
        unsigned number = 1;
        text.length = 0;
        base_buf_puts(&text, HEAD);
        random_function(&text, &random, "k", &number);
        uint32_t loops = count_loops(text.text, "k");
        for (uint32_t loop = 0; loop < loops; loop++) {
            const char *mark = seed % 2 ? MARK : MARK_IN_SCOPE;
            check_loop_edit(text.text, "k", loop, EDIT_PREHEADER, mark);
            check_loop_edit(text.text, "k", loop, EDIT_EXITS, mark);
        }
    }
    base_buf_fini(&text);
}

static void edited_loops_assemble(void **state)
{
    (void)state;
    struct base_buf text = {0};
    base_buf_puts(&text, HEAD);
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        base_buf_puts(&text, shapes[i].text);
    struct ptx_module *module = read_module(text.text);
    struct base_error error = {0};
    for (struct ptx_item *item = module->first; item; item = item->next) {
        // Every existing loop is edited; edits create no loops.
        for (uint32_t loop = 0;; loop++) {
            struct ptx_facts *facts;
            assert_int_equal(ptx_facts_create(item->function, 0, &facts, &error), BASE_OK);
            bool more = loop < facts->cfg->loop_count;
            if (more) {
                assert_int_equal(ptx_insert_exits(facts->cfg, loop, MARK_IN_SCOPE, NULL, 0, &error),
                                 BASE_OK);
                ptx_facts_destroy(facts);
                assert_int_equal(ptx_facts_create(item->function, 0, &facts, &error), BASE_OK);
                assert_int_equal(ptx_insert_preheader(facts->cfg, loop, MARK, NULL, 0, &error),
                                 BASE_OK);
            }
            ptx_facts_destroy(facts);
            if (!more)
                break;
        }
    }
    check_text(module);
    char *printed = print_module(module);
    assemble(printed);
    free(printed);
    ptx_module_destroy(module);
    base_buf_fini(&text);
}

static void arguments_reach_loop_edits(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(
        KERNEL("mov.u32 %r1, 1;\nH: mov.u32 %r2, 2;\n@%p bra OUT;\n@%p ret;\nbra H;\nOUT: ret;"));
    struct ptx_function *function = find_function(module, "k");
    struct ptx_operand arguments[30];
    for (int i = 0; i < 30; i++)
        arguments[i] = ptx_operand_of(find_instr(function, 0)->operands[0].reg);
    struct ptx_facts *facts;
    struct base_error error = {0};
    assert_int_equal(ptx_facts_create(function, 0, &facts, &error), BASE_OK);
    assert_int_equal(ptx_insert_exits(facts->cfg, 0, "mov.u32 #29, 7;", arguments, 30, &error),
                     BASE_OK);
    ptx_facts_destroy(facts);
    // Arguments that were not passed do not exist, whatever the edit itself uses.
    char *before = print_module(module);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(ptx_facts_create(function, 0, &facts, &error), BASE_OK);
        assert_int_equal(ptx_insert_exits(facts->cfg, 0, "mov.u32 #2, 7;", arguments, i, &error),
                         BASE_SYNTAX);
        ptx_facts_destroy(facts);
        char *after = print_module(module);
        assert_string_equal(after, before);
        free(after);
    }
    free(before);
    check_text(module);
    ptx_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_goes_before_and_after_an_instruction),
        cmocka_unit_test(text_goes_into_an_empty_body),
        cmocka_unit_test(text_has_scopes_arguments_and_names_of_the_module),
        cmocka_unit_test(guards_can_be_arguments),
        cmocka_unit_test(registers_parameters_and_variables_are_added),
        cmocka_unit_test(failed_edits_change_nothing),
        cmocka_unit_test(edits_of_loops_run_when_they_should),
        cmocka_unit_test(edits_of_random_loops_run_when_they_should),
        cmocka_unit_test(edited_loops_assemble),
        cmocka_unit_test(arguments_reach_loop_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
