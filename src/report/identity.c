// SPDX-License-Identifier: Apache-2.0
// Computes a hash of what stays the same when a program is recorded again, or changed elsewhere:
// names, but no lines, addresses, sizes or numbers of the recording. The hash is 64-bit FNV-1a,
// because it is compared with hashes made by other versions of glint; base_hash may change.
#include "identity.h"

#include <stdlib.h>
#include <string.h>

#include "units.h"

static const uint64_t fnv_start = 0xcbf29ce484222325u, fnv_prime = 0x100000001b3u;

// The end of the text is part of the hash, so that "a", "bc" differs from "ab", "c".
static void add_text(uint64_t *hash, const char *text)
{
    for (const char *next = text ? text : ""; *next; next++)
        *hash = (*hash ^ (unsigned char)*next) * fnv_prime;
    *hash = *hash * fnv_prime;
}

// Counts frames up to main. The frames beyond it belong to the C library and change with its
// release.
static uint32_t count_own_frames(const struct report_path *path)
{
    for (uint32_t i = 0; i < path->frame_count; i++) {
        const struct profile_frame *frame = &path->frames[i];
        if (!frame->python && frame->function && strcmp(frame->function, "main") == 0)
            return i + 1;
    }
    return path->frame_count;
}

// If some frames have a source file, those without one are skipped: they belong to libraries, whose
// frames depend on installed debug information.
static void add_path(uint64_t *hash, const struct report_path *path)
{
    const uint32_t first = report_stub_frames(path), end = count_own_frames(path);
    bool has_source = false;
    for (uint32_t i = first; i < end; i++)
        has_source |= path->frames[i].file != NULL;
    for (uint32_t i = first; i < end; i++) {
        const struct profile_frame *frame = &path->frames[i];
        if (has_source && !frame->file)
            continue;
        add_text(hash, frame->function);
        add_text(hash, report_base_name(frame->file));
    }
}

static uint64_t hash_of(const struct report_data *data, const struct analyze_finding *finding)
{
    const struct report_object *object = report_find_object(data, finding->object);
    const struct report_path *path = report_path_of(data, finding->path ? finding->path
                                                          : object      ? object->path
                                                                        : 0);
    uint64_t hash = fnv_start;
    add_text(&hash, analyze_pattern_word(finding->pattern));
    // Other names are derived from lines and sizes, which may change.
    add_text(&hash, object && (object->name_source == PROFILE_NAME_PROGRAM ||
                               object->name_source == PROFILE_NAME_SOURCE)
                        ? object->name
                        : NULL);
    add_text(&hash, report_kernel_name(data, finding->kernel));
    if (analyze_line_at(finding).file)
        add_text(&hash, report_base_name(analyze_line_at(finding).file));
    if (path)
        add_path(&hash, path);
    return hash;
}

struct entry {
    uint64_t hash;
    struct analyze_line at; // in a kernel
    uint32_t line;
    uint64_t call;
    uint64_t aspect;
    size_t index;
};

static int compare(const void *one, const void *other)
{
    const struct entry *a = one, *b = other;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    if (a->at.line != b->at.line)
        return a->at.line < b->at.line ? -1 : 1;
    if (a->at.column != b->at.column)
        return a->at.column < b->at.column ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->call != b->call)
        return a->call < b->call ? -1 : 1;
    if (a->aspect != b->aspect)
        return a->aspect < b->aspect ? -1 : 1;
    return a->index < b->index ? -1 : 1;
}

static uint32_t line_of(const struct report_data *data, uint32_t path)
{
    const struct report_path *of = report_path_of(data, path);
    for (uint32_t i = of ? report_stub_frames(of) : 0; of && i < of->frame_count; i++) {
        if (of->frames[i].file)
            return of->frames[i].line;
    }
    return 0;
}

struct report_identity *report_identities(const struct report_data *data)
{
    const size_t count = analyze_finding_count(data->analysis);
    struct report_identity *identities = count ? calloc(count, sizeof(*identities)) : NULL;
    struct entry *entries = identities ? calloc(count, sizeof(*entries)) : NULL;
    if (!entries) {
        free(identities);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const struct analyze_finding *finding = analyze_finding(data->analysis, i);
        entries[i] = (struct entry){
            hash_of(data, finding), analyze_line_at(finding), line_of(data, finding->path),
            finding->call,          finding->aspect,          i};
    }
    qsort(entries, count, sizeof(*entries), compare);
    uint64_t ordinal = 0;
    for (size_t i = 0; i < count; i++) {
        ordinal = i && entries[i - 1].hash == entries[i].hash ? ordinal + 1 : 1;
        identities[entries[i].index] = (struct report_identity){entries[i].hash, ordinal};
    }
    free(entries);
    return identities;
}
