// SPDX-License-Identifier: Apache-2.0
// Reads definitions, objects and notes from the integers of their tables. read_calls.c reads calls,
// read_probes.c what probes measured.
#include "reader.h"

PROFILE_DEFINE_EACH(image, image, IMAGES,
                    "SELECT number, path, build_id, start, end, bias FROM images ORDER BY number",
                    .number = KEY32(0), .path = TEXT(1), .build_id = TEXT(2), .start = U64(3),
                    .end = U64(4), .bias = U64(5))

PROFILE_DEFINE_EACH(function, function, FUNCTIONS,
                    "SELECT number, name FROM functions ORDER BY number", .number = KEY32(0),
                    .name = TEXT(1))

PROFILE_DEFINE_EACH(thread, thread, THREADS,
                    "SELECT number, tid, name FROM threads ORDER BY number", .number = KEY32(0),
                    .tid = I32(1), .name = TEXT(2))

PROFILE_DEFINE_EACH(device, device, DEVICES,
                    "SELECT number, name, major, minor, multiprocessors, memory, uuid FROM devices "
                    "ORDER BY number",
                    .number = KEY32(0), .name = TEXT(1), .major = U32(2), .minor = U32(3),
                    .multiprocessors = U32(4), .memory_bytes = U64(5), .uuid = TEXT(6))

PROFILE_DEFINE_EACH(context, context, CONTEXTS,
                    "SELECT number, device FROM contexts ORDER BY number", .number = KEY32(0),
                    .device = U32(1))

PROFILE_DEFINE_EACH(stream, stream, STREAMS,
                    "SELECT number, context, flags, priority, thread FROM streams ORDER BY number",
                    .number = KEY32(0), .context = U32(1), .flags = U32(2), .priority = I32(3),
                    .thread = U32(4))

PROFILE_DEFINE_EACH(
    module, module, MODULES,
    "SELECT number, context, name, bytes, hash, has_ptx FROM modules ORDER BY number",
    .number = KEY32(0), .context = U32(1), .name = TEXT(2), .bytes = U64(3), .hash = U64(4),
    .has_ptx = BOOL(5))

PROFILE_DEFINE_EACH(kernel, kernel, KERNELS,
                    "SELECT number, module, name, mangled, registers, shared, local FROM kernels "
                    "ORDER BY number",
                    .number = KEY32(0), .module = U32(1), .name = TEXT(2), .mangled = TEXT(3),
                    .registers = U32(4), .static_shared_bytes = U32(5), .local_bytes = U32(6))

PROFILE_DEFINE_EACH(node_time, time, NODE_TIMES,
                    "SELECT call, node, start, duration FROM node_times ORDER BY call, node",
                    .call = KEY(0), .node = NUMBER32(1), .start_ns = I64(2),
                    .end_ns = (int64_t)(U64(2) + U64(3)))

PROFILE_DEFINE_EACH(note, note, NOTES, "SELECT severity, text FROM notes ORDER BY id",
                    .severity = (enum profile_severity)profile_known(at, 0, PROFILE_INFO,
                                                                     PROFILE_ERROR + 1,
                                                                     PROFILE_WARNING),
                    .text = TEXT(1))

PROFILE_DEFINE_EACH(dropped, dropped, DROPPED, "SELECT kind, count FROM dropped ORDER BY kind",
                    .kind = WORD(0), .count = U64(1))

PROFILE_DEFINE_EACH(
    object, object, OBJECTS,
    "SELECT o.number, o.kind, o.address, o.bytes, o.call, o.parent, o.pitch, o.width, o.height,"
    " o.depth, o.context, o.device, o.stream, e.number, e.call, e.stream, n.name, n.source"
    " FROM objects o LEFT JOIN object_ends e ON e.number = o.number"
    " LEFT JOIN object_names n ON n.number = o.number ORDER BY o.number",
    .number = KEY(0),
    .kind = (enum profile_object_kind)profile_known(at, 1, PROFILE_OBJECT_OTHER,
                                                    PROFILE_OBJECT_KINDS, PROFILE_OBJECT_OTHER),
    .address = U64(2), .bytes = U64(3), .call = U64(4), .parent = U64(5), .pitch = U64(6),
    .width_bytes = U64(7), .height = U64(8), .depth = U64(9), .context = U32(10), .device = U32(11),
    .stream = U32(12), .has_end = sqlite3_column_type(at, 13) != SQLITE_NULL, .end_call = U64(14),
    .end_stream = U32(15), .name = TEXT(16),
    .name_source = (enum profile_name_source)profile_known(at, 17, PROFILE_NAME_NONE,
                                                           PROFILE_NAME_PROGRAM + 1,
                                                           PROFILE_NAME_NONE))

