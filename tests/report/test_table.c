// SPDX-License-Identifier: Apache-2.0
// Tables: alignment, and how they are truncated to a width.
#include "testing.h"

#include "table.h"

struct row {
    const char *name, *number, *place;
};

static void name_of(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    if (((const struct row *)row)->name)
        base_buf_puts(out, ((const struct row *)row)->name);
}

static void number_of(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_puts(out, ((const struct row *)row)->number);
}

static void place_of(const void *context, const void *row, struct base_buf *out)
{
    base_buf_puts(out, context);
    base_buf_puts(out, ((const struct row *)row)->place);
}

static const struct report_column columns[] = {
    {"name", false, REPORT_CUT_END, name_of},
    {"number", true, REPORT_WHOLE, number_of},
    {"place", false, REPORT_CUT_START, place_of},
};

static struct base_buf write_table(const struct row *rows, size_t count, unsigned width)
{
    const struct report_table table = {columns, 3, rows, count, sizeof(*rows), "/"};
    struct base_buf out = {0};
    assert_true(report_put_table(&table, &(struct report_style){.width = width}, &out));
    return out;
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    (void)state;
    const struct row rows[] = {{"a", "1", "x"},
                               {"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", "1234567", "yy"},
                               {NULL, "", "z"}};
    struct base_buf out = write_table(rows, 3, 0);
    check_written(&out, "  name    number  place\n"
                        "  a            1  /x\n"
                        "  \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9  1234567  /yy\n"
                        "  -            -  /z\n");
    out = write_table(NULL, 0, 0);
    check_written(&out, "  name  number  place\n");
}

static void the_widest_columns_are_cut_first_each_at_its_end(void **state)
{
    (void)state;
    const struct row rows[] = {{"abcdefghijklmnop", "1", "folder/abcdefghij.cu:12"}};
    struct base_buf out = write_table(rows, 1, 48);
    check_written(&out, "  name              number  place\n"
                        "  abcdefghijklmnop       1  .../abcdefghij.cu:12\n");
    out = write_table(rows, 1, 40);
    check_written(&out, "  name            number  place\n"
                        "  abcdefghijk...       1  ...fghij.cu:12\n");
}

static void numbers_are_never_cut(void **state)
{
    (void)state;
    const struct row rows[] = {{"abcdefghijklmnop", "123456789012345678901234567890", "p"}};
    struct base_buf out = write_table(rows, 1, 20);
    check_written(&out, "  name                                  number  place\n"
                        "  abcdefghi...  123456789012345678901234567890  /p\n");
}

static void headings_are_bold_only_in_colour(void **state)
{
    (void)state;
    struct base_buf out = {0};
    report_put_heading(&(struct report_style){.colour = false}, "text", &out);
    check_written(&out, "text\n");
    report_put_heading(&(struct report_style){.colour = true}, "text", &out);
    check_written(&out, "\033[1mtext\033[0m\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(the_widest_columns_are_cut_first_each_at_its_end),
        cmocka_unit_test(numbers_are_never_cut),
        cmocka_unit_test(headings_are_bold_only_in_colour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
