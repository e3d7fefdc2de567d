// SPDX-License-Identifier: Apache-2.0
// Printing: the printed text of every PTX file parses to the same module. Forms with several
// possible spellings are printed in exactly one.
#include "testing.h"

#include <dirent.h>
#include <glob.h>

static void check_file(const char *path)
{
    char *text;
    size_t length;
    struct base_error error = {0};
    if (base_file_read(path, &text, &length, &error) != BASE_OK)
        fail_msg("%s", error.text[0]);
    struct ptx_module *first, *second;
    if (ptx_parse(text, length, path, &first, &error) != BASE_OK)
        fail_msg("%s", error.text[0]);
    char *once = print_module(first);
    if (ptx_parse(once, strlen(once), "printed", &second, &error) != BASE_OK)
        fail_msg("%s: %s", path, error.text[0]);
    char *twice = print_module(second);
    if (strcmp(once, twice) != 0)
        fail_msg("%s is printed differently the second time", path);
    ptx_module_destroy(first);
    ptx_module_destroy(second);
    free(once);
    free(twice);
    free(text);
}

static void check_pattern(const char *pattern)
{
    glob_t found;
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_true(found.gl_pathc > 0);
    for (size_t i = 0; i < found.gl_pathc; i++)
        check_file(found.gl_pathv[i]);
    globfree(&found);
}

static void corpus_is_printed_as_it_reads(void **state)
{
    (void)state;
    check_pattern("corpus/*.ptx");
}

static void examples_are_printed_as_they_read(void **state)
{
    (void)state;
    check_pattern("../../examples/*/*.ptx");
}

// Statements as parsed and as printed; without a second text, both are the same.
static void statements_have_one_spelling(void **state)
{
    (void)state;
    static const struct {
        const char *read, *printed;
    } cases[] = {
        {"ld.global.u32 %r1, [%rd1];", NULL},
        {"ld.global.u32 %r1, [%rd1+0];", NULL},
        {"ld.global.u32 %r1, [%rd1-8];", "ld.global.u32 %r1, [%rd1+-8];"},
        {"ld.global.u32 %r1, [%rd1+-8];", NULL},
        {"ld.global.u32 %r1, [%rd1+8+8];", "ld.global.u32 %r1, [%rd1+16];"},
        {"ld.global.u32 %r1, [g+4];", NULL},
        {"ld.global.u32 %r1, [g+0];", NULL},
        {"ld.global.u32 %r1, [g];", NULL},
        {"ld.global.u32 %r1, g[3];", NULL},
        {"ld.global.u32 %r1, g[%r2];", NULL},
        {"ld.global.u32 %r1, [1024];", NULL},
        {"ld.global.v2.u32 {%r1,%r2}, [%rd1];", "ld.global.v2.u32 {%r1, %r2}, [%rd1];"},
        {"mov.f32 %f1, 1.5;", "mov.f32 %f1, 0d3FF8000000000000;"},
        {"mov.f32 %f1, 0f3f800000;", "mov.f32 %f1, 0f3F800000;"},
        {"mov.f32 %f1, -0f3F800000;", "mov.f32 %f1, 0fBF800000;"},
        {"mov.f64 %d1, 0d3FF0000000000000;", NULL},
        {"mov.u32 %r1, 0xff;", "mov.u32 %r1, 0xFF;"},
        {"mov.u32 %r1, 0xFFU;", NULL},
        {"mov.u32 %r1, 7U;", NULL},
        {"mov.u32 %r1, -7;", NULL},
        {"mov.u32 %r1, 010;", "mov.u32 %r1, 8;"},
        {"mov.u32 %r1, 0b11;", "mov.u32 %r1, 3;"},
        {"mov.u32 %r1, 2*(3+4);", "mov.u32 %r1, 14;"},
        {"mov.u64 %rd1, 18446744073709551615;", "mov.u64 %rd1, 18446744073709551615U;"},
        {"mov.s64 %rd1, -9223372036854775808;", NULL},
        {"mov.u32 %r1, WARP_SZ;", "mov.u32 %r1, 32;"},
        {"mov.u32 %r1, %tid.x;", NULL},
        {"mov.u32 %r1, %envreg5;", NULL},
        {"mov.u64 %rd1, %pm3_64;", NULL},
        {"mov.f32 %v.x, %v.w;", NULL},
        {"setp.eq.u32 %p|%q, %r1, 2;", NULL},
        {"setp.eq.and.u32 %p, %r1, 2, !%q;", NULL},
        {"shfl.sync.idx.b32 %r1|%p, %r2, 0, 31, -1;", NULL},
        {"@!%p bra HERE;", NULL},
        {"@ ! %p bra HERE;", "@!%p bra HERE;"},
        {"ld  .global .u32 %r1 , [ %rd1 ] ;", "ld.global.u32 %r1, [%rd1];"},
        {"vadd.u32.u32.u32.sat %r1, %r2.b0, -%r3.h1;", NULL},
        {"call (%r1), f, (%r2);", NULL},
        {"call f;", NULL},
        {"call (%r1), %rd1, (%r2), PROTO;", NULL},
        {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f6}];", NULL},
        {"elect.sync _|%p, -1;", NULL},
        {"ret.uni;", NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[1024];
        snprintf(text, sizeof(text),
                 HEAD
                 ".global .u32 g[8];\n.func (.reg .u32 o) f (.reg .u32 i);\n.entry k()\n{\n"
                 ".reg .pred %%p, %%q;\n.reg .b32 %%r<10>;\n.reg .b64 %%rd<10>;\n"
                 ".reg .f32 %%f<10>;\n.reg .f64 %%d<10>;\n.reg .v4 .f32 %%v;\n%s\nHERE:\nPROTO: "
                 ".callprototype (.reg .u32 _) _ (.reg .u32 _);\n}",
                 cases[i].read);
        struct ptx_module *module = read_module(text);
        struct base_buf out = {0};
        ptx_print_instr(find_instr(find_function(module, "k"), 0), &out);
        assert_string_equal(out.text, cases[i].printed ? cases[i].printed : cases[i].read);
        base_buf_fini(&out);
        ptx_module_destroy(module);
    }
}

