// SPDX-License-Identifier: Apache-2.0
// The tables and views of a profile, for its writer and its reader. Inner header.
#ifndef GLINT_PROFILE_SCHEMA_H
#define GLINT_PROFILE_SCHEMA_H

#include <sqlite3.h>

#include "profile.h"

enum { PROFILE_APPLICATION_ID = 0x676c6e74 }; // "glnt", by which file(1) can know a profile

// PRAGMA user_version of a profile.
enum { PROFILE_VERSION = PROFILE_MAJOR * 1000 + PROFILE_MINOR };

// Tables that are written row by row, all columns integers: X(NAME, name, verb, columns). Texts
// stand in them as numbers of rows of `strings`. Of those with ONCE the first row of a number
// holds, of the others the last.
#define PROFILE_ONCE "INSERT OR IGNORE"
#define PROFILE_LAST "INSERT OR REPLACE"
#define PROFILE_TABLES(X)                          \
    X(PROGRAM, program, PROFILE_LAST, 11)          \
    X(PROGRAM_END, program_end, PROFILE_LAST, 4)   \
    X(ARGUMENTS, arguments, PROFILE_LAST, 2)       \
    X(IMAGES, images, PROFILE_LAST, 6)             \
    X(FUNCTIONS, functions, PROFILE_LAST, 2)       \
    X(THREADS, threads, PROFILE_LAST, 3)           \
    X(DEVICES, devices, PROFILE_LAST, 7)           \
    X(CONTEXTS, contexts, PROFILE_LAST, 2)         \
    X(STREAMS, streams, PROFILE_LAST, 5)           \
    X(MODULES, modules, PROFILE_LAST, 6)           \
    X(KERNELS, kernels, PROFILE_LAST, 7)           \
    X(FRAMES, frames, PROFILE_ONCE, 7)             \
    X(PATHS, paths, PROFILE_LAST, 3)               \
    X(PATH_FRAMES, path_frames, PROFILE_ONCE, 3)   \
    X(GRAPHS, graphs, PROFILE_LAST, 2)             \
    X(GRAPH_NODES, graph_nodes, PROFILE_ONCE, 20)  \
    X(SITES, sites, PROFILE_ONCE, 8)               \
    X(LAUNCHES, launches, PROFILE_ONCE, 10)        \
    X(CALLS, calls, PROFILE_ONCE, 7)               \
    X(GPU_TIMES, gpu_times, PROFILE_LAST, 4)       \
    X(NODE_TIMES, node_times, PROFILE_LAST, 4)     \
    X(COPIES, copies, PROFILE_ONCE, 14)            \
    X(SETS, sets, PROFILE_ONCE, 9)                 \
    X(RANGES, ranges, PROFILE_ONCE, 4)             \
    X(SYNCS, syncs, PROFILE_ONCE, 4)               \
    X(OBJECTS, objects, PROFILE_ONCE, 13)          \
    X(OBJECT_ENDS, object_ends, PROFILE_LAST, 3)   \
    X(OBJECT_NAMES, object_names, PROFILE_LAST, 3) \
    X(NOTES, notes, PROFILE_ONCE, 3)               \
    X(DROPPED, dropped, PROFILE_LAST, 2)

enum profile_table {
#define X(NAME, name, verb, columns) PROFILE_TABLE_##NAME,
    PROFILE_TABLES(X)
#undef X
        PROFILE_TABLE_COUNT
};

struct profile_table_info {
    const char *name, *verb;
    unsigned columns;
};

extern const struct profile_table_info profile_tables[PROFILE_TABLE_COUNT];

// All of it, to be run on an empty database; the words' tables are filled afterwards.
extern const char profile_schema[];

// A small table of words by which views tell kinds: "CREATE TABLE name(value, word)".
struct profile_words {
    const char *table;
    const char *const *words; // by value; NULL: no such value
    unsigned count;
};
extern const struct profile_words profile_words[];
enum { PROFILE_WORDS_TABLES = 8 };

// Fails with what SQLite says of the last thing that failed on db, in words for people. errno was 0
// before that, or is what it left.
enum base_code profile_sqlite_fail(sqlite3 *db, int result, const char *doing, const char *path,
                                   struct base_error *error);

// A file name that SQLite takes for one, whatever it begins with.
void profile_plain_path(struct base_buf *out, const char *path);

#endif
