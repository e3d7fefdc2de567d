// SPDX-License-Identifier: Apache-2.0
// Writes the packets of a trace, names that are sent once per sequence, and tracks. Other files
// decide what is on the tracks.
#include <stdarg.h>
#include <stdio.h>

#include "perfetto.h"
#include "units.h"

enum { TRACE_PACKET = 1 };

enum { // fields of a packet
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK_DESCRIPTOR = 60,
    PACKET_FIRST_ON_SEQUENCE = 87,
};

enum { FLAG_STATE_CLEARED = 1, FLAG_NEEDS_STATE = 2 };

enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum { CLOCK_OF_DAY = 1, CLOCK_MONOTONIC_TIME = 3 };

enum { DEFAULTS_CLOCK = 58 };

enum { // fields of a track's description
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_CHILD_ORDERING = 11,
    TRACK_RANK = 12,
};

enum { ORDER_BY_RANK = 3 };
enum { PROCESS_PID = 1, PROCESS_COMMAND = 2, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5 };
enum { COUNTER_UNIT = 3, UNIT_BYTES = 3 };

enum { // fields of an event
    EVENT_CATEGORY = 3,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_NUMBER = 10,
    EVENT_TRACK = 11,
    EVENT_NAME = 23,
    EVENT_COUNTER_VALUE = 30,
    EVENT_FLOW = 47,
    EVENT_FLOW_END = 48,
    EVENT_CORRELATION = 52,
};

enum { // fields of an annotation
    ANNOTATION_NAME = 1,
    ANNOTATION_U64 = 3,
    ANNOTATION_I64 = 4,
    ANNOTATION_TEXT = 6,
    ANNOTATION_TEXT_NUMBER = 17,
};

enum { NEW_CATEGORY = 1, NEW_NAME = 2, NEW_ANNOTATION = 3, NEW_TEXT = 29 };
enum { NEW_NUMBER = 1, NEW_IS = 2 };

bool perfetto_failed(const struct perfetto_trace *trace)
{
    return trace->failed || base_protobuf_failed(&trace->out);
}

// --- Text ----------------------------------------------------------------------------------------

// Returns the text as UTF-8 without control characters. It is valid until the next call.
static struct base_str safe(struct perfetto_trace *trace, const char *text)
{
    trace->text.length = 0;
    report_put_text(&trace->text, text);
    trace->failed |= trace->text.failed;
    return (struct base_str){trace->text.text, trace->text.length};
}

static void put_str(struct perfetto_trace *trace, uint32_t field, struct base_str text)
{
    base_protobuf_bytes(&trace->out, field, text.text, text.length);
}

const char *perfetto_format(struct perfetto_trace *trace, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    char *text = length >= 0 ? base_new_array(&trace->arena, char, (size_t)length + 1) : NULL;
    if (text)
        vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    trace->failed |= !text;
    return text ? text : "";
}

// --- Packets -------------------------------------------------------------------------------------

static void put_new_name(struct perfetto_trace *trace, uint32_t field, uint64_t number,
                         struct base_str text)
{
    base_protobuf_begin(&trace->out, field);
    base_protobuf_u64(&trace->out, NEW_NUMBER, number);
    put_str(trace, NEW_IS, text);
    base_protobuf_end(&trace->out);
}

static void put_new_text(struct perfetto_trace *trace, uint32_t field,
                         struct perfetto_new_text *text)
{
    trace->failed |= text->text.failed;
    if (text->number)
        put_new_name(trace, field, text->number,
                     (struct base_str){text->text.text, text->text.length});
    text->number = 0;
    text->text.length = 0;
}

