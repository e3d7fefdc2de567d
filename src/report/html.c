// SPDX-License-Identifier: Apache-2.0
// Writes the report as a page: one self-contained file, with a program that shows the data, which
// the page contains as JSON. This file has the frame and the budget; each section has its own file,
// html_*.c.
#include "html.h"

#include <stdio.h>

#include "json_members.h"
#include "suppress.h"

// --- Sections ------------------------------------------------------------------------------------

static bool write_escaped(void *user, const char *bytes, size_t length)
{
    struct base_buf *buf = user;
    const char *end = bytes + length;
    while (bytes < end) {
        const char *angle = memchr(bytes, '<', (size_t)(end - bytes));
        base_buf_add(buf, bytes, (size_t)((angle ? angle : end) - bytes));
        if (angle)
            base_buf_puts(buf, "\\u003c");
        bytes = angle ? angle + 1 : end;
    }
    return !buf->failed;
}

void page_begin(struct page_section *section, bool is_object)
{
    section->text = (struct base_buf){0};
    section->is_object = is_object;
    base_json_init(&section->json, write_escaped, &section->text, 0);
    if (is_object)
        base_json_begin_object(&section->json);
    else
        base_json_begin_array(&section->json);
}

size_t page_section_bytes(const struct page_section *section)
{
    return section->text.length + BASE_JSON_BUFFER_BYTES;
}

bool page_end(struct page *page, struct page_section *section, const char *key, size_t most_bytes)
{
    struct base_json *json = &section->json;
    if (section->is_object)
        base_json_end_object(json);
    else
        base_json_end_array(json);
    bool good = base_json_finish(json) && !section->text.failed;
    size_t bytes = section->text.length + strlen(key) + sizeof(",\"\":");
    page->failed |= !good;
    good = good && bytes <= most_bytes && bytes <= page->left;
    if (good) {
        base_buf_printf(&page->out, "%s\"%s\":", page->out.length ? "," : "", key);
        base_buf_add(&page->out, section->text.text, section->text.length);
        page->failed |= page->out.failed;
        page->left -= bytes;
    }
    base_buf_fini(&section->text);
    return good;
}

// --- Shared by sections --------------------------------------------------------------------------

// Returns an upper bound of the bytes that a text takes in JSON.
static size_t json_bytes(const char *text)
{
    size_t bytes = 3;
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bytes += c < ' ' || c == '<' ? 6 : c == '"' || c == '\\' ? 2 : c < 0x80 ? 1 : 3;
    }
    return bytes;
}

uint32_t page_text(struct page *page, const char *text)
{
    if (!text || page->failed)
        return 0;
    uint64_t *slot = base_map_get_str(&page->texts, base_str(text));
    if (slot)
        return (uint32_t)*slot;
    size_t bytes = json_bytes(text);
    if (bytes > 6 * PAGE_TEXT_CHARACTERS)
        bytes = 6 * PAGE_TEXT_CHARACTERS;
    if (page->text_bytes + bytes > PAGE_TEXT_BYTES) {
        page->texts_left_out++;
        return 0;
    }
    const char **row = base_array_push(&page->text_rows);
    slot = row ? base_map_put_str(&page->texts, base_str(text), NULL) : NULL;
    page->failed |= !slot;
    if (!slot)
        return 0;
    *row = text;
    *slot = page->text_rows.count;
    page->text_bytes += bytes;
    return (uint32_t)*slot;
}

// Cuts a long text between two characters.
void page_put_text(struct base_json *json, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (length <= PAGE_TEXT_CHARACTERS) {
        base_json_string(json, text);
        return;
    }
    char cut[PAGE_TEXT_CHARACTERS + 4];
    length = PAGE_TEXT_CHARACTERS;
    while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    snprintf(cut, sizeof(cut), "%.*s\xe2\x80\xa6", (int)length, text);
    base_json_string(json, cut);
}

void page_want_path(struct page *page, uint32_t path, unsigned how_much)
{
    uint64_t *slot = path && !page->failed ? base_map_put(&page->paths, path, NULL) : NULL;
    page->failed |= path && !slot;
    if (slot && *slot < how_much)
        *slot = how_much;
}

void page_omit(struct page *page, const char *what, uint64_t shown, uint64_t of, const char *how)
{
    struct page_omission *row = shown < of ? base_array_push(&page->omissions) : NULL;
    page->failed |= shown < of && !row;
    if (row)
        *row = (struct page_omission){what, shown, of, how};
}

uint32_t page_find_object(const struct page *page, uint64_t number)
{
    const struct report_object *objects = page->data->objects.items;
    const size_t at =
        base_search(0, page->objects.count, i, objects[page->objects.items[i]].number < number);
    bool found = at < page->objects.count && objects[page->objects.items[at]].number == number;
    return found ? (uint32_t)at : UINT32_MAX;
}

// --- The page ------------------------------------------------------------------------------------

