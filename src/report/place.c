// SPDX-License-Identifier: Apache-2.0
// Where a call came from, in short. Of a launch the innermost frames are not the program's: the
// compiler makes functions of the host that hand it on.
#include <string.h>

#include "data.h"
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

// What the compiler makes of a launch: stubs, then the kernel's own name as a function of the host,
// which stands in the stub's name.
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

void report_put_place(const struct report_data *data, uint32_t path, struct base_buf *out)
{
    const struct report_path *of = report_path_of(data, path);
    if (!of || of->frame_count == 0)
        return;
    const uint32_t first = report_stub_frames(of);
    const struct profile_frame *frame = &of->frames[first];
    for (uint32_t i = first; i < of->frame_count && !frame->file; i++) {
        if (of->frames[i].file)
            frame = &of->frames[i];
    }
    if (frame->file) {
        report_put_text(out, frame->file);
        if (frame->line)
            base_buf_printf(out, ":%u", frame->line);
    } else if (frame->function) {
        report_put_text(out, frame->function);
    } else {
        const char *image = report_image_path(data, frame->image);
        const char *name = image ? strrchr(image, '/') : NULL;
        report_put_text(out, name ? name + 1 : image ? image : "?");
        base_buf_printf(out, "+0x%llx", (unsigned long long)frame->offset);
    }
}

// --- The way there -------------------------------------------------------------------------------

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

// Who calls main, and whom the program calls of CUDA.
static bool is_foreign(const struct report_data *data, const struct profile_frame *frame)
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
    const char *image = base_name(report_image_path(data, frame->image));
    return !frame->file && image && strncmp(image, "libcuda", strlen("libcuda")) == 0;
}

static void put_frame(const struct report_data *data, const struct profile_frame *frame,
                      struct base_buf *out)
{
    if (frame->function) { // without its parameters
        struct base_buf name = {0};
        base_buf_add(&name, frame->function, strcspn(frame->function, "("));
        report_put_text(out, name.text);
        out->failed |= name.failed;
        base_buf_fini(&name);
    } else {
        const char *image = base_name(report_image_path(data, frame->image));
        report_put_text(out, image ? image : "?");
        base_buf_printf(out, "+0x%llx", (unsigned long long)frame->offset);
    }
    if (frame->file) {
        base_buf_putc(out, ' ');
        report_put_text(out, base_name(frame->file));
        if (frame->line)
            base_buf_printf(out, ":%u", frame->line);
    }
}

void report_put_trace(const struct report_data *data, uint32_t path, struct base_buf *out)
{
    enum { MOST = 4 };
    const struct report_path *of = report_path_of(data, path);
    if (!of)
        return;
    uint32_t first = report_stub_frames(of), end = of->frame_count;
    while (first + 1 < end && is_foreign(data, &of->frames[first]))
        first++;
    while (end > first + 1 && is_foreign(data, &of->frames[end - 1]))
        end--;
    for (uint32_t i = first; i < end && i < first + MOST; i++) {
        base_buf_puts(out, i > first ? " < " : "");
        put_frame(data, &of->frames[i], out);
    }
    if (end > first + MOST)
        base_buf_puts(out, " < ...");
}
