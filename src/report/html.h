// SPDX-License-Identifier: Apache-2.0
// What the files of the page share: its budget, its texts, and which objects and calls are in it.
// The data is one JSON document of columns; web/src/data.ts reads it and says what each column is.
// Inner header of src/report.
#ifndef GLINT_REPORT_HTML_H
#define GLINT_REPORT_HTML_H

#include "data.h"

// All of the page, whatever the profile. Each section has a share of its own, so that no other can
// crowd it out; calls come last and have what is left.
enum {
    PAGE_BYTES = 7900000,
    PAGE_HEAD_BYTES = 500000, // program, notes, kernels, streams
    PAGE_FINDING_BYTES = 1000000,
    PAGE_SOURCE_BYTES = 500000,
    PAGE_USAGE_BYTES = 400000,
    PAGE_ELEMENT_BYTES = 300000,
    PAGE_OBJECT_BYTES = 1000000,
    PAGE_TOUCH_BYTES = 1000000,
    PAGE_PATH_BYTES = 400000,
    PAGE_TEXT_BYTES = 600000,    // names of objects, functions and files
    PAGE_TEXT_CHARACTERS = 1000, // of one text: more is cut off
    PAGE_ROW_BYTES = 20000,      // more than a row of a few texts can take
};

// What is not in the page.
struct page_omission {
    const char *what; // "calls"
    uint64_t shown, of;
    const char *how; // which are, and what stands for the others
};

// What a call, or a node of one, did to an object.
enum { PAGE_READ = 1, PAGE_WRITE = 2 };

struct page_touch {
    uint32_t object; // index in page.objects
    uint32_t how;    // PAGE_READ, PAGE_WRITE or both
    uint64_t call;   // number
};

struct page {
    const struct report_data *data;
    struct profile *profile;
    bool failed; // memory ran out
    size_t left; // bytes that may still be written
    struct base_buf out;
    struct base_map texts; // to index + 1 in text_rows; 0 is a text that is left out
    BASE_ARRAY(const char *) text_rows;
    size_t text_bytes;
    uint64_t texts_left_out;
    BASE_ARRAY(struct page_omission) omissions;
    size_t findings;                       // how many are in the page
    BASE_ARRAY(uint32_t) objects;          // indices in data->objects, ascending
    BASE_ARRAY(struct page_touch) touches; // of these objects, by object and then by call
    struct base_map paths;                 // numbers of those that are wanted; value: how much
};

// A section: JSON that is written into a buffer of its own, so that it can be refused when it grows
// too large. '<' is written as an escape, so that no text can end the page's script.
struct page_section {
    struct base_json json;
    struct base_buf text;
    bool is_object;
};
// Begins a section, which is an object or an array.
void page_begin(struct page_section *section, bool is_object);
// Ends it. True where it has at most so many bytes and was added to the page as the member `key`.
// Otherwise the section is dropped. Frees it in any case.
bool page_end(struct page *page, struct page_section *section, const char *key, size_t most_bytes);
// How much has been written into it, at the most.
size_t page_section_bytes(const struct page_section *section);

// The number of a text in the page's table, where there is room for it; else 0. NULL is 0 too.
uint32_t page_text(struct page *page, const char *text);
// As a value, cut where it is very long; NULL is null.
void page_put_text(struct base_json *json, const char *text);
void page_want_path(struct page *page, uint32_t path, unsigned how_much);
void page_omit(struct page *page, const char *what, uint64_t shown, uint64_t of, const char *how);

// A column of an array of rows: `row` is each of them in turn.
#define PAGE_COLUMN(json, key, type, rows, row_count, value) \
    do {                                                     \
        base_json_key((json), (key));                        \
        base_json_begin_array(json);                         \
        for (size_t at = 0; at < (row_count); at++) {        \
            const type *row = &(rows)[at];                   \
            base_json_i64((json), (int64_t)(value));         \
        }                                                    \
        base_json_end_array(json);                           \
    } while (0)

// The sections, each in its file; all set page->failed when memory runs out.
enum base_code page_put_head(struct page *page, struct base_error *error); // html_head.c
void page_put_findings(struct page *page);                                 // html_findings.c
void page_put_sources(struct page *page);                                  // html_source.c
void page_keep_objects(struct page *page); // html_objects.c: which; then
void page_put_objects(struct page *page);
void page_put_usage(struct page *page);                                        // html_usage.c
enum base_code page_put_elements(struct page *page, struct base_error *error); // html_elements.c
// html_calls.c: calls, and what they touched.
enum base_code page_put_calls(struct page *page, struct base_error *error);
enum base_code page_put_paths(struct page *page, struct base_error *error); // html_paths.c

// html_bundle.c: the program of the page and its style; NULL where glint was built without.
extern const char *const page_script, *const page_style;

// What a number takes in a column.
static inline size_t page_digits(uint64_t value)
{
    size_t digits = 2; // with a comma
    for (; value >= 10; value /= 10)
        digits++;
    return digits;
}

// Index in page.objects; UINT32_MAX: it is not there.
uint32_t page_find_object(const struct page *page, uint64_t number);

#endif
