// SPDX-License-Identifier: Apache-2.0
// Writes objects in the text report. Objects of one name, kind and place are one row.
#include <assert.h>
#include <stdlib.h>

#include "text.h"
#include "units.h"

struct object_group {
    const struct report_object *first;
    uint64_t count, bytes, unfreed;
    struct report_use use;              // sums; `moved` if bytes are known of at least one
    uint64_t touched_bytes, told_bytes; // of objects whose elements are known
    uint64_t devices;                   // on which the objects are, a bit for each
};

static void group_name(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct object_group *group = row;
    if (group->first->label)
        report_put_text(out, group->first->label);
    else
        base_buf_printf(out, "(object %llu)", (unsigned long long)group->first->number);
}

static void group_kind(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct object_group *group = row;
    base_buf_puts(out, profile_object_kind_word((enum profile_object_kind)group->first->kind));
}

// Lists the devices of the group's objects: "0, 1".
static void group_devices(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct object_group *group = row;
    const char *before = "";
    for (unsigned i = 0; i < 64; i++) {
        if (group->devices >> i & 1) {
            base_buf_printf(out, "%s%u", before, i);
            before = ", ";
        }
    }
}

static void group_count(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_u64(out, ((const struct object_group *)row)->count);
}

static void group_bytes(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    report_put_bytes(out, ((const struct object_group *)row)->bytes);
}

static void group_unfreed(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    if (((const struct object_group *)row)->unfreed)
        base_buf_u64(out, ((const struct object_group *)row)->unfreed);
}

static void group_place(const void *context, const void *row, struct base_buf *out)
{
    report_put_place(context, ((const struct object_group *)row)->first->path, out);
}

// Counts only launches that were watched.
static void group_reads(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_u64(out, ((const struct object_group *)row)->use.reads);
}

static void group_writes(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_u64(out, ((const struct object_group *)row)->use.writes);
}

static void group_touched(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct object_group *group = row;
    if (group->told_bytes)
        report_put_share(out, group->touched_bytes, group->told_bytes);
}

static void group_bytes_read(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct object_group *group = row;
    if (group->use.moved)
        report_put_bytes(out, group->use.bytes_read);
}

static void group_bytes_written(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    const struct object_group *group = row;
    if (group->use.moved)
        report_put_bytes(out, group->use.bytes_written);
}

static const struct report_column peak_columns[] = {
    {"object", false, REPORT_CUT_END, group_name},
    {"kind", false, REPORT_WHOLE, group_kind},
    {"objects", true, REPORT_WHOLE, group_count},
    {"size", true, REPORT_WHOLE, group_bytes},
    {"allocated at", false, REPORT_CUT_START, group_place},
};

static const struct report_column object_columns[] = {
    {"object", false, REPORT_CUT_END, group_name},
    {"kind", false, REPORT_WHOLE, group_kind},
    {"device", false, REPORT_WHOLE, group_devices}, // only if there are several
    {"objects", true, REPORT_WHOLE, group_count},
    {"size", true, REPORT_WHOLE, group_bytes},
    {"not freed", true, REPORT_WHOLE, group_unfreed},
    {"allocated at", false, REPORT_CUT_START, group_place},
};

static void group_passed(const void *context, const void *row, struct base_buf *out)
{
    (void)context;
    base_buf_u64(out, ((const struct object_group *)row)->use.passed);
}

// The column "passed to" is shown only if launches are known by their arguments, and the last three
// only if elements are known.
static const struct report_column use_columns[] = {
    {"object", false, REPORT_CUT_END, group_name},
    {"size", true, REPORT_WHOLE, group_bytes},
    {"passed to", true, REPORT_WHOLE, group_passed},
    {"read by", true, REPORT_WHOLE, group_reads},
    {"written by", true, REPORT_WHOLE, group_writes},
    {"touched", true, REPORT_WHOLE, group_touched},
    {"read", true, REPORT_WHOLE, group_bytes_read},
    {"written", true, REPORT_WHOLE, group_bytes_written},
};
enum {
    USE_COLUMNS = sizeof(use_columns) / sizeof(use_columns[0]),
    PASSED_COLUMN = 2,
    ELEMENT_COLUMNS = 3,
};

static void add_use(struct object_group *group, const struct report_object *object)
{
    const struct report_use *use = &object->use;
    group->use.passed += use->passed;
    group->use.reads += use->reads;
    group->use.writes += use->writes;
    group->use.bytes_read += use->bytes_read;
    group->use.bytes_written += use->bytes_written;
    group->use.moved |= use->moved;
    if (use->element_bytes && !use->mixed) {
        group->touched_bytes += use->touched * use->element_bytes;
        group->told_bytes += report_elements(object) * use->element_bytes;
    }
}

static int by_group_bytes(const void *one, const void *other)
{
    const struct object_group *a = one, *b = other;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first; // by number
}

// Which objects of a peak are listed.
typedef bool objects_of_peak(const struct report_object *object, const struct analyze_peak *peak);

