// SPDX-License-Identifier: Apache-2.0
// Names of the variables in images of device code: PTX, cubins, and the code of a fatbin that a
// device runs.
#include "inject/util/globals.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// The names, each followed by a blank.
static char *listed(struct util_globals *globals)
{
    for (size_t i = 0; i < globals->names.length; i++) {
        if (!globals->names.text[i])
            globals->names.text[i] = ' ';
    }
    return globals->names.text ? globals->names.text : "";
}

static void check_ptx(const char *text, const char *wanted)
{
    // The text fills its memory, so that a sanitizer detects reads beyond its end.
    struct util_globals globals = {0};
    const size_t length = strlen(text);
    char *exact = malloc(length ? length : 1);
    assert_non_null(exact);
    memcpy(exact, text, length); // NOLINT(bugprone-not-null-terminated-result)
    util_globals_of_ptx(exact, length, &globals);
    assert_string_equal(listed(&globals), wanted);
    free(exact);
    util_globals_fini(&globals);
}

#define HEAD ".version 7.0\n.target sm_70, debug\n.address_size 64\n"

static void variables_at_module_scope_are_found(void **state)
{
    (void)state;
    check_ptx(HEAD ".visible .global .align 4 .u32 a;\n.const .f32 b[4];", "a b ");
    check_ptx(
        ".global .align 16 .v4 .f32 $v1;\n.weak .const .b8 _Z1xE[] = {1, 2, 0xff};\n.global .u8 z;",
        "$v1 _Z1xE z ");
    check_ptx(".global .attribute(.managed) .align 4 .u32 m = 5;", "m ");
    check_ptx(".global .attribute(.managed, .unified(19, 95)) .f32 f;", "f ");
    check_ptx(".global .u32 a, b = 7, c[2] = {1, 2}, d;", "a b c d ");
    check_ptx(".global .u64 p[2] = {q, generic(r)+8};", "p ");
    check_ptx(".common .global .u32 %odd;", "%odd ");
    check_ptx("\t.global\n.u32\n\nspread /* here */\n;", "spread ");
}

static void what_is_no_variable_is_not(void **state)
{
    (void)state;
    check_ptx("", "");
    check_ptx(HEAD, "");
    check_ptx(".extern .global .u32 a;\n.global .u32 b;", "b ");
    check_ptx(".extern .shared .align 16 .b8 s[];\n.shared .u32 t;\n.local .u32 l;", "");
    check_ptx(".global .texref tex;\n.global .surfref surf;\n.global .samplerref sam;", "");
    check_ptx("// .global .u32 a;\n/* .global .u32 b;\n */ .global .u32 c;", "c ");
    check_ptx(".file 1 \"a; .global .u32 x;.cu\"\n.section .debug_str { .b8 1,2 }\n.global .u32 y;",
              "y ");
    // Variables in functions and in parameter lists do not count.
    check_ptx(".visible .entry k(.param .u64 .ptr .global .align 4 p)\n{\n.global .u32 in;\n"
              "{ ld.global.u32 %r1, [%rd1]; }\nret;\n}\n.global .u32 out;",
              "out ");
    check_ptx(".func (.param .b32 r) f(.param .b32 p);\n.global .u32 after;", "after ");
    check_ptx(".alias f, g;\n.global .u32 after;", "after ");
    // Texts that end too early or have too many closing brackets.
    check_ptx(".global .u32 a", "");
    check_ptx("} ) } .global .u32 a; /* ", "a ");
    check_ptx("\"", "");
    check_ptx("/", "");
}

static void there_is_an_end_to_them(void **state)
{
    (void)state;
    struct base_buf text = {0};
    struct util_globals globals = {0};
    for (int i = 0; i < GLOBALS_MOST + 1; i++)
        base_buf_printf(&text, ".global .u32 v%d;\n", i);
    util_globals_of_ptx(text.text, text.length, &globals);
    assert_int_equal(globals.count, GLOBALS_MOST);
    assert_true(globals.truncated);
    util_globals_fini(&globals);
    text.length -= strlen(".global .u32 v4096;\n");
    util_globals_of_ptx(text.text, text.length, &globals);
    assert_int_equal(globals.count, GLOBALS_MOST);
    assert_false(globals.truncated);
    util_globals_fini(&globals);
    base_buf_fini(&text);
}

