// SPDX-License-Identifier: Apache-2.0
// Tables of lines of all versions of Python have the lines that Python finds in them, damaged ones
// are harmless, and Python frames take the place of the functions that run them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "record/python.h"

static struct record_python_code code_of(uint32_t format, uint32_t first, const void *lines,
                                         uint32_t bytes)
{
    return (struct record_python_code){
        .lines = lines, .lines_bytes = bytes, .first_line = first, .format = format};
}

// A line for each two bytes of code, from offset 0 on.
static void expect_lines(const struct record_python_code *code, const uint32_t *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(record_python_find(code, (uint32_t)(2 * i)).line, lines[i]);
}

// The tables that versions 3.9, 3.10, 3.11 and 3.13 make of one function, with a loop, brackets
// over lines and handlers, and the line that they state for each instruction.
static void lines_are_those_that_python_states(void **state)
{
    (void)state;
    struct record_python_code code;
    static const unsigned char table_9[] = {0, 1, 4, 1,   2,  1, 4, 1,   2,  255, 2,  2, 2,  253,
                                            4, 4, 8, 1,   6,  1, 4, 2,   2,  254, 10, 3, 14, 1,
                                            2, 1, 2, 255, 18, 3, 6, 253, 14, 3,   16, 2, 10, 255};
    static const uint32_t lines_9[] = {
        4,  4,  5,  6,  6,  7,  6,  8,  5,  5,  9,  9,  9,  9,  10, 10, 10, 11, 11, 13, 11, 11, 11,
        11, 11, 14, 14, 14, 14, 14, 14, 14, 15, 16, 15, 15, 15, 15, 15, 15, 15, 15, 15, 18, 18, 18,
        15, 15, 15, 15, 15, 15, 15, 18, 18, 18, 18, 18, 18, 18, 18, 20, 20, 20, 20, 20, 19};
    code = code_of(EVENT_LINES_LNOTAB, 3, table_9, sizeof(table_9));
    expect_lines(&code, lines_9, sizeof(lines_9) / sizeof(lines_9[0]));
    static const unsigned char table_10[] = {
        4, 1,   2,  1, 4, 1, 2, 1, 2,  255, 2, 2, 4, 253, 8, 4,   6, 1,   4,  1, 2,  2, 6, 254,
        4, 254, 14, 5, 2, 1, 2, 1, 18, 255, 8, 3, 8, 128, 2, 252, 2, 251, 16, 9, 10, 2, 2, 255};
    static const uint32_t lines_10[] = {
        4,  4, 5,  6,  6,  7,  6,  8,  5,  5,  9,  9,  9,  9,  10, 10, 10, 11, 11, 13, 11, 11, 11,
        9,  9, 14, 14, 14, 14, 14, 14, 14, 15, 16, 15, 15, 15, 15, 15, 15, 15, 15, 15, 18, 18, 18,
        18, 0, 0,  0,  0,  14, 9,  18, 18, 18, 18, 18, 18, 18, 18, 20, 20, 20, 20, 20, 19};
    code = code_of(EVENT_LINES_RANGES, 3, table_10, sizeof(table_10));
    expect_lines(&code, lines_10, sizeof(lines_10) / sizeof(lines_10[0]));
    static const unsigned char table_11[] = {
        248, 128, 0,   240, 2,   14,  5,   12,  216, 13,  14,  221, 13,  14,  136, 113, 216, 15,
        16,  241, 3,   1,   14,  18,  244, 0,   1,   14,  18,  224, 13,  14,  240, 7,   3,   13,
        16,  136, 1,   240, 8,   0,   18,  19,  240, 0,   4,   9,   17,  240, 0,   4,   9,   17,
        136, 65,  216, 15,  16,  136, 78,  144, 40,  221, 12,  13,  136, 97,  224, 14,  15,  241,
        5,   2,   13,  17,  244, 0,   2,   13,  17,  240, 0,   2,   13,  17,  240, 0,   2,   13,
        17,  240, 5,   4,   9,   17,  248, 245, 10,  0,   12,  22,  240, 0,   2,   5,   22,  240,
        0,   2,   5,   22,  240, 0,   2,   5,   22,  216, 19,  20,  216, 19,  20,  240, 3,   1,
        16,  22,  240, 0,   1,   16,  22,  240, 0,   1,   9,   22,  240, 0,   1,   9,   22,  240,
        0,   1,   9,   22,  240, 0,   1,   9,   22,  240, 0,   1,   9,   22,  245, 6,   0,   9,
        10,  137, 3,   140, 3,   136, 3,   136, 3,   248, 248, 248, 248, 240, 9,   2,   5,   22,
        248, 248, 248, 240, 11,  4,   9,   17,  245, 18,  0,   9,   10,  137, 3,   140, 3,   136,
        3,   136, 3,   248, 141, 1,   137, 3,   140, 3,   136, 3,   136, 3,   248, 248, 248, 224,
        8,   17,  136, 9,   136, 9,   136, 9,   240, 3,   1,   5,   19};
    static const uint32_t lines_11[] = {
        0,  3,  4,  5,  6,  6,  6,  6,  6,  6,  6,  7,  6,  6,  6,  6,  6,  6,  6,  8,  5,  5,
        9,  9,  9,  9,  10, 10, 10, 11, 11, 11, 11, 11, 11, 11, 13, 11, 11, 11, 11, 11, 11, 11,
        11, 11, 9,  0,  14, 14, 14, 14, 14, 14, 14, 14, 14, 15, 16, 15, 15, 15, 15, 15, 15, 15,
        18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 0,  0,  0,  0,  14, 0,  0,
        0,  9,  18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 0,  18, 18, 18, 18,
        18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 0,  0,  0,  20, 20, 20, 20, 19};
    code = code_of(EVENT_LINES_LOCATIONS, 3, table_11, sizeof(table_11));
    expect_lines(&code, lines_11, sizeof(lines_11) / sizeof(lines_11[0]));
    static const unsigned char table_13[] = {
        248, 128, 0,   240, 2,  14,  5,   12,  216, 13,  14,  220, 13,  14,  136, 113,
        216, 15,  16,  243, 3,  1,   14,  18,  224, 13,  14,  240, 7,   3,   13,  16,
        136, 1,   243, 8,   0,  18,  19,  136, 65,  222, 15,  16,  145, 40,  220, 12,
        13,  136, 97,  224, 14, 15,  246, 5,   2,   13,  17,  242, 5,   0,   18,  19,
        244, 18,  0,   9,   10, 140, 3,   228, 8,   17,  240, 3,   1,   5,   19,  248,
        244, 11,  0,   12,  22, 243, 0,   2,   5,   22,  216, 19,  20,  216, 19,  20,
        241, 3,   1,   16,  22, 244, 0,   1,   9,   22,  244, 6,   0,   9,   10,  141,
        3,   251, 240, 9,   2,  5,   22,  251, 244, 8,   0,   9,   10,  141, 3,   250};
    static const uint32_t lines_13[] = {
        0,  3,  4,  5,  6,  6,  6,  6,  6,  6,  7,  6,  6,  6,  6,  8,  5,  5,  9,  9,
        9,  9,  9,  10, 10, 10, 10, 10, 10, 10, 10, 10, 11, 11, 11, 11, 11, 11, 13, 11,
        11, 11, 11, 11, 11, 11, 9,  9,  9,  18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 20,
        20, 20, 20, 20, 19, 0,  14, 14, 14, 14, 14, 14, 14, 14, 14, 15, 16, 15, 15, 15,
        15, 15, 15, 15, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 0,  0,  0,  0,  14,
        0,  0,  0,  0,  18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 0,  0,  0};
    code = code_of(EVENT_LINES_LOCATIONS, 3, table_13, sizeof(table_13));
    expect_lines(&code, lines_13, sizeof(lines_13) / sizeof(lines_13[0]));
}

