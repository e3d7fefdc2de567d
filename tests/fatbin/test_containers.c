// SPDX-License-Identifier: Apache-2.0
// Finds device code in PTX files, ELF files for host and GPU, and archives, and rejects other
// files.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "fatbin/fatbin.h"
#include "writer.h"

static struct fatbin_image *open_ok(const char *bytes, size_t length)
{
    struct fatbin_image *image;
    struct base_error error = {0};
    if (fatbin_open_bytes(bytes, length, "test", &image, &error))
        fail_msg("%s", error.text[0]);
    return image;
}

// The message must contain `part` and begin with the file's name.
static void expect_refusal(const char *bytes, size_t length, enum base_code code, const char *part)
{
    struct fatbin_image *image;
    struct base_error error = {0};
    char text[1000];
    assert_int_equal(fatbin_open_bytes(bytes, length, "test", &image, &error), code);
    assert_null(image);
    base_error_text(&error, text, sizeof(text));
    assert_memory_equal(text, "test: ", 6);
    if (!strstr(text, part))
        fail_msg("'%s' does not say '%s'", text, part);
    // Without an error object, the code is the same.
    assert_int_equal(fatbin_open_bytes(bytes, length, "test", &image, NULL), code);
}

static void expect_ptx(const struct fatbin_entry *entry, const char *wanted)
{
    char *text;
    size_t length;
    assert_int_equal(entry->kind, FATBIN_PTX);
    assert_int_equal(fatbin_entry_text(entry, &text, &length, NULL), BASE_OK);
    assert_int_equal(length, strlen(wanted));
    assert_string_equal(text, wanted);
    free(text);
}

static void ptx_text_is_one_entry_with_its_version_and_target(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned major, minor, arch;
        char suffix;
    } cases[] = {
        {".version 9.0\n.target sm_90\n", 9, 0, 90, 0},
        {"// a comment\n//\n\n .version\t8.5\r\n.target sm_100a, debug\n", 8, 5, 100, 'a'},
        {"/* .version 1.0 */ .version 9.2 /**/ .target sm_120f", 9, 2, 120, 'f'},
        {".version 7.0", 7, 0, 0, 0},
        {".version 7.0 .target texmode_unified", 7, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fatbin_image *image = open_ok(cases[i].text, strlen(cases[i].text));
        assert_int_equal(image->form, FATBIN_FORM_PTX);
        assert_int_equal(image->fatbin_count, 0);
        assert_int_equal(image->entries.count, 1);
        const struct fatbin_entry *entry = &image->entries.items[0];
        assert_int_equal(entry->version_major, cases[i].major);
        assert_int_equal(entry->version_minor, cases[i].minor);
        assert_int_equal(entry->arch, cases[i].arch);
        assert_int_equal(entry->arch_suffix, cases[i].suffix);
        expect_ptx(entry, cases[i].text);
        fatbin_close(image);
    }
}

static void what_is_nothing_of_all_this_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "P",
        "int main() {}",
        ".versio",
        ".version",
        ".version 9",
        ".version x.y",
        ".target sm_90",
        "// .version 9.0",
        "/* .version 9.0",
        "/",
        "\177EL",
        "!<arch>",
        "\x50\xed\x55",
    };
    expect_refusal("", 0, BASE_UNSUPPORTED, "empty");
    expect_refusal(NULL, 0, BASE_UNSUPPORTED, "empty");
    expect_refusal("\0.version 9.0", 13, BASE_UNSUPPORTED, "neither PTX");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        expect_refusal(texts[i], strlen(texts[i]), BASE_UNSUPPORTED, "neither PTX");
    expect_refusal("!<thin>\n", 8, BASE_UNSUPPORTED, "thin archive");
}

