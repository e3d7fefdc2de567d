// SPDX-License-Identifier: Apache-2.0
// Entries of well-formed fatbins: which are listed, and what they decompress to.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fatbin/fatbin.h"
#include "writer.h"

static struct fatbin_image *open_ok(const struct base_buf *bytes)
{
    struct fatbin_image *image;
    struct base_error error = {0};
    if (fatbin_open_bytes(bytes->text, bytes->length, "test", &image, &error))
        fail_msg("%s", error.text[0]);
    return image;
}

static void expect_text(const struct fatbin_entry *entry, const char *wanted, size_t wanted_bytes)
{
    char *text;
    size_t length;
    struct base_error error = {0};
    if (fatbin_entry_text(entry, &text, &length, &error))
        fail_msg("%s", error.text[0]);
    assert_int_equal(length, wanted_bytes);
    assert_memory_equal(text, wanted, wanted_bytes);
    assert_int_equal(text[length], 0);
    free(text);
}

static void expect_no_text(const struct fatbin_entry *entry, enum base_code wanted)
{
    char *text;
    size_t length;
    struct base_error error = {0};
    assert_int_equal(fatbin_entry_text(entry, &text, &length, &error), wanted);
    assert_null(text);
    assert_int_equal(length, 0);
    assert_int_equal(error.code, wanted);
}

static void ptx_of_every_compression_comes_back_without_its_nul(void **state)
{
    (void)state;
    static const enum writer_packing packings[] = {WRITER_STORED, WRITER_LZ4, WRITER_ZSTD};
    static const enum fatbin_compression wanted[] = {FATBIN_STORED, FATBIN_LZ4, FATBIN_ZSTD};
    for (size_t i = 0; i < 3; i++) {
        struct base_buf bytes = {0};
        writer_add_fatbin(&bytes, &WRITER_PTX(packings[i]), 1);
        struct fatbin_image *image = open_ok(&bytes);
        assert_int_equal(image->form, FATBIN_FORM_FATBIN);
        assert_int_equal(image->entries.count, 1);
        const struct fatbin_entry *entry = &image->entries.items[0];
        assert_int_equal(entry->compression, wanted[i]);
        if (wanted[i] != FATBIN_STORED)
            assert_int_equal(entry->full_bytes, sizeof(writer_ptx));
        expect_text(entry, writer_ptx, sizeof(writer_ptx) - 1);
        fatbin_close(image);
        base_buf_fini(&bytes);
    }
}

static void every_field_is_listed(void **state)
{
    (void)state;
    struct base_buf bytes = {0};
    struct writer_entry written = WRITER_PTX(WRITER_ZSTD);
    written.source_name = "vectorAdd.cu";
    written.options = " --generate-line-info ";
    written.more_flags = 0x2;
    writer_add_fatbin(&bytes, &written, 1);
    struct fatbin_image *image = open_ok(&bytes);
    const struct fatbin_entry *entry = &image->entries.items[0];
    assert_int_equal(entry->kind, FATBIN_PTX);
    assert_int_equal(entry->kind_number, 1);
    assert_int_equal(entry->arch, 90);
    assert_int_equal(entry->arch_suffix, 0);
    assert_int_equal(entry->version_major, 9);
    assert_int_equal(entry->version_minor, 0);
    assert_int_equal(entry->flags,
                     FATBIN_FLAG_64BIT | FATBIN_FLAG_DEBUG | FATBIN_FLAG_LINUX | FATBIN_FLAG_ZSTD);
    assert_true(base_str_is(entry->source_name, "vectorAdd.cu"));
    assert_true(base_str_is(entry->options, " --generate-line-info "));
    assert_true(base_str_is(entry->section, ""));
    assert_true(base_str_is(entry->member, ""));
    assert_int_equal(entry->offset, 16);
    assert_int_equal(entry->fatbin_index, 0);
    assert_false(entry->relocatable);
    assert_false(entry->from_debug_info);
    fatbin_close(image);
    base_buf_fini(&bytes);
}

