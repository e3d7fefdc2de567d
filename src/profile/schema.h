// SPDX-License-Identifier: Apache-2.0
// The tables and views of a profile, for its writer and its reader. Internal.
#ifndef GLINT_PROFILE_SCHEMA_H
#define GLINT_PROFILE_SCHEMA_H

#include <sqlite3.h>

#include "profile.h"

enum { PROFILE_APPLICATION_ID = 0x676c6e74 }; // "glnt", by which file(1) recognizes a profile

// PRAGMA user_version of a profile.
enum { PROFILE_VERSION = PROFILE_MAJOR * 1000 + PROFILE_MINOR };

// The tables: X(NAME, name, verb, columns, since). All columns are integers; texts are numbers of
// rows of `strings`. Only `maps` holds bytes too, and write_maps.c writes its rows. With ONCE the
// first row of a number wins, with LAST the last. Files of a lower minor version than `since` lack
// the table, or it is empty.
#define PROFILE_ONCE "INSERT OR IGNORE"
#define PROFILE_LAST "INSERT OR REPLACE"
#define PROFILE_TABLES(X)                                           \
    X(PROGRAM, program, PROFILE_LAST, 11, 0)                        \
    X(PROGRAM_END, program_end, PROFILE_LAST, 4, 0)                 \
    X(ARGUMENTS, arguments, PROFILE_LAST, 2, 0)                     \
    X(IMAGES, images, PROFILE_LAST, 6, 0)                           \
    X(FUNCTIONS, functions, PROFILE_LAST, 3, 0)                     \
    X(THREADS, threads, PROFILE_LAST, 3, 0)                         \
    X(DEVICES, devices, PROFILE_LAST, 7, 0)                         \
    X(CONTEXTS, contexts, PROFILE_LAST, 2, 0)                       \
    X(STREAMS, streams, PROFILE_LAST, 5, 0)                         \
    X(MODULES, modules, PROFILE_LAST, 6, 0)                         \
    X(KERNELS, kernels, PROFILE_LAST, 7, 0)                         \
    X(FRAMES, frames, PROFILE_ONCE, 9, 0)                           \
    X(PATHS, paths, PROFILE_LAST, 3, 0)                             \
    X(PATH_FRAMES, path_frames, PROFILE_ONCE, 3, 0)                 \
    X(GRAPHS, graphs, PROFILE_LAST, 2, 0)                           \
    X(GRAPH_NODES, graph_nodes, PROFILE_ONCE, 20, 0)                \
    X(GRAPH_EDGES, graph_edges, PROFILE_ONCE, 3, 2)                 \
    X(SITES, sites, PROFILE_ONCE, 8, 0)                             \
    X(LAUNCHES, launches, PROFILE_ONCE, 10, 0)                      \
    X(CALLS, calls, PROFILE_ONCE, 7, 0)                             \
    X(GPU_TIMES, gpu_times, PROFILE_LAST, 4, 0)                     \
    X(NODE_TIMES, node_times, PROFILE_LAST, 4, 0)                   \
    X(COPIES, copies, PROFILE_ONCE, 14, 0)                          \
    X(SETS, sets, PROFILE_ONCE, 9, 0)                               \
    X(RANGES, ranges, PROFILE_ONCE, 4, 0)                           \
    X(SYNCS, syncs, PROFILE_ONCE, 4, 0)                             \
    X(OBJECTS, objects, PROFILE_ONCE, 13, 0)                        \
    X(OBJECT_ENDS, object_ends, PROFILE_LAST, 3, 0)                 \
    X(OBJECT_NAMES, object_names, PROFILE_LAST, 3, 0)               \
    X(NOTES, notes, PROFILE_ONCE, 3, 0)                             \
    X(DROPPED, dropped, PROFILE_LAST, 2, 0)                         \
    X(SETTINGS, settings, PROFILE_LAST, 2, 1)                       \
    X(PROBES, probes, PROFILE_LAST, 3, 1)                           \
    X(KERNEL_SITES, kernel_sites, PROFILE_LAST, 18, 1)              \
    X(ACCESS_SHAPES, access_shapes, PROFILE_ONCE, 8, 1)             \
    X(ACCESSES, accesses, PROFILE_LAST, 4, 1)                       \
    X(DISTRIBUTIONS, distributions, PROFILE_ONCE, 8, 1)             \
    X(DISTRIBUTION_BINS, distribution_bins, PROFILE_ONCE, 3, 1)     \
    X(DISTRIBUTION_RANGES, distribution_ranges, PROFILE_ONCE, 5, 1) \
    X(ACCESS_COUNTS, access_counts, PROFILE_LAST, 4, 1)             \
    X(MAPS, maps, PROFILE_LAST, 6, 1)                               \
    X(USES, uses, PROFILE_LAST, 12, 3)                              \
    X(COPY_HOSTS, copy_hosts, PROFILE_ONCE, 3, 4)                   \
    X(HASHES, hashes, PROFILE_ONCE, 6, 4)                           \
    X(COPY_SOURCES, copy_sources, PROFILE_ONCE, 4, 15)              \
    X(BLOCKS, blocks, PROFILE_ONCE, 6, 4)                           \
    X(BLOCK_ENDS, block_ends, PROFILE_ONCE, 4, 4)                   \
    X(CORRECTIONS, corrections, PROFILE_LAST, 9, 5)                 \
    X(STACKS, stacks, PROFILE_LAST, 2, 5)                           \
    X(PATH_CALLS, path_calls, PROFILE_LAST, 2, 6)                   \
    X(PATH_RESULTS, path_results, PROFILE_LAST, 2, 17)              \
    X(DOUBTS, doubts, PROFILE_ONCE, 3, 6)                           \
    X(CONTENTS, contents, PROFILE_ONCE, 16, 7)                      \
    X(CONTENT_FIELDS, content_fields, PROFILE_ONCE, 4, 7)           \
    X(VALUE_SHAPES, value_shapes, PROFILE_ONCE, 16, 7)              \
    X(VALUE_COUNTS, value_counts, PROFILE_ONCE, 4, 7)               \
    X(VALUE_ROUNDINGS, value_roundings, PROFILE_ONCE, 5, 7)         \
    X(STORES, stores, PROFILE_LAST, 9, 9)                           \
    X(WEIGHED, weighed, PROFILE_LAST, 9, 8)                         \
    X(ACCESSED, accessed, PROFILE_LAST, 11, 8)                      \
    X(REQUESTS, requests, PROFILE_LAST, 13, 11)                     \
    X(SHARED_ARRAYS, shared_arrays, PROFILE_LAST, 4, 12)            \
    X(SITE_ARRAYS, site_arrays, PROFILE_LAST, 3, 13)                \
    X(SHARED_WORDS, shared_words, PROFILE_LAST, 20, 12)             \
    X(SHARED_RUNS, shared_runs, PROFILE_ONCE, 5, 12)                \
    X(SHARED_RANGES, shared_ranges, PROFILE_LAST, 12, 13)           \
    X(SHARED_LIVES, shared_lives, PROFILE_LAST, 19, 13)             \
    X(BLOCK_REUSE, block_reuse, PROFILE_LAST, 16, 13)               \
    X(CACHE_LAUNCHES, cache_launches, PROFILE_LAST, 11, 14)         \
    X(CACHE, cache, PROFILE_LAST, 21, 14)                           \
    X(CACHE_REUSE, cache_reuse, PROFILE_LAST, 7, 14)                \
    X(CACHE_DISTANCES, cache_distances, PROFILE_ONCE, 3, 14)        \
    X(SOURCES, sources, PROFILE_LAST, 5, 15)                        \
    X(RANKS, ranks, PROFILE_LAST, 7, 18)                            \
    X(NVTX_RANGES, nvtx_ranges, PROFILE_ONCE, 6, 18)                \
    X(NVTX_RANGE_ENDS, nvtx_range_ends, PROFILE_ONCE, 3, 18)        \
    X(COLLECTIVES, collectives, PROFILE_LAST, 16, 18)

