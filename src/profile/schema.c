// SPDX-License-Identifier: Apache-2.0
// The schema of a profile, in SQL. Tables are internal and designed to be small: all numbers are
// integers, texts are numbers of `strings`, and what many calls share is stored once in `sites` and
// `launches`. What becomes known later has its own table, since appending a row costs less than
// changing one. Views are the interface: docs/reference/profile.md describes them, and later
// versions only add to them. Their joins are outer joins, because SQLite omits those whose columns
// a query does not use. schema_probes.c has the tables of what probes measured.
#include "schema.h"

#include <errno.h>
#include <string.h>

const struct profile_table_info profile_tables[PROFILE_TABLE_COUNT] = {
#define X(NAME, name, verb, columns, since) {#name, verb, columns, since},
    PROFILE_TABLES(X)
#undef X
};

// Values of enumerations that the views contain.
_Static_assert(PROFILE_CALL_LAUNCH == 5 && PROFILE_CALL_GRAPH_LAUNCH == 6 &&
                   PROFILE_CALL_SYNC == 7 && PROFILE_CALL_EVENT_RECORD == 8 &&
                   PROFILE_CALL_EVENT_WAIT == 9 && PROFILE_NODE_SET == 3,
               "files hold these numbers");

// clang-format off
const char profile_schema[] =
    // Facts about the file and the program.
    "CREATE TABLE meta(id INTEGER PRIMARY KEY, major, minor, glint TEXT, complete, ending, code);"
    "CREATE TABLE strings(id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    "CREATE TABLE program(id INTEGER PRIMARY KEY, executable, folder, pid, parent, driver_version,"
    " start_monotonic, start_unix, simulated, timestamps, arguments);"
    "CREATE TABLE program_end(id INTEGER PRIMARY KEY, end, calls, objects);"
    "CREATE TABLE arguments(position INTEGER PRIMARY KEY, text);"
    // Definitions.
    "CREATE TABLE images(number INTEGER PRIMARY KEY, path, build_id, start, end, bias);"
    "CREATE TABLE functions(number INTEGER PRIMARY KEY, name, plain);"
    "CREATE TABLE threads(number INTEGER PRIMARY KEY, tid, name);"
    "CREATE TABLE devices(number INTEGER PRIMARY KEY, name, major, minor, multiprocessors, memory, uuid);"
    "CREATE TABLE contexts(number INTEGER PRIMARY KEY, device);"
    "CREATE TABLE streams(number INTEGER PRIMARY KEY, context, flags, priority, thread);"
    "CREATE TABLE modules(number INTEGER PRIMARY KEY, context, name, bytes, hash, has_ptx);"
    "CREATE TABLE kernels(number INTEGER PRIMARY KEY, module, name, mangled, registers, shared, local);"
    "CREATE TABLE frames(id INTEGER PRIMARY KEY, function, file, line, image, offset, inlined, start, python);"
    "CREATE TABLE paths(number INTEGER PRIMARY KEY, frames, truncated);"
    "CREATE TABLE path_frames(path, depth, frame, PRIMARY KEY(path, depth)) WITHOUT ROWID;"
    "CREATE TABLE path_calls(path INTEGER PRIMARY KEY, function);"
    "CREATE TABLE path_results(path INTEGER PRIMARY KEY, looked_at);"
    "CREATE TABLE graphs(number INTEGER PRIMARY KEY, nodes);"
    "CREATE TABLE graph_nodes(graph, node, kind, launch, address, object, bytes, pitch, width, height, depth,"
    " to_address, to_object, to_pitch, from_memory, to_memory, direction, value, value_bytes, event,"
    " PRIMARY KEY(graph, node)) WITHOUT ROWID;"
    "CREATE TABLE graph_edges(graph, to_node, from_node, PRIMARY KEY(graph, to_node, from_node)) WITHOUT ROWID;"
    // What happened. `detail` of a call: its row of `launches`, or its graph's number.
    "CREATE TABLE sites(id INTEGER PRIMARY KEY, kind, function, thread, context, stream, path, flags);"
    "CREATE TABLE launches(id INTEGER PRIMARY KEY, kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z,"
    " shared, flags);"
    "CREATE TABLE calls(number INTEGER PRIMARY KEY, start, duration, site, result, waited, detail);"
    "CREATE TABLE gpu_times(call INTEGER PRIMARY KEY, start, duration, estimated);"
    "CREATE TABLE node_times(call, node, start, duration, PRIMARY KEY(call, node)) WITHOUT ROWID;"
    "CREATE TABLE copies(call INTEGER PRIMARY KEY, bytes, from_address, to_address, from_object, to_object,"
    " from_pitch, to_pitch, width, height, depth, from_memory, to_memory, direction);"
    "CREATE TABLE sets(call INTEGER PRIMARY KEY, address, object, bytes, pitch, width, height, value, value_bytes);"
    "CREATE TABLE ranges(call INTEGER PRIMARY KEY, address, bytes, object);"
    "CREATE TABLE syncs(call INTEGER PRIMARY KEY, event, stream, record);"
    "CREATE TABLE objects(number INTEGER PRIMARY KEY, kind, address, bytes, call, parent, pitch, width, height,"
    " depth, context, device, stream);"
    "CREATE TABLE object_ends(number INTEGER PRIMARY KEY, call, stream);"
    "CREATE TABLE object_names(number INTEGER PRIMARY KEY, name, source);"
    "CREATE TABLE notes(id INTEGER PRIMARY KEY, severity, text);"
    "CREATE TABLE dropped(kind INTEGER PRIMARY KEY, count);"
    "CREATE TABLE settings(name INTEGER PRIMARY KEY, value);"

    "CREATE VIEW v_meta AS SELECT m.major AS schema, m.minor AS schema_minor, m.glint, m.complete,"
    " e.word AS ended, m.code FROM meta m LEFT JOIN endings e ON e.value = m.ending;"

    "CREATE VIEW v_program AS SELECT x.text AS executable, f.text AS folder,"
    " a.text AS arguments,"
    " p.pid, p.parent, p.driver_version, p.start_monotonic AS start_monotonic_ns, p.start_unix AS start_unix_ns,"
    " p.simulated, p.timestamps, e.end AS end_ns, e.calls AS calls_made, e.objects AS objects_made,"
    " h.text AS host, l.text AS launcher, j.text AS job, NULLIF(r.rank, 0) - 1 AS rank,"
    " NULLIF(r.count, 0) - 1 AS ranks, NULLIF(r.local, 0) - 1 AS local_rank,"
    " (SELECT '[\"' || group_concat(u.text, '\",\"') || '\"]' FROM devices d JOIN strings u ON u.id = d.uuid) AS devices"
    " FROM program p LEFT JOIN program_end e ON e.id = p.id LEFT JOIN strings x ON x.id = p.executable"
    " LEFT JOIN strings f ON f.id = p.folder LEFT JOIN strings a ON a.id = p.arguments"
    " LEFT JOIN ranks r ON r.id = p.id LEFT JOIN strings h ON h.id = r.host"
    " LEFT JOIN strings l ON l.id = r.launcher LEFT JOIN strings j ON j.id = r.job;"

    "CREATE VIEW v_images AS SELECT i.number, p.text AS path, b.text AS build_id, i.start, i.end, i.bias"
    " FROM images i LEFT JOIN strings p ON p.id = i.path LEFT JOIN strings b ON b.id = i.build_id;"

    "CREATE VIEW v_functions AS SELECT f.number, s.text AS name FROM functions f"
    " LEFT JOIN strings s ON s.id = f.name;"

    "CREATE VIEW v_threads AS SELECT t.number, t.tid, s.text AS name FROM threads t"
    " LEFT JOIN strings s ON s.id = t.name;"

    "CREATE VIEW v_device AS SELECT d.number, d.number - 1 AS ordinal, s.text AS name, d.major, d.minor,"
    " d.multiprocessors, d.memory AS memory_bytes, u.text AS uuid FROM devices d"
    " LEFT JOIN strings s ON s.id = d.name LEFT JOIN strings u ON u.id = d.uuid;"

    "CREATE VIEW v_contexts AS SELECT number, NULLIF(device, 0) AS device FROM contexts;"

    "CREATE VIEW v_streams AS SELECT number, NULLIF(context, 0) AS context, flags & 1 AS non_blocking,"
    " (flags >> 1) & 1 AS legacy, (flags >> 2) & 1 AS per_thread, priority, NULLIF(thread, 0) AS thread FROM streams;"

    "CREATE VIEW v_modules AS SELECT m.number, NULLIF(m.context, 0) AS context, s.text AS name, m.bytes,"
    " printf('%016x', m.hash) AS hash, m.has_ptx FROM modules m LEFT JOIN strings s ON s.id = m.name;"

    "CREATE VIEW v_kernels AS SELECT k.number, NULLIF(k.module, 0) AS module, n.text AS name, m.text AS mangled,"
    " k.registers, k.shared AS static_shared_bytes, k.local AS local_bytes FROM kernels k"
    " LEFT JOIN strings n ON n.id = k.name LEFT JOIN strings m ON m.id = k.mangled;"

    "CREATE VIEW v_frames AS SELECT f.id, n.text AS function, p.text AS file, NULLIF(f.line, 0) AS line,"
    " m.text AS module, f.offset, f.inlined, CASE WHEN f.start THEN f.offset - f.start END AS function_offset,"
    " f.python FROM frames f LEFT JOIN strings n ON n.id = f.function"
    " LEFT JOIN strings p ON p.id = f.file LEFT JOIN images i ON i.number = f.image"
    " LEFT JOIN strings m ON m.id = i.path;"

    "CREATE VIEW v_call_paths AS SELECT p.path AS id, p.depth, n.text AS function, s.text AS file,"
    " NULLIF(f.line, 0) AS line, m.text AS module, f.offset, f.inlined, p.frame,"
    " CASE WHEN f.start THEN f.offset - f.start END AS function_offset, f.python FROM path_frames p"
    " LEFT JOIN frames f ON f.id = p.frame LEFT JOIN strings n ON n.id = f.function"
    " LEFT JOIN strings s ON s.id = f.file LEFT JOIN images i ON i.number = f.image"
    " LEFT JOIN strings m ON m.id = i.path;"

    "CREATE VIEW v_calls AS SELECT c.number, k.word AS kind, s.text AS name, NULLIF(t.thread, 0) AS thread,"
    " NULLIF(t.context, 0) AS context, NULLIF(t.stream, 0) AS stream, c.start AS start_ns,"
    " c.start + c.duration AS end_ns, g.start AS gpu_start_ns, g.start + g.duration AS gpu_end_ns, c.result,"
    " (t.flags >> 1) & 1 AS waited, c.waited AS waited_ns, NULLIF(t.path, 0) AS call_path, t.flags & 1 AS async,"
    " (t.flags >> 2) & 1 AS captured, g.estimated AS gpu_start_estimated, COALESCE(r.text, d.text) AS called"
    " FROM calls c LEFT JOIN sites t ON t.id = c.site LEFT JOIN call_kinds k ON k.value = t.kind"
    " LEFT JOIN functions f ON f.number = t.function LEFT JOIN strings s ON s.id = f.name"
    " LEFT JOIN strings d ON d.id = f.plain LEFT JOIN path_calls p ON p.path = t.path"
    " LEFT JOIN strings r ON r.id = p.function LEFT JOIN gpu_times g ON g.call = c.number;"

    "CREATE VIEW v_launches AS SELECT c.number AS call, NULLIF(l.kernel, 0) AS kernel, n.text AS name, l.grid_x,"
    " l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z, l.shared AS dynamic_shared_bytes,"
    " k.shared AS static_shared_bytes, l.flags & 1 AS cooperative, NULLIF(t.context, 0) AS context,"
    " NULLIF(t.stream, 0) AS stream, c.start AS start_ns, c.start + c.duration AS end_ns, g.start AS gpu_start_ns,"
    " g.start + g.duration AS gpu_end_ns, NULLIF(t.path, 0) AS call_path, g.estimated AS gpu_start_estimated,"
    " (l.flags >> 1) & 1 OR EXISTS(SELECT 1 FROM accesses a JOIN access_shapes s ON s.id = a.shape"
    " WHERE a.call = +c.number AND NOT s.flags & 8) AS watched,"
    " CASE WHEN (l.flags >> 1) & 1 OR EXISTS(SELECT 1 FROM accesses a JOIN access_shapes s ON s.id = a.shape"
    " WHERE a.call = +c.number AND NOT s.flags & 8) THEN 'probes' WHEN l.flags & 4 THEN CASE WHEN l.flags & 8 THEN 'sampled' ELSE 'arguments' END"
    " END AS known_by"
    " FROM calls c LEFT JOIN sites t ON t.id = c.site LEFT JOIN launches l ON l.id = c.detail"
    " LEFT JOIN kernels k ON k.number = l.kernel LEFT JOIN strings n ON n.id = k.name"
    " LEFT JOIN gpu_times g ON g.call = c.number WHERE t.kind = 5;"

    "CREATE VIEW v_copies AS SELECT x.call, d.word AS direction, x.bytes, x.from_address, x.to_address,"
    " NULLIF(x.from_object, 0) AS from_object, NULLIF(x.to_object, 0) AS to_object, a.word AS from_memory,"
    " b.word AS to_memory, NULLIF(x.from_pitch, 0) AS from_pitch, NULLIF(x.to_pitch, 0) AS to_pitch,"
    " NULLIF(x.width, 0) AS width_bytes, NULLIF(x.height, 0) AS height, NULLIF(x.depth, 0) AS depth,"
    " NULLIF(t.stream, 0) AS stream, c.start AS start_ns, c.start + c.duration AS end_ns, g.start AS gpu_start_ns,"
    " g.start + g.duration AS gpu_end_ns, NULLIF(t.path, 0) AS call_path,"
    " w.word AS host_memory, NULLIF(m.block, 0) AS host_block, CASE WHEN h.copy THEN printf('%016x%016x', h.high, h.low) END AS hash,"
    " NULLIF(h.same, 0) - 1 AS same_before, h.at AS hashed_by, h.took AS hash_ns,"
    " z.at AS source_checked_by, z.same - 1 AS source_same, z.took AS source_ns"
    " FROM copies x LEFT JOIN calls c ON c.number = x.call LEFT JOIN sites t ON t.id = c.site"
    " LEFT JOIN directions d ON d.value = x.direction LEFT JOIN memories a ON a.value = x.from_memory"
    " LEFT JOIN memories b ON b.value = x.to_memory LEFT JOIN gpu_times g ON g.call = x.call"
    " LEFT JOIN copy_hosts m ON m.call = x.call LEFT JOIN hosts w ON w.value = m.host"
    " LEFT JOIN hashes h ON h.copy = x.call LEFT JOIN copy_sources z ON z.copy = x.call;"

    "CREATE VIEW v_sets AS SELECT x.call, x.address, NULLIF(x.object, 0) AS object, x.bytes, x.value, x.value_bytes,"
    " NULLIF(x.pitch, 0) AS pitch, NULLIF(x.width, 0) AS width_bytes, NULLIF(x.height, 0) AS height,"
    " NULLIF(t.stream, 0) AS stream, c.start AS start_ns, c.start + c.duration AS end_ns, g.start AS gpu_start_ns,"
    " g.start + g.duration AS gpu_end_ns, NULLIF(t.path, 0) AS call_path"
    " FROM sets x LEFT JOIN calls c ON c.number = x.call LEFT JOIN sites t ON t.id = c.site"
    " LEFT JOIN gpu_times g ON g.call = x.call;"

    "CREATE VIEW v_ranges AS SELECT x.call, k.word AS kind, x.address, x.bytes, NULLIF(x.object, 0) AS object"
    " FROM ranges x LEFT JOIN calls c ON c.number = x.call LEFT JOIN sites t ON t.id = c.site"
    " LEFT JOIN call_kinds k ON k.value = t.kind;"

    "CREATE VIEW v_syncs AS SELECT c.number AS call, CASE t.kind WHEN 7 THEN 'explicit' ELSE 'implicit' END AS kind,"
    " n.text AS name, NULLIF(y.event, 0) AS event, NULLIF(COALESCE(y.stream, t.stream), 0) AS stream,"
    " NULLIF(y.record, 0) AS record, (t.flags >> 1) & 1 AS waited, c.waited AS waited_ns,"
    " NULLIF(t.thread, 0) AS thread, NULLIF(t.context, 0) AS context, c.start AS start_ns,"
    " c.start + c.duration AS end_ns, NULLIF(t.path, 0) AS call_path, COALESCE(r.text, d.text) AS called,"
    " o.looked_at AS result_looked_at"
    " FROM calls c LEFT JOIN sites t ON t.id = c.site LEFT JOIN functions f ON f.number = t.function"
    " LEFT JOIN strings n ON n.id = f.name LEFT JOIN strings d ON d.id = f.plain"
    " LEFT JOIN path_calls p ON p.path = t.path LEFT JOIN strings r ON r.id = p.function"
    " LEFT JOIN path_results o ON o.path = t.path"
    " LEFT JOIN syncs y ON y.call = c.number"
    " WHERE t.kind = 7 OR t.flags & 2;"

    "CREATE VIEW v_events AS SELECT y.call, k.word AS kind, NULLIF(y.event, 0) AS event,"
    " NULLIF(y.record, 0) AS record, NULLIF(y.stream, 0) AS stream"
    " FROM syncs y LEFT JOIN calls c ON c.number = y.call LEFT JOIN sites t ON t.id = c.site"
    " LEFT JOIN call_kinds k ON k.value = t.kind WHERE t.kind IN (8, 9);"

    "CREATE VIEW v_graph_nodes AS SELECT x.graph, x.node, k.word AS kind, NULLIF(l.kernel, 0) AS kernel,"
    " n.text AS name, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z,"
    " l.shared AS dynamic_shared_bytes, NULLIF(x.bytes, 0) AS bytes, NULLIF(x.address, 0) AS address,"
    " NULLIF(x.object, 0) AS object, NULLIF(x.pitch, 0) AS pitch, NULLIF(x.width, 0) AS width_bytes,"
    " NULLIF(x.height, 0) AS height, NULLIF(x.depth, 0) AS depth, NULLIF(x.to_address, 0) AS to_address,"
    " NULLIF(x.to_object, 0) AS to_object, NULLIF(x.to_pitch, 0) AS to_pitch, a.word AS from_memory,"
    " b.word AS to_memory, d.word AS direction, CASE x.kind WHEN 3 THEN x.value END AS value,"
    " NULLIF(x.value_bytes, 0) AS value_bytes, NULLIF(x.event, 0) AS event"
    " FROM graph_nodes x LEFT JOIN node_kinds k ON k.value = x.kind LEFT JOIN launches l ON l.id = x.launch"
    " LEFT JOIN kernels e ON e.number = l.kernel LEFT JOIN strings n ON n.id = e.name"
    " LEFT JOIN memories a ON a.value = x.from_memory LEFT JOIN memories b ON b.value = x.to_memory"
    " LEFT JOIN directions d ON d.value = x.direction;"

    "CREATE VIEW v_graph_edges AS SELECT graph, from_node, to_node FROM graph_edges;"

    "CREATE VIEW v_node_runs AS SELECT c.number AS call, x.graph, x.node, k.word AS kind,"
    " NULLIF(l.kernel, 0) AS kernel, r.start AS gpu_start_ns, r.start + r.duration AS gpu_end_ns"
    " FROM calls c JOIN sites t ON t.id = c.site JOIN graph_nodes x ON x.graph = c.detail"
    " LEFT JOIN node_kinds k ON k.value = x.kind LEFT JOIN launches l ON l.id = x.launch"
    " LEFT JOIN node_times r ON r.call = c.number AND r.node = x.node WHERE t.kind = 6;"

    "CREATE VIEW v_objects AS SELECT o.number, s.text AS name, w.word AS name_source, k.word AS kind, o.bytes,"
    " o.address, NULLIF(o.device, 0) AS device, NULLIF(o.context, 0) AS context, NULLIF(o.stream, 0) AS stream,"
    " NULLIF(o.call, 0) AS allocated_by, NULLIF(e.call, 0) AS freed_by, NULLIF(e.stream, 0) AS freed_stream,"
    " e.number IS NOT NULL AS ended, a.start AS allocated_ns, f.start AS freed_ns, NULLIF(o.pitch, 0) AS pitch,"
    " NULLIF(o.width, 0) AS width_bytes, NULLIF(o.height, 0) AS height, NULLIF(o.depth, 0) AS depth,"
    " NULLIF(o.parent, 0) AS parent"
    " FROM objects o LEFT JOIN object_ends e ON e.number = o.number LEFT JOIN object_names n ON n.number = o.number"
    " LEFT JOIN strings s ON s.id = n.name LEFT JOIN name_sources w ON w.value = n.source"
    " LEFT JOIN object_kinds k ON k.value = o.kind LEFT JOIN calls a ON a.number = o.call"
    " LEFT JOIN calls f ON f.number = e.call;"

    "CREATE VIEW v_notes AS SELECT n.id AS number, w.word AS severity, s.text FROM notes n"
    " LEFT JOIN severities w ON w.value = n.severity LEFT JOIN strings s ON s.id = n.text;"

    "CREATE VIEW v_dropped AS SELECT s.text AS kind, d.count FROM dropped d LEFT JOIN strings s ON s.id = d.kind;"

    "CREATE VIEW v_settings AS SELECT n.text AS name, v.text AS value FROM settings x"
    " LEFT JOIN strings n ON n.id = x.name LEFT JOIN strings v ON v.id = x.value;";
// clang-format on

enum base_code profile_sqlite_fail(sqlite3 *db, int result, const char *doing, const char *path,
                                   struct base_error *error)
{
    int reason = db ? sqlite3_system_errno(db) : 0;
    if (reason == 0 && (result & 0xff) == SQLITE_IOERR) // SQLite does not always preserve errno
        reason = errno;
    switch (result == SQLITE_IOERR_NOMEM ? SQLITE_NOMEM : result & 0xff) {
    case SQLITE_NOMEM: return base_no_memory(error);
    case SQLITE_FULL:
        return base_fail(error, BASE_IO, "cannot %s %s: %s", doing, path, strerror(ENOSPC));
    case SQLITE_CONSTRAINT: return base_fail(error, BASE_CONFLICT, "%s", sqlite3_errmsg(db));
    case SQLITE_NOTADB: return base_fail(error, BASE_INVALID, "%s is not a profile", path);
    case SQLITE_CORRUPT: return base_fail(error, BASE_CORRUPT, "%s is damaged", path);
    case SQLITE_INTERRUPT: return base_fail(error, BASE_IO, "interrupted");
    default:
        return base_fail(error, BASE_IO, "cannot %s %s: %s", doing, path,
                         reason ? strerror(reason) : sqlite3_errstr(result));
    }
}

// SQLite treats some names specially, for instance ":memory:".
void profile_plain_path(struct base_buf *out, const char *path)
{
    base_buf_printf(out, "%s%s", path[0] == '/' ? "" : "./", path);
}