// --- Cubins --------------------------------------------------------------------------------------

enum { SECTIONS = 7, SYMBOLS = 8 };

static const char texts[] =
    "\0.texts\0.symtab\0.nv.global\0.nv.global.init\0.nv.constant3\0.text.k\0"
    "zero\0init\0table\0kernel\0elsewhere\0empty";

struct cubin {
    Elf64_Ehdr head;
    Elf64_Shdr sections[SECTIONS];
    Elf64_Sym symbols[SYMBOLS];
    char texts[sizeof(texts)];
};

static Elf64_Word text(const char *what)
{
    for (size_t i = 1; i < sizeof(texts); i++) {
        if (!texts[i - 1] && strcmp(texts + i, what) == 0)
            return (Elf64_Word)i;
    }
    fail_msg("no %s", what);
    return 0;
}

static struct cubin make_cubin(void)
{
    struct cubin cubin = {
        .head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB},
                 .e_shoff = offsetof(struct cubin, sections),
                 .e_shentsize = sizeof(Elf64_Shdr),
                 .e_shnum = SECTIONS,
                 .e_shstrndx = 1},
        .sections = {{0},
                     {.sh_name = text(".texts"),
                      .sh_type = SHT_STRTAB,
                      .sh_offset = offsetof(struct cubin, texts),
                      .sh_size = sizeof(texts)},
                     {.sh_name = text(".symtab"),
                      .sh_type = SHT_SYMTAB,
                      .sh_offset = offsetof(struct cubin, symbols),
                      .sh_size = sizeof(cubin.symbols),
                      .sh_entsize = sizeof(Elf64_Sym),
                      .sh_link = 1},
                     {.sh_name = text(".nv.global"),
                      .sh_type = SHT_NOBITS,
                      .sh_offset = 1 << 20,
                      .sh_size = 1 << 20},
                     {.sh_name = text(".nv.global.init"), .sh_type = SHT_PROGBITS},
                     {.sh_name = text(".nv.constant3"), .sh_type = SHT_PROGBITS},
                     {.sh_name = text(".text.k"), .sh_type = SHT_PROGBITS}},
        .symbols = {{0},
                    {text("zero"), STT_OBJECT, 0, 3, 0, 4},
                    {text("init"), ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 4, 0, 4},
                    {text("table"), STT_OBJECT, 0, 5, 0, 4},
                    {text("kernel"), ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 6, 0, 4},
                    {text("elsewhere"), STT_OBJECT, 0, SHN_UNDEF, 0, 4},
                    {text("empty"), STT_OBJECT, 0, 3, 0, 0},
                    {text(".nv.global"), STT_SECTION, 0, 3, 0, 0}}};
    memcpy(cubin.texts, texts, sizeof(texts));
    return cubin;
}

static void check_cubin(const struct cubin *cubin, size_t length, const char *wanted)
{
    struct util_globals globals = {0};
    char *exact = malloc(length ? length : 1);
    assert_non_null(exact);
    memcpy(exact, cubin, length);
    util_globals_of_cubin(exact, length, &globals);
    if (wanted)
        assert_string_equal(listed(&globals), wanted);
    free(exact);
    util_globals_fini(&globals);
}

static void variables_of_cubins_are_objects_in_their_sections(void **state)
{
    (void)state;
    const struct cubin cubin = make_cubin();
    check_cubin(&cubin, sizeof(cubin), "zero init table ");
}

static void cubins_are_not_believed(void **state)
{
    (void)state;
    const struct cubin good = make_cubin();
    for (size_t length = 0; length < sizeof(good); length++)
        check_cubin(&good, length, NULL);
    for (size_t i = 0; i < sizeof(good); i++) { // every byte, damaged in three ways
        static const unsigned char wrong[] = {0xff, 0x80, 0x01};
        for (size_t j = 0; j < sizeof(wrong); j++) {
            struct cubin bad = good;
            ((unsigned char *)&bad)[i] ^= wrong[j];
            check_cubin(&bad, sizeof(bad), NULL);
        }
    }
    struct cubin bad = good;
    bad.head.e_ident[EI_CLASS] = ELFCLASS32;
    check_cubin(&bad, sizeof(bad), "");
    bad = good;
    bad.sections[1].sh_size = 3; // names end beyond the string table
    check_cubin(&bad, sizeof(bad), "");
}

