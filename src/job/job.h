// SPDX-License-Identifier: Apache-2.0
// The job profile: sums over the profiles of many processes, in one SQLite file, which
// docs/reference/job.md describes. This header declares its tables and the writer, which merges.
// Reading is profile_open_job and profile_query. What the sums of a profile are is not decided
// here: src/report makes them.
//
// A job profile is a set of profiles. The writer puts rows into their canonical order, so equal
// sets give equal files, whatever the order and the grouping in which they were merged.
#ifndef GLINT_JOB_JOB_H
#define GLINT_JOB_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "profile/profile.h"

// What a column holds. In files, texts and call paths are numbers of rows of the tables `strings`
// and `paths`; 0 stands for no call path.
enum job_type { JOB_NUMBER, JOB_TEXT, JOB_PATH, JOB_PROFILE };
// How rows of one profile that have equal keys become one row. JOB_FIRST: they are equal.
enum job_role { JOB_KEY, JOB_SUM, JOB_MOST, JOB_FIRST };

// The tables: X(NAME, name, columns). Each column: C(name, type, role). Keys come first and are
// never NULL. All rows but those of `profiles` belong to the profile in their column `profile`.
#define JOB_PROFILE_COLUMNS(C)         \
    C(number, PROFILE, KEY)            \
    C(rank, NUMBER, FIRST)             \
    C(ranks, NUMBER, FIRST)            \
    C(local_rank, NUMBER, FIRST)       \
    C(host, TEXT, FIRST)               \
    C(job, TEXT, FIRST)                \
    C(launcher, TEXT, FIRST)           \
    C(pid, NUMBER, FIRST)              \
    C(start_unix_ns, NUMBER, FIRST)    \
    C(clock_offset_ns, NUMBER, FIRST)  \
    C(end_ns, NUMBER, FIRST)           \
    C(file, TEXT, FIRST)               \
    C(digest, TEXT, FIRST)             \
    C(executable, TEXT, FIRST)         \
    C(arguments, TEXT, FIRST)          \
    C(glint, TEXT, FIRST)              \
    C(schema_minor, NUMBER, FIRST)     \
    C(complete, NUMBER, FIRST)         \
    C(ended, TEXT, FIRST)              \
    C(code, NUMBER, FIRST)             \
    C(simulated, NUMBER, FIRST)        \
    C(unsearched, NUMBER, FIRST)       \
    C(calls, NUMBER, FIRST)            \
    C(failed_calls, NUMBER, FIRST)     \
    C(launches, NUMBER, FIRST)         \
    C(objects, NUMBER, FIRST)          \
    C(dropped, NUMBER, FIRST)          \
    C(peak_bytes, NUMBER, FIRST)       \
    C(achievable_bytes, NUMBER, FIRST) \
    C(run_ns, NUMBER, FIRST)           \
    C(possible_ns, NUMBER, FIRST)      \
    C(kernel_ns, NUMBER, FIRST)        \
    C(waits, NUMBER, FIRST)            \
    C(waited_ns, NUMBER, FIRST)        \
    C(findings, NUMBER, FIRST)         \
    C(worthwhile, NUMBER, FIRST)       \
    C(all_waits, NUMBER, FIRST)        \
    C(recorded, TEXT, FIRST)           \
    C(by_probes, NUMBER, FIRST)        \
    C(by_arguments, NUMBER, FIRST)     \
    C(unobserved, NUMBER, FIRST)       \
    C(probes_ns, NUMBER, FIRST)        \
    C(arguments_ns, NUMBER, FIRST)     \
    C(unobserved_ns, NUMBER, FIRST)

#define JOB_DEVICE_COLUMNS(C)         \
    C(profile, PROFILE, KEY)          \
    C(ordinal, NUMBER, KEY)           \
    C(name, TEXT, FIRST)              \
    C(uuid, TEXT, FIRST)              \
    C(major, NUMBER, FIRST)           \
    C(minor, NUMBER, FIRST)           \
    C(multiprocessors, NUMBER, FIRST) \
    C(memory_bytes, NUMBER, FIRST)

