// SPDX-License-Identifier: Apache-2.0
// Hostile and corrupt input: each wrong value in a header is rejected, and no truncated or changed
// byte causes a read outside the input. Every input is a heap block of exactly its size, so that
// ASan detects the first byte read too far.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fatbin/fatbin.h"
#include "writer.h"

enum { ENTRY = WRITER_FATBIN_FIRST_ENTRY };

// Opens and decompresses everything. Returns the result of opening.
static enum base_code try_bytes(const char *bytes, size_t length, struct base_error *error)
{
    char *exact = malloc(length ? length : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, length);
    struct fatbin_image *image;
    enum base_code code = fatbin_open_bytes(exact, length, "test", &image, error);
    assert_true((code == BASE_OK) == (image != NULL));
    for (size_t i = 0; image && i < image->entries.count; i++) {
        char *text;
        size_t text_bytes;
        fatbin_entry_text(&image->entries.items[i], &text, &text_bytes, NULL);
        free(text);
    }
    fatbin_close(image);
    free(exact);
    return code;
}

// One small file of each form that contains its size.
enum { SAMPLES = 6 };

static void make_samples(struct base_buf samples[SAMPLES])
{
    struct writer_entry entry = WRITER_PTX(WRITER_STORED);
    entry.source_name = "a.cu";
    entry.options = "-g";
    memset(samples, 0, SAMPLES * sizeof(*samples));
    writer_add_fatbin(&samples[0], &entry, 1);
    entry.packing = WRITER_LZ4;
    writer_add_fatbin(&samples[1], &entry, 1);
    const struct writer_entry two[] = {WRITER_PTX(WRITER_ZSTD), entry};
    writer_add_fatbin(&samples[2], two, 2);
    writer_add_object(&samples[3], ".nv_fatbin", &samples[1]);
    const struct writer_section cubin[] = {{".text.k", base_str("machine code"), 0},
                                           {".nv_debug_ptx_txt", base_str(writer_ptx), 0}};
    writer_add_elf(&samples[4], ET_EXEC, 190, cubin, 2);
    writer_add_member(&samples[5], "a.o/", samples[3].text, samples[3].length);
}

static void free_samples(struct base_buf samples[SAMPLES])
{
    for (size_t i = 0; i < SAMPLES; i++)
        base_buf_fini(&samples[i]);
}

static void whole_samples_are_read(void **state)
{
    (void)state;
    struct base_buf samples[SAMPLES];
    make_samples(samples);
    for (size_t i = 0; i < SAMPLES; i++) {
        struct base_error error = {0};
        if (try_bytes(samples[i].text, samples[i].length, &error))
            fail_msg("sample %zu: %s", i, error.text[0]);
    }
    free_samples(samples);
}

static void a_file_cut_at_any_byte_is_refused(void **state)
{
    (void)state;
    struct base_buf samples[SAMPLES];
    make_samples(samples);
    for (size_t i = 0; i < SAMPLES; i++) {
        for (size_t length = 0; length < samples[i].length; length++) {
            struct base_error error = {0};
            enum base_code code = try_bytes(samples[i].text, length, &error);
            if (code == BASE_OK)
                fail_msg("sample %zu is accepted cut at %zu of %zu", i, length, samples[i].length);
            assert_int_equal(code, error.code);
            assert_true(error.causes > 0);
            // Once its form is recognized, a file is damaged rather than of another form. An
            // archive may end after its first eight bytes.
            if (length >= 9)
                assert_int_equal(code, BASE_CORRUPT);
        }
    }
    free_samples(samples);
}

static void any_changed_byte_is_read_or_refused_within_bounds(void **state)
{
    (void)state;
    static const unsigned char masks[] = {0x01, 0x80, 0xff};
    struct base_buf samples[SAMPLES];
    make_samples(samples);
    unsigned refused = 0;
    for (size_t i = 0; i < SAMPLES; i++) {
        for (size_t at = 0; at < samples[i].length; at++) {
            for (size_t j = 0; j < sizeof(masks); j++) {
                samples[i].text[at] ^= (char)masks[j];
                refused += try_bytes(samples[i].text, samples[i].length, NULL) != BASE_OK;
                samples[i].text[at] ^= (char)masks[j];
            }
        }
    }
    assert_true(refused > 100);
    free_samples(samples);
}