// Index 0 is null: no text.
static void put_texts(struct page *page)
{
    struct page_section section;
    page_begin(&section, false);
    base_json_null(&section.json);
    for (size_t i = 0; i < page->text_rows.count; i++)
        page_put_text(&section.json, page->text_rows.items[i]);
    if (!page_end(page, &section, "texts", page->left))
        page->failed = true; // cannot happen: the budget reserves room for text_bytes
}

static void put_omissions(struct page *page)
{
    struct page_section section;
    page_omit(page, "names", page->text_rows.count, page->text_rows.count + page->texts_left_out,
              "the others are shown as numbers");
    page_begin(&section, false);
    for (size_t i = 0; i < page->omissions.count; i++) {
        const struct page_omission *row = &page->omissions.items[i];
        base_json_begin_object(&section.json);
        report_json_string(&section.json, "what", row->what);
        report_json_number(&section.json, "shown", row->shown);
        report_json_number(&section.json, "of", row->of);
        report_json_string(&section.json, "how", row->how);
        base_json_end_object(&section.json);
    }
    if (!page_end(page, &section, "omitted", page->left))
        page->failed = true;
}

static enum base_code put_sections(struct page *page, struct base_error *error)
{
    enum base_code code = page_put_head(page, error);
    if (code != BASE_OK)
        return code;
    page_put_findings(page);
    page_keep_objects(page);
    page_put_objects(page);
    page_put_usage(page);
    if (!page->failed)
        code = page_put_sources(page, error);
    if (code == BASE_OK && !page->failed)
        code = page_put_elements(page, error);
    if (code == BASE_OK && !page->failed)
        code = page_put_shared(page, error);
    if (code == BASE_OK && !page->failed)
        code = page_put_caches(page, error);
    if (code == BASE_OK)
        page_put_flow(page);
    if (code == BASE_OK && !page->failed)
        code = page_put_calls(page, error);
    if (code == BASE_OK && !page->failed)
        code = page_put_paths(page, error);
    if (code == BASE_OK && !page->failed)
        put_texts(page);
    if (code == BASE_OK && !page->failed)
        put_omissions(page);
    return code == BASE_OK && page->failed ? base_no_memory(error) : code;
}

// The policy forbids the page to load anything from elsewhere.
static const char before_style[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
    "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<link rel=\"icon\" href=\"data:,\">\n"
    "<title>glint</title>\n<style>\n";
static const char before_data[] =
    "</style>\n</head>\n<body>\n<div id=\"app\"></div>\n"
    "<noscript>This report needs JavaScript. `glint report` shows the same as text.</noscript>\n"
    "<script type=\"application/json\" id=\"data\">{";
static const char before_script[] = "}</script>\n<script>\n";
static const char after_script[] = "</script>\n</body>\n</html>\n";

size_t page_room(const char *style, const char *script)
{
    return PAGE_BYTES - strlen(script) - strlen(style) - sizeof(before_style) -
           sizeof(before_data) - sizeof(before_script) - sizeof(after_script);
}

enum base_code page_write(const char *style, const char *script, const struct base_buf *members,
                          report_write *write, void *user, struct base_error *error)
{
    const bool good =
        write(user, before_style, sizeof(before_style) - 1) && write(user, style, strlen(style)) &&
        write(user, before_data, sizeof(before_data) - 1) &&
        write(user, members->text, members->length) &&
        write(user, before_script, sizeof(before_script) - 1) &&
        write(user, script, strlen(script)) && write(user, after_script, sizeof(after_script) - 1);
    return good ? BASE_OK : base_fail(error, BASE_IO, "the output could not be written");
}

enum base_code page_check_script(const char *script, struct base_error *error)
{
    BASE_RETURN_IF(!script, error, BASE_UNSUPPORTED,
                   "this glint was built without the page: install npm (nodejs) and build again, "
                   "with network access for its packages");
    return BASE_OK;
}

enum base_code report_html(struct profile *profile, const struct report_rules *rules,
                           report_write *write, void *user, struct base_error *error)
{
    enum base_code code = page_check_script(page_script, error);
    if (code != BASE_OK)
        return code;
    struct report_data data = {.wants_flow = true};
    struct page page = {.data = &data, .profile = profile};
    base_arena_init(&page.arena, 0);
    code = report_data_load_by(&data, profile, rules, error);
    if (code == BASE_OK) {
        page.left = page_room(page_style, page_script);
        code = put_sections(&page, error);
    }
    if (code == BASE_OK)
        code = page_write(page_style, page_script, &page.out, write, user, error);
    base_buf_fini(&page.out);
    base_map_fini(&page.texts);
    base_array_fini(&page.text_rows);
    base_array_fini(&page.omissions);
    base_array_fini(&page.objects);
    base_array_fini(&page.touches);
    base_map_fini(&page.paths);
    base_arena_fini(&page.arena);
    report_data_fini(&data);
    return code;
}
