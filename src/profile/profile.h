// SPDX-License-Identifier: Apache-2.0
// The profile: what one process did with CUDA, in one SQLite file, which docs/reference/profile.md
// describes. This header declares its reader; rows.h and measured.h its rows, and writing.h its
// writer. Nothing here depends on how the rows were obtained.
//
// Numbers (of calls, objects, streams, ...) start at 1; 0 means none. Times are nanoseconds since
// recording began. The writer copies the texts it is given; NULL means no text. The values of the
// enumerations are written into files, so values are only ever added. A reader that finds a value
// it does not know returns OTHER, NONE or UNKNOWN for it.
//
// Enumerations and fields that records of src/event have too come from src/facts, which explains
// them.
#ifndef GLINT_PROFILE_PROFILE_H
#define GLINT_PROFILE_PROFILE_H

#include "writing.h"

// A reader accepts every file of its major version.
enum { PROFILE_MAJOR = 1, PROFILE_MINOR = 18 };

// --- Words ---------------------------------------------------------------------------------------

// Return the word of a value, as the views and JSON have it: "graph-launch". "?" if the value is
// not one of the enumeration.
const char *profile_call_kind_word(enum profile_call_kind kind);
const char *profile_object_kind_word(enum profile_object_kind kind);
const char *profile_node_kind_word(enum profile_node_kind kind);
const char *profile_doubt_word(enum profile_doubt_kind kind);
const char *profile_memory_word(enum profile_memory memory);
const char *profile_direction_word(enum profile_direction direction);
const char *profile_severity_word(enum profile_severity severity);
const char *profile_name_source_word(enum profile_name_source source);
const char *profile_ending_word(enum profile_ending ending);
const char *profile_site_access_word(enum profile_site_access access);
const char *profile_map_kind_word(enum profile_map_kind kind);
const char *profile_use_kind_word(enum profile_use_kind kind);
const char *profile_host_word(enum profile_host host);
const char *profile_remedy_word(enum profile_remedy remedy);
const char *profile_value_type_word(enum profile_value_type type);
const char *profile_contents_kind_word(enum profile_contents_kind kind);

// --- Reading -------------------------------------------------------------------------------------

// An open profile, used by one thread. It shows the file as it was when it was opened, also while a
// recorder is writing it.
struct profile;

// Opens a profile. Returns BASE_NOT_FOUND if there is no such file, BASE_INVALID if it is not a
// profile, BASE_UNSUPPORTED if its major version is newer, BASE_CORRUPT if it is damaged, BASE_IO
// if the system refused. The caller closes it with profile_close.
enum base_code profile_open(const char *path, struct profile **profile, struct base_error *error);
void profile_close(struct profile *profile);

// A job profile is another kind of file: sums over the profiles of many processes (src/job). Its
// application_id and user_version distinguish it from a profile.
enum { PROFILE_JOB_APPLICATION_ID = 0x676c6a62 }; // "gljb"
enum { PROFILE_JOB_MAJOR = 1, PROFILE_JOB_MINOR = 0 };
// Returns whether the file is a job profile; false if it cannot be read.
bool profile_is_job(const char *path);
// Opens a job profile, for profile_query alone. Fails as profile_open does.
enum base_code profile_open_job(const char *path, struct profile **profile,
                                struct base_error *error);

// Call `each` for every row, in the order of their numbers; calls have their details and GPU times.
// The callback returns false to stop. The row is valid until the callback returns, its texts until
// profile_close. Return BASE_CORRUPT if damage shows only now.
#define PROFILE_EACH(what, row)                                                                   \
    enum base_code profile_each_##what(struct profile *profile,                                   \
                                       bool (*each)(void *user, const struct profile_##row *row), \
                                       void *user, struct base_error *error)