static void text_cut_at_any_byte_is_read_within_bounds(void **state)
{
    (void)state;
    static const char text[] = "// line\n/* block */ .version 9.0\n.target sm_90a, debug\n.address";
    for (size_t length = 0; length < sizeof(text); length++) {
        // Text does not contain its size: from ".version 9.0" on, any prefix is PTX.
        const bool whole = length >= (size_t)(strstr(text, ".0") - text) + 2;
        assert_int_equal(try_bytes(text, length, NULL), whole ? BASE_OK : BASE_UNSUPPORTED);
    }
}

static void each_lie_in_a_fatbin_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at, bytes;
        uint64_t value;
        enum base_code code;
        const char *says;
    } lies[] = {
        {WRITER_FATBIN_MAGIC, 4, 0xba55ed51, BASE_UNSUPPORTED, "neither"},
        {WRITER_FATBIN_VERSION, 2, 2, BASE_UNSUPPORTED, "version 2"},
        {WRITER_FATBIN_HEADER_BYTES, 2, 0, BASE_CORRUPT, "states 0 +"},
        {WRITER_FATBIN_HEADER_BYTES, 2, 15, BASE_CORRUPT, "states 15 +"},
        {WRITER_FATBIN_HEADER_BYTES, 2, 24, BASE_CORRUPT, "states 24 +"},
        {WRITER_FATBIN_HEADER_BYTES, 2, 0xffff, BASE_CORRUPT, "states 65535 +"},
        {WRITER_FATBIN_ENTRIES_BYTES, 8, UINT64_MAX, BASE_CORRUPT, "truncated"},
        {WRITER_FATBIN_ENTRIES_BYTES, 8, UINT64_MAX - 15, BASE_CORRUPT, "truncated"},
        {WRITER_FATBIN_ENTRIES_BYTES, 8, 63, BASE_CORRUPT, "last entry"},
        {WRITER_FATBIN_ENTRIES_BYTES, 8, 64, BASE_CORRUPT, "header of"},
        {WRITER_FATBIN_ENTRIES_BYTES, 8, 0, BASE_CORRUPT, "no fatbin at offset 0x10"},
        {ENTRY + WRITER_ENTRY_VERSION, 2, 0x0201, BASE_UNSUPPORTED, "version 0x201"},
        {ENTRY + WRITER_ENTRY_HEADER_BYTES, 4, 0, BASE_CORRUPT,
         "entry at offset 0x10 states a header of 0 bytes"},
        {ENTRY + WRITER_ENTRY_HEADER_BYTES, 4, 63, BASE_CORRUPT, "header of 63 bytes"},
        {ENTRY + WRITER_ENTRY_HEADER_BYTES, 4, UINT32_MAX, BASE_CORRUPT, "header of 4294967295"},
        {ENTRY + WRITER_ENTRY_PAYLOAD_BYTES, 8, 0, BASE_CORRUPT, "payload of 0 bytes"},
        {ENTRY + WRITER_ENTRY_PAYLOAD_BYTES, 8, 8000, BASE_CORRUPT, "payload of 8000 bytes"},
        {ENTRY + WRITER_ENTRY_PAYLOAD_BYTES, 8, UINT64_MAX, BASE_CORRUPT, "payload of"},
        {ENTRY + WRITER_ENTRY_PAYLOAD_BYTES, 8, 8, BASE_CORRUPT, "compressed bytes"},
        {ENTRY + WRITER_ENTRY_COMPRESSED_BYTES, 4, 0, BASE_CORRUPT, "states 0 compressed"},
        {ENTRY + WRITER_ENTRY_COMPRESSED_BYTES, 4, 4000, BASE_CORRUPT, "states 4000 compressed"},
        {ENTRY + WRITER_ENTRY_FULL_BYTES, 8, 0, BASE_CORRUPT, "compressed bytes for 0"},
        {ENTRY + WRITER_ENTRY_OPTIONS, 4, 1, BASE_CORRUPT, "options outside"},
        {ENTRY + WRITER_ENTRY_OPTIONS, 4, UINT32_MAX, BASE_CORRUPT, "options outside"},
        {ENTRY + WRITER_ENTRY_OPTIONS, 4, 64 + 8 + 9, BASE_CORRUPT, "options outside"},
        {ENTRY + 64 + 8, 4, 60, BASE_CORRUPT, "options outside"},
        {ENTRY + 64 + 8, 4, 1000, BASE_CORRUPT, "options outside"},
        {ENTRY + 64 + 8 + 4, 4, 9, BASE_CORRUPT, "options outside"},
        {ENTRY + 64 + 8 + 4, 4, UINT32_MAX, BASE_CORRUPT, "options outside"},
        {ENTRY + WRITER_ENTRY_NAME_OFFSET, 4, 1, BASE_CORRUPT, "source name outside"},
        {ENTRY + WRITER_ENTRY_NAME_OFFSET, 4, UINT32_MAX, BASE_CORRUPT, "source name outside"},
        {ENTRY + WRITER_ENTRY_NAME_BYTES, 4, 25, BASE_CORRUPT, "source name outside"},
        {ENTRY + WRITER_ENTRY_NAME_BYTES, 4, UINT32_MAX, BASE_CORRUPT, "source name outside"},
    };
    struct writer_entry entry = WRITER_PTX(WRITER_LZ4);
    entry.source_name = "name.cu"; // 8 bytes with padding, then 8 of the descriptor, then 8
    entry.options = "-g";
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct base_buf bytes = {0};
        struct base_error error = {0};
        writer_add_fatbin(&bytes, &entry, 1);
        writer_put(bytes.text + lies[i].at, lies[i].value, lies[i].bytes);
        enum base_code code = try_bytes(bytes.text, bytes.length, &error);
        if (code != lies[i].code || !strstr(error.text[0], lies[i].says))
            fail_msg("lie %zu: %s: %s", i, base_code_name(code), error.text[0]);
        base_buf_fini(&bytes);
    }
}