static void steps_of_3_9_forward_and_back(void **state)
{
    (void)state;
    // Two steps for a large difference, and one back.
    static const unsigned char table[] = {4, 127, 0, 73, 2, 0xFE, 255, 0, 1, 1};
    const struct record_python_code code = code_of(EVENT_LINES_LNOTAB, 10, table, sizeof(table));
    const uint32_t lines[] = {10, 10, 210, 208};
    expect_lines(&code, lines, 4);
    assert_int_equal(record_python_find(&code, 6 + 254).line, 208);
    assert_int_equal(record_python_find(&code, 6 + 256).line, 209);
    assert_int_equal(record_python_find(&code, EVENT_PYTHON_START).line, 10);
}

static void ranges_of_3_10_may_have_no_line(void **state)
{
    (void)state;
    static const unsigned char table[] = {2, 0, 4, 0x80, 2, 5, 0, 100, 2, 0xFF};
    const struct record_python_code code = code_of(EVENT_LINES_RANGES, 7, table, sizeof(table));
    const uint32_t lines[] = {7, 0, 0, 12, 111, 0};
    expect_lines(&code, lines, 6);
    assert_int_equal(record_python_find(&code, EVENT_PYTHON_START).line, 7);
}

static void expect_place(const struct record_python_code *code, uint32_t offset,
                         struct record_python_place expected)
{
    const struct record_python_place place = record_python_find(code, offset);
    assert_int_equal(place.line, expected.line);
    assert_int_equal(place.column, expected.column);
    assert_int_equal(place.end_line, expected.end_line);
    assert_int_equal(place.end_column, expected.end_column);
}

