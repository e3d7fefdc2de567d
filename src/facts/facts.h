// SPDX-License-Identifier: Apache-2.0
// Facts that several parts spell out, each written once: enumerations with their values and words
// (kinds.def), and fields that records of src/event share with rows of src/profile (fields.def).
// Each part generates its own types from these lists, with its own prefix:
//     enum event_direction { FACTS_DIRECTIONS(FACTS_VALUE, EVENT_) };
//     struct event_sync { FACTS_SYNC(EVENT_AS) };
#ifndef GLINT_FACTS_FACTS_H
#define GLINT_FACTS_FACTS_H

#include "fields.def"
#include "kinds.def"

// An enumerator, and an entry of an array of words that enumerators index.
#define FACTS_VALUE(prefix, name, value, ...) prefix##name = (value),
#define FACTS_WORD(prefix, name, value, word) [prefix##name] = (word),

// A term of the sum of all flags: 0 FACTS_PROBE_FACTS(FACTS_OR, EVENT_PROBE_).
#define FACTS_OR(prefix, name, ...) | (uint32_t)prefix##name

// A number that was not measured.
#define FACTS_UNKNOWN UINT64_MAX

#endif