#define JOB_PEAK_COLUMNS(C)  \
    C(profile, PROFILE, KEY) \
    C(level, NUMBER, KEY)    \
    C(device, NUMBER, FIRST) \
    C(bytes, NUMBER, FIRST)  \
    C(times, NUMBER, FIRST)

#define JOB_KERNEL_COLUMNS(C) \
    C(kernel, TEXT, KEY)      \
    C(profile, PROFILE, KEY)  \
    C(launches, NUMBER, SUM)  \
    C(timed, NUMBER, SUM)     \
    C(gpu_ns, NUMBER, SUM)    \
    C(longest_ns, NUMBER, MOST)

#define JOB_OBJECT_COLUMNS(C)      \
    C(path, PATH, KEY)             \
    C(name, TEXT, KEY)             \
    C(kind, TEXT, KEY)             \
    C(profile, PROFILE, KEY)       \
    C(count, NUMBER, SUM)          \
    C(bytes, NUMBER, SUM)          \
    C(largest_bytes, NUMBER, MOST) \
    C(peak_count, NUMBER, SUM)     \
    C(peak_bytes, NUMBER, SUM)     \
    C(read_by, NUMBER, SUM)        \
    C(written_by, NUMBER, SUM)

// Of copies by direction, and of memory that is set.
#define JOB_COPY_COLUMNS(C)  \
    C(direction, TEXT, KEY)  \
    C(profile, PROFILE, KEY) \
    C(count, NUMBER, SUM)    \
    C(bytes, NUMBER, SUM)    \
    C(timed, NUMBER, SUM)    \
    C(gpu_ns, NUMBER, SUM)   \
    C(longest_ns, NUMBER, MOST)
#define JOB_SET_COLUMNS(C)   \
    C(profile, PROFILE, KEY) \
    C(count, NUMBER, SUM)    \
    C(bytes, NUMBER, SUM)    \
    C(timed, NUMBER, SUM)    \
    C(gpu_ns, NUMBER, SUM)   \
    C(longest_ns, NUMBER, MOST)

#define JOB_WAIT_COLUMNS(C)   \
    C(path, PATH, KEY)        \
    C(function, TEXT, KEY)    \
    C(explicit, NUMBER, KEY)  \
    C(profile, PROFILE, KEY)  \
    C(count, NUMBER, SUM)     \
    C(timed, NUMBER, SUM)     \
    C(waited_ns, NUMBER, SUM) \
    C(longest_ns, NUMBER, MOST)

// Calls of collectives by the type of the elements and the size of the communicator, 0 if it is not
// known. sent_count: those of which it is known how many bytes are sent.
#define JOB_COLLECTIVE_COLUMNS(C)      \
    C(path, PATH, KEY)                 \
    C(function, TEXT, KEY)             \
    C(type, TEXT, KEY)                 \
    C(communicator_ranks, NUMBER, KEY) \
    C(profile, PROFILE, KEY)           \
    C(count, NUMBER, SUM)              \
    C(failed, NUMBER, SUM)             \
    C(sent_count, NUMBER, SUM)         \
    C(sent_bytes, NUMBER, SUM)         \
    C(received_count, NUMBER, SUM)     \
    C(received_bytes, NUMBER, SUM)     \
    C(host_ns, NUMBER, SUM)            \
    C(longest_ns, NUMBER, MOST)

// Ranges of NVTX by domain, "" for the default one, and name: of each profile those that take most
// time, and all others as one.
#define JOB_OTHER_RANGES "(other ranges)"
#define JOB_RANGE_COLUMNS(C) \
    C(domain, TEXT, KEY)     \
    C(name, TEXT, KEY)       \
    C(profile, PROFILE, KEY) \
    C(count, NUMBER, SUM)    \
    C(timed, NUMBER, SUM)    \
    C(total_ns, NUMBER, SUM) \
    C(longest_ns, NUMBER, MOST)