PROFILE_DEFINE_EACH(setting, setting, SETTINGS, "SELECT name, value FROM settings ORDER BY name",
                    .name = WORD(0), .value = WORD(1))

PROFILE_DEFINE_EACH(edge, edge, GRAPH_EDGES,
                    "SELECT graph, from_node, to_node FROM graph_edges"
                    " ORDER BY graph, to_node, from_node",
                    .graph = KEY(0), .from = NUMBER32(1), .to = NUMBER32(2))

// --- Call paths ----------------------------------------------------------------------------------

static enum base_code take_frame(struct profile *profile, sqlite3_stmt *at, void *state,
                                 struct base_error *error)
{
    (void)state;
    if (I64(0) != (int64_t)profile->frames.count + 1)
        return profile_damaged(profile, error);
    struct profile_frame *frame = base_array_push(&profile->frames);
    BASE_RETURN_IF_NO_MEMORY(!frame, error);
    *frame = (struct profile_frame){.function = TEXT(1),
                                    .file = TEXT(2),
                                    .line = U32(3),
                                    .image = U32(4),
                                    .offset = U64(5),
                                    .inlined = BOOL(6),
                                    .start = U64(7),
                                    .python = BOOL(8)};
    return BASE_OK;
}

// Both tables are ordered by path, so the frames of a path are consecutive. The + in joins such as
// this one removes the type affinity of a column. Otherwise SQLite would convert the column of the
// other table, which has none, and scan that table for each row instead of searching it.
struct path_walk {
    bool (*each)(void *user, const struct profile_path *row);
    void *user;
    struct profile_path path;
    BASE_ARRAY(struct profile_frame) frames;
};

static bool give_path(struct path_walk *walk)
{
    if (walk->path.number == 0)
        return true;
    walk->path.frames = walk->frames.items;
    walk->path.frame_count = (uint32_t)walk->frames.count;
    return walk->each(walk->user, &walk->path);
}

static enum base_code take_path_row(struct profile *profile, sqlite3_stmt *at, void *state,
                                    struct base_error *error)
{
    struct path_walk *walk = state;
    const uint32_t number = KEY32(0);
    if (profile_skips_row(profile))
        return BASE_OK;
    if (profile->row_damaged)
        return profile_damaged(profile, error);
    if (number != walk->path.number) {
        bool more = give_path(walk);
        walk->path = (struct profile_path){.number = more ? number : 0,
                                           .truncated = BOOL(1),
                                           .called = TEXT(3),
                                           .result_use = sqlite3_column_type(at, 4) == SQLITE_NULL
                                                             ? PROFILE_RESULT_UNKNOWN
                                                         : BOOL(4) ? PROFILE_RESULT_LOOKED_AT
                                                                   : PROFILE_RESULT_IGNORED};
        walk->frames.count = 0;
        if (!more)
            return BASE_NOT_FOUND;
    }
    uint64_t frame = U64(2);
    if (frame == 0) // a path without frames
        return BASE_OK;
    if (frame > profile->frames.count)
        return profile_damaged(profile, error);
    struct profile_frame *slot = base_array_push(&walk->frames);
    BASE_RETURN_IF_NO_MEMORY(!slot, error);
    *slot = profile->frames.items[frame - 1];
    return BASE_OK;
}

