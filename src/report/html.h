// SPDX-License-Identifier: Apache-2.0
// What the files of the page share: its budget, its texts, and which objects and calls it contains.
// The data is one JSON document of columns; web/src/data.ts reads it and describes each column.
// Inner header of src/report.
#ifndef GLINT_REPORT_HTML_H
#define GLINT_REPORT_HTML_H

#include "data.h"

// The limit of the whole page, and the limit of each section, so that no section can crowd out
// others. Calls come last and use the rest.
enum {
    PAGE_BYTES = 7900000,
    PAGE_HEAD_BYTES = 500000, // program, notes, kernels, streams
    PAGE_FINDING_BYTES = 1000000,
    PAGE_SOURCE_BYTES = 500000,
    PAGE_USAGE_BYTES = 400000,
    PAGE_ELEMENT_BYTES = 300000,
    PAGE_SHARED_BYTES = 200000,
    PAGE_CACHE_BYTES = 150000,
    PAGE_FLOW_BYTES = 1400000, // 2,000 vertices and 5,000 edges of the largest numbers
    PAGE_OBJECT_BYTES = 1000000,
    PAGE_TOUCH_BYTES = 1000000,
    PAGE_PATH_BYTES = 400000,
    PAGE_TEXT_BYTES = 600000,    // names of objects, functions and files
    PAGE_TEXT_CHARACTERS = 1000, // of one text, which is cut to this
    PAGE_ROW_BYTES = 20000,      // upper bound for a row of a few texts
};

// Something that is only in part in the page.
struct page_omission {
    const char *what; // "calls"
    uint64_t shown, of;
    const char *how; // which are shown, and what represents the others
};

// An access of a call, or of a node of its graph, to an object. A launch that is known by its
// arguments was passed the object: whether it reads or writes it is unknown.
enum { PAGE_READ = 1, PAGE_WRITE = 2, PAGE_PASSED = 4, PAGE_HOWS = 8 };

struct page_touch {
    uint32_t object; // index in page.objects
    uint32_t how;    // PAGE_READ, PAGE_WRITE, PAGE_PASSED, or several of them
    uint64_t call;   // number
};

struct page {
    const struct report_data *data;
    struct profile *profile;
    bool failed; // memory ran out
    size_t left; // remaining budget in bytes
    struct base_buf out;
    struct base_map texts; // to index + 1 in text_rows; 0: left out
    BASE_ARRAY(const char *) text_rows;
    size_t text_bytes;
    uint64_t texts_left_out;
    BASE_ARRAY(struct page_omission) omissions;
    size_t findings;                       // how many are in the page
    BASE_ARRAY(uint32_t) objects;          // indices in data->objects, ascending
    BASE_ARRAY(struct page_touch) touches; // of these objects, by object and then by call
    struct base_arena arena;               // of texts that are made for the page
    struct base_map paths;                 // number to importance, for requested paths
};

// A section: JSON in its own buffer, which can be dropped if it grows too large. '<' is escaped, so
// that no text can end the page's script.
struct page_section {
    struct base_json json;
    struct base_buf text;
    bool is_object;
};
// Starts a section, which is an object or an array.
void page_begin(struct page_section *section, bool is_object);
// Ends and frees a section. Adds it to the page as the member `key` and returns true if it has at
// most that many bytes; otherwise drops it.
bool page_end(struct page *page, struct page_section *section, const char *key, size_t most_bytes);
// Returns an upper bound of what has been written into it.
size_t page_section_bytes(const struct page_section *section);

// Returns the number of a text in the page's table; 0 for NULL, or if there is no room.
uint32_t page_text(struct page *page, const char *text);
// Writes a text as a value, cut if it is very long; NULL as null.
void page_put_text(struct base_json *json, const char *text);
void page_want_path(struct page *page, uint32_t path, unsigned how_much);
void page_omit(struct page *page, const char *what, uint64_t shown, uint64_t of, const char *how);

// Writes a column of an array of rows. `value` is evaluated with `row` pointing to each row.
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

// Write the sections. All set page->failed when memory runs out.
enum base_code page_put_head(struct page *page, struct base_error *error);    // html_head.c
void page_put_findings(struct page *page);                                    // html_findings.c
enum base_code page_put_sources(struct page *page, struct base_error *error); // html_source.c
void page_keep_objects(struct page *page); // html_objects.c: which; then
void page_put_objects(struct page *page);
void page_put_usage(struct page *page);                                        // html_usage.c
enum base_code page_put_elements(struct page *page, struct base_error *error); // html_elements.c
enum base_code page_put_shared(struct page *page, struct base_error *error);   // html_shared.c
enum base_code page_put_caches(struct page *page, struct base_error *error);   // html_caches.c
void page_put_flow(struct page *page);                                         // html_flow.c
// html_calls.c: calls, and what they touched.
enum base_code page_put_calls(struct page *page, struct base_error *error);
enum base_code page_put_paths(struct page *page, struct base_error *error); // html_paths.c

// html_bundle.c: the page's program and style; NULL if glint was built without the page.
extern const char *const page_script, *const page_style;
extern const char *const page_job_script, *const page_job_style; // of a job

// html.c: fails with BASE_UNSUPPORTED if there is no script.
enum base_code page_check_script(const char *script, struct base_error *error);
// Writes the whole page around the members of its data. Fails with BASE_IO.
enum base_code page_write(const char *style, const char *script, const struct base_buf *members,
                          report_write *write, void *user, struct base_error *error);
// Returns how many bytes are left for the members.
size_t page_room(const char *style, const char *script);

// Returns how many bytes a number takes in a column.
static inline size_t page_digits(uint64_t value)
{
    size_t digits = 2; // with a comma
    for (; value >= 10; value /= 10)
        digits++;
    return digits;
}

// Returns the index of an object in page.objects; UINT32_MAX if it is not there.
uint32_t page_find_object(const struct page *page, uint64_t number);

#endif