static void rubbish_behind_a_fatbin_is_refused(void **state)
{
    (void)state;
    struct base_buf bytes = {0};
    writer_add_fatbin(&bytes, &WRITER_PTX(WRITER_ZSTD), 1);
    writer_zeros(&bytes, 100);
    assert_int_equal(try_bytes(bytes.text, bytes.length, NULL), BASE_OK);
    base_buf_puts(&bytes, "rubbish, and more of it");
    assert_int_equal(try_bytes(bytes.text, bytes.length, NULL), BASE_CORRUPT);
    base_buf_fini(&bytes);
}

static void each_lie_in_an_elf_file_is_refused(void **state)
{
    (void)state;
    struct base_buf fatbin = {0};
    struct base_buf file = {0};
    writer_add_fatbin(&fatbin, &WRITER_PTX(WRITER_ZSTD), 1);
    writer_add_object(&file, ".nv_fatbin", &fatbin);
    Elf64_Ehdr header;
    memcpy(&header, file.text, sizeof(header));
    const size_t section = header.e_shoff + sizeof(Elf64_Shdr); // .nv_fatbin
    const size_t names = section + sizeof(Elf64_Shdr);
    const struct {
        size_t at, bytes;
        uint64_t value;
    } lies[] = {
        {offsetof(Elf64_Ehdr, e_shoff), 8, file.length},
        {offsetof(Elf64_Ehdr, e_shoff), 8, file.length - 64},
        {offsetof(Elf64_Ehdr, e_shoff), 8, UINT64_MAX},
        {offsetof(Elf64_Ehdr, e_shoff), 8, UINT64_MAX - 63},
        {offsetof(Elf64_Ehdr, e_shentsize), 2, 63},
        {offsetof(Elf64_Ehdr, e_shnum), 2, 4},
        {offsetof(Elf64_Ehdr, e_shnum), 2, 0xfeff},
        {offsetof(Elf64_Ehdr, e_shstrndx), 2, 3},
        {section + offsetof(Elf64_Shdr, sh_offset), 8, file.length},
        {section + offsetof(Elf64_Shdr, sh_offset), 8, UINT64_MAX},
        {section + offsetof(Elf64_Shdr, sh_size), 8, UINT64_MAX},
        {section + offsetof(Elf64_Shdr, sh_size), 8, fatbin.length - 1},
        {names + offsetof(Elf64_Shdr, sh_offset), 8, UINT64_MAX},
        {names + offsetof(Elf64_Shdr, sh_size), 8, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        char saved[8];
        memcpy(saved, file.text + lies[i].at, lies[i].bytes);
        writer_put(file.text + lies[i].at, lies[i].value, lies[i].bytes);
        if (try_bytes(file.text, file.length, NULL) != BASE_CORRUPT)
            fail_msg("lie %zu is not refused as corrupt", i);
        memcpy(file.text + lies[i].at, saved, lies[i].bytes);
    }
    assert_int_equal(try_bytes(file.text, file.length, NULL), BASE_OK);
    // A name outside of the string table belongs to no relevant section.
    writer_put(file.text + section + offsetof(Elf64_Shdr, sh_name), UINT32_MAX, 4);
    assert_int_equal(try_bytes(file.text, file.length, NULL), BASE_NOT_FOUND);
    base_buf_fini(&fatbin);
    base_buf_fini(&file);
}

static void each_lie_in_a_cubin_is_refused(void **state)
{
    (void)state;
    struct base_buf samples[SAMPLES];
    make_samples(samples);
    struct base_buf *file = &samples[4];
    Elf64_Ehdr header;
    memcpy(&header, file->text, sizeof(header));
    const struct {
        size_t at, bytes;
        uint64_t value;
    } lies[] = {
        {header.e_shoff + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size), 8, UINT64_MAX},
        {header.e_shoff + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_offset), 8, UINT64_MAX},
        {offsetof(Elf64_Ehdr, e_phnum), 2, 1}, // with program headers of size 0
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        char saved[8];
        memcpy(saved, file->text + lies[i].at, lies[i].bytes);
        writer_put(file->text + lies[i].at, lies[i].value, lies[i].bytes);
        assert_int_equal(try_bytes(file->text, file->length, NULL), BASE_CORRUPT);
        memcpy(file->text + lies[i].at, saved, lies[i].bytes);
    }
    free_samples(samples);
}

