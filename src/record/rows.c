// SPDX-License-Identifier: Apache-2.0
// Converts records of src/event to rows of src/profile. Records come from another process: they are
// checked for their size, and their contents are not trusted. Times become relative to the moment
// when recording began. probe_rows.c converts what probes measured.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "caches.h"
#include "rows.h"

bool record_take(struct record_piece *piece, void *out, size_t bytes)
{
    if (piece->length < bytes)
        return false;
    memcpy(out, piece->bytes, bytes);
    piece->bytes += bytes;
    piece->length -= bytes;
    return true;
}

const char *record_next_text(struct record_piece *piece)
{
    const char *text = piece->bytes;
    const size_t length = strnlen(text, piece->length);
    const size_t used = length < piece->length ? length + 1 : length;
    piece->bytes += used;
    piece->length -= used;
    return length ? text : NULL;
}

// Returns the rest of the record as text, or NULL if it is empty.
static const char *rest_text(const struct record_piece *piece)
{
    return piece->length ? piece->bytes : NULL;
}

// --- Definitions ---------------------------------------------------------------------------------

// Returns a copy, in the session's arena, of the next NUL-terminated text; NULL if it is empty or
// there is none.
static const char *take_text(struct record_session *session, struct record_piece *piece)
{
    const char *text = record_next_text(piece);
    return text ? base_alloc_text(&session->arena, text, strlen(text)) : NULL;
}

// Reads the texts of an EVENT_PROCESS record.
static void take_program(struct record_session *session, struct record_piece *piece)
{
    struct profile_program *program = &session->program;
    program->executable = take_text(session, piece);
    program->folder = take_text(session, piece);
    size_t count = 0;
    for (size_t i = 0; i < piece->length; i++)
        count += piece->bytes[i] == '\0' || i + 1 == piece->length;
    const char **arguments = base_new_array(&session->arena, const char *, count + 1);
    for (size_t i = 0; arguments && i < count; i++) {
        arguments[i] = take_text(session, piece);
        if (!arguments[i])
            arguments[i] = "";
    }
    program->arguments = arguments;
    program->argument_count = arguments ? (uint32_t)count : 0;
}

static void set_program(struct record_session *session)
{
    profile_set_program(session->writer, &session->program, &session->error);
}

static bool write_image(struct record_session *session, struct record_piece *piece)
{
    struct event_image event;
    if (!record_take(piece, &event, sizeof(event)) || event.build_id_bytes > sizeof(event.build_id))
        return false;
    struct event_image *kept = base_array_push(&session->images);
    const char **path = base_array_push(&session->image_paths);
    char build_id[2 * sizeof(event.build_id) + 1] = "";
    for (uint32_t i = 0; i < event.build_id_bytes; i++)
        snprintf(build_id + 2 * (size_t)i, 3, "%02x", event.build_id[i]);
    if (!kept || !path) {
        base_no_memory(&session->error);
        return true;
    }
    *kept = event;
    *path = base_alloc_text(&session->arena, piece->bytes, piece->length);
    if (!*path)
        *path = "";
    const struct profile_image image = {.number = (uint32_t)session->images.count,
                                        .path = *path,
                                        .build_id = event.build_id_bytes ? build_id : NULL,
                                        FACTS_IMAGE(RECORD_AS)};
    profile_add_image(session->writer, &image, &session->error);
    return true;
}

static bool write_function(struct record_session *session, struct record_piece *piece)
{
    struct event_name event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    const struct profile_function function = {(uint32_t)event.number, rest_text(piece)};
    profile_add_function(session->writer, &function, &session->error);
    return true;
}

static bool write_thread(struct record_session *session, struct record_piece *piece)
{
    struct event_thread event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    const struct profile_thread thread = {.name = rest_text(piece), FACTS_THREAD(RECORD_AS)};
    profile_add_thread(session->writer, &thread, &session->error);
    return true;
}

static bool write_device(struct record_session *session, struct record_piece *piece)
{
    struct event_device event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    char uuid[40];
    const unsigned char *u = event.uuid;
    snprintf(uuid, sizeof(uuid),
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
             u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
             u[15]);
    const char *name = rest_text(piece);
    record_caches_device(session, &event, name);
    const struct profile_device device = {.name = name, .uuid = uuid, FACTS_DEVICE(RECORD_AS)};
    profile_add_device(session->writer, &device, &session->error);
    return true;
}

