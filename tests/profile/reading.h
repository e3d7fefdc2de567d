// SPDX-License-Identifier: Apache-2.0
// Reads a complete profile, whatever it contains, for tests of damaged files.
#ifndef GLINT_TESTS_PROFILE_READING_H
#define GLINT_TESTS_PROFILE_READING_H

#include <string.h>

#include "profile/profile.h"

// Reads every byte of the text, so that a sanitizer checks it.
static inline size_t reading_text(const char *text)
{
    return text ? strlen(text) : 0;
}

#define READING(row, look)                                                       \
    static inline bool reading_##row(void *user, const struct profile_##row *at) \
    {                                                                            \
        *(size_t *)user += (look);                                               \
        return true;                                                             \
    }
READING(image, reading_text(at->path) + reading_text(at->build_id))
READING(function, reading_text(at->name))
READING(thread, reading_text(at->name))
READING(device, reading_text(at->name) + reading_text(at->uuid))
READING(context, at->device)
READING(stream, at->flags)
READING(module, reading_text(at->name))
READING(kernel, reading_text(at->name) + reading_text(at->mangled))
READING(path, at->frame_count ? reading_text(at->frames[at->frame_count - 1].function) : 0)
READING(graph, at->node_count ? (size_t)at->nodes[at->node_count - 1].kind : 0)
READING(edge, at->to)
READING(call,
        strlen(profile_call_kind_word(at->kind)) +
            (at->kind == PROFILE_CALL_COPY ? strlen(profile_memory_word(at->copy.from_memory)) : 0))
READING(time, at->node)
READING(object, reading_text(at->name) + strlen(profile_object_kind_word(at->kind)))
READING(note, reading_text(at->text) + strlen(profile_severity_word(at->severity)))
READING(dropped, reading_text(at->kind))

READING(setting, reading_text(at->name) + reading_text(at->value))
READING(probe, reading_text(at->reason))
READING(kernel_site, reading_text(at->function) + reading_text(at->inlined_function) +
                         strlen(profile_site_access_word(at->access)))
READING(access, at->element_bytes)
READING(counts, (size_t)profile_counts_variation(at) + (size_t)at->hottest[0].sum)
READING(map,
        (at->bit_bytes ? at->bits[at->bit_bytes - 1] : 0) + strlen(profile_map_kind_word(at->kind)))
READING(use, at->offset + strlen(profile_use_kind_word(at->kind)))
READING(hash, at->low + at->same)
READING(block, at->bytes + strlen(profile_host_word(at->kind)))
READING(block_end, (size_t)at->freed_ns + at->freed_path)
READING(correction, at->applied + strlen(profile_remedy_word(at->remedy)))
READING(contents, at->bytes + at->field_count +
                      (at->field_count ? at->fields[at->field_count - 1].roundings[0].count : 0) +
                      strlen(profile_contents_kind_word(at->kind)))
READING(stored, at->silent + at->still)
READING(accessed, at->any_bits + at->way)
READING(stack, reading_text(at->addresses))

static inline bool reading_columns(void *user, unsigned count, const char *const *names)
{
    for (unsigned i = 0; i < count; i++)
        *(size_t *)user += strlen(names[i]);
    return true;
}

static inline bool reading_row(void *user, unsigned count, const struct profile_cell *cells)
{
    for (unsigned i = 0; i < count; i++) {
        if (cells[i].bytes.length)
            *(size_t *)user += (unsigned char)cells[i].bytes.text[cells[i].bytes.length - 1];
    }
    return true;
}

