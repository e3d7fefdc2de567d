// SPDX-License-Identifier: Apache-2.0
// Chooses source frames and formats file paths and URIs.
#include "source.h"

#include <string.h>

// Appends the segments of a path to a normalized absolute path, resolving "", "." and "..".
static void add_segments(struct base_buf *out, const char *path)
{
    while (*path) {
        size_t length = strcspn(path, "/");
        if (length == 2 && memcmp(path, "..", 2) == 0) {
            while (out->length && out->text[out->length - 1] != '/')
                out->length--;
            if (out->length)
                out->text[--out->length] = '\0';
        } else if (length && !(length == 1 && *path == '.')) {
            base_buf_putc(out, '/');
            base_buf_add(out, path, length);
        }
        path += length;
        path += *path == '/';
    }
}

bool report_put_file(struct base_buf *out, const char *file, const char *root)
{
    struct base_buf folder = {0}, whole = {0};
    add_segments(&folder, root);
    if (*file != '/')
        add_segments(&whole, root);
    add_segments(&whole, file);
    out->failed |= folder.failed | whole.failed;
    const bool under =
        !out->failed && whole.length > folder.length &&
        (folder.length == 0 || memcmp(whole.text, folder.text, folder.length) == 0) &&
        whole.text[folder.length] == '/';
    if (under)
        base_buf_puts(out, whole.text + folder.length + 1);
    else if (!out->failed)
        base_buf_puts(out, whole.length ? whole.text : "/");
    base_buf_fini(&folder);
    base_buf_fini(&whole);
    return under;
}

static bool is_under(const char *file, const char *root)
{
    struct base_buf text = {0};
    const bool under = report_put_file(&text, file, root);
    base_buf_fini(&text);
    return under;
}

const struct profile_frame *report_source_frame(const struct report_data *data, uint32_t path,
                                                const char *root)
{
    const struct report_path *of = report_path_of(data, path);
    const struct profile_frame *place = report_place(data, path), *innermost = NULL;
    if (place && report_has_source(place) && is_under(place->file, root))
        return place;
    for (uint32_t i = of ? report_stub_frames(of) : 0; of && i < of->frame_count; i++) {
        const struct profile_frame *frame = &of->frames[i];
        if (!report_has_source(frame))
            continue;
        if (is_under(frame->file, root))
            return frame;
        if (!innermost)
            innermost = frame;
    }
    // Outside of the root, a line of Python is still the place, not that of an extension.
    return place && place->python && report_has_source(place) ? place : innermost;
}

bool report_finding_frame(const struct report_data *data, const struct analyze_finding *finding,
                          const char *root, struct profile_frame *frame)
{
    const struct analyze_line line = analyze_line_at(finding);
    const struct profile_frame *call =
        report_source_frame(data, report_finding_path(data, finding), root);
    if (line.file && (!call || is_under(line.file, root) || !is_under(call->file, root)))
        *frame = (struct profile_frame){.file = line.file,
                                        .line = line.line,
                                        .function = report_kernel_name(data, finding->kernel)};
    else if (call)
        *frame = *call;
    return line.file || call;
}

void report_put_uri(struct base_buf *out, const char *path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    if (*path == '/')
        base_buf_puts(out, "file://");
    for (; *path; path++) {
        if (strchr(plain, *path)) {
            base_buf_putc(out, *path);
        } else {
            base_buf_putc(out, '%');
            base_buf_hex(out, (unsigned char)*path, 2);
        }
    }
}
