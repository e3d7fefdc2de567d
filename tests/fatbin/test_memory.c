// SPDX-License-Identifier: Apache-2.0
// Images in the memory of a process, whose sizes are only in their headers. Each is a heap block of
// exactly its size, so that ASan detects the first byte read too far.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fatbin/fatbin.h"
#include "writer.h"

struct wrapper {
    uint32_t magic;
    uint32_t version;
    const void *fatbin;
    const void *more;
};

static char *exact_copy(struct base_buf *buf)
{
    assert_false(buf->failed);
    char *copy = malloc(buf->length ? buf->length : 1);
    assert_non_null(copy);
    memcpy(copy, buf->text, buf->length);
    base_buf_fini(buf);
    return copy;
}

static struct fatbin_image *open_ok(const void *memory)
{
    struct fatbin_image *image;
    struct base_error error = {0};
    if (fatbin_open_memory(memory, &image, &error))
        fail_msg("%s", error.text[0]);
    return image;
}

static void expect_refusal(const void *memory, enum base_code code)
{
    struct fatbin_image *image;
    struct base_error error = {0};
    assert_int_equal(fatbin_open_memory(memory, &image, &error), code);
    assert_null(image);
    assert_int_equal(error.code, code);
}

static void expect_ptx(const struct fatbin_entry *entry, const char *wanted)
{
    char *text;
    size_t length;
    assert_int_equal(entry->kind, FATBIN_PTX);
    assert_int_equal(fatbin_entry_text(entry, &text, &length, NULL), BASE_OK);
    assert_string_equal(text, wanted);
    assert_int_equal(length, strlen(wanted));
    free(text);
}

static char *ptx_fatbin(unsigned arch)
{
    struct base_buf buf = {0};
    struct writer_entry entry = WRITER_PTX(WRITER_ZSTD);
    entry.arch = arch;
    writer_add_fatbin(&buf, &entry, 1);
    return exact_copy(&buf);
}

static void a_fatbin_is_read_to_its_own_end(void **state)
{
    (void)state;
    char *fatbin = ptx_fatbin(90);
    struct fatbin_image *image = open_ok(fatbin);
    assert_int_equal(image->form, FATBIN_FORM_FATBIN);
    assert_int_equal(image->entries.count, 1);
    assert_int_equal(image->entries.items[0].offset, 16);
    expect_ptx(&image->entries.items[0], writer_ptx);
    fatbin_close(image);
    free(fatbin);
}

static void a_wrapper_leads_to_its_fatbin(void **state)
{
    (void)state;
    char *fatbin = ptx_fatbin(80);
    // The last field of a version 1 wrapper is a name and must not be followed.
    const struct wrapper wrapper = {0x466243b1, 1, fatbin, "name"};
    struct fatbin_image *image = open_ok(&wrapper);
    assert_int_equal(image->entries.count, 1);
    assert_int_equal(image->entries.items[0].arch, 80);
    assert_false(image->entries.items[0].relocatable);
    fatbin_close(image);
    free(fatbin);
}

static void a_linking_wrapper_leads_to_all_its_units(void **state)
{
    (void)state;
    struct base_buf empty = {0};
    writer_add_fatbin(&empty, NULL, 0);
    char *own = exact_copy(&empty);
    char *first = ptx_fatbin(80);
    char *second = ptx_fatbin(90);
    const void *units[] = {first, second, NULL};
    struct wrapper wrapper = {0x466243b1, 2, own, units};
    struct fatbin_image *image = open_ok(&wrapper);
    assert_int_equal(image->fatbin_count, 3);
    assert_int_equal(image->entries.count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct fatbin_entry *entry = &image->entries.items[i];
        assert_int_equal(entry->arch, i ? 90 : 80);
        assert_int_equal(entry->fatbin_index, i + 1);
        assert_true(entry->relocatable);
        expect_ptx(entry, writer_ptx);
    }
    fatbin_close(image);
    wrapper.more = NULL;
    expect_refusal(&wrapper, BASE_NOT_FOUND);
    wrapper.fatbin = first;
    image = open_ok(&wrapper);
    assert_int_equal(image->entries.count, 1);
    fatbin_close(image);
    free(own);
    free(first);
    free(second);
}

static void text_is_read_to_its_nul(void **state)
{
    (void)state;
    struct base_buf buf = {0};
    base_buf_add(&buf, writer_ptx, sizeof(writer_ptx));
    char *text = exact_copy(&buf);
    struct fatbin_image *image = open_ok(text);
    assert_int_equal(image->form, FATBIN_FORM_PTX);
    assert_int_equal(image->entries.items[0].arch, 90);
    expect_ptx(&image->entries.items[0], writer_ptx);
    fatbin_close(image);
    free(text);
}

