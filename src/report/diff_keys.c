// SPDX-License-Identifier: Apache-2.0
// Makes the keys by which items of two profiles are matched. A newline ends each field. A name that
// contains a newline is at worst not matched.
#include <string.h>

#include "diff.h"
#include "units.h"

// A frame without debug information is identified by its image. Its offset is added only in the
// strongest tier, because it holds only for the same build. The program's own image has no name,
// since the program may be renamed.
static void put_image(const struct report_data *data, const struct profile_frame *frame,
                      enum report_diff_tier tier, struct base_buf *out)
{
    const char *image = report_image_path(data, frame->image);
    const char *program = profile_program(data->profile)->executable;
    if (!image || !program || strcmp(image, program) != 0)
        base_buf_puts(out, image ? report_base_name(image) : "");
    if (tier == REPORT_DIFF_BY_LINES)
        base_buf_printf(out, "+%llx", (unsigned long long)frame->offset);
}

static void put_frame(const struct report_data *data, const struct profile_frame *frame,
                      enum report_diff_tier tier, struct base_buf *out)
{
    if (frame->function)
        base_buf_puts(out, frame->function);
    if (frame->file && tier != REPORT_DIFF_BY_FUNCTION) {
        base_buf_printf(out, "@%s", report_base_name(frame->file));
        if (tier == REPORT_DIFF_BY_LINES)
            base_buf_printf(out, ":%u", frame->line);
    } else if (!frame->function) {
        put_image(data, frame, tier, out);
    }
    base_buf_putc(out, '\n');
}

void report_diff_put_path(const struct report_data *data, uint32_t path, enum report_diff_tier tier,
                          struct base_buf *out)
{
    const struct report_path *of = report_path_of(data, path);
    for (uint32_t i = 0; of && i < of->frame_count; i++) {
        if (tier >= REPORT_DIFF_BY_PLACE && !of->frames[i].file)
            continue;
        put_frame(data, &of->frames[i], tier, out);
        if (tier >= REPORT_DIFF_BY_PLACE)
            break;
    }
    base_buf_puts(out, "\n");
}

void report_diff_put_line(struct analyze_line line, enum report_diff_tier tier,
                          struct base_buf *out)
{
    if (!line.file)
        return;
    base_buf_puts(out, report_base_name(line.file));
    if (tier == REPORT_DIFF_BY_LINES)
        base_buf_printf(out, ":%u:%u", line.line, line.column);
    base_buf_putc(out, '\n');
}

bool report_diff_has_name(const struct report_object *object)
{
    return object && object->name && object->name[0] && object->name_source >= PROFILE_NAME_SOURCE;
}

void report_diff_put_object(const struct report_data *data, uint64_t object, struct base_buf *out)
{
    const struct report_object *row = object ? report_find_object(data, object) : NULL;
    if (row)
        base_buf_puts(out, profile_object_kind_word(row->kind));
    base_buf_putc(out, ' ');
    if (report_diff_has_name(row))
        base_buf_puts(out, row->name);
    base_buf_putc(out, '\n');
}

// In weak tiers, "void ns::add<int, 4>(int*)" becomes "void ns::add". Names of operators are not
// changed.
void report_diff_put_kernel(const char *name, enum report_diff_tier tier, struct base_buf *out)
{
    size_t length = name ? strcspn(name, "<(") : 0;
    if (tier < REPORT_DIFF_BY_PLACE || length == 0 || strstr(name, "operator"))
        length = name ? strlen(name) : 0;
    if (length)
        base_buf_add(out, name, length);
    base_buf_putc(out, '\n');
}