static void host_files_of_every_type_give_both_sections(void **state)
{
    (void)state;
    struct base_buf whole = {0};
    struct base_buf linked = {0};
    writer_add_fatbin(&whole, &WRITER_PTX(WRITER_ZSTD), 1);
    writer_align(&whole, 0, 256);
    writer_add_fatbin(&whole, NULL, 0);
    writer_add_fatbin(&linked, &WRITER_PTX(WRITER_LZ4), 1);
    const struct writer_section sections[] = {
        {".text", base_str("code"), 0},
        {".nv_fatbin", {whole.text, whole.length}, 0},
        {"__nv_relfatbin", {linked.text, linked.length}, 0},
        {".nv_fatbin_not", base_str("no"), 0},
        {".interp", base_str("/lib/ld.so"), 0},
    };
    static const struct {
        unsigned type, machine;
        size_t sections;
        enum fatbin_form form;
    } cases[] = {
        {ET_REL, EM_X86_64, 5, FATBIN_FORM_OBJECT},
        {ET_EXEC, EM_AARCH64, 5, FATBIN_FORM_EXECUTABLE},
        {ET_DYN, EM_X86_64, 4, FATBIN_FORM_LIBRARY},
        {ET_DYN, EM_PPC64, 5, FATBIN_FORM_EXECUTABLE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct base_buf file = {0};
        writer_add_elf(&file, cases[i].type, cases[i].machine, sections, cases[i].sections);
        struct fatbin_image *image = open_ok(file.text, file.length);
        assert_int_equal(image->form, cases[i].form);
        assert_int_equal(image->fatbin_count, 3);
        assert_int_equal(image->entries.count, 2);
        const struct fatbin_entry *entries = image->entries.items;
        assert_true(base_str_is(entries[0].section, ".nv_fatbin"));
        assert_true(base_str_is(entries[1].section, "__nv_relfatbin"));
        assert_false(entries[0].relocatable);
        assert_true(entries[1].relocatable);
        assert_int_equal(entries[1].fatbin_index, 2);
        assert_memory_equal(file.text + entries[1].offset - 16, linked.text, 16);
        expect_ptx(&entries[0], writer_ptx);
        expect_ptx(&entries[1], writer_ptx);
        fatbin_close(image);
        base_buf_fini(&file);
    }
    base_buf_fini(&whole);
    base_buf_fini(&linked);
}

static void host_files_without_device_code_say_so(void **state)
{
    (void)state;
    struct base_buf empty = {0};
    struct base_buf file = {0};
    writer_add_fatbin(&empty, NULL, 0);
    expect_refusal(empty.text, empty.length, BASE_NOT_FOUND, "no device code in this fatbin");
    const struct writer_section sections[] = {
        {".text", base_str("code"), 0},
        {".nv_fatbin", {empty.text, empty.length}, 0},
        {".nv_fatbin", {"", 1 << 20}, SHT_NOBITS},
    };
    writer_add_elf(&file, ET_EXEC, EM_X86_64, sections, 1);
    expect_refusal(file.text, file.length, BASE_NOT_FOUND, "no device code in this executable");
    file.length = 0;
    writer_add_elf(&file, ET_DYN, EM_X86_64, sections, 3);
    expect_refusal(file.text, file.length, BASE_NOT_FOUND, "no device code in this shared library");
    // Without section headers, there is nothing to find.
    writer_put(file.text + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
    expect_refusal(file.text, file.length, BASE_NOT_FOUND, "no section headers");
    base_buf_fini(&empty);
    base_buf_fini(&file);
}

static void foreign_elf_files_are_refused(void **state)
{
    (void)state;
    struct base_buf fatbin = {0};
    struct base_buf file = {0};
    writer_add_fatbin(&fatbin, &WRITER_PTX(WRITER_STORED), 1);
    writer_add_object(&file, ".nv_fatbin", &fatbin);
    file.text[EI_CLASS] = ELFCLASS32;
    expect_refusal(file.text, file.length, BASE_UNSUPPORTED, "32-bit");
    file.text[EI_CLASS] = ELFCLASS64;
    file.text[EI_DATA] = ELFDATA2MSB;
    expect_refusal(file.text, file.length, BASE_UNSUPPORTED, "big-endian");
    base_buf_fini(&fatbin);
    base_buf_fini(&file);
}

static void section_counts_beyond_the_header_are_found(void **state)
{
    (void)state;
    struct base_buf fatbin = {0};
    struct base_buf file = {0};
    writer_add_fatbin(&fatbin, &WRITER_PTX(WRITER_STORED), 1);
    writer_add_object(&file, ".nv_fatbin", &fatbin);
    Elf64_Ehdr header;
    memcpy(&header, file.text, sizeof(header));
    Elf64_Shdr first = {.sh_size = header.e_shnum, .sh_link = header.e_shstrndx};
    header.e_shnum = 0;
    header.e_shstrndx = SHN_XINDEX;
    memcpy(file.text, &header, sizeof(header));
    memcpy(file.text + header.e_shoff, &first, sizeof(first));
    struct fatbin_image *image = open_ok(file.text, file.length);
    expect_ptx(&image->entries.items[0], writer_ptx);
    fatbin_close(image);
    first.sh_size = UINT64_MAX / 2;
    memcpy(file.text + header.e_shoff, &first, sizeof(first));
    expect_refusal(file.text, file.length, BASE_CORRUPT, "section headers");
    first.sh_size = 3;
    first.sh_link = 3;
    memcpy(file.text + header.e_shoff, &first, sizeof(first));
    expect_refusal(file.text, file.length, BASE_CORRUPT, "section names");
    base_buf_fini(&fatbin);
    base_buf_fini(&file);
}

static void sections_in_one_place_are_not_read_again_and_again(void **state)
{
    (void)state;
    struct base_buf fatbin = {0};
    struct base_buf file = {0};
    for (int i = 0; i < 50; i++)
        writer_add_fatbin(&fatbin, &WRITER_PTX(WRITER_STORED), 1);
    enum { COUNT = 100 };
    struct writer_section sections[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        sections[i] =
            (struct writer_section){".nv_fatbin", {fatbin.text, i ? 0 : fatbin.length}, 0};
    writer_add_elf(&file, ET_REL, EM_X86_64, sections, COUNT);
    Elf64_Ehdr header;
    Elf64_Shdr first;
    memcpy(&header, file.text, sizeof(header));
    memcpy(&first, file.text + header.e_shoff + sizeof(first), sizeof(first));
    struct fatbin_image *image = open_ok(file.text, file.length);
    assert_int_equal(image->entries.count, 50);
    fatbin_close(image);
    for (size_t i = 1; i < COUNT; i++) {
        char *place = file.text + header.e_shoff + (i + 1) * sizeof(first);
        memcpy(place + offsetof(Elf64_Shdr, sh_offset), &first.sh_offset, 16); // and sh_size
    }
    expect_refusal(file.text, file.length, BASE_CORRUPT, "overlap");
    base_buf_fini(&fatbin);
    base_buf_fini(&file);
}

static void a_cubin_is_one_entry_and_its_debug_ptx_another(void **state)
{
    (void)state;
    static const char lines[] = "\0\0\0.version 9.0\0.target sm_90\0.address_size 64\0\0ret;\0";
    const struct writer_section sections[] = {
        {".text.kernel", base_str("machine code"), 0},
        {".nv_debug_ptx_txt", {lines, sizeof(lines) - 1}, 0},
    };
    for (size_t count = 1; count <= 2; count++) {
        struct base_buf file = {0};
        writer_add_elf(&file, ET_EXEC, 190, sections, count);
        struct fatbin_image *image = open_ok(file.text, file.length);
        assert_int_equal(image->form, FATBIN_FORM_CUBIN);
        assert_int_equal(image->entries.count, count);
        const struct fatbin_entry *entries = image->entries.items;
        assert_int_equal(entries[0].kind, FATBIN_CUBIN);
        assert_int_equal(entries[0].arch, 90);
        assert_int_equal(entries[0].payload_bytes, file.length);
        assert_false(entries[0].relocatable);
        if (count == 2) {
            assert_true(entries[1].from_debug_info);
            assert_int_equal(entries[1].arch, 90);
            assert_int_equal(entries[1].version_major, 9);
            expect_ptx(&entries[1], "\n\n\n.version 9.0\n.target sm_90\n.address_size 64\n\nret;");
        }
        fatbin_close(image);

        // Before ABI version 8 the architecture was in the lowest byte.
        file.text[EI_ABIVERSION] = 7;
        writer_put(file.text + offsetof(Elf64_Ehdr, e_flags), 0x560556, 4);
        writer_put(file.text + offsetof(Elf64_Ehdr, e_type), ET_REL, 2);
        image = open_ok(file.text, file.length);
        assert_int_equal(image->entries.items[0].arch, 86);
        assert_true(image->entries.items[0].relocatable);
        fatbin_close(image);
        base_buf_fini(&file);
    }
    // In a host file, the same section has no meaning, and a section that is not PTX is not an
    // entry.
    struct base_buf file = {0};
    writer_add_elf(&file, ET_EXEC, EM_X86_64, sections, 2);
    expect_refusal(file.text, file.length, BASE_NOT_FOUND, "no device code");
    file.length = 0;
    const struct writer_section other = {".nv_debug_ptx_txt", base_str("other"), 0};
    writer_add_elf(&file, ET_EXEC, 190, &other, 1);
    struct fatbin_image *image = open_ok(file.text, file.length);
    assert_int_equal(image->entries.count, 1);
    fatbin_close(image);
    base_buf_fini(&file);
}

static void archives_give_every_member_its_name(void **state)
{
    (void)state;
    struct base_buf fatbin = {0};
    struct base_buf object = {0};
    struct base_buf linked = {0};
    struct base_buf foreign = {0};
    struct base_buf file = {0};
    writer_add_fatbin(&fatbin, &WRITER_PTX(WRITER_ZSTD), 1);
    writer_add_object(&object, ".nv_fatbin", &fatbin);
    writer_add_object(&linked, "__nv_relfatbin", &fatbin);
    writer_add_object(&foreign, ".nv_fatbin", &fatbin);
    foreign.text[EI_CLASS] = ELFCLASS32;
    static const char names[] = "a_name_of_many_letters.o/\nanother_long_name.o/\n";
    writer_add_member(&file, "/", "index", 5);
    writer_add_member(&file, "//", names, sizeof(names) - 1);
    writer_add_member(&file, "/26", object.text, object.length);
    writer_add_member(&file, "text/", "odd", 3);
    writer_add_member(&file, "none/", "", 0);
    writer_add_member(&file, "32.o/", foreign.text, foreign.length);
    writer_add_member(&file, "/0", linked.text, linked.length);
    writer_add_member(&file, "short.o/", object.text, object.length);
    writer_add_member(&file, "bare.fatbin/", fatbin.text, fatbin.length);
    writer_add_member(&file, "/999", object.text, object.length);
    struct fatbin_image *image = open_ok(file.text, file.length);
    assert_int_equal(image->form, FATBIN_FORM_ARCHIVE);
    static const char *const wanted[] = {"another_long_name.o", "a_name_of_many_letters.o",
                                         "short.o", "bare.fatbin", ""};
    assert_int_equal(image->entries.count, 5);
    for (size_t i = 0; i < 5; i++) {
        const struct fatbin_entry *entry = &image->entries.items[i];
        assert_true(base_str_is(entry->member, wanted[i]));
        assert_int_equal(entry->relocatable, i == 1);
        assert_int_equal(entry->fatbin_index, i);
        assert_memory_equal(file.text + entry->offset - 16, "\x50\xed\x55\xba", 4);
        expect_ptx(entry, writer_ptx);
    }
    fatbin_close(image);

    // Names without a terminator, an odd last member without padding, an empty member, and the
    // index of large archives (which must not be mistaken for PTX).
    file.length = 0;
    writer_add_member(&file, "/SYM64/", writer_ptx, sizeof(writer_ptx) - 1);
    writer_add_member(&file, "//", "unended", 7);
    writer_add_member(&file, "/2", ".version 9.0 //9999", 19);
    writer_add_member(&file, "sixteen_letters_", ".version 9.0", 12);
    writer_add_member(&file, "/7", ".version 9.0", 12);
    writer_add_member(&file, "empty/", "", 0);
    struct fatbin_image *odd = open_ok(file.text, file.length);
    assert_int_equal(odd->entries.count, 3);
    assert_true(base_str_is(odd->entries.items[0].member, "ended"));
    assert_true(base_str_is(odd->entries.items[1].member, "sixteen_letters_"));
    assert_true(base_str_is(odd->entries.items[2].member, ""));
    expect_ptx(&odd->entries.items[0], ".version 9.0 //9999");
    fatbin_close(odd);
    file.length = 0;
    writer_add_member(&file, "odd/", ".version 9.0 ", 13);
    odd = open_ok(file.text, file.length - 1);
    expect_ptx(&odd->entries.items[0], ".version 9.0 ");
    fatbin_close(odd);

    // An error in a member includes the member's name.
    writer_put(object.text + 64 + WRITER_FATBIN_MAGIC, 0x12345678, 4);
    writer_add_member(&file, "bad.o/", object.text, object.length);
    expect_refusal(file.text, file.length, BASE_CORRUPT,
                   "archive member bad.o: section .nv_fatbin: no fatbin");
    file.length = 0;
    writer_add_member(&file, "text/", "odd", 3);
    expect_refusal(file.text, file.length, BASE_NOT_FOUND, "no device code in this archive");
    expect_refusal(file.text, 8, BASE_NOT_FOUND, "no device code in this archive");
    base_buf_fini(&fatbin);
    base_buf_fini(&object);
    base_buf_fini(&linked);
    base_buf_fini(&foreign);
    base_buf_fini(&file);
}

static void files_are_opened_by_path(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct fatbin_image *image;
    assert_int_equal(fatbin_open_file("no such file", &image, &error), BASE_IO);
    assert_null(image);

    char path[] = "/tmp/glint-fatbin-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    struct base_buf fatbin = {0};
    writer_add_fatbin(&fatbin, &WRITER_PTX(WRITER_LZ4), 1);
    assert_int_equal(write(fd, fatbin.text, fatbin.length), fatbin.length);
    assert_int_equal(fatbin_open_file(path, &image, &error), BASE_OK);
    assert_string_equal(image->name, path);
    expect_ptx(&image->entries.items[0], writer_ptx);
    fatbin_close(image);
    assert_int_equal(ftruncate(fd, 30), 0);
    assert_int_equal(fatbin_open_file(path, &image, &error), BASE_CORRUPT);
    assert_null(image);
    close(fd);
    unlink(path);
    base_buf_fini(&fatbin);
    fatbin_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ptx_text_is_one_entry_with_its_version_and_target),
        cmocka_unit_test(what_is_nothing_of_all_this_is_refused),
        cmocka_unit_test(host_files_of_every_type_give_both_sections),
        cmocka_unit_test(host_files_without_device_code_say_so),
        cmocka_unit_test(foreign_elf_files_are_refused),
        cmocka_unit_test(section_counts_beyond_the_header_are_found),
        cmocka_unit_test(sections_in_one_place_are_not_read_again_and_again),
        cmocka_unit_test(a_cubin_is_one_entry_and_its_debug_ptx_another),
        cmocka_unit_test(archives_give_every_member_its_name),
        cmocka_unit_test(files_are_opened_by_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
