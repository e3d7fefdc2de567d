// SPDX-License-Identifier: Apache-2.0
// A written fatbin reads back equal, for all lengths of its parts, alone and after another one.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fatbin/fatbin.h"

static const char text[] = ".version 8.4\n.target sm_90a\n.address_size 64\n// and so on";

static void check(const struct fatbin_entry *entry, const struct fatbin_entry *like, size_t length)
{
    struct base_error error;
    char *found;
    size_t found_length;
    assert_int_equal(entry->kind, FATBIN_PTX);
    assert_int_equal(entry->compression, FATBIN_STORED);
    assert_int_equal(entry->arch, like->arch);
    assert_int_equal(entry->arch_suffix, like->arch_suffix);
    assert_int_equal(entry->version_major, like->version_major);
    assert_int_equal(entry->version_minor, like->version_minor);
    assert_true(base_str_equal(entry->options, like->options));
    assert_int_equal(fatbin_entry_text(entry, &found, &found_length, &error), BASE_OK);
    assert_int_equal(found_length, length);
    assert_memory_equal(found, text, length);
    free(found);
}

static void test_what_is_written_is_read_back(void **state)
{
    (void)state;
    static const char *const options[] = {"", "-c", "--compile-only ", "--compile-only -g"};
    for (size_t o = 0; o < sizeof(options) / sizeof(options[0]); o++) {
        for (size_t length = sizeof(text) - 9; length < sizeof(text); length++) {
            const struct fatbin_entry like = {
                .kind = FATBIN_PTX,
                .arch = 90,
                .arch_suffix = 'a',
                .version_major = 8,
                .version_minor = 4,
                .flags =
                    FATBIN_FLAG_64BIT | FATBIN_FLAG_LINUX | FATBIN_FLAG_SPECIFIC | FATBIN_FLAG_ZSTD,
                .compression = FATBIN_ZSTD,
                .options = base_str(options[o]),
            };
            struct base_buf out = {0};
            struct base_error error;
            struct fatbin_image *image;
            fatbin_put_ptx(&out, &like, text, length);
            assert_false(out.failed);
            assert_int_equal(out.length % 8, 0);
            fatbin_put_ptx(&out, &like, text, length);
            assert_int_equal(fatbin_open_bytes(out.text, out.length, "two", &image, &error),
                             BASE_OK);
            assert_int_equal(image->fatbin_count, 2);
            assert_int_equal(image->entries.count, 2);
            check(&image->entries.items[0], &like, length);
            check(&image->entries.items[1], &like, length);
            fatbin_close(image);
            base_buf_fini(&out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_written_is_read_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
