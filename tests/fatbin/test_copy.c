// SPDX-License-Identifier: Apache-2.0
// Copies of PTX in cubins: where they are found, and of which texts they are copies. test_nvcc.sh
// has those that ptxas makes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fatbin/fatbin.h"
#include "writer.h"

static const char lines[] = "\0\0.version 9.0\0.target sm_90a\0.address_size 64\0\0ret;\0";
static const struct writer_section sections[] = {
    {".text.kernel", {"machine code", 12}, 0},
    {".nv_debug_ptx_txt", {lines, sizeof(lines) - 1}, 0},
    {".nv_debug_ptx_txt", {lines, sizeof(lines) - 1}, 0},
};

// Opens a cubin with some of the sections in a fatbin, or alone. Returns whether it has a copy.
static bool finds(size_t count, unsigned type, enum writer_packing packing, bool alone)
{
    struct base_buf cubin = {0}, file = {0};
    struct base_error error = {0};
    struct fatbin_image *image;
    struct fatbin_entry copy;
    bool found = false;
    writer_add_elf(&cubin, type, 190, sections, count);
    const struct writer_entry entry = {.kind = 2,
                                       .arch = 90,
                                       .payload = cubin.text,
                                       .payload_bytes = cubin.length,
                                       .packing = packing};
    writer_add_fatbin(&file, &entry, 1);
    const struct base_buf *whole = alone ? &cubin : &file;
    assert_int_equal(fatbin_open_bytes(whole->text, whole->length, "test", &image, &error),
                     BASE_OK);
    found = fatbin_find_copy(&image->entries.items[0], &copy);
    if (found) {
        char *text;
        size_t length;
        assert_int_equal(copy.kind, FATBIN_PTX);
        assert_true(copy.from_debug_info);
        assert_int_equal(copy.arch, 90);
        assert_int_equal(copy.arch_suffix, 'a');
        assert_int_equal(fatbin_entry_text(&copy, &text, &length, &error), BASE_OK);
        assert_string_equal(text, "\n\n.version 9.0\n.target sm_90a\n.address_size 64\n\nret;");
        free(text);
    }
    fatbin_close(image);
    base_buf_fini(&cubin);
    base_buf_fini(&file);
    return found;
}

static void a_cubin_with_one_copy_has_it(void **state)
{
    (void)state;
    assert_true(finds(2, ET_EXEC, WRITER_STORED, true));
    assert_true(finds(2, ET_EXEC, WRITER_STORED, false));
    assert_false(finds(1, ET_EXEC, WRITER_STORED, true)); // none
    assert_false(finds(1, ET_EXEC, WRITER_STORED, false));
    assert_false(finds(3, ET_EXEC, WRITER_STORED, false)); // two
    assert_false(finds(2, ET_REL, WRITER_STORED, false));  // to be linked with other code
    assert_false(finds(2, ET_EXEC, WRITER_ZSTD, false));
}

static void only_cubins_have_copies(void **state)
{
    (void)state;
    struct fatbin_entry copy;
    const struct fatbin_entry ptx = {.kind = FATBIN_PTX,
                                     .payload = (const unsigned char *)lines,
                                     .payload_bytes = sizeof(lines)};
    const struct fatbin_entry other = {.kind = FATBIN_CUBIN,
                                       .payload = (const unsigned char *)lines,
                                       .payload_bytes = sizeof(lines)};
    assert_false(fatbin_find_copy(&ptx, &copy));
    assert_false(fatbin_find_copy(&other, &copy));
}

#define TEXT                                                                                   \
    "// made by hand\n\n.version 9.0\n.target sm_90 // newest\n\t.loc 1 2 3\n.visible .entry " \
    "k(\n\t.param .u64 p /* all\n of it */ )\n{\n$L_begin: .loc 1 2 4\n\tadd.s32   %r1, %r1, " \
    "1;\n\tret;\n}\n\t.file\t1 \"a//b.cu\"\n.section .debug_info\n{\n.b8 1 // one\n.b32 "      \
    ".debug_abbrev\n}\n.section\t.debug_macinfo\t{\t}\n"
#define COPY                                                                                     \
    "\n\n.version 9.0\n.target sm_90 // newest\n\n.visible .entry k(\n.param .u64 p /* all\nof " \
    "it */ )\n{\n$L_begin: .loc 1 2 4\nadd.s32   %r1, %r1, 1;\nret;\n}\n\n.section "             \
    ".debug_info\n{\n\n\n}\n.section\t.debug_macinfo\t{\t}\n"

static void only_the_text_of_a_copy_is_taken_for_it(void **state)
{
    (void)state;
    assert_true(fatbin_is_copy(COPY, TEXT));
    assert_true(fatbin_is_copy(COPY, COPY));
    assert_true(fatbin_is_copy("", "// nothing\n .loc 1 1 1\n"));
    static const struct {
        const char *copy, *text;
        bool same;
    } pairs[] = {
        {"ret;", "ret;\n", true},
        {"ret;", "\tret;  // end", true},
        {"ret;", "ret ;", false},
        {"ret;", "exit;", false},
        {"ret;", "", false},
        {"", "ret;", false},
        {"ret;\nret;", "ret;", false},
        {"add.s32 %r1, %r1, 1;", "add.s32 \t%r1, %r1, 1;", true},
        {"add.s32 %r1, %r1, 1;", "add.s32 %r1, %r1, 11;", false},
        {"mov.b64 %d, 1;\n", "/* mov.b64 %d, 1; */", false},
        {"/* a */ ret;", "/* b */ ret;", true},
        {"/* a\n// */ ret;", "ret;", true},
        {"/* a\n// */ ret;", "/* a\n// */ exit;", false},
        {".pragma \"a//b\"; ret;", ".pragma \"a//b\"; exit;", false}, // no comment
        {"", ".loc 1 1 1; ret;", false},                              // an instruction behind it
        {"", ".file 1 \"a\" @%p bra L", false},
        {"", ".location", false},
        {"", ".section .debug_str { .b8 1 }", true},
        {"", ".section .debug_str { .b8 1 } ret;", false},
        {"ret;", ".section .debug_str\n{\n} ret;", true},
        {"", ".section .text { .b8 1 }", false},
        {"", ".section .debug_str {", true},
        {".b8 1", ".b8 2", false}, // not in a debug section
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (fatbin_is_copy(pairs[i].copy, pairs[i].text) != pairs[i].same)
            fail_msg("pair %zu: '%s' and '%s'", i, pairs[i].copy, pairs[i].text);
    }
}

// Every text that differs from the original in one character which is not in a comment, a blank, a
// line number or a debug section is refused.
static void every_changed_character_of_the_code_is_noticed(void **state)
{
    (void)state;
    static const char code[] = ".version 9.0\n.target sm_90\nadd.s32 %r1,%r2,1;\nret;\n";
    char text[sizeof(code)];
    for (size_t i = 0; i < sizeof(code) - 1; i++) {
        memcpy(text, code, sizeof(code));
        text[i] = '#';
        assert_false(fatbin_is_copy(code, text));
    }
    assert_true(fatbin_is_copy(code, code));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cubin_with_one_copy_has_it),
        cmocka_unit_test(only_cubins_have_copies),
        cmocka_unit_test(only_the_text_of_a_copy_is_taken_for_it),
        cmocka_unit_test(every_changed_character_of_the_code_is_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
