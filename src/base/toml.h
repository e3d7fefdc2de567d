// SPDX-License-Identifier: Apache-2.0
// A strict reader of a part of TOML 1.0, for small files of settings that people write: tables,
// arrays of tables, and keys with strings, integers, booleans or arrays of strings. What is valid
// TOML beyond that (dotted keys, inline tables, dates, floating-point numbers, strings of several
// lines) is refused by name. What the keys mean is the caller's affair.
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
    unsigned *lines;      // where each of them stands
    size_t string_count;
};

struct base_toml_entry {
    const char *key;
    unsigned line; // from 1
    struct base_toml_value value;
    struct base_toml_entry *next;
};

// The file's beginning is a table without a name.
struct base_toml_table {
    const char *name;
    unsigned line;
    bool in_array; // [[name]]: others may have the name too
    struct base_toml_entry *entries;
    struct base_toml_table *next;
};

// Reads a text into tables, in the order of the file; all memory is the arena's. BASE_SYNTAX, with
// "line 7: ..."; BASE_NO_MEMORY.
enum base_code base_toml_read(struct base_str text, struct base_arena *arena,
                              struct base_toml_table **tables, struct base_error *error);

// "a string", "a number", ...
const char *base_toml_kind_words(enum base_toml_kind kind);

#endif