static void a_cubin_has_the_size_its_headers_give(void **state)
{
    (void)state;
    struct base_buf buf = {0};
    const struct writer_section sections[] = {{".text.k", base_str("machine code"), 0},
                                              {".nv.global", {"", 1 << 20}, SHT_NOBITS}};
    writer_add_elf(&buf, ET_EXEC, 190, sections, 2);
    const size_t length = buf.length;
    char *cubin = exact_copy(&buf);
    struct fatbin_image *image = open_ok(cubin);
    assert_int_equal(image->form, FATBIN_FORM_CUBIN);
    assert_int_equal(image->entries.count, 1);
    assert_int_equal(image->entries.items[0].payload_bytes, length);
    assert_ptr_equal(image->entries.items[0].payload, cubin);
    fatbin_close(image);
    writer_put(cubin + offsetof(Elf64_Ehdr, e_shoff), UINT64_MAX, 8);
    expect_refusal(cubin, BASE_CORRUPT);
    free(cubin);
}

static void a_cubin_ends_with_whatever_is_last_in_it(void **state)
{
    (void)state;
    const struct writer_section section = {".text.k", base_str("machine code"), 0};
    for (int last = 0; last < 2; last++) {
        struct base_buf buf = {0};
        writer_add_elf(&buf, ET_EXEC, 190, &section, 1);
        Elf64_Ehdr header;
        memcpy(&header, buf.text, sizeof(header));
        if (last == 0) { // program headers, as nvcc's cubins have them
            writer_put(buf.text + offsetof(Elf64_Ehdr, e_phoff), buf.length, 8);
            writer_put(buf.text + offsetof(Elf64_Ehdr, e_phentsize), sizeof(Elf64_Phdr), 2);
            writer_put(buf.text + offsetof(Elf64_Ehdr, e_phnum), 3, 2);
            writer_zeros(&buf, 3 * sizeof(Elf64_Phdr));
        } else { // a section
            char *place = buf.text + header.e_shoff + sizeof(Elf64_Shdr);
            writer_put(place + offsetof(Elf64_Shdr, sh_offset), buf.length, 8);
            writer_put(place + offsetof(Elf64_Shdr, sh_size), 1000, 8);
            writer_zeros(&buf, 1000);
        }
        const size_t length = buf.length;
        char *cubin = exact_copy(&buf);
        struct fatbin_image *image = open_ok(cubin);
        assert_int_equal(image->entries.items[0].payload_bytes, length);
        fatbin_close(image);
        free(cubin);
    }
}

static void what_is_no_image_is_refused_without_reading_on(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {{"", 1},     {"P", 2},     {"P\xed\x55", 4},       {"\177ELG", 4},
                 {"\xb1", 1}, {".vers", 6}, {"// comment\n.v", 14}, {"\xb1\x43\x62\x47", 4}};
    expect_refusal(NULL, BASE_INVALID);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct base_buf buf = {0};
        base_buf_add(&buf, cases[i].bytes, cases[i].length);
        // One byte that is neither NUL nor the start of a magic number must be enough to decide.
        if (cases[i].length == 1 && cases[i].bytes[0])
            base_buf_putc(&buf, 'x');
        char *memory = exact_copy(&buf);
        expect_refusal(memory, BASE_UNSUPPORTED);
        free(memory);
    }
}

static void wrong_wrappers_are_refused(void **state)
{
    (void)state;
    char *fatbin = ptx_fatbin(90);
    struct wrapper wrapper = {0x466243b1, 3, fatbin, NULL};
    expect_refusal(&wrapper, BASE_UNSUPPORTED);
    wrapper.version = 1;
    wrapper.fatbin = NULL;
    expect_refusal(&wrapper, BASE_CORRUPT);
    char zeros[16] = {0};
    writer_put(zeros + 8, UINT64_MAX / 4, 8);
    wrapper.fatbin = zeros;
    expect_refusal(&wrapper, BASE_CORRUPT);
    writer_put(fatbin + WRITER_FATBIN_ENTRIES_BYTES, UINT64_MAX, 8);
    wrapper.fatbin = fatbin;
    expect_refusal(&wrapper, BASE_CORRUPT);
    expect_refusal(fatbin, BASE_CORRUPT);
    writer_put(fatbin + WRITER_FATBIN_ENTRIES_BYTES, 0, 8);
    writer_put(fatbin + WRITER_FATBIN_HEADER_BYTES, 8, 2);
    expect_refusal(fatbin, BASE_CORRUPT);
    free(fatbin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fatbin_is_read_to_its_own_end),
        cmocka_unit_test(a_wrapper_leads_to_its_fatbin),
        cmocka_unit_test(a_linking_wrapper_leads_to_all_its_units),
        cmocka_unit_test(text_is_read_to_its_nul),
        cmocka_unit_test(a_cubin_has_the_size_its_headers_give),
        cmocka_unit_test(a_cubin_ends_with_whatever_is_last_in_it),
        cmocka_unit_test(what_is_no_image_is_refused_without_reading_on),
        cmocka_unit_test(wrong_wrappers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