static bool has_column(const struct profile *profile, const char *name)
{
    return sqlite3_table_column_metadata(profile->db, NULL, "frames", name, NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

PROFILE_EACH(path, path)
{
    // Older files lack the last columns.
    enum base_code code =
        profile_load(profile,
                     has_column(profile, "python")
                         ? "SELECT id, function, file, line, image, offset, inlined, start, python"
                           " FROM frames ORDER BY id"
                     : has_column(profile, "start")
                         ? "SELECT id, function, file, line, image, offset, inlined, start, 0"
                           " FROM frames ORDER BY id"
                         : "SELECT id, function, file, line, image, offset, inlined, 0, 0"
                           " FROM frames ORDER BY id",
                     take_frame, &profile->frames.count, error);
    struct path_walk walk = {.each = each, .user = user};
    if (code == BASE_OK)
        code = profile_walk(profile,
                            profile_has(profile, PROFILE_TABLE_PATH_RESULTS)
                                ? "SELECT p.number, p.truncated, f.frame, c.function, r.looked_at"
                                  " FROM paths p LEFT JOIN path_frames f ON f.path = +p.number"
                                  " LEFT JOIN path_calls c ON c.path = p.number"
                                  " LEFT JOIN path_results r ON r.path = p.number"
                                  " ORDER BY p.number, f.depth"
                            : profile_has(profile, PROFILE_TABLE_PATH_CALLS)
                                ? "SELECT p.number, p.truncated, f.frame, c.function, NULL"
                                  " FROM paths p LEFT JOIN path_frames f ON f.path = +p.number"
                                  " LEFT JOIN path_calls c ON c.path = p.number"
                                  " ORDER BY p.number, f.depth"
                                : "SELECT p.number, p.truncated, f.frame, 0, NULL FROM paths p"
                                  " LEFT JOIN path_frames f ON f.path = +p.number"
                                  " ORDER BY p.number, f.depth",
                            take_path_row, &walk, error);
    if (code == BASE_OK)
        give_path(&walk);
    base_array_fini(&walk.frames);
    return code;
}

// --- Graphs --------------------------------------------------------------------------------------

struct graph_walk {
    bool (*each)(void *user, const struct profile_graph *row);
    void *user;
    struct profile_graph graph;
    BASE_ARRAY(struct profile_node) nodes;
};

static bool give_graph(struct graph_walk *walk)
{
    if (walk->graph.number == 0)
        return true;
    walk->graph.nodes = walk->nodes.items;
    walk->graph.node_count = (uint32_t)walk->nodes.count;
    return walk->each(walk->user, &walk->graph);
}

static void read_node(struct profile *profile, sqlite3_stmt *at, struct profile_node *node)
{
    node->kind = (enum profile_node_kind)profile_known(at, 1, PROFILE_NODE_KERNEL,
                                                       PROFILE_NODE_OTHER + 1, PROFILE_NODE_OTHER);
    switch (node->kind) {
    case PROFILE_NODE_KERNEL: node->launch = profile_launch_at(profile, I64(2)); break;
    case PROFILE_NODE_COPY:
        node->copy = (struct profile_copy){
            .from = U64(3),
            .from_object = U64(4),
            .bytes = U64(5),
            .from_pitch = U64(6),
            .width_bytes = U64(7),
            .height = U64(8),
            .depth = U64(9),
            .to = U64(10),
            .to_object = U64(11),
            .to_pitch = U64(12),
            .from_memory = (enum profile_memory)profile_known(at, 13, 0, PROFILE_MEMORY_UNKNOWN,
                                                              PROFILE_MEMORY_UNKNOWN),
            .to_memory = (enum profile_memory)profile_known(at, 14, 0, PROFILE_MEMORY_UNKNOWN,
                                                            PROFILE_MEMORY_UNKNOWN),
            .direction = (enum profile_direction)profile_known(at, 15, 0, PROFILE_PEER_TO_PEER + 1,
                                                               PROFILE_DIRECTION_NONE)};
        break;
    case PROFILE_NODE_SET:
        node->set = (struct profile_set){.address = U64(3),
                                         .object = U64(4),
                                         .bytes = U64(5),
                                         .pitch = U64(6),
                                         .width_bytes = U64(7),
                                         .height = U64(8),
                                         .value = U32(16),
                                         .value_bytes = U32(17)};
        break;
    case PROFILE_NODE_ALLOC:
    case PROFILE_NODE_FREE:
        node->range = (struct profile_range){.address = U64(3), .object = U64(4), .bytes = U64(5)};
        break;
    case PROFILE_NODE_EVENT_RECORD:
    case PROFILE_NODE_EVENT_WAIT: node->event = U64(18); break;
    default: break;
    }
}

static enum base_code take_graph_row(struct profile *profile, sqlite3_stmt *at, void *state,
                                     struct base_error *error)
{
    struct graph_walk *walk = state;
    const uint64_t number = KEY(0);
    if (profile_skips_row(profile))
        return BASE_OK;
    if (profile->row_damaged)
        return profile_damaged(profile, error);
    if (number != walk->graph.number) {
        bool more = give_graph(walk);
        walk->graph = (struct profile_graph){.number = more ? number : 0};
        walk->nodes.count = 0;
        if (!more)
            return BASE_NOT_FOUND;
    }
    if (sqlite3_column_type(at, 1) == SQLITE_NULL) // a graph without nodes
        return BASE_OK;
    struct profile_node *node = base_array_push(&walk->nodes);
    BASE_RETURN_IF_NO_MEMORY(!node, error);
    read_node(profile, at, node);
    return BASE_OK;
}

PROFILE_EACH(graph, graph)
{
    struct graph_walk walk = {.each = each, .user = user};
    enum base_code code = profile_load_launches(profile, error);
    if (code == BASE_OK)
        code = profile_walk(profile,
                            "SELECT g.number, n.kind, launch, address, object, bytes, pitch, width,"
                            " height, depth, to_address, to_object, to_pitch, from_memory,"
                            " to_memory, direction, value, value_bytes, event"
                            " FROM graphs g LEFT JOIN graph_nodes n ON n.graph = +g.number"
                            " ORDER BY g.number, n.node",
                            take_graph_row, &walk, error);
    if (code == BASE_OK)
        give_graph(&walk);
    base_array_fini(&walk.nodes);
    return code;
}