// Writes a table of the objects; if `peak` is given, only of those in use at the peak.
static void put_objects(struct report_text *text, const struct analyze_peak *peak,
                        objects_of_peak *is_in, const struct report_column *columns,
                        size_t column_count)
{
    const struct report_data *data = text->data;
    struct base_map known = {0};
    BASE_ARRAY(struct object_group) groups = {0};
    for (size_t i = 0; i < data->objects.count && !text->failed; i++) {
        const struct report_object *object = &data->objects.items[i];
        if (peak && !is_in(object, peak))
            continue;
        // Objects without a name are distinguished by number.
        uint64_t key[4] = {(uint64_t)(uintptr_t)object->name, object->kind, object->path,
                           object->name ? 0 : object->number};
        uint64_t *slot = base_map_put(&known, base_hash(key, sizeof(key)), NULL);
        if (slot && *slot == 0) {
            struct object_group *group = base_array_push(&groups);
            if (group)
                group->first = object;
            *slot = group ? groups.count : 0;
        }
        text->failed |= !slot || *slot == 0;
        if (text->failed)
            break;
        assert(groups.items); // the map is not empty
        struct object_group *group = &groups.items[*slot - 1];
        group->count++;
        group->bytes += object->bytes;
        group->unfreed += object->end == ANALYZE_NEVER;
        const int device = report_device_of(data, object);
        group->devices |= device >= 0 && device < 64 ? UINT64_C(1) << device : 0;
        add_use(group, object);
    }
    if (groups.count && !text->failed) {
        qsort(groups.items, groups.count, sizeof(groups.items[0]), by_group_bytes);
        report_text_table(text, columns, column_count, groups.items, groups.count,
                          sizeof(groups.items[0]));
    }
    base_map_fini(&known);
    base_array_fini(&groups);
}

static void put_amount(struct base_buf *out, const struct report_amount *amount, const char *what)
{
    base_buf_printf(out, "%llu %s%s, ", (unsigned long long)amount->count, what,
                    amount->count == 1 ? "" : "s");
    report_put_bytes(out, amount->bytes);
}

static void put_tensors(struct report_text *text, const struct analyze_peak *peak)
{
    const struct report_tensors tensors = report_tensors(text->data, peak);
    struct base_buf heading = {0};
    if (!tensors.any)
        return;
    base_buf_puts(&heading, "Tensors at the peak: ");
    put_amount(&heading, &tensors.blocks, "block");
    base_buf_puts(&heading, ", in ");
    put_amount(&heading, &tensors.segments, "segment");
    base_buf_puts(&heading, "; outside of them: ");
    put_amount(&heading, &tensors.outside, "object");
    text->failed |= heading.failed;
    report_text_heading(text, heading.text ? heading.text : "");
    put_objects(text, peak, report_is_outside_tensors, REPORT_COLUMNS(peak_columns));
    base_buf_fini(&heading);
}

void report_text_peaks(struct report_text *text)
{
    const struct report_data *data = text->data;
    for (size_t i = 0; i < data->peak_count; i++) {
        const struct analyze_peak *peak = &data->peaks[i];
        struct base_buf heading = {0};
        if (peak->device)
            base_buf_printf(&heading, "%s of device %u: ",
                            peak->rank == 1   ? "Peak"
                            : peak->rank == 2 ? "Second peak"
                                              : "Next peak",
                            peak->device - 1);
        else
            base_buf_puts(&heading, i == 0   ? "Peak of device memory: "
                                    : i == 1 ? "Second peak: "
                                             : "Next peak: ");
        report_put_bytes(&heading, peak->bytes);
        if (peak->start)
            base_buf_printf(&heading, ", reached by call %llu", (unsigned long long)peak->start);
        if (peak->times > 1)
            base_buf_printf(&heading, " and %llu more times",
                            (unsigned long long)(peak->times - 1));
        text->failed |= heading.failed;
        report_text_heading(text, heading.text ? heading.text : "");
        base_buf_fini(&heading);
        put_objects(text, peak, report_is_in_peak, REPORT_COLUMNS(peak_columns));
        if (peak->rank == 1)
            put_tensors(text, peak);
    }
    if (data->peak_count == 0)
        report_text_heading(text, "No device memory was allocated");
}

static void put_use(struct report_text *text, bool elements)
{
    const bool passes = report_coverage(text->data).launches[REPORT_BY_ARGUMENTS] > 0;
    struct report_column columns[USE_COLUMNS];
    size_t count = 0;
    for (size_t i = 0; i < USE_COLUMNS - (elements ? 0 : ELEMENT_COLUMNS); i++) {
        if (i != PASSED_COLUMN || passes)
            columns[count++] = use_columns[i];
    }
    put_objects(text, NULL, NULL, columns, count);
}

static void put_all(struct report_text *text)
{
    enum { COLUMNS = sizeof(object_columns) / sizeof(object_columns[0]), DEVICE_COLUMN = 2 };
    struct report_column columns[COLUMNS];
    size_t count = 0;
    for (size_t i = 0; i < COLUMNS; i++)
        if (i != DEVICE_COLUMN || text->data->devices.count > 1)
            columns[count++] = object_columns[i];
    put_objects(text, NULL, NULL, columns, count);
}

void report_text_objects(struct report_text *text)
{
    const struct report_data *data = text->data;
    if (data->objects.count) {
        report_text_heading(text, "Objects by size");
        put_all(text);
    }
    if (data->accesses) {
        bool elements = data->has_moved || data->has_elements;
        report_text_heading(text, elements ? "Objects by use: launches that read and write them, "
                                             "share touched, bytes moved"
                                           : "Objects by use: launches that read and write them");
        put_use(text, elements);
    }
}
