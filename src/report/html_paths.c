// SPDX-License-Identifier: Apache-2.0
// Writes the call paths of the page's findings, objects and calls, in this order of importance, as
// far as there is room. Frames of libraries are folded into the function that the user called, as
// in the text report, and those of Python's interpreter are left out.
#include "html.h"
#include "short_names.h"

struct path_walk {
    struct page *page;
    struct page_section *section;
    uint64_t how_much; // importance of the paths in this pass
    uint64_t shown, of;
};

// Returns the frame's function, of a library by its short name.
static const char *name_of(struct page *page, const struct profile_frame *frame)
{
    struct base_buf name = {0};
    const char *kept = frame->function;
    if (kept && !frame->python && profile_is_library_frame(frame)) {
        report_put_function(&name, kept);
        kept = name.length ? base_alloc_text(&page->arena, name.text, name.length) : NULL;
        page->failed |= name.failed || (name.length && !kept);
    }
    base_buf_fini(&name);
    return kept;
}

static void put_frame(struct page *page, const struct profile_frame *frame, struct base_json *json)
{
    base_json_u64(json, page_text(page, name_of(page, frame)));
    base_json_u64(json, page_text(page, frame->file));
    base_json_u64(json, frame->line);
}

static bool each_path(void *user, const struct profile_path *path)
{
    struct path_walk *walk = user;
    struct page *page = walk->page;
    struct base_json *json = &walk->section->json;
    const uint64_t *wanted = base_map_get(&page->paths, path->number);
    if (!wanted || *wanted != walk->how_much)
        return true;
    walk->of++;
    if (page_section_bytes(walk->section) > PAGE_PATH_BYTES)
        return true;
    walk->shown++;
    base_json_begin_array(json);
    base_json_u64(json, path->number);
    const bool python = report_has_python(&(struct report_path){path->frames, path->frame_count});
    for (uint32_t i = 0; i < path->frame_count && i < 256; i++) {
        if (python && report_is_interpreter(page->data, &path->frames[i]))
            continue;
        const bool is_inner = i + 1 < path->frame_count &&
                              profile_is_library_frame(&path->frames[i]) &&
                              profile_is_library_frame(&path->frames[i + 1]);
        if (!is_inner)
            put_frame(page, &path->frames[i], json);
    }
    base_json_end_array(json);
    return !page->failed;
}

enum base_code page_put_paths(struct page *page, struct base_error *error)
{
    struct page_section section;
    struct path_walk walk = {.page = page, .section = &section};
    enum base_code code = BASE_OK;
    page_begin(&section, false);
    for (int how_much = 2; how_much >= 0 && code == BASE_OK && !page->failed; how_much--) {
        walk.how_much = (uint64_t)how_much;
        code = profile_each_path(page->profile, each_path, &walk, error);
    }
    page->failed |= !page_end(page, &section, "paths", PAGE_PATH_BYTES + PAGE_ROW_BYTES);
    page_omit(page, "call paths", walk.shown, walk.of, "those of findings, then of objects");
    return code;
}