static bool write_context(struct record_session *session, struct record_piece *piece)
{
    struct event_context event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    const struct profile_context context = {FACTS_CONTEXT(RECORD_AS)};
    profile_add_context(session->writer, &context, &session->error);
    return true;
}

static bool write_stream(struct record_session *session, struct record_piece *piece)
{
    struct event_stream event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    const struct profile_stream stream = {FACTS_STREAM(RECORD_AS)};
    profile_add_stream(session->writer, &stream, &session->error);
    return true;
}

static bool write_module(struct record_session *session, struct record_piece *piece)
{
    struct event_module event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    const struct profile_module module = {.name = rest_text(piece), FACTS_MODULE(RECORD_AS)};
    profile_add_module(session->writer, &module, &session->error);
    return true;
}

static bool write_kernel(struct record_session *session, struct record_piece *piece)
{
    struct event_kernel event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    const char *mangled = rest_text(piece);
    char *name = mangled ? record_demangle(mangled) : NULL;
    const struct profile_kernel kernel = {
        .name = name, .mangled = mangled, FACTS_KERNEL(RECORD_AS)};
    profile_add_kernel(session->writer, &kernel, &session->error);
    free(name);
    return true;
}

// Returns the number of the image that contains the address, or 0. Later images come first, because
// they may take the addresses of earlier ones.
static uint32_t image_of(const struct record_session *session, uint64_t address)
{
    for (size_t i = session->images.count; i-- > 0;) {
        const struct event_image *image = &session->images.items[i];
        if (address >= image->start && address < image->end)
            return (uint32_t)i + 1;
    }
    return 0;
}

// Writes images and offsets at once, so that the profile has them even if the recorder is killed.
// Functions and lines are added at the end. Two threads may send the same stack.
static bool write_stack(struct record_session *session, struct record_piece *piece)
{
    enum { MOST_DEPTH = 4096 };
    struct event_stack event;
    bool added = true;
    if (!record_take(piece, &event, sizeof(event)) || event.depth > MOST_DEPTH ||
        piece->length < event.depth * sizeof(uint64_t))
        return false;
    uint64_t *slot = base_map_put(&session->stack_numbers, event.number, &added);
    if (!added)
        return true;
    struct profile_frame *frames = calloc(event.depth + 1u, sizeof(*frames));
    struct record_session_stack *kept = base_array_push(&session->stacks);
    bool good = frames && kept && slot;
    if (good)
        *slot = session->stacks.count;
    if (good)
        *kept = (struct record_session_stack){.number = event.number,
                                              .first = session->frames.count,
                                              .depth = event.depth,
                                              .truncated = event.truncated};
    for (uint32_t i = 0; i < event.depth && good; i++) {
        uint64_t address = 0;
        record_take(piece, &address, sizeof(address));
        struct record_session_frame *frame = base_array_push(&session->frames);
        good = frame != NULL;
        if (!good)
            break;
        frame->image = image_of(session, address - 1);
        frame->offset =
            frame->image ? address - session->images.items[frame->image - 1].bias : address;
        frames[i] = (struct profile_frame){.image = frame->image, .offset = frame->offset};
    }
    const struct profile_path path = {.number = event.number,
                                      .frames = frames,
                                      .frame_count = event.depth,
                                      .truncated = event.truncated};
    if (good)
        profile_add_path(session->writer, &path, &session->error);
    else
        base_no_memory(&session->error);
    free(frames);
    return true;
}

// --- Details -------------------------------------------------------------------------------------

static struct profile_launch launch_of(struct event_launch event)
{
    return (struct profile_launch){FACTS_LAUNCH(RECORD_AS)};
}

static struct profile_copy copy_of(struct event_copy event)
{
    if (event.host >= EVENT_HOST_KINDS)
        event.host = PROFILE_HOST_NONE;
    return (struct profile_copy){FACTS_COPY(RECORD_AS)};
}

static struct profile_set set_of(struct event_set event)
{
    return (struct profile_set){FACTS_SET(RECORD_AS)};
}

