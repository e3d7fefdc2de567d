// SPDX-License-Identifier: Apache-2.0
// One valid record of each kind that probes cause, for tests of the recorder.
#ifndef GLINT_TESTS_RECORD_PROBE_RECORDS_H
#define GLINT_TESTS_RECORD_PROBE_RECORDS_H

#include "event/event.h"

static const struct event_access good_access = {.call = 5,
                                                .object = 7,
                                                .node = 2,
                                                .flags = EVENT_ACCESS_READ,
                                                .read_bytes = 800,
                                                .written_bytes = 0,
                                                .elements = 100,
                                                .new_elements = 60,
                                                .shared_elements = 40,
                                                .element_bytes = 4};

static const struct event_access object_access = {.call = 6,
                                                  .object = 7,
                                                  .flags = EVENT_ACCESS_READ | EVENT_ACCESS_WRITTEN,
                                                  .read_bytes = EVENT_UNKNOWN,
                                                  .written_bytes = EVENT_UNKNOWN,
                                                  .elements = EVENT_UNKNOWN,
                                                  .new_elements = EVENT_UNKNOWN,
                                                  .shared_elements = EVENT_UNKNOWN};

static const struct event_told good_told = {
    .call = 5, .node = 2, .doubts = 1u << EVENT_DOUBT_LEFT | 1u << EVENT_DOUBT_TEXTURE};

static const struct event_counts good_counts = {.call = 5,
                                                .object = 7,
                                                .node = 2,
                                                .most = 3,
                                                .sum = 200,
                                                .squares_low = 500,
                                                .most_at = 9,
                                                .bins = {50, [3] = 50},
                                                .hottest = {{8, 8, 24}}};

static const struct event_contents good_contents = {.call = 5,
                                                    .object = 7,
                                                    .pieces = 2,
                                                    .bytes = 8000,
                                                    .fresh_pieces = 1,
                                                    .moved_bytes = 800,
                                                    .same_bytes = 400,
                                                    .known_pieces = 3,
                                                    .all_pieces = 3,
                                                    .hash_high = 1,
                                                    .hash_low = 2,
                                                    .node = 2,
                                                    .stride = 4,
                                                    .kind = EVENT_CONTENTS_WRITTEN,
                                                    .field_count = 1};

static const struct event_field good_field = {
    .elements = 2000,
    .zeros = 100,
    .least = 0xbff0000000000000,
    .greatest = 0x4000000000000000,
    .linear = 5,
    .distinct = 257,
    .type = EVENT_TYPE_F32,
    .candidates = {{0x3ff0000000000000, 1500}, {0, 100}},
    .roundings = {{0x3ff0000000000000, 1600, 6}},
};

static const struct event_requests good_requests = {.call = 5,
                                                    .object = 7,
                                                    .requests = 10,
                                                    .taken = 80,
                                                    .needed = 20,
                                                    .lines = 40,
                                                    .stride = -4096,
                                                    .node = 2,
                                                    .kernel = 3,
                                                    .site = 2,
                                                    .has_stride = 1};

static const char array_name[] = "_ZZ3addPfiE4tile"; // add(float*, int)::tile
static const struct event_array good_array = {.kernel = 3, .number = 2, .bytes = 64};
static const struct event_run good_runs[] = {{10, 32, 1}, {2, 0, 0}, {4, 7, 2}};
static const struct event_words good_words = {
    .call = 5, .blocks = 8, .node = 2, .kernel = 3, .array = 2, .bytes = 62};

static const struct event_ranges good_ranges = {.call = 5,
                                                .ranges = 40,
                                                .loads = 90,
                                                .again = 60,
                                                .own = 30,
                                                .drained = 20,
                                                .node = 2,
                                                .kernel = 3,
                                                .array = 2,
                                                .site = 4,
                                                .words = 14,
                                                .fills = 1};
static const struct event_lives good_lives = {.call = 5,
                                              .unstored = 7,
                                              .ranges = 50,
                                              .loads = 100,
                                              .again = 65,
                                              .own = 30,
                                              .drained = 20,
                                              .fills = 40,
                                              .fills_max = 4,
                                              .fill_loads = 90,
                                              .least_loads = 1,
                                              .least_fills = 2,
                                              .most_loads = 12,
                                              .most_fills = 4,
                                              .node = 2,
                                              .kernel = 3,
                                              .array = 2,
                                              .filled_words = 14};

static const struct event_block_reuse good_block_reuse = {.call = 5,
                                                          .object = 7,
                                                          .blocks = 100,
                                                          .loads = 4000,
                                                          .moved = 900,
                                                          .words = 640,
                                                          .most_words = 20,
                                                          .stores = 3,
                                                          .extent = 25,
                                                          .free_bytes = 8192,
                                                          .node = 2,
                                                          .kernel = 3,
                                                          .looked = 64,
                                                          .resident = 8,
                                                          .site = 1,
                                                          .flags = EVENT_REUSE_APART};

static const struct event_stored good_stored = {.call = 5,
                                                .object = 7,
                                                .stores = 640,
                                                .silent = 320,
                                                .still = 160,
                                                .node = 2,
                                                .kernel = 3,
                                                .site = 1,
                                                .bytes = 8};

static const struct event_weighed good_weighed = {.call = 5,
                                                  .object = 7,
                                                  .accesses = 100,
                                                  .value = 3,
                                                  .count = 60,
                                                  .node = 2,
                                                  .offset = 4,
                                                  .stride = 8,
                                                  .type = EVENT_TYPE_U32};

static const struct event_accessed good_accessed = {.call = 1,
                                                    .object = 7,
                                                    .any_bits = 0xf0,
                                                    .all_bits = 0x10,
                                                    .most = 0xf0,
                                                    .stride = 8,
                                                    .offset = 4,
                                                    .flags = EVENT_ACCESSED_INCOMPLETE,
                                                    .type = EVENT_TYPE_S32,
                                                    .way = EVENT_ACCESSED_WRITTEN};

static const struct event_map good_map = {
    .object = 7, .first = 16, .elements = 100, .element_bytes = 4, .kind = EVENT_MAP_SHARED};

static const struct event_probe good_probe = {
    .kernel = 3, .facts = EVENT_PROBE_OBJECTS | EVENT_PROBE_ONLY_MEMORY};

static const struct event_site good_site = {.kernel = 3,
                                            .number = 1,
                                            .index = 4,
                                            .ptx_line = 20,
                                            .bytes = 8,
                                            .line = 30,
                                            .column = 2,
                                            .at_line = 40,
                                            .at_column = 6,
                                            .access = 1,
                                            .generic = 1,
                                            .type_count = 2};
static const char site_texts[] = "_Z3addPfi\0st.v2.f32\0f32\0a.cu\0_Z5storef\0b.cu";

#endif