PROFILE_EACH(image, image);
PROFILE_EACH(function, function);
PROFILE_EACH(thread, thread);
PROFILE_EACH(device, device);
PROFILE_EACH(context, context);
PROFILE_EACH(stream, stream);
PROFILE_EACH(module, module);
PROFILE_EACH(kernel, kernel);
PROFILE_EACH(path, path);
PROFILE_EACH(source, source); // in the order of their numbers
PROFILE_EACH(graph, graph);
PROFILE_EACH(edge, edge); // in the order of graphs, then of the nodes that they lead to
PROFILE_EACH(call, call);
PROFILE_EACH(node_time, time); // of the nodes of graph launches
PROFILE_EACH(object, object);
PROFILE_EACH(nvtx_range, nvtx_range); // in the order of their numbers
PROFILE_EACH(nvtx_sum, nvtx_sum);     // the longest in all first, then the most frequent
PROFILE_EACH(note, note);
PROFILE_EACH(dropped, dropped);
PROFILE_EACH(setting, setting);
PROFILE_EACH(probe, probe);
PROFILE_EACH(kernel_site, kernel_site);
PROFILE_EACH(access, access); // in the order of calls, then nodes, then objects; likewise counts
PROFILE_EACH(counts, counts);
PROFILE_EACH(map, map); // in the order of objects; the bits are valid until the callback returns
PROFILE_EACH(contents, contents); // in the order of calls, then nodes, then as they were added
PROFILE_EACH(stored, stored);     // in the order of calls, then nodes, sites and objects
PROFILE_EACH(weighed, weighed);   // in the order of calls, then nodes, objects and offsets
PROFILE_EACH(requests, requests); // in the order of calls, then nodes and sites
PROFILE_EACH(shared_array, shared_array);
PROFILE_EACH(site_array, site_array);
PROFILE_EACH(shared_words, shared_words);   // in the order of calls, then nodes, arrays and words;
                                            // the runs are valid until the callback returns
PROFILE_EACH(shared_ranges, shared_ranges); // in the order of calls, then nodes, arrays and sites
PROFILE_EACH(shared_lives, shared_lives);   // in the order of calls, then nodes and arrays
PROFILE_EACH(block_reuse, block_reuse);     // in the order of calls, then nodes and objects
PROFILE_EACH(cache_launch, cache_launch);   // in the order of calls, then nodes
PROFILE_EACH(cache, cache);                 // in the order of calls, then nodes, objects and sites
PROFILE_EACH(cache_reuse, cache_reuse);     // in the order of calls, then nodes, objects and levels
PROFILE_EACH(accessed, accessed);           // in the order of calls, then nodes and objects
PROFILE_EACH(doubt, doubt);                 // in the order of calls, then nodes
PROFILE_EACH(use, use);   // in the order of copies, then nodes, objects and synchronizations
PROFILE_EACH(hash, hash); // in the order of copies
PROFILE_EACH(copy_source, copy_source); // the same
PROFILE_EACH(block, block);
PROFILE_EACH(block_end, block_end);   // of those that were freed
PROFILE_EACH(collective, collective); // in the order of calls
PROFILE_EACH(correction, correction);
PROFILE_EACH(stack, stack);

// An iterator over the same accesses, to read them in step with something else. The row that
// profile_accesses_next returns is valid until its next call. It returns NULL at the end and on
// failure; profile_accesses_end frees the iterator and returns the failure. Both accept NULL.
struct profile_accesses;
enum base_code profile_accesses_begin(struct profile *profile, struct profile_accesses **accesses,
                                      struct base_error *error);
const struct profile_access *profile_accesses_next(struct profile_accesses *accesses);
enum base_code profile_accesses_end(struct profile_accesses *accesses, struct base_error *error);

const struct profile_meta *profile_meta(const struct profile *profile);
const struct profile_program *profile_program(const struct profile *profile);

// --- Queries -------------------------------------------------------------------------------------

enum profile_cell_kind {
    PROFILE_CELL_NULL,
    PROFILE_CELL_INTEGER,
    PROFILE_CELL_REAL,
    PROFILE_CELL_TEXT,
    PROFILE_CELL_BLOB,
};

struct profile_cell {
    enum profile_cell_kind kind;
    int64_t integer;
    double real;
    struct base_str bytes; // of text and blobs; valid until the callback returns
};

// Receives the result of a query: once the names of its columns, then each row. A callback returns
// false to stop the query.
struct profile_sink {
    bool (*columns)(void *user, unsigned count, const char *const *names);
    bool (*row)(void *user, unsigned count, const struct profile_cell *cells);
    void *user;
};

// Runs one SQL statement. Returns BASE_INVALID, without running it, if it is not valid SQL or does
// more than read. Returns BASE_OK if the sink stopped it.
enum base_code profile_query(struct profile *profile, const char *sql,
                             const struct profile_sink *sink, struct base_error *error);

// Rows in memory that queries can read as a table.
struct profile_rows {
    const char *name;
    const char *declaration; // CREATE TABLE NAME(COLUMN, ...)
    unsigned column_count;
    size_t row_count;
    const struct profile_cell *cells; // row by row; integers, reals, texts and NULL
};
// Lets queries read the table, which must live until the profile is closed.
enum base_code profile_offer_rows(struct profile *profile, const struct profile_rows *table,
                                  struct base_error *error);

// Makes the query that runs on the profile fail with BASE_IO. May be called by any thread and by
// signal handlers.
void profile_interrupt(struct profile *profile);

#endif
