// SPDX-License-Identifier: Apache-2.0
// Finds the place of a call in the source. The innermost frames of a launch belong to stub
// functions that the compiler generates on the host, so they are skipped.
#include <string.h>

#include "data.h"
#include "short_names.h"
#include "units.h"

static bool is_stub(const char *function)
{
    static const char *const stubs[] = {"__device_stub_", "__wrapper__device_stub_"};
    for (size_t i = 0; function && i < sizeof(stubs) / sizeof(stubs[0]); i++) {
        if (strncmp(function, stubs[i], strlen(stubs[i])) == 0)
            return true;
    }
    return false;
}

// For a launch, the compiler generates stubs, then a host function with the kernel's name, which is
// part of the stub's name.
uint32_t report_stub_frames(const struct report_path *path)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < path->frame_count; i++) {
        if (is_stub(path->frames[i].function))
            count = i + 1;
    }
    if (count == 0 || count >= path->frame_count || !path->frames[count].function)
        return count == path->frame_count ? 0 : count;
    const char *stub = path->frames[count - 1].function, *name = path->frames[count].function;
    size_t end = strcspn(name, "(<"), start = end;
    while (start > 0 && name[start - 1] != ':' && name[start - 1] != ' ')
        start--;
    bool same = end > start && memmem(stub, strlen(stub), name + start, end - start);
    return same && count + 1 < path->frame_count ? count + 1 : count;
}

static void put_place(const struct report_data *data, const struct profile_frame *frame,
                      bool with_folders, struct base_buf *out)
{
    if (frame->file) {
        report_put_text(out, with_folders ? frame->file : report_base_name(frame->file));
        if (frame->line)
            base_buf_printf(out, ":%u", frame->line);
    } else if (frame->function) {
        report_put_function(out, frame->function);
    } else {
        const char *name = report_base_name(report_image_path(data, frame->image));
        report_put_text(out, name ? name : "?");
        base_buf_printf(out, "+0x%llx", (unsigned long long)frame->offset);
    }
}

// Returns the frame that is the place of a call path; NULL if there is none.
static const struct profile_frame *place_of(const struct report_path *path)
{
    if (!path || path->frame_count == 0)
        return NULL;
    const uint32_t first = report_stub_frames(path);
    for (uint32_t i = first; i < path->frame_count; i++) {
        if (path->frames[i].file)
            return &path->frames[i];
    }
    return &path->frames[first];
}

const struct profile_frame *report_place(const struct report_data *data, uint32_t path)
{
    return place_of(report_path_of(data, path));
}

void report_put_place(const struct report_data *data, uint32_t path, struct base_buf *out)
{
    const struct profile_frame *frame = report_place(data, path);
    if (frame)
        put_place(data, frame, true, out);
}

static bool same_function(const struct profile_frame *one, const struct profile_frame *other)
{
    return one->function && other->function && one->file && other->file &&
           strcmp(one->function, other->function) == 0 && strcmp(one->file, other->file) == 0;
}

// Returns the frame of `path` in the innermost function that both paths share; NULL if there is
// none.
static const struct profile_frame *parting_of(const struct report_path *path,
                                              const struct report_path *other)
{
    const struct profile_frame *parting = NULL;
    for (uint32_t i = 1; path && other && i <= path->frame_count && i <= other->frame_count; i++) {
        const struct profile_frame *one = &path->frames[path->frame_count - i],
                                   *beside = &other->frames[other->frame_count - i];
        if (one->file && !same_function(one, beside))
            break;
        if (one->file)
            parting = one;
        if (one->file && one->line != beside->line)
            break;
    }
    return parting;
}

void report_put_place_beside(const struct report_data *data, uint32_t path, uint32_t other,
                             struct base_buf *out)
{
    const struct report_path *of = report_path_of(data, path);
    const struct profile_frame *place = place_of(of);
    const struct profile_frame *parting = parting_of(of, report_path_of(data, other));
    if (!place)
        return;
    put_place(data, place, false, out);
    if (parting > place && place->file && !same_function(parting, place)) { // an outer frame
        base_buf_puts(out, ", called at ");
        put_place(data, parting, false, out);
    }
}

// --- Call paths ----------------------------------------------------------------------------------

// Returns whether the frame is outside of the program: it calls main or starts a thread.
static bool is_foreign(const struct profile_frame *frame)
{
    static const char *const starts[] = {"_start",
                                         "__libc_start_main",
                                         "__libc_start_call_main",
                                         "__libc_start_main_impl",
                                         "start_thread",
                                         "clone"};
    for (size_t i = 0; frame->function && i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (strcmp(frame->function, starts[i]) == 0)
            return true;
    }
    return false;
}

static void put_frame(const struct report_data *data, const struct profile_frame *frame,
                      struct base_buf *out)
{
    if (frame->function) {
        report_put_function(out, frame->function);
    } else {
        const char *image = report_base_name(report_image_path(data, frame->image));
        report_put_text(out, image ? image : "?");
        base_buf_printf(out, "+0x%llx", (unsigned long long)frame->offset);
    }
    if (frame->file) {
        base_buf_putc(out, ' ');
        put_place(data, frame, false, out);
    }
}

void report_put_trace(const struct report_data *data, uint32_t path, struct base_buf *out)
{
    enum { MOST = 4 };
    const struct report_path *of = report_path_of(data, path);
    if (!of)
        return;
    const uint32_t first = report_stub_frames(of);
    uint32_t end = of->frame_count;
    while (end > first + 1 && is_foreign(&of->frames[end - 1]))
        end--;
    for (uint32_t i = first; i < end && i < first + MOST; i++) {
        base_buf_puts(out, i > first ? " < " : "");
        put_frame(data, &of->frames[i], out);
    }
    if (end > first + MOST)
        base_buf_puts(out, " < ...");
}