static void each_lie_in_an_archive_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        const char *text;
    } lies[] = {
        {8 + 48, "          "}, // size
        {8 + 48, "x         "}, {8 + 48, "12 4      "}, {8 + 48, "9999999999"},
        {8 + 48, "-1        "}, {8 + 58, "xx"},
    };
    struct base_buf samples[SAMPLES];
    make_samples(samples);
    struct base_buf *file = &samples[5];
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        const size_t bytes = strlen(lies[i].text);
        char saved[16];
        memcpy(saved, file->text + lies[i].at, bytes);
        memcpy(file->text + lies[i].at, lies[i].text, bytes);
        assert_int_equal(try_bytes(file->text, file->length, NULL), BASE_CORRUPT);
        memcpy(file->text + lies[i].at, saved, bytes);
    }
    free_samples(samples);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_samples_are_read),
        cmocka_unit_test(a_file_cut_at_any_byte_is_refused),
        cmocka_unit_test(any_changed_byte_is_read_or_refused_within_bounds),
        cmocka_unit_test(text_cut_at_any_byte_is_read_within_bounds),
        cmocka_unit_test(each_lie_in_a_fatbin_is_refused),
        cmocka_unit_test(rubbish_behind_a_fatbin_is_refused),
        cmocka_unit_test(each_lie_in_an_elf_file_is_refused),
        cmocka_unit_test(each_lie_in_a_cubin_is_refused),
        cmocka_unit_test(each_lie_in_an_archive_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