// Sends the fixed names of a sequence.
static void put_fixed_names(struct perfetto_trace *trace)
{
#define CATEGORY(id, name) \
    put_new_name(trace, NEW_CATEGORY, PERFETTO_CATEGORY_##id, base_str(name));
#define ANNOTATION(id, name) \
    put_new_name(trace, NEW_ANNOTATION, PERFETTO_##id##_IS, base_str(name));
    PERFETTO_CATEGORIES(CATEGORY)
    PERFETTO_ANNOTATIONS(ANNOTATION)
#undef CATEGORY
#undef ANNOTATION
}

// Begins a packet. The first packet of a sequence also contains the sequence's defaults.
static void begin_packet(struct perfetto_trace *trace, enum perfetto_sequence sequence)
{
    struct base_protobuf *out = &trace->out;
    bool first = !trace->begun[sequence];
    base_protobuf_begin(out, TRACE_PACKET);
    base_protobuf_u64(out, PACKET_SEQUENCE_ID, sequence);
    base_protobuf_u64(out, PACKET_SEQUENCE_FLAGS,
                      FLAG_NEEDS_STATE | (first ? FLAG_STATE_CLEARED : 0));
    if (first) {
        base_protobuf_u64(out, PACKET_FIRST_ON_SEQUENCE, true);
        base_protobuf_begin(out, PACKET_DEFAULTS);
        base_protobuf_u64(out, DEFAULTS_CLOCK, CLOCK_MONOTONIC_TIME);
        base_protobuf_end(out);
    }
    trace->sequence = sequence;
}

static void put_clock(struct perfetto_trace *trace, uint32_t clock, int64_t ns)
{
    base_protobuf_begin(&trace->out, SNAPSHOT_CLOCK);
    base_protobuf_u64(&trace->out, CLOCK_ID, clock);
    base_protobuf_u64(&trace->out, CLOCK_TIMESTAMP, ns > 0 ? (uint64_t)ns : 0);
    base_protobuf_end(&trace->out);
}

// Times are those of CLOCK_MONOTONIC, so that the trace can be merged with others of the same
// machine.
static void put_clocks(struct perfetto_trace *trace)
{
    const struct profile_program *program = profile_program(trace->data->profile);
    begin_packet(trace, PERFETTO_TRACKS);
    base_protobuf_begin(&trace->out, PACKET_CLOCK_SNAPSHOT);
    put_clock(trace, CLOCK_MONOTONIC_TIME, trace->origin_ns);
    if (program->start_unix_ns > 0)
        put_clock(trace, CLOCK_OF_DAY, program->start_unix_ns);
    base_protobuf_u64(&trace->out, SNAPSHOT_PRIMARY, CLOCK_MONOTONIC_TIME);
    base_protobuf_end(&trace->out);
    base_protobuf_end(&trace->out);
    trace->begun[PERFETTO_TRACKS] = true;
}

// --- Tracks --------------------------------------------------------------------------------------

static uint64_t begin_track(struct perfetto_trace *trace, uint64_t parent, int32_t rank)
{
    begin_packet(trace, PERFETTO_TRACKS);
    base_protobuf_begin(&trace->out, PACKET_TRACK_DESCRIPTOR);
    base_protobuf_u64(&trace->out, TRACK_UUID, ++trace->track_count);
    if (parent)
        base_protobuf_u64(&trace->out, TRACK_PARENT, parent);
    base_protobuf_u64(&trace->out, TRACK_CHILD_ORDERING, ORDER_BY_RANK);
    base_protobuf_i64(&trace->out, TRACK_RANK, rank);
    return trace->track_count;
}

static void end_track(struct perfetto_trace *trace)
{
    base_protobuf_end(&trace->out);
    base_protobuf_end(&trace->out);
}

uint64_t perfetto_add_track(struct perfetto_trace *trace, uint64_t parent, const char *name,
                            int32_t rank)
{
    uint64_t track = begin_track(trace, parent, rank);
    put_str(trace, TRACK_NAME, safe(trace, name));
    end_track(trace);
    return track;
}

uint64_t perfetto_add_counter(struct perfetto_trace *trace, uint64_t parent, const char *name,
                              int32_t rank)
{
    uint64_t track = begin_track(trace, parent, rank);
    put_str(trace, TRACK_NAME, safe(trace, name));
    base_protobuf_begin(&trace->out, TRACK_COUNTER);
    base_protobuf_u64(&trace->out, COUNTER_UNIT, UNIT_BYTES);
    base_protobuf_end(&trace->out);
    end_track(trace);
    return track;
}

// If the system's numbers are unknown, the thread gets an ordinary track, because tid 0 would mean
// another thread.
uint64_t perfetto_add_thread(struct perfetto_trace *trace, int32_t tid, const char *name)
{
    if (trace->pid <= 0 || tid <= 0)
        return perfetto_add_track(trace, trace->process, name, 0);
    uint64_t track = begin_track(trace, trace->process, 0);
    base_protobuf_begin(&trace->out, TRACK_THREAD);
    base_protobuf_i64(&trace->out, THREAD_PID, trace->pid);
    base_protobuf_i64(&trace->out, THREAD_TID, tid);
    put_str(trace, THREAD_NAME, safe(trace, name));
    base_protobuf_end(&trace->out);
    end_track(trace);
    return track;
}

static uint64_t add_process(struct perfetto_trace *trace)
{
    const struct profile_program *program = profile_program(trace->data->profile);
    const char *name = program->argument_count ? program->arguments[0] : program->executable;
    if (trace->pid <= 0)
        return perfetto_add_track(trace, 0, name ? name : "program", 0);
    uint64_t track = begin_track(trace, 0, 0);
    base_protobuf_begin(&trace->out, TRACK_PROCESS);
    base_protobuf_i64(&trace->out, PROCESS_PID, trace->pid);
    for (uint32_t i = 0; i < program->argument_count; i++)
        put_str(trace, PROCESS_COMMAND, safe(trace, program->arguments[i]));
    put_str(trace, PROCESS_NAME, safe(trace, name ? name : "program"));
    base_protobuf_end(&trace->out);
    end_track(trace);
    return track;
}

uint64_t perfetto_device_track(struct perfetto_trace *trace, uint32_t device)
{
    const struct report_data *data = trace->data;
    uint64_t *track = base_map_put(&trace->devices, device, NULL);
    trace->failed |= !track;
    if (!track || *track)
        return track ? *track : 0;
    const char *name = NULL;
    for (size_t i = 0; i < data->devices.count; i++) {
        if (data->devices.items[i].number == device)
            name = data->devices.items[i].name;
    }
    *track = perfetto_add_track(trace, trace->process,
                                device ? perfetto_format(trace, "GPU %u%s%s", device - 1,
                                                         name ? ": " : "", name ? name : "")
                                       : "GPU not known",
                                device > INT32_MAX ? INT32_MAX : (int32_t)device);
    return *track;
}

void perfetto_group_fini(struct perfetto_group *group)
{
    perfetto_lanes_fini(&group->lanes);
    base_array_fini(&group->tracks);
}

uint64_t perfetto_group_take(struct perfetto_trace *trace, struct perfetto_group *group,
                             int64_t start_ns, int64_t end_ns, uint32_t *lane)
{
    uint32_t taken = perfetto_lanes_take(&group->lanes, start_ns, end_ns);
    trace->failed |= taken == UINT32_MAX;
    // The lowest free lane is an existing lane or the one after the last.
    if (!trace->failed && taken == group->tracks.count) {
        uint64_t *track = base_array_push(&group->tracks);
        trace->failed |= !track;
        if (track)
            *track = perfetto_add_track(trace, group->parent, group->name, group->rank);
    }
    if (lane)
        *lane = taken;
    return trace->failed ? 0 : group->tracks.items[taken];
}

// --- Events --------------------------------------------------------------------------------------

// Converts to the clock of the trace, which has no time before 0.
static uint64_t timestamp(const struct perfetto_trace *trace, int64_t ns)
{
    int64_t sum;
    if (__builtin_add_overflow(trace->origin_ns, ns, &sum))
        return ns > 0 ? INT64_MAX : 0;
    return sum > 0 ? (uint64_t)sum : 0;
}

void perfetto_event(struct perfetto_trace *trace, enum perfetto_sequence sequence,
                    enum perfetto_type type, uint64_t track, int64_t ns)
{
    begin_packet(trace, sequence);
    base_protobuf_u64(&trace->out, PACKET_TIMESTAMP, timestamp(trace, ns));
    base_protobuf_begin(&trace->out, PACKET_TRACK_EVENT);
    base_protobuf_u64(&trace->out, EVENT_TYPE, type);
    base_protobuf_u64(&trace->out, EVENT_TRACK, track);
}

void perfetto_event_end(struct perfetto_trace *trace)
{
    base_protobuf_end(&trace->out);
    if (!trace->begun[trace->sequence] || trace->new_name.number || trace->new_place.number) {
        base_protobuf_begin(&trace->out, PACKET_INTERNED_DATA);
        if (!trace->begun[trace->sequence])
            put_fixed_names(trace);
        put_new_text(trace, NEW_NAME, &trace->new_name);
        put_new_text(trace, NEW_TEXT, &trace->new_place);
        base_protobuf_end(&trace->out);
    }
    base_protobuf_end(&trace->out);
    trace->begun[trace->sequence] = true;
}

void perfetto_name(struct perfetto_trace *trace, enum perfetto_category category, const char *name)
{
    struct base_map *names = &trace->names[trace->sequence];
    bool added;
    uint64_t *number = base_map_put_str(names, base_str(name), &added);
    trace->failed |= !number;
    if (!number)
        return;
    if (added) {
        trace->new_name.number = *number = names->count;
        report_put_text(&trace->new_name.text, name);
    }
    base_protobuf_u64(&trace->out, EVENT_CATEGORY, category);
    base_protobuf_u64(&trace->out, EVENT_NAME_NUMBER, *number);
}

void perfetto_name_once(struct perfetto_trace *trace, enum perfetto_category category,
                        const char *name)
{
    base_protobuf_u64(&trace->out, EVENT_CATEGORY, category);
    put_str(trace, EVENT_NAME, safe(trace, name));
}

void perfetto_flow(struct perfetto_trace *trace, uint64_t flow, bool ends)
{
    base_protobuf_fixed64(&trace->out, ends ? EVENT_FLOW_END : EVENT_FLOW, flow);
}

void perfetto_correlate(struct perfetto_trace *trace, uint64_t number)
{
    base_protobuf_u64(&trace->out, EVENT_CORRELATION, number);
}

void perfetto_value(struct perfetto_trace *trace, int64_t value)
{
    base_protobuf_i64(&trace->out, EVENT_COUNTER_VALUE, value);
}

void perfetto_put_u64(struct perfetto_trace *trace, enum perfetto_annotation annotation,
                      uint64_t value)
{
    base_protobuf_begin(&trace->out, EVENT_ANNOTATION);
    base_protobuf_u64(&trace->out, ANNOTATION_NAME, annotation);
    base_protobuf_u64(&trace->out, ANNOTATION_U64, value);
    base_protobuf_end(&trace->out);
}

void perfetto_put_i64(struct perfetto_trace *trace, enum perfetto_annotation annotation,
                      int64_t value)
{
    base_protobuf_begin(&trace->out, EVENT_ANNOTATION);
    base_protobuf_u64(&trace->out, ANNOTATION_NAME, annotation);
    base_protobuf_i64(&trace->out, ANNOTATION_I64, value);
    base_protobuf_end(&trace->out);
}

void perfetto_put_text(struct perfetto_trace *trace, enum perfetto_annotation annotation,
                       const char *text)
{
    base_protobuf_begin(&trace->out, EVENT_ANNOTATION);
    base_protobuf_u64(&trace->out, ANNOTATION_NAME, annotation);
    put_str(trace, ANNOTATION_TEXT, safe(trace, text));
    base_protobuf_end(&trace->out);
}

void perfetto_put_place(struct perfetto_trace *trace, uint32_t path)
{
    struct base_map *paths = &trace->paths[trace->sequence];
    bool added;
    uint64_t *number = path ? base_map_put(paths, path, &added) : NULL;
    trace->failed |= path && !number;
    if (!number)
        return;
    if (added) {
        report_put_place(trace->data, path, &trace->new_place.text);
        if (trace->new_place.text.length)
            trace->new_place.number = *number = paths->count;
    }
    if (*number == 0)
        return;
    base_protobuf_begin(&trace->out, EVENT_ANNOTATION);
    base_protobuf_u64(&trace->out, ANNOTATION_NAME, PERFETTO_FROM_IS);
    base_protobuf_u64(&trace->out, ANNOTATION_TEXT_NUMBER, *number);
    base_protobuf_end(&trace->out);
}

// --- Beginning and end ---------------------------------------------------------------------------

void perfetto_init(struct perfetto_trace *trace, const struct report_data *data,
                   report_write *write, void *user)
{
    const struct profile_program *program = profile_program(data->profile);
    *trace = (struct perfetto_trace){.out = {.write = write, .user = user},
                                     .data = data,
                                     .origin_ns = program->start_monotonic_ns,
                                     .pid = program->pid};
    base_arena_init(&trace->arena, 0);
    put_clocks(trace);
    trace->process = add_process(trace);
}

void perfetto_fini(struct perfetto_trace *trace)
{
    for (unsigned i = 0; i < PERFETTO_SEQUENCES; i++) {
        base_map_fini(&trace->names[i]);
        base_map_fini(&trace->paths[i]);
    }
    base_map_fini(&trace->devices);
    base_buf_fini(&trace->text);
    base_buf_fini(&trace->new_name.text);
    base_buf_fini(&trace->new_place.text);
    base_arena_fini(&trace->arena);
    base_protobuf_fini(&trace->out);
}