// Returns the first error of opening the profile or reading all of it.
static inline enum base_code reading_all(const char *path, struct base_error *error)
{
    struct profile *profile;
    size_t sum = 0;
    enum base_code code = profile_open(path, &profile, error);
    if (code != BASE_OK)
        return code;
#define READING_EACH(what, row)                                                         \
    do {                                                                                \
        enum base_code each = profile_each_##what(profile, reading_##row, &sum, error); \
        code = code == BASE_OK ? each : code;                                           \
    } while (0)
    READING_EACH(image, image);
    READING_EACH(function, function);
    READING_EACH(thread, thread);
    READING_EACH(device, device);
    READING_EACH(context, context);
    READING_EACH(stream, stream);
    READING_EACH(module, module);
    READING_EACH(kernel, kernel);
    READING_EACH(path, path);
    READING_EACH(graph, graph);
    READING_EACH(edge, edge);
    READING_EACH(call, call);
    READING_EACH(node_time, time);
    READING_EACH(object, object);
    READING_EACH(note, note);
    READING_EACH(dropped, dropped);
    READING_EACH(setting, setting);
    READING_EACH(probe, probe);
    READING_EACH(kernel_site, kernel_site);
    READING_EACH(access, access);
    READING_EACH(counts, counts);
    READING_EACH(map, map);
    READING_EACH(use, use);
    READING_EACH(hash, hash);
    READING_EACH(block, block);
    READING_EACH(block_end, block_end);
    READING_EACH(correction, correction);
    READING_EACH(contents, contents);
    READING_EACH(stored, stored);
    READING_EACH(accessed, accessed);
    READING_EACH(stack, stack);
    sum += reading_text(profile_meta(profile)->glint);
    for (uint32_t i = 0; i < profile_program(profile)->argument_count; i++)
        sum += reading_text(profile_program(profile)->arguments[i]);
    static const char *const views[] = {
        "v_calls",       "v_objects",     "v_call_paths",      "v_node_runs",  "v_touches",
        "v_maps",        "v_access_bins", "v_object_elements", "v_first_uses", "v_copies",
        "v_host_blocks", "v_corrections", "v_stacks"};
    struct profile_sink sink = {reading_columns, reading_row, &sum};
    // Version 1.0 has only the first four views.
    unsigned count = profile_meta(profile)->minor ? sizeof(views) / sizeof(views[0]) : 4;
    for (unsigned i = 0; i < count; i++) {
        char sql[64] = "SELECT * FROM ";
        enum base_code query = profile_query(profile, strcat(sql, views[i]), &sink, error);
        code = code == BASE_OK ? query : code;
    }
    // Versions before 1.18 lack some of these.
    static const char *const later[] = {"v_meta",
                                        "v_program",
                                        "v_images",
                                        "v_functions",
                                        "v_threads",
                                        "v_device",
                                        "v_contexts",
                                        "v_streams",
                                        "v_modules",
                                        "v_kernels",
                                        "v_frames",
                                        "v_launches",
                                        "v_sets",
                                        "v_ranges",
                                        "v_syncs",
                                        "v_events",
                                        "v_graph_nodes",
                                        "v_graph_edges",
                                        "v_notes",
                                        "v_dropped",
                                        "v_settings",
                                        "v_probes",
                                        "v_kernel_sites",
                                        "v_accesses",
                                        "v_access_counts",
                                        "v_hot_ranges",
                                        "v_unknown_launches",
                                        "v_contents",
                                        "v_content_fields",
                                        "v_content_values",
                                        "v_content_roundings",
                                        "v_stores",
                                        "v_weighed",
                                        "v_accessed",
                                        "v_requests",
                                        "v_shared_arrays",
                                        "v_shared_words",
                                        "v_shared_ranges",
                                        "v_block_reuse",
                                        "v_cache_launches",
                                        "v_cache",
                                        "v_cache_reuse",
                                        "v_cache_distances",
                                        "v_sources",
                                        "v_nvtx_ranges",
                                        "v_collectives"};
    for (unsigned i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
        struct base_error unknown = {0};
        char sql[64] = "SELECT * FROM ";
        profile_query(profile, strcat(sql, later[i]), &sink, &unknown);
    }
    profile_close(profile);
    return code;
}

#endif
