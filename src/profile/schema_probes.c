// SPDX-License-Identifier: Apache-2.0
// The schema of what probes measured, in SQL. The launches of a loop mostly do the same to the same
// objects. So what a launch did is stored once in `access_shapes`, how often it touched elements
// once in `distributions`, and the row of a launch and an object is four small numbers. -1 stands
// for an unknown number. `variation` is in units of 1e-12, since not every SQLite has sqrt().
#include "schema.h"

// Values of enumerations that the views contain.
_Static_assert(PROFILE_CALL_GRAPH_LAUNCH == 6 && PROFILE_CALL_CAPTURED == 4 &&
                   PROFILE_NODE_COPY == 2 && PROFILE_NODE_SET == 3,
               "files hold these numbers");

// clang-format off
const char profile_probes_schema[] =
    "CREATE TABLE probes(kernel INTEGER PRIMARY KEY, facts, reason);"
    "CREATE TABLE kernel_sites(kernel, number, function, opcode, type, type_count, bytes, access, generic,"
    " instruction, ptx_line, file, line, col, inlined, at_file, at_line, at_col,"
    " PRIMARY KEY(kernel, number)) WITHOUT ROWID;"
    "CREATE TABLE access_shapes(id INTEGER PRIMARY KEY, flags, read_bytes, written_bytes, elements, new, shared,"
    " element_bytes);"
    "CREATE TABLE accesses(call, node, object, shape, PRIMARY KEY(call, node, object)) WITHOUT ROWID;"
    "CREATE TABLE distributions(id INTEGER PRIMARY KEY, elements, sum, squares_low, squares_high, most, most_at,"
    " variation);"
    "CREATE TABLE distribution_bins(distribution, bin, elements, PRIMARY KEY(distribution, bin)) WITHOUT ROWID;"
    "CREATE TABLE distribution_ranges(distribution, rank, first, elements, sum,"
    " PRIMARY KEY(distribution, rank)) WITHOUT ROWID;"
    "CREATE TABLE access_counts(call, node, object, distribution,"
    " PRIMARY KEY(call, node, object)) WITHOUT ROWID;"
    // Zstandard frames, each of at most PROFILE_MAP_ELEMENTS elements from a multiple of that on.
    "CREATE TABLE maps(object, kind, first, element_bytes, elements, bits BLOB,"
    " PRIMARY KEY(object, kind, first)) WITHOUT ROWID;"

    "CREATE VIEW v_probes AS SELECT p.kernel, n.text AS name, p.facts & 1 AS objects, (p.facts >> 1) & 1 AS elements,"
    " (p.facts >> 2) & 1 AS counts, r.text AS reason, (p.facts >> 3) & 1 AS contents,"
    " (p.facts >> 5) & 1 AS only_memory FROM probes p LEFT JOIN kernels k ON k.number = p.kernel"
    " LEFT JOIN strings n ON n.id = k.name LEFT JOIN strings r ON r.id = p.reason;"

    "CREATE VIEW v_kernel_sites AS SELECT x.kernel, x.number, f.text AS function, o.text AS opcode, t.text AS type,"
    " NULLIF(x.bytes, 0) AS bytes, a.word AS access, s.text AS file, NULLIF(x.line, 0) AS line,"
    " NULLIF(x.col, 0) AS \"column\", i.text AS inlined_function, w.text AS at_file, NULLIF(x.at_line, 0) AS at_line,"
    " NULLIF(x.at_col, 0) AS at_column, x.type_count, x.generic, x.instruction, NULLIF(x.ptx_line, 0) AS ptx_line,"
    " y.text AS array"
    " FROM kernel_sites x LEFT JOIN strings f ON f.id = x.function LEFT JOIN strings o ON o.id = x.opcode"
    " LEFT JOIN strings t ON t.id = x.type LEFT JOIN site_accesses a ON a.value = x.access"
    " LEFT JOIN strings s ON s.id = x.file LEFT JOIN strings i ON i.id = x.inlined"
    " LEFT JOIN strings w ON w.id = x.at_file"
    " LEFT JOIN site_arrays z ON z.kernel = x.kernel AND z.site = x.number LEFT JOIN strings y ON y.id = z.name;"

    "CREATE VIEW v_accesses AS SELECT a.call, NULLIF(a.node, 0) AS node, a.object, s.flags & 1 AS read,"
    " (s.flags >> 1) & 1 AS written, NULLIF(s.elements, -1) * NULLIF(s.element_bytes, 0) AS bytes,"
    " NULLIF(s.elements, -1) AS elements, NULL AS ranges, NULLIF(s.read_bytes, -1) AS bytes_read,"
    " NULLIF(s.written_bytes, -1) AS bytes_written, NULLIF(s.element_bytes, 0) AS element_bytes,"
    " NULLIF(s.new, -1) AS new_elements, NULLIF(s.shared, -1) AS shared_elements,"
    " CASE (s.flags >> 3) & 3 WHEN 3 THEN 'sampled' WHEN 1 THEN 'arguments' ELSE 'probes' END AS known_by"
    " FROM accesses a LEFT JOIN access_shapes s ON s.id = a.shape WHERE a.call > 0;"

    // An object that is copied into itself has one row. Calls that failed, or only went into a graph, touched nothing.
    "CREATE VIEW v_touches AS SELECT a.call, a.node, a.object, CASE t.kind WHEN 0 THEN 'value' ELSE 'kernel' END AS kind,"
    " a.read, a.written, a.bytes_read, a.bytes_written, a.known_by"
    " FROM v_accesses a LEFT JOIN calls c ON c.number = a.call LEFT JOIN sites t ON t.id = c.site"
    " UNION ALL SELECT x.call, NULL, x.from_object, 'copy', 1, x.to_object = x.from_object, x.bytes,"
    " (x.to_object = x.from_object) * x.bytes, 'call' FROM copies x JOIN calls c ON c.number = x.call"
    " JOIN sites t ON t.id = c.site WHERE x.from_object AND c.result = 0 AND NOT t.flags & 4"
    " UNION ALL SELECT x.call, NULL, x.to_object, 'copy', 0, 1, 0, x.bytes, 'call' FROM copies x"
    " JOIN calls c ON c.number = x.call JOIN sites t ON t.id = c.site"
    " WHERE x.to_object AND x.to_object <> x.from_object AND c.result = 0 AND NOT t.flags & 4"
    " UNION ALL SELECT x.call, NULL, x.object, 'set', 0, 1, 0, x.bytes, 'call' FROM sets x"
    " JOIN calls c ON c.number = x.call JOIN sites t ON t.id = c.site"
    " WHERE x.object AND c.result = 0 AND NOT t.flags & 4"
    " UNION ALL SELECT c.number, x.node, x.object, 'copy', 1, x.to_object = x.object, x.bytes,"
    " (x.to_object = x.object) * x.bytes, 'call' FROM calls c JOIN sites t ON t.id = c.site"
    " JOIN graph_nodes x ON x.graph = c.detail"
    " WHERE t.kind = 6 AND x.kind = 2 AND x.object AND c.result = 0 AND NOT t.flags & 4"
    " UNION ALL SELECT c.number, x.node, x.to_object, 'copy', 0, 1, 0, x.bytes, 'call' FROM calls c"
    " JOIN sites t ON t.id = c.site JOIN graph_nodes x ON x.graph = c.detail"
    " WHERE t.kind = 6 AND x.kind = 2 AND x.to_object AND x.to_object <> x.object AND c.result = 0"
    " AND NOT t.flags & 4"
    " UNION ALL SELECT c.number, x.node, x.object, 'set', 0, 1, 0, x.bytes, 'call' FROM calls c"
    " JOIN sites t ON t.id = c.site JOIN graph_nodes x ON x.graph = c.detail"
    " WHERE t.kind = 6 AND x.kind = 3 AND x.object AND c.result = 0 AND NOT t.flags & 4;"

    "CREATE VIEW v_object_elements AS SELECT a.object, s.element_bytes,"
    " (o.address + o.bytes - 1) / s.element_bytes - o.address / s.element_bytes + 1 AS elements,"
    " CASE WHEN min(s.new) < 0 THEN NULL ELSE sum(s.new) END AS touched,"
    " CASE WHEN min(s.shared) < 0 THEN NULL ELSE sum(s.shared) END AS shared"
    " FROM accesses a JOIN access_shapes s ON s.id = a.shape LEFT JOIN objects o ON o.number = a.object"
    " WHERE s.element_bytes > 0 GROUP BY a.object, s.element_bytes;"

    "CREATE VIEW v_access_counts AS SELECT a.call, NULLIF(a.node, 0) AS node, a.object, d.elements, d.sum,"
    " d.sum * 1.0 / NULLIF(d.elements, 0) AS mean, d.variation / 1e12 AS variation, d.most AS maximum,"
    " d.most_at AS maximum_at FROM access_counts a LEFT JOIN distributions d ON d.id = a.distribution;"

    "CREATE VIEW v_access_bins AS SELECT a.call, NULLIF(a.node, 0) AS node, a.object, b.bin,"
    " CASE b.bin % 2 WHEN 0 THEN 1 << (b.bin / 2) ELSE ((3 << (b.bin / 2)) + 1) / 2 END AS least, b.elements"
    " FROM access_counts a JOIN distribution_bins b ON b.distribution = a.distribution;"

    "CREATE VIEW v_hot_ranges AS SELECT a.call, NULLIF(a.node, 0) AS node, a.object, r.rank, r.first, r.elements,"
    " r.sum FROM access_counts a JOIN distribution_ranges r ON r.distribution = a.distribution;"

    "CREATE VIEW v_maps AS SELECT m.object, k.word AS kind, m.element_bytes, m.elements, m.first, m.bits"
    " FROM maps m LEFT JOIN map_kinds k ON k.value = m.kind;";
// clang-format on
