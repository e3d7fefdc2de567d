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
// which stands in the stub's name. Returns how many frames that is, with what the stubs call.
static uint32_t count_stubs(const struct report_path *path)
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

const struct profile_frame *report_place(const struct report_data *data, uint32_t path)
{
    const struct report_path *of = report_path_of(data, path);
    if (!of || of->frame_count == 0)
        return NULL;
    const uint32_t first = count_stubs(of);
    const struct profile_frame *frame = &of->frames[first];
    for (uint32_t i = first; i < of->frame_count && !frame->file; i++) {
        if (of->frames[i].file)
            frame = &of->frames[i];
    }
    return frame;
}

void report_put_place(const struct report_data *data, uint32_t path, struct base_buf *out)
{
    const struct profile_frame *frame = report_place(data, path);
    if (!frame)
        return;
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