// Elements in one row of `maps`: 8 MiB of bits before they are compressed.
enum { PROFILE_MAP_ELEMENTS = 1 << 26 };

enum profile_table {
#define X(NAME, name, verb, columns, since) PROFILE_TABLE_##NAME,
    PROFILE_TABLES(X)
#undef X
        PROFILE_TABLE_COUNT
};

struct profile_table_info {
    const char *name, *verb;
    unsigned columns, since;
};

extern const struct profile_table_info profile_tables[PROFILE_TABLE_COUNT];

// The statements that create a profile, to be run in this order on an empty database that has the
// tables of words.
extern const char profile_schema[], profile_probes_schema[], profile_uses_schema[],
    profile_transfers_schema[], profile_corrections_schema[], profile_stacks_schema[],
    profile_sources_schema[], profile_doubts_schema[], profile_values_schema[],
    profile_requests_schema[], profile_shared_schema[], profile_lives_schema[],
    profile_reuse_schema[], profile_caches_schema[], profile_ranks_schema[], profile_nvtx_schema[],
    profile_collectives_schema[];

// The words of an enumeration, stored in a table(value, word) that the views join.
struct profile_words {
    const char *table;
    const char *const *words; // by value; NULL: no such value
    unsigned count;
};
extern const struct profile_words profile_words[];
enum { PROFILE_WORDS_TABLES = 18 };

// Fails with a readable message for the SQLite error that last occurred on db. The caller set errno
// to 0 before the call of SQLite.
enum base_code profile_sqlite_fail(sqlite3 *db, int result, const char *doing, const char *path,
                                   struct base_error *error);

// Adds a file name that SQLite does not mistake for a URI or an option, whatever it begins with.
void profile_plain_path(struct base_buf *out, const char *path);

#endif
