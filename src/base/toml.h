// SPDX-License-Identifier: Apache-2.0
// A strict reader of a subset of TOML 1.0, for small files of settings that people write: tables,
// arrays of tables, and keys with strings, integers, booleans or arrays of strings. Errors name the
// TOML features that it does not support: dotted keys, inline tables, dates, floating-point numbers
// and strings of several lines. The caller interprets the keys.
#ifndef GLINT_BASE_TOML_H
#define GLINT_BASE_TOML_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "error.h"
#include "str.h"

enum base_toml_kind { BASE_TOML_STRING, BASE_TOML_INTEGER, BASE_TOML_BOOLEAN, BASE_TOML_STRINGS };

struct base_toml_value {
    enum base_toml_kind kind;
    const char *string;
    int64_t integer;
    bool boolean;
    const char **strings; // of an array
    unsigned *lines;      // the line of each
    size_t string_count;
};

struct base_toml_entry {
    const char *key;
    unsigned line; // from 1
    struct base_toml_value value;
    struct base_toml_entry *next;
};

// The entries before the first heading form a table with an empty name.
struct base_toml_table {
    const char *name;
    unsigned line;
    bool in_array; // [[name]]: other tables may have the same name
    struct base_toml_entry *entries;
    struct base_toml_table *next;
};

// Parses a text into tables, in the order of the file, allocated in the arena. Returns BASE_SYNTAX
// with "line 7: ...", or BASE_NO_MEMORY.
enum base_code base_toml_read(struct base_str text, struct base_arena *arena,
                              struct base_toml_table **tables, struct base_error *error);

// Returns "a string", "a number", ...
const char *base_toml_kind_words(enum base_toml_kind kind);

#endif