static void entries_keep_their_order_and_fatbins_their_index(void **state)
{
    (void)state;
    static const char cubin[8] = {0x7f, 'E', 'L', 'F', 2, 1, 0, 0};
    const struct writer_entry first[] = {
        {.kind = 2, .arch = 80, .payload = cubin, .payload_bytes = sizeof(cubin)},
        {.kind = 2,
         .arch = 90,
         .payload = cubin,
         .payload_bytes = sizeof(cubin),
         .packing = WRITER_ZSTD},
        WRITER_PTX(WRITER_LZ4),
    };
    struct base_buf bytes = {0};
    writer_add_fatbin(&bytes, first, 3);
    writer_align(&bytes, 0, 256);
    writer_add_fatbin(&bytes, NULL, 0);
    writer_align(&bytes, 0, 256);
    const size_t third = bytes.length;
    writer_add_fatbin(&bytes, &WRITER_PTX(WRITER_STORED), 1);
    writer_align(&bytes, 0, 256);

    struct fatbin_image *image = open_ok(&bytes);
    assert_int_equal(image->fatbin_count, 3);
    assert_int_equal(image->entries.count, 4);
    const struct fatbin_entry *entries = image->entries.items;
    static const unsigned archs[] = {80, 90, 90, 90};
    static const size_t fatbins[] = {0, 0, 0, 2};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(entries[i].kind, i < 2 ? FATBIN_CUBIN : FATBIN_PTX);
        assert_int_equal(entries[i].arch, archs[i]);
        assert_int_equal(entries[i].fatbin_index, fatbins[i]);
    }
    assert_int_equal(entries[3].offset, third + 16);
    assert_int_equal(entries[0].version_major, 1);
    assert_int_equal(entries[0].version_minor, 8);
    // Trailing zeros of a cubin belong to it.
    expect_text(&entries[0], cubin, sizeof(cubin));
    expect_text(&entries[1], cubin, sizeof(cubin));
    expect_text(&entries[2], writer_ptx, sizeof(writer_ptx) - 1);
    fatbin_close(image);
    base_buf_fini(&bytes);
}

static void specific_and_family_architectures_carry_their_letter(void **state)
{
    (void)state;
    struct writer_entry written[] = {WRITER_PTX(WRITER_STORED), WRITER_PTX(WRITER_STORED)};
    written[0].more_flags = FATBIN_FLAG_SPECIFIC;
    written[1].more_flags = FATBIN_FLAG_FAMILY;
    struct base_buf bytes = {0};
    writer_add_fatbin(&bytes, written, 2);
    struct fatbin_image *image = open_ok(&bytes);
    assert_int_equal(image->entries.items[0].arch_suffix, 'a');
    assert_int_equal(image->entries.items[1].arch_suffix, 'f');
    fatbin_close(image);
    base_buf_fini(&bytes);
}

static void ptx_compiled_for_linking_is_relocatable_in_a_plain_fatbin_too(void **state)
{
    (void)state;
    struct writer_entry written = WRITER_PTX(WRITER_STORED);
    written.options = "--compile-only  ";
    struct base_buf bytes = {0};
    writer_add_fatbin(&bytes, &written, 1);
    struct fatbin_image *image = open_ok(&bytes);
    assert_true(image->entries.items[0].relocatable);
    fatbin_close(image);
    base_buf_fini(&bytes);
}

static void link_time_code_and_unknown_kinds_are_listed(void **state)
{
    (void)state;
    struct writer_entry written[] = {WRITER_PTX(WRITER_ZSTD), WRITER_PTX(WRITER_STORED)};
    written[0].kind = 8;
    written[1].kind = 77;
    struct base_buf bytes = {0};
    writer_add_fatbin(&bytes, written, 2);
    struct fatbin_image *image = open_ok(&bytes);
    assert_int_equal(image->entries.items[0].kind, FATBIN_LTO);
    assert_int_equal(image->entries.items[1].kind, FATBIN_OTHER);
    assert_int_equal(image->entries.items[1].kind_number, 77);
    expect_no_text(&image->entries.items[0], BASE_UNSUPPORTED);
    // Entries of unknown kinds are not trimmed.
    const struct fatbin_entry *other = &image->entries.items[1];
    expect_text(other, (const char *)other->payload, other->payload_bytes);
    fatbin_close(image);
    base_buf_fini(&bytes);
}

static void unknown_compression_is_listed_and_refused_when_asked_for(void **state)
{
    (void)state;
    struct base_buf bytes = {0};
    writer_add_fatbin(&bytes, &WRITER_PTX(WRITER_ZSTD), 1);
    static const uint64_t flags[] = {0x11, 0x11 | FATBIN_FLAG_LZ4 | FATBIN_FLAG_ZSTD};
    for (size_t i = 0; i < 2; i++) {
        writer_put(bytes.text + WRITER_FATBIN_FIRST_ENTRY + WRITER_ENTRY_FLAGS, flags[i], 8);
        struct fatbin_image *image = open_ok(&bytes);
        assert_int_equal(image->entries.items[0].compression, FATBIN_UNKNOWN);
        expect_no_text(&image->entries.items[0], BASE_UNSUPPORTED);
        fatbin_close(image);
    }
    base_buf_fini(&bytes);
}