// --- Images --------------------------------------------------------------------------------------

enum { ENTRY_BYTES = 64 };

static void core_put(struct base_buf *out, uint64_t value, size_t bytes)
{
    base_buf_add(out, (const char *)&value, bytes);
}

// An entry of a fatbin, not compressed.
static void put_entry(struct base_buf *out, unsigned kind, unsigned arch, const char *bytes,
                      size_t length)
{
    const size_t padded = (length + 7) / 8 * 8;
    core_put(out, kind, 2);
    core_put(out, 0x0101, 2);
    core_put(out, ENTRY_BYTES, 4);
    core_put(out, padded, 8);
    core_put(out, 0, 8);
    core_put(out, 0, 4); // version
    core_put(out, arch, 4);
    core_put(out, 0, 8);
    core_put(out, 0x11, 8);
    core_put(out, 0, 8);
    core_put(out, 0, 8);
    base_buf_add(out, bytes, length);
    for (size_t i = length; i < padded; i++)
        base_buf_putc(out, '\0');
}

static void check_image(const void *image, unsigned device, const char *wanted)
{
    struct util_globals globals = {0};
    util_globals_of_image(image, device / 10, device % 10, &globals);
    assert_string_equal(listed(&globals), wanted);
    util_globals_fini(&globals);
}

static void the_code_that_a_device_takes_is_looked_through(void **state)
{
    (void)state;
    static const char old[] = HEAD ".global .u32 old;", newer[] = HEAD ".global .u32 newer;";
    struct cubin cubin = make_cubin();
    struct base_buf entries = {0}, fatbin = {0};
    put_entry(&entries, 1, 70, old, sizeof(old));
    put_entry(&entries, 2, 80, (const char *)&cubin, sizeof(cubin));
    put_entry(&entries, 1, 90, newer, sizeof(newer));
    core_put(&fatbin, 0xBA55ED50u, 4);
    core_put(&fatbin, 1, 2);
    core_put(&fatbin, 16, 2);
    core_put(&fatbin, entries.length, 8);
    base_buf_add(&fatbin, entries.text, entries.length);
    check_image(fatbin.text, 60, "");
    check_image(fatbin.text, 75, "old ");
    check_image(fatbin.text, 80, "zero init table ");
    check_image(fatbin.text, 86, "zero init table ");
    check_image(fatbin.text, 90, "newer ");
    check_image(fatbin.text, 100, "newer ");
    struct {
        uint32_t magic, version;
        const void *fatbin, *more;
    } wrapper = {0x466243b1, 1, fatbin.text, NULL};
    check_image(&wrapper, 75, "old ");
    check_image(old, 75, "old ");
    check_image("nonsense", 75, "");
    base_buf_fini(&entries);
    base_buf_fini(&fatbin);
}

static void a_file_is_an_image_too(void **state)
{
    (void)state;
    char path[] = "/tmp/glint-test-globals-XXXXXX";
    const int file = mkstemp(path);
    static const char ptx[] = HEAD ".global .u32 of_file;";
    struct util_globals globals = {0};
    assert_true(file >= 0);
    FILE *stream = fdopen(file, "w");
    assert_non_null(stream);
    assert_int_equal(fwrite(ptx, 1, sizeof(ptx) - 1, stream), sizeof(ptx) - 1);
    assert_int_equal(fclose(stream), 0);
    util_globals_of_file(path, 9, 0, &globals);
    assert_string_equal(listed(&globals), "of_file ");
    util_globals_fini(&globals);
    remove(path);
    util_globals_of_file(path, 9, 0, &globals);
    assert_int_equal(globals.count, 0);
    util_globals_fini(&globals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_at_module_scope_are_found),
        cmocka_unit_test(what_is_no_variable_is_not),
        cmocka_unit_test(there_is_an_end_to_them),
        cmocka_unit_test(variables_of_cubins_are_objects_in_their_sections),
        cmocka_unit_test(cubins_are_not_believed),
        cmocka_unit_test(the_code_that_a_device_takes_is_looked_through),
        cmocka_unit_test(a_file_is_an_image_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
