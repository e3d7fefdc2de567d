// SPDX-License-Identifier: Apache-2.0
// The tables of a job profile and the views, which are the interface: docs/reference/job.md
// describes them, and later versions only add to them.
#include "schema.h"

#define COLUMN(name, type, role) {#name, JOB_##type, JOB_##role},
#define KEYS(name, type, role)   +(JOB_##role == JOB_KEY)
#define X(NAME, name, columns)   static const struct job_column name##_columns[] = {columns(COLUMN)};
JOB_TABLES(X)
#undef X

enum { JOB_PROFILES_profile = JOB_PROFILES_number };

const struct job_table_info job_tables[JOB_TABLE_COUNT] = {
#define X(NAME, name, columns) \
    {#name, name##_columns, JOB_##NAME##_COUNT, 0 columns(KEYS), JOB_##NAME##_profile},
    JOB_TABLES(X)
#undef X
};

void job_put_table(struct base_buf *sql, const char *database, enum job_table table, bool keys)
{
    const struct job_table_info *info = &job_tables[table];
    const bool by_number = keys && info->keys == 1 && info->profile == 0 && table == JOB_PROFILES;
    base_buf_printf(sql, "CREATE TABLE %s.%s(", database, info->name);
    for (unsigned i = 0; i < info->count; i++)
        base_buf_printf(sql, "%s%s%s", i ? ", " : "", info->columns[i].name,
                        i == 0 && by_number ? " INTEGER PRIMARY KEY" : "");
    if (keys && !by_number) {
        for (unsigned i = 0; i < info->keys; i++)
            base_buf_printf(sql, "%s%s", i ? ", " : ", PRIMARY KEY(", info->columns[i].name);
        base_buf_puts(sql, ")) WITHOUT ROWID;");
    } else {
        base_buf_puts(sql, ");");
    }
}

// Texts of a column, and a call path.
#define TEXT_OF(column) "(SELECT text FROM strings WHERE id = " column ")"
#define PATH_OF(column) \
    "(SELECT text FROM strings WHERE id = (SELECT trace FROM paths WHERE id = " column "))"
#define RANK "(SELECT rank FROM profiles WHERE number = x.profile) AS rank"

// clang-format off
const char job_views[] =
    "CREATE VIEW v_profiles AS SELECT number, rank, ranks, local_rank, " TEXT_OF("host") " AS host, "
    TEXT_OF("job") " AS job, " TEXT_OF("launcher") " AS launcher, pid, start_unix_ns, clock_offset_ns, end_ns, "
    TEXT_OF("file") " AS file, " TEXT_OF("digest") " AS digest, " TEXT_OF("executable") " AS executable, "
    TEXT_OF("arguments") " AS arguments, " TEXT_OF("glint") " AS glint, schema_minor, complete, "
    TEXT_OF("ended") " AS ended, code, simulated, unsearched, calls, failed_calls, launches, objects, dropped,"
    " peak_bytes, achievable_bytes, run_ns, possible_ns, kernel_ns, waits, waited_ns, findings, worthwhile,"
    " all_waits, " TEXT_OF("recorded") " AS recorded, by_probes, by_arguments, unobserved, probes_ns, arguments_ns, unobserved_ns FROM profiles;"
    "CREATE VIEW v_devices AS SELECT profile, " RANK ", ordinal, " TEXT_OF("name") " AS name, "
    TEXT_OF("uuid") " AS uuid, major, minor, multiprocessors, memory_bytes FROM devices x;"
    "CREATE VIEW v_peaks AS SELECT profile, " RANK ", level, device, bytes, times FROM peaks x;"
    "CREATE VIEW v_kernels AS SELECT profile, " RANK ", " TEXT_OF("kernel") " AS kernel, launches, timed, gpu_ns,"
    " longest_ns FROM kernels x;"
    "CREATE VIEW v_objects AS SELECT profile, " RANK ", " TEXT_OF("name") " AS name, " TEXT_OF("kind") " AS kind, "
    PATH_OF("path") " AS call_path, count, bytes, largest_bytes, peak_count, peak_bytes, read_by, written_by"
    " FROM objects x;"
    "CREATE VIEW v_copies AS SELECT profile, " RANK ", " TEXT_OF("direction") " AS direction, count, bytes, timed,"
    " gpu_ns, longest_ns FROM copies x;"
    "CREATE VIEW v_sets AS SELECT profile, " RANK ", count, bytes, timed, gpu_ns, longest_ns FROM sets x;"
    "CREATE VIEW v_waits AS SELECT profile, " RANK ", " TEXT_OF("function") " AS called, "
    PATH_OF("path") " AS call_path, explicit, count, timed, waited_ns, longest_ns FROM waits x;"
    "CREATE VIEW v_collectives AS SELECT profile, " RANK ", " TEXT_OF("function") " AS name, "
    PATH_OF("path") " AS call_path, NULLIF(" TEXT_OF("type") ", '') AS type, NULLIF(communicator_ranks, 0) AS"
    " communicator_ranks, count, failed, sent_count, sent_bytes, received_count, received_bytes, host_ns, longest_ns"
    " FROM collectives x;"
    "CREATE VIEW v_nvtx_ranges AS SELECT profile, " RANK ", " TEXT_OF("name") " AS name, NULLIF(" TEXT_OF("domain")
    ", '') AS domain, count, timed, total_ns, longest_ns FROM ranges x;"
    "CREATE VIEW v_findings AS SELECT profile, " RANK ", " TEXT_OF("pattern") " AS pattern,"
    " printf('%016x:%d', identity, ordinal) AS identity, " TEXT_OF("place") " AS place, "
    PATH_OF("path") " AS call_path, " TEXT_OF("object") " AS object_name, " TEXT_OF("kernel") " AS kernel, "
    TEXT_OF("message") " AS message, " TEXT_OF("suggestion") " AS suggestion, count, worthwhile, only_together,"
    " unestimated, hard, bound, share_ppm, peak_bytes, traffic_bytes, gpu_ns, run_ns, waits, together_bytes,"
    " together_ns FROM findings x;"
    "CREATE VIEW v_notes AS SELECT profile, " RANK ", position, " TEXT_OF("severity") " AS severity, "
    TEXT_OF("x.text") " AS text FROM notes x;"
    "CREATE VIEW v_dropped AS SELECT profile, " RANK ", " TEXT_OF("kind") " AS kind, count FROM dropped x;"
    "CREATE VIEW v_settings AS SELECT profile, " RANK ", " TEXT_OF("name") " AS name, " TEXT_OF("value") " AS value"
    " FROM settings x;"
    "CREATE VIEW v_unmerged AS SELECT " TEXT_OF("file") " AS file, " TEXT_OF("reason") " AS reason FROM unmerged;";
// clang-format on