static void locations_of_3_11_in_all_forms(void **state)
{
    (void)state;
    static const unsigned char table[] = {
        0x80 | 2 << 3 | 1,
        0x35, // 2 units: columns 19 to 24, the same line
        0x80 | 11 << 3 | 0,
        4,
        100, // 1 unit: the next line, columns 4 to 100
        0x80 | 13 << 3 | 0,
        0x40 | 7,
        2,                  // 1 unit: back by 67 lines, no columns
        0x80 | 15 << 3 | 2, // 3 units: nothing
        0x80 | 14 << 3 | 0,
        0x40 | 32,
        3,
        2,
        5,
        0x40,
        1, // 1: on by 112, for 2 more, columns 5, 64
        0x80 | 12 << 3 | 7,
        0,
        1, // 8: on by 2
    };
    const struct record_python_code code =
        code_of(EVENT_LINES_LOCATIONS, 1000, table, sizeof(table));
    expect_place(&code, 0, (struct record_python_place){1000, 20, 1000, 25});
    expect_place(&code, 2, (struct record_python_place){1000, 20, 1000, 25});
    expect_place(&code, 4, (struct record_python_place){1001, 5, 1001, 101});
    expect_place(&code, 6, (struct record_python_place){1001 - 67, 0, 0, 0});
    for (uint32_t offset = 8; offset < 14; offset += 2)
        expect_place(&code, offset, (struct record_python_place){0});
    expect_place(&code, 14, (struct record_python_place){1001 - 67 + 112, 5, 1048, 64});
    expect_place(&code, 16, (struct record_python_place){1048, 1, 1048, 2});
    expect_place(&code, 30, (struct record_python_place){1048, 1, 1048, 2});
    expect_place(&code, 32, (struct record_python_place){0});
    expect_place(&code, EVENT_PYTHON_START, (struct record_python_place){.line = 1000});
}

static void damaged_tables_have_no_line_or_some(void **state)
{
    (void)state;
    uint64_t bits = 7;
    for (unsigned run = 0; run < 20000; run++) {
        const uint32_t bytes = run % 40;
        unsigned char *table = malloc(bytes + (bytes == 0)); // its end is watched by sanitizers
        assert_non_null(table);
        for (uint32_t i = 0; i < bytes; i++) {
            bits = bits * 6364136223846793005u + 1442695040888963407u;
            table[i] = (unsigned char)(bits >> 33);
        }
        const struct record_python_code code =
            code_of(run % 5, run % 3 ? run : UINT32_MAX, table, bytes);
        for (uint32_t offset = 0; offset < 64; offset += 2)
            (void)record_python_find(&code, offset);
        free(table);
    }
    // A byte that is not the first of an entry, and an entry that ends early.
    static const unsigned char wrong[] = {0x05, 0x80, 0x10}, cut[] = {0x80 | 14 << 3, 0x41};
    struct record_python_code code = code_of(EVENT_LINES_LOCATIONS, 5, wrong, sizeof(wrong));
    assert_int_equal(record_python_find(&code, 0).line, 0);
    code = code_of(EVENT_LINES_LOCATIONS, 5, cut, sizeof(cut));
    assert_int_equal(record_python_find(&code, 0).line, 0);
}

// --- Merging -------------------------------------------------------------------------------------

// native: 'e' runs Python code. python: '|' ends what one frame of C runs. expected: 'n' for a
// return address, 'p' for a Python frame.
static void expect_merged(const char *native, const char *python, bool truncated,
                          const char *expected)
{
    bool runs[16], entries[16];
    size_t before[17], natives = strlen(native), frames = 0, done = 0;
    char merged[40] = "";
    for (size_t i = 0; i < natives; i++)
        runs[i] = native[i] == 'e';
    for (const char *c = python; *c; c++) {
        if (*c == 'p')
            entries[frames++] = false;
        else
            entries[frames - 1] = true;
    }
    record_python_merge(runs, natives, entries, frames, truncated, before);
    for (size_t i = 0; i <= natives; i++) {
        for (; done < before[i]; done++)
            strcat(merged, "p");
        if (i < natives)
            strcat(merged, native[i] == 'e' ? "e" : "n");
    }
    assert_string_equal(merged, expected);
}

static void python_frames_precede_the_functions_that_run_them(void **state)
{
    (void)state;
    expect_merged("nnen", "ppp|", false, "nnpppen");
    expect_merged("nennen", "pp|p|", false, "nppennpen");
    expect_merged("e", "p|p|", false, "pep");     // the path of return addresses was cut
    expect_merged("nenen", "p|", true, "npenen"); // the Python frames were
    // A function without frames: all are where they surely are not too far out.
    expect_merged("nenen", "pp|", false, "nppenen");
    expect_merged("nnn", "p|p|", false, "ppnnn");
    expect_merged("", "p|", false, "p");
    assert_true(record_python_runs("_PyEval_EvalFrameDefault"));
    assert_true(record_python_runs("_PyEval_EvalFrameDefault.cold"));
    assert_false(record_python_runs("_PyEval_EvalFrameDefaultly"));
    assert_false(record_python_runs(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_those_that_python_states),
        cmocka_unit_test(steps_of_3_9_forward_and_back),
        cmocka_unit_test(ranges_of_3_10_may_have_no_line),
        cmocka_unit_test(locations_of_3_11_in_all_forms),
        cmocka_unit_test(damaged_tables_have_no_line_or_some),
        cmocka_unit_test(python_frames_precede_the_functions_that_run_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
