// SPDX-License-Identifier: Apache-2.0
// Lets each allocation fail in turn: opening and decompressing must report it and leak nothing. The
// linker replaces the library's functions by those here (tests.cmake).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fatbin/fatbin.h"
#include "writer.h"

// How many allocations still succeed; negative: all.
static int left = -1;

static bool allowed(void)
{
    if (left == 0)
        return false;
    if (left > 0)
        left--;
    return true;
}

#define WRAP(type, name, parameters, arguments)            \
    type __real_##name parameters;                         \
    type __wrap_##name parameters;                         \
    type __wrap_##name parameters                          \
    {                                                      \
        return allowed() ? __real_##name arguments : NULL; \
    }
WRAP(void *, malloc, (size_t bytes), (bytes))
WRAP(void *, calloc, (size_t count, size_t bytes), (count, bytes))
WRAP(void *, realloc, (void *old, size_t bytes), (old, bytes))
WRAP(char *, strdup, (const char *text), (text))

// Opens and decompresses everything, stopping at the first error.
static enum base_code read_all(const struct base_buf *bytes)
{
    struct fatbin_image *image;
    struct base_error error = {0};
    enum base_code code = fatbin_open_bytes(bytes->text, bytes->length, "test", &image, &error);
    assert_int_equal(code, error.code);
    for (size_t i = 0; !code && i < image->entries.count; i++) {
        char *text;
        size_t length;
        code = fatbin_entry_text(&image->entries.items[i], &text, &length, &error);
        assert_int_equal(code, error.code);
        free(text);
    }
    fatbin_close(image);
    return code;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    struct base_buf fatbin = {0};
    struct base_buf object = {0};
    struct base_buf file = {0};
    // More entries than an array has places at first, so that it must grow too.
    struct writer_entry entries[20];
    for (size_t i = 0; i < 20; i++)
        entries[i] = WRITER_PTX(i % 3 == 0 ? WRITER_ZSTD : i % 3 == 1 ? WRITER_LZ4 : WRITER_STORED);
    writer_add_fatbin(&fatbin, entries, 20);
    writer_add_object(&object, ".nv_fatbin", &fatbin);
    writer_add_member(&file, "a.o/", object.text, object.length);

    int failures = 0;
    for (;; failures++) {
        left = failures;
        enum base_code code = read_all(&file);
        left = -1;
        if (code == BASE_OK)
            break;
        assert_int_equal(code, BASE_NO_MEMORY);
        assert_true(failures < 1000);
    }
    // The image, its name, an array that grows, twenty texts and seven Zstandard contexts.
    assert_true(failures >= 30);
    base_buf_fini(&fatbin);
    base_buf_fini(&object);
    base_buf_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