static void modules_have_one_layout(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(
        ".version 8.0 .target sm_80,debug .address_size 64\n"
        ".file 1 \"a.cu\", 5, 6 .pragma \"x\", \"y\";\n"
        ".visible .global .align 8 .v2 .f32 v[2] = {{1.0, 0f00000000}, {-1, 0xF}};\n"
        ".global .u64 w = generic(v+4), z = v-4;\n.extern .shared .b8 s[];\n"
        ".func f(.param .b32 x) .noreturn;\n.alias g, f;\n"
        ".visible .entry k(.param .u64 .ptr .global .align 4 a, .param .u32 n) .maxntid 256,1,1\n"
        "{ .reg .b32 %r<5>, x, %none<0>; .reg .pred p; .reg .b64 %all<0>; .loc 1 2 3\n"
        "L: .loc 1 5, function_name s+4, inlined_at 1 2 3\n.pragma \"nounroll\"; { bra L; }\n"
        "TS: .branchtargets L, L; CT: .calltargets f; PR: .callprototype _; .local .b8 d<2>; ret; "
        "}\n"
        ".section .debug_x { L0: .b8 1, 2 .b32 L0, L0-L0, L0+4 }");
    char *text = print_module(module);
    assert_string_equal(
        text,
        ".version 8.0\n.target sm_80, debug\n.address_size 64\n\n"
        ".file 1 \"a.cu\", 5, 6\n.pragma \"x\";\n.pragma \"y\";\n"
        ".visible .global .align 8 .v2 .f32 v[2] = {{0d3FF0000000000000, 0f00000000}, {-1, 0xF}};\n"
        ".global .u64 w = generic(v)+4;\n.global .u64 z = v+-4;\n.extern .shared .b8 s[];\n"
        "\n.func f (\n\t.param .b32 x\n)\n.noreturn;\n.alias g, f;\n"
        "\n.visible .entry k (\n\t.param .u64 .ptr .global .align 4 a,\n\t.param .u32 n\n)\n"
        ".maxntid 256, 1, 1\n{\n\t.reg .b32 %r<5>, x;\n\t.reg .pred p;\n\t.loc 1 2 3\nL:\n"
        "\t.loc 1 5 0, function_name s+4, inlined_at 1 2 3\n\t.pragma \"nounroll\";\n\t{\n"
        "\tbra L;\n\t}\nTS: .branchtargets L, L;\nCT: .calltargets f;\n"
        "PR: .callprototype () _ ();\n\t.local .b8 d0;\n\t.local .b8 d1;\n\tret;\n}\n"
        ".section .debug_x\n{\nL0:\n.b8 1, 2\n.b32 L0, L0-L0, L0+4\n}\n");
    free(text);
    ptx_module_destroy(module);
}

static void operands_are_printed_alone(void **state)
{
    (void)state;
    struct ptx_module *module = read_module(KERNEL("ld.global.v2.u32 {%r1, _}, [%rd1+-4];"));
    const struct ptx_instr *instr = find_instr(find_function(module, "k"), 0);
    struct base_buf out = {0};
    ptx_print_operand(&instr->operands[0], &out);
    ptx_print_operand(&instr->operands[1], &out);
    assert_string_equal(out.text, "{%r1, _}[%rd1+-4]");
    base_buf_fini(&out);
    ptx_module_destroy(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corpus_is_printed_as_it_reads),
        cmocka_unit_test(examples_are_printed_as_they_read),
        cmocka_unit_test(statements_have_one_spelling),
        cmocka_unit_test(modules_have_one_layout),
        cmocka_unit_test(operands_are_printed_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