static struct profile_node node_of(const struct event_node *event)
{
    struct profile_node node = {.kind = (enum profile_node_kind)event->kind};
    switch (event->kind) {
    case EVENT_NODE_KERNEL: node.launch = launch_of(event->launch); break;
    case EVENT_NODE_COPY: node.copy = copy_of(event->copy); break;
    case EVENT_NODE_SET: node.set = set_of(event->set); break;
    case EVENT_NODE_ALLOC:
    case EVENT_NODE_FREE:
        node.range.object = event->memory.object;
        node.range.bytes = event->memory.bytes;
        break;
    case EVENT_NODE_EVENT_RECORD:
    case EVENT_NODE_EVENT_WAIT: node.event = event->event.event; break;
    default: break;
    }
    return node;
}

void record_session_end_graph(struct record_session *session)
{
    if (session->graph && session->writer) {
        const struct profile_graph graph = {session->graph, session->nodes.items,
                                            (uint32_t)session->nodes.count};
        profile_add_graph(session->writer, &graph, &session->error);
    }
    session->graph = 0;
    session->nodes.count = 0;
}

// Nodes that do not fit into one record come in several consecutive records of the same number.
static bool write_graph(struct record_session *session, struct record_piece *piece)
{
    struct event_graph event;
    if (!record_take(piece, &event, sizeof(event)) ||
        piece->length / sizeof(struct event_node) < event.node_count)
        return false;
    if (event.number != session->graph)
        record_session_end_graph(session);
    session->graph = event.number;
    for (uint32_t i = 0; i < event.node_count; i++) {
        struct event_node node;
        struct profile_node *row = base_array_push(&session->nodes);
        record_take(piece, &node, sizeof(node));
        if (!row) {
            base_no_memory(&session->error);
            return true;
        }
        *row = node_of(&node);
    }
    return true;
}

static bool write_edges(struct record_session *session, struct record_piece *piece)
{
    struct event_edges edges;
    if (!record_take(piece, &edges, sizeof(edges)) ||
        piece->length / sizeof(struct event_edge) < edges.edge_count)
        return false;
    for (uint32_t i = 0; i < edges.edge_count; i++) {
        struct event_edge event;
        record_take(piece, &event, sizeof(event));
        const struct profile_edge row = {.graph = edges.number, FACTS_EDGE(RECORD_AS)};
        profile_add_edge(session->writer, &row, &session->error);
    }
    return true;
}

// --- What happens --------------------------------------------------------------------------------

static bool take_range(struct record_piece *piece, struct profile_range *range)
{
    struct event_alloc event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    *range = (struct profile_range){FACTS_RANGE(RECORD_AS)};
    return true;
}

static bool take_sync(struct record_piece *piece, struct profile_sync *sync)
{
    struct event_sync event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    *sync = (struct profile_sync){FACTS_SYNC(RECORD_AS)};
    return true;
}

static bool take_detail(struct record_piece *piece, struct profile_call *call)
{
    struct event_launch launch;
    struct event_copy copy;
    struct event_set set;
    struct event_graph graph;
    switch (call->kind) {
    case PROFILE_CALL_ALLOC:
    case PROFILE_CALL_FREE:
    case PROFILE_CALL_MEMORY: return take_range(piece, &call->range);
    case PROFILE_CALL_SYNC:
    case PROFILE_CALL_EVENT_RECORD:
    case PROFILE_CALL_EVENT_WAIT: return take_sync(piece, &call->sync);
    case PROFILE_CALL_COPY:
        if (!record_take(piece, &copy, sizeof(copy)))
            return false;
        call->copy = copy_of(copy);
        return true;
    case PROFILE_CALL_SET:
        if (!record_take(piece, &set, sizeof(set)))
            return false;
        call->set = set_of(set);
        return true;
    case PROFILE_CALL_LAUNCH:
        if (!record_take(piece, &launch, sizeof(launch)))
            return false;
        call->launch = launch_of(launch);
        return true;
    case PROFILE_CALL_GRAPH_LAUNCH:
        if (!record_take(piece, &graph, sizeof(graph)))
            return false;
        call->graph = graph.number;
        return true;
    default: return true;
    }
}

static void add_object(struct record_session *session, struct event_object event)
{
    const struct profile_object object = {FACTS_OBJECT(RECORD_AS)};
    struct record_session_object *kept = base_array_push(&session->objects_made);
    if (kept)
        *kept = (struct record_session_object){event.number, event.call, event.bytes, 0};
    session->objects++;
    record_caches_object(session, &event);
    profile_add_object(session->writer, &object, &session->error);
}

static bool write_object(struct record_session *session, struct record_piece *piece)
{
    struct event_object event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    add_object(session, event);
    return true;
}