#define JOB_FINDING_COLUMNS(C)       \
    C(pattern, TEXT, KEY)            \
    C(identity, NUMBER, KEY)         \
    C(ordinal, NUMBER, KEY)          \
    C(profile, PROFILE, KEY)         \
    C(path, PATH, FIRST)             \
    C(place, TEXT, FIRST)            \
    C(file, TEXT, FIRST)             \
    C(line, NUMBER, FIRST)           \
    C(object, TEXT, FIRST)           \
    C(kernel, TEXT, FIRST)           \
    C(message, TEXT, FIRST)          \
    C(suggestion, TEXT, FIRST)       \
    C(brief, TEXT, FIRST)            \
    C(remedy, TEXT, FIRST)           \
    C(count, NUMBER, FIRST)          \
    C(worthwhile, NUMBER, FIRST)     \
    C(only_together, NUMBER, FIRST)  \
    C(unestimated, NUMBER, FIRST)    \
    C(hard, NUMBER, FIRST)           \
    C(bound, NUMBER, FIRST)          \
    C(share_ppm, NUMBER, FIRST)      \
    C(peak_bytes, NUMBER, FIRST)     \
    C(traffic_bytes, NUMBER, FIRST)  \
    C(gpu_ns, NUMBER, FIRST)         \
    C(run_ns, NUMBER, FIRST)         \
    C(waits, NUMBER, FIRST)          \
    C(together_bytes, NUMBER, FIRST) \
    C(together_ns, NUMBER, FIRST)

#define JOB_NOTE_COLUMNS(C)  \
    C(profile, PROFILE, KEY) \
    C(position, NUMBER, KEY) \
    C(severity, TEXT, FIRST) \
    C(text, TEXT, FIRST)
#define JOB_DROPPED_COLUMNS(C) \
    C(profile, PROFILE, KEY)   \
    C(kind, TEXT, KEY)         \
    C(count, NUMBER, SUM)
#define JOB_SETTING_COLUMNS(C) \
    C(profile, PROFILE, KEY)   \
    C(name, TEXT, KEY)         \
    C(value, TEXT, FIRST)

#define JOB_TABLES(X)                                   \
    X(PROFILES, profiles, JOB_PROFILE_COLUMNS)          \
    X(DEVICES, devices, JOB_DEVICE_COLUMNS)             \
    X(PEAKS, peaks, JOB_PEAK_COLUMNS)                   \
    X(KERNELS, kernels, JOB_KERNEL_COLUMNS)             \
    X(OBJECTS, objects, JOB_OBJECT_COLUMNS)             \
    X(COPIES, copies, JOB_COPY_COLUMNS)                 \
    X(SETS, sets, JOB_SET_COLUMNS)                      \
    X(WAITS, waits, JOB_WAIT_COLUMNS)                   \
    X(COLLECTIVES, collectives, JOB_COLLECTIVE_COLUMNS) \
    X(RANGES, ranges, JOB_RANGE_COLUMNS)                \
    X(FINDINGS, findings, JOB_FINDING_COLUMNS)          \
    X(NOTES, notes, JOB_NOTE_COLUMNS)                   \
    X(DROPPED, dropped, JOB_DROPPED_COLUMNS)            \
    X(SETTINGS, settings, JOB_SETTING_COLUMNS)

enum job_table {
#define X(NAME, name, columns) JOB_##NAME,
    JOB_TABLES(X)
#undef X
        JOB_TABLE_COUNT
};