static void a_payload_that_does_not_give_the_stated_size_is_refused(void **state)
{
    (void)state;
    static const enum writer_packing packings[] = {WRITER_LZ4, WRITER_ZSTD};
    for (size_t i = 0; i < 2; i++) {
        static const size_t lies[] = {sizeof(writer_ptx) - 1, sizeof(writer_ptx) + 1, 1, 4000};
        for (size_t j = 0; j < sizeof(lies) / sizeof(lies[0]); j++) {
            struct base_buf bytes = {0};
            writer_add_fatbin(&bytes, &WRITER_PTX(packings[i]), 1);
            writer_put(bytes.text + WRITER_FATBIN_FIRST_ENTRY + WRITER_ENTRY_FULL_BYTES, lies[j],
                       8);
            struct fatbin_image *image = open_ok(&bytes);
            expect_no_text(&image->entries.items[0], BASE_CORRUPT);
            fatbin_close(image);
            base_buf_fini(&bytes);
        }
    }
}

static void sizes_that_no_compression_reaches_are_refused_before_allocating(void **state)
{
    (void)state;
    struct base_buf bytes = {0};
    writer_add_fatbin(&bytes, &WRITER_PTX(WRITER_LZ4), 1);
    char *place = bytes.text + WRITER_FATBIN_FIRST_ENTRY + WRITER_ENTRY_FULL_BYTES;
    struct fatbin_image *image = open_ok(&bytes);
    const size_t most = image->entries.items[0].payload_bytes * 255;
    fatbin_close(image);
    const struct {
        uint64_t size;
        enum base_code code;
    } cases[] = {
        {most + 1, BASE_CORRUPT},
        {FATBIN_PAYLOAD_LIMIT_BYTES, BASE_CORRUPT},
        {FATBIN_PAYLOAD_LIMIT_BYTES + 1, BASE_UNSUPPORTED},
        {UINT64_MAX, BASE_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        writer_put(place, cases[i].size, 8);
        image = open_ok(&bytes);
        expect_no_text(&image->entries.items[0], cases[i].code);
        fatbin_close(image);
    }
    base_buf_fini(&bytes);
}

static void damaged_compressed_bytes_never_give_text_of_the_wrong_size(void **state)
{
    (void)state;
    static const enum writer_packing packings[] = {WRITER_LZ4, WRITER_ZSTD};
    unsigned refused = 0;
    for (size_t i = 0; i < 2; i++) {
        struct base_buf bytes = {0};
        writer_add_fatbin(&bytes, &WRITER_PTX(packings[i]), 1);
        for (size_t at = WRITER_FATBIN_FIRST_ENTRY + 64; at < bytes.length; at++) {
            bytes.text[at] ^= (char)0xff;
            struct fatbin_image *image = open_ok(&bytes);
            struct fatbin_entry cubin = image->entries.items[0];
            cubin.kind = FATBIN_CUBIN; // not trimmed
            char *text;
            size_t length;
            enum base_code code = fatbin_entry_text(&cubin, &text, &length, NULL);
            assert_true(code == BASE_CORRUPT || (code == BASE_OK && length == sizeof(writer_ptx)));
            refused += code == BASE_CORRUPT;
            free(text);
            fatbin_close(image);
            bytes.text[at] ^= (char)0xff;
        }
        base_buf_fini(&bytes);
    }
    assert_true(refused > 10);
}

static void a_nul_inside_ptx_is_refused(void **state)
{
    (void)state;
    char text[sizeof(writer_ptx)];
    memcpy(text, writer_ptx, sizeof(text));
    text[20] = '\0';
    struct writer_entry written = WRITER_PTX(WRITER_ZSTD);
    written.payload = text;
    struct base_buf bytes = {0};
    writer_add_fatbin(&bytes, &written, 1);
    struct fatbin_image *image = open_ok(&bytes);
    expect_no_text(&image->entries.items[0], BASE_CORRUPT);
    fatbin_close(image);
    base_buf_fini(&bytes);
}

static void large_payloads_decompress(void **state)
{
    (void)state;
    const size_t size = 3 << 20;
    char *text = malloc(size);
    assert_non_null(text);
    for (size_t i = 0; i < size; i++)
        text[i] = (char)('a' + i * i % 23);
    static const enum writer_packing packings[] = {WRITER_STORED, WRITER_LZ4, WRITER_ZSTD};
    for (size_t i = 0; i < 3; i++) {
        struct base_buf bytes = {0};
        const struct writer_entry written = {
            .kind = 1, .arch = 75, .payload = text, .payload_bytes = size, .packing = packings[i]};
        writer_add_fatbin(&bytes, &written, 1);
        struct fatbin_image *image = open_ok(&bytes);
        expect_text(&image->entries.items[0], text, size);
        fatbin_close(image);
        base_buf_fini(&bytes);
    }
    free(text);
}

static void an_image_without_ptx_tells_what_it_has(void **state)
{
    (void)state;
    const struct writer_entry cubin = {.kind = 2, .arch = 90, .payload = "x", .payload_bytes = 1};
    struct writer_entry written[] = {cubin, cubin, cubin, cubin, WRITER_PTX(WRITER_STORED)};
    written[0].arch = 80;
    written[2].more_flags = FATBIN_FLAG_SPECIFIC;
    written[3].kind = 8;
    struct base_buf bytes = {0};
    writer_add_fatbin(&bytes, written, 4);
    struct fatbin_image *image = open_ok(&bytes);
    struct base_error error = {0};
    assert_int_equal(fatbin_require_ptx(image, &error), BASE_NOT_FOUND);
    assert_string_equal(error.text[0],
                        "test: no PTX, only cubin sm_80, cubin sm_90, cubin sm_90a, LTO sm_90");
    assert_int_equal(fatbin_require_ptx(image, NULL), BASE_NOT_FOUND);
    fatbin_close(image);

    bytes.length = 0;
    writer_add_fatbin(&bytes, written, 5);
    image = open_ok(&bytes);
    assert_int_equal(fatbin_require_ptx(image, &error), BASE_OK);
    fatbin_close(image);

    bytes.length = 0;
    struct writer_entry many[50];
    for (unsigned i = 0; i < 50; i++) {
        many[i] = cubin;
        many[i].arch = 4000000000 + i;
    }
    writer_add_fatbin(&bytes, many, 50);
    image = open_ok(&bytes);
    assert_int_equal(fatbin_require_ptx(image, &error), BASE_NOT_FOUND);
    assert_non_null(strstr(error.text[0], "cubin sm_4000000000, "));
    assert_non_null(strstr(error.text[0], " and more"));
    fatbin_close(image);

    // A list that fills its buffer to the last byte: 19 + 21 + 6 * 20.
    bytes.length = 0;
    for (unsigned i = 2; i < 8; i++) {
        many[i].kind = 8;
        many[i].more_flags = FATBIN_FLAG_SPECIFIC;
    }
    writer_add_fatbin(&bytes, many, 8);
    image = open_ok(&bytes);
    assert_int_equal(fatbin_require_ptx(image, &error), BASE_NOT_FOUND);
    assert_non_null(strstr(error.text[0], "LTO sm_4000000006a and more"));
    fatbin_close(image);
    base_buf_fini(&bytes);
}

static void every_value_has_a_word(void **state)
{
    (void)state;
    assert_string_equal(fatbin_form_name(FATBIN_FORM_ARCHIVE), "archive");
    assert_string_equal(fatbin_kind_name(FATBIN_OTHER), "other");
    assert_string_equal(fatbin_compression_name(FATBIN_UNKNOWN), "unknown");
    assert_string_equal(fatbin_form_name((enum fatbin_form)(FATBIN_FORM_ARCHIVE + 1)), "unknown");
    assert_string_equal(fatbin_kind_name((enum fatbin_kind)(FATBIN_OTHER + 1)), "unknown");
    assert_string_equal(fatbin_compression_name((enum fatbin_compression)(FATBIN_UNKNOWN + 1)),
                        "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ptx_of_every_compression_comes_back_without_its_nul),
        cmocka_unit_test(every_field_is_listed),
        cmocka_unit_test(entries_keep_their_order_and_fatbins_their_index),
        cmocka_unit_test(specific_and_family_architectures_carry_their_letter),
        cmocka_unit_test(ptx_compiled_for_linking_is_relocatable_in_a_plain_fatbin_too),
        cmocka_unit_test(link_time_code_and_unknown_kinds_are_listed),
        cmocka_unit_test(unknown_compression_is_listed_and_refused_when_asked_for),
        cmocka_unit_test(a_payload_that_does_not_give_the_stated_size_is_refused),
        cmocka_unit_test(sizes_that_no_compression_reaches_are_refused_before_allocating),
        cmocka_unit_test(damaged_compressed_bytes_never_give_text_of_the_wrong_size),
        cmocka_unit_test(a_nul_inside_ptx_is_refused),
        cmocka_unit_test(large_payloads_decompress),
        cmocka_unit_test(an_image_without_ptx_tells_what_it_has),
        cmocka_unit_test(every_value_has_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