static bool write_object_end(struct record_session *session, struct record_piece *piece)
{
    struct event_object_end event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    record_caches_object_end(session, event.number, event.call);
    profile_end_object(session->writer, event.number, event.call, event.stream, &session->error);
    return true;
}

// Writes the beginning and end of the object of a call that allocates, frees, maps or registers.
static void write_objects_of(struct record_session *session, const struct event_call *call,
                             struct record_piece piece)
{
    struct event_alloc alloc;
    struct event_object object;
    struct event_object_end end;
    if (call->kind != EVENT_CALL_ALLOC && call->kind != EVENT_CALL_FREE &&
        call->kind != EVENT_CALL_MEMORY)
        return;
    if (!record_take(&piece, &alloc, sizeof(alloc)))
        return;
    if (event_begins(call, &alloc, &object))
        add_object(session, object);
    if (event_ends(call, &alloc, &end)) {
        record_caches_object_end(session, end.number, end.call);
        profile_end_object(session->writer, end.number, end.call, end.stream, &session->error);
    }
}

static bool write_call(struct record_session *session, struct record_piece *piece)
{
    struct event_call event;
    if (!record_take(piece, &event, sizeof(event)) || event.kind >= EVENT_CALL_KINDS)
        return false;
    struct profile_call call = {FACTS_CALL(RECORD_AS)};
    const struct record_piece detail = *piece;
    if (!take_detail(piece, &call))
        return false;
    // Memory that is registered, or mapped, gets its name from that call.
    if ((event.kind == EVENT_CALL_ALLOC || event.kind == EVENT_CALL_MEMORY) && event.stack) {
        uint64_t *place = base_map_put(&session->allocations, event.number, NULL);
        if (place)
            *place = event.stack;
    }
    if (event.kind == EVENT_CALL_SYNC && event.stack)
        base_map_put(&session->sync_stacks, event.stack, NULL); // without it the answer is unknown
    const bool works = event.kind == EVENT_CALL_COPY || event.kind == EVENT_CALL_SET;
    if (works && event.flags & EVENT_CALL_WAITED && !event.waited_ns &&
        session->process.timestamps) {
        uint64_t *place = base_map_put(&session->waiting, event.number, NULL);
        if (place)
            *place = event.end_ns - event.start_ns;
    }
    // Until its EVENT_TOLD record arrives.
    const bool watched = event.kind == EVENT_CALL_LAUNCH
                             ? call.launch.flags & PROFILE_LAUNCH_WATCHED
                             : event.flags & EVENT_CALL_REPLAYS;
    if (watched && event.result == 0 && !(event.flags & EVENT_CALL_CAPTURED) &&
        !base_map_put(&session->untold, event.number, NULL))
        base_no_memory(&session->error);
    write_objects_of(session, &event, detail);
    record_caches_call(session, &call);
    session->calls++;
    profile_add_call(session->writer, &call, &session->error);
    return true;
}

static bool write_object_name(struct record_session *session, struct record_piece *piece)
{
    struct event_name event;
    if (!record_take(piece, &event, sizeof(event)) || !piece->length)
        return false;
    base_map_put(&session->named, event.number, NULL);
    const char *mangled = rest_text(piece); // the name of a variable is mangled
    char *name = mangled ? record_demangle(mangled) : NULL;
    profile_name_object(session->writer, event.number, name ? name : mangled, PROFILE_NAME_PROGRAM,
                        &session->error);
    free(name);
    return true;
}

static bool write_time(struct record_session *session, struct record_piece *piece)
{
    struct event_time event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    const struct profile_time time = {.start_ns = record_since_start(session, event.start_ns),
                                      .end_ns = record_since_start(session, event.end_ns),
                                      .start_estimated = event.flags & EVENT_TIME_ESTIMATED,
                                      FACTS_TIME(RECORD_AS)};
    profile_add_time(session->writer, &time, &session->error);
    // The GPU began the work when everything before it was done, and the call returned when the
    // work was done. So the call waited for its duration less that of the work. Only durations are
    // used, so the two clocks need not agree.
    const uint64_t *took = event.node ? NULL : base_map_get(&session->waiting, event.call);
    if (took) {
        const uint64_t work_ns = event.end_ns - event.start_ns;
        profile_set_waited(session->writer, event.call, *took > work_ns ? *took - work_ns : 0,
                           &session->error);
        base_map_remove(&session->waiting, event.call);
    }
    return true;
}