// The columns of each table: JOB_KERNELS_launches and so on.
#define X(NAME, name, columns)                   enum { columns(JOB_##NAME##_COLUMN) JOB_##NAME##_COUNT };
#define JOB_PROFILES_COLUMN(name, type, role)    JOB_PROFILES_##name,
#define JOB_DEVICES_COLUMN(name, type, role)     JOB_DEVICES_##name,
#define JOB_PEAKS_COLUMN(name, type, role)       JOB_PEAKS_##name,
#define JOB_KERNELS_COLUMN(name, type, role)     JOB_KERNELS_##name,
#define JOB_OBJECTS_COLUMN(name, type, role)     JOB_OBJECTS_##name,
#define JOB_COPIES_COLUMN(name, type, role)      JOB_COPIES_##name,
#define JOB_SETS_COLUMN(name, type, role)        JOB_SETS_##name,
#define JOB_WAITS_COLUMN(name, type, role)       JOB_WAITS_##name,
#define JOB_COLLECTIVES_COLUMN(name, type, role) JOB_COLLECTIVES_##name,
#define JOB_RANGES_COLUMN(name, type, role)      JOB_RANGES_##name,
#define JOB_FINDINGS_COLUMN(name, type, role)    JOB_FINDINGS_##name,
#define JOB_NOTES_COLUMN(name, type, role)       JOB_NOTES_##name,
#define JOB_DROPPED_COLUMN(name, type, role)     JOB_DROPPED_##name,
#define JOB_SETTINGS_COLUMN(name, type, role)    JOB_SETTINGS_##name,
JOB_TABLES(X)
#undef X
enum { JOB_MOST_COLUMNS = JOB_PROFILES_COUNT };

// --- The rows of one profile ---------------------------------------------------------------------

struct job_place {               // a call path; texts may be NULL
    const char *trace;           // "solve 2mm.cu:31 < main 2mm.cu:60"
    const char *function, *file; // of the frame that the user looks for
    uint32_t line;
};

struct job_cell {
    bool known; // not NULL
    int64_t number;
    const char *text;
    const struct job_place *place; // NULL: none
};

static inline struct job_cell job_number(uint64_t number)
{
    return (struct job_cell){.known = true, .number = (int64_t)number};
}
static inline struct job_cell job_text(const char *text)
{
    return (struct job_cell){.known = text != NULL, .text = text};
}
static inline struct job_cell job_path(const struct job_place *place)
{
    return (struct job_cell){.known = true, .place = place};
}

// Collects the rows of a profile.
struct job_part;
struct job_part *job_part_create(void); // NULL when memory ran out
void job_part_destroy(struct job_part *part);
// Copies a place and its texts. Returns NULL when memory ran out.
const struct job_place *job_part_keep(struct job_part *part, const struct job_place *place);
// Adds a row, whose cells are in the order of the columns. Texts are copied, places are the part's.
// Unknown texts in keys count as "". Returns false when memory ran out.
bool job_part_put(struct job_part *part, enum job_table table, const struct job_cell *cells);

// --- Merging -------------------------------------------------------------------------------------

struct job_writer;

// Creates a writer, which keeps what it is given in a temporary file.
enum base_code job_create(struct job_writer **writer, struct base_error *error);
void job_destroy(struct job_writer *writer);

// Adds a profile that is in the file `file`, of which the job keeps the name without folders. The
// profile of the same process with the same contents counts once. Fails with BASE_CONFLICT if the
// job has another profile of the process; it is unchanged then.
enum base_code job_add_part(struct job_writer *writer, struct job_part *part, const char *file,
                            struct base_error *error);
// Adds the profiles of a job profile. Fails as job_add_part; the writer is of no use then.
enum base_code job_add_job(struct job_writer *writer, struct profile *job,
                           struct base_error *error);
// Notes that a file could not be merged.
enum base_code job_add_unmerged(struct job_writer *writer, const char *file, const char *reason,
                                struct base_error *error);
// Returns how many profiles there are.
uint64_t job_count(const struct job_writer *writer);

// Writes the job profile to a new file, or replaces one, and syncs it. The writer is of no use
// afterwards.
enum base_code job_write(struct job_writer *writer, const char *path, struct base_error *error);

#endif