static bool write_note(struct record_session *session, struct record_piece *piece)
{
    struct event_note event;
    if (!record_take(piece, &event, sizeof(event)) || !piece->length)
        return false;
    const struct profile_note note = {(enum profile_severity)event.severity, rest_text(piece)};
    profile_add_note(session->writer, &note, &session->error);
    return true;
}

static bool write_process(struct record_session *session, struct record_piece *piece)
{
    struct event_process event;
    if (!record_take(piece, &event, sizeof(event)) || event.version != EVENT_VERSION)
        return false;
    session->process = event;
    session->program.pid = event.pid;
    session->program.parent = event.parent;
    session->program.driver_version = event.driver_version;
    session->program.start_monotonic_ns = (int64_t)event.start_ns;
    session->program.start_unix_ns = (int64_t)event.start_unix_ns;
    session->program.simulated = event.simulated;
    session->program.timestamps = event.timestamps;
    take_program(session, piece);
    set_program(session);
    return true;
}

static bool write_finish(struct record_session *session, struct record_piece *piece)
{
    struct event_finish event;
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    session->program.has_end = true;
    session->program.end_ns = record_since_start(session, event.end_ns);
    session->program.calls_made = event.calls;
    session->program.objects_made = event.objects;
    set_program(session);
    return true;
}

bool record_session_write(struct record_session *session, enum event_kind kind, const char *bytes,
                          size_t length)
{
    static bool (*const writers[EVENT_KINDS])(struct record_session *, struct record_piece *) = {
        [EVENT_PROCESS] = write_process,
        [EVENT_IMAGE] = write_image,
        [EVENT_FUNCTION] = write_function,
        [EVENT_THREAD] = write_thread,
        [EVENT_DEVICE] = write_device,
        [EVENT_CONTEXT] = write_context,
        [EVENT_STREAM] = write_stream,
        [EVENT_MODULE] = write_module,
        [EVENT_KERNEL] = write_kernel,
        [EVENT_STACK] = write_stack,
        [EVENT_CODE] = record_code,
        [EVENT_PYTHON] = record_python,
        [EVENT_GRAPH] = write_graph,
        [EVENT_EDGES] = write_edges,
        [EVENT_PROBE] = record_probe,
        [EVENT_SITE] = record_site,
        [EVENT_ARRAY] = record_shared_array,
        [EVENT_CALL] = write_call,
        [EVENT_OBJECT] = write_object,
        [EVENT_OBJECT_END] = write_object_end,
        [EVENT_OBJECT_NAME] = write_object_name,
        [EVENT_TIME] = write_time,
        [EVENT_ACCESS] = record_access,
        [EVENT_TOLD] = record_told,
        [EVENT_COUNTS] = record_counts,
        [EVENT_CONTENTS] = record_contents,
        [EVENT_STORED] = record_stored,
        [EVENT_WEIGHED] = record_weighed,
        [EVENT_ACCESSED] = record_accessed,
        [EVENT_REQUESTS] = record_requests,
        [EVENT_WORDS] = record_shared_words,
        [EVENT_RANGES] = record_shared_ranges,
        [EVENT_LIVES] = record_shared_lives,
        [EVENT_BLOCK_REUSE] = record_block_reuse,
        [EVENT_TRACE] = record_trace,
        [EVENT_TRACE_PART] = record_trace_part,
        [EVENT_MAP] = record_map,
        [EVENT_USE] = record_use,
        [EVENT_HASH] = record_hash,
        [EVENT_COPY_SOURCE] = record_copy_source,
        [EVENT_BLOCK] = record_block,
        [EVENT_BLOCK_END] = record_block_end,
        [EVENT_COLLECTIVE] = record_collective,
        [EVENT_CORRECTION] = record_correction,
        [EVENT_NVTX_RANGE] = record_nvtx_range,
        [EVENT_NVTX_RANGE_END] = record_nvtx_range_end,
        [EVENT_NOTE] = write_note,
        [EVENT_FINISH] = write_finish,
    };
    struct record_piece piece = {bytes, length};
    if (kind <= EVENT_NONE || kind >= EVENT_KINDS || !writers[kind])
        return false;
    // The first record must be EVENT_PROCESS.
    if (kind != EVENT_PROCESS && session->process.version != EVENT_VERSION)
        return false;
    if (kind != EVENT_GRAPH)
        record_session_end_graph(session);
    return writers[kind](session, &piece);
}
