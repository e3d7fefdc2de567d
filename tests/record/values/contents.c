// SPDX-License-Identifier: Apache-2.0
// Compares the rows of contents of a profile with the log of the recorded run. What the scan keeps
// about pieces is tracked along the log, so every row has exactly one right answer, except where
// the log does not show what memory held.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../../device/values_reference.h"
#include "compare.h"

// What is known about an object beside the states of its pieces.
struct about {
    uint64_t epoch;                  // unseen calls up to which the states are current
    struct device_values_job layout; // stride and fields of the last row that described values
};

struct reader {
    struct comparison *comparison;
    struct replay *replay;
    struct told_pairs pairs;
    struct base_map abouts; // number of the log's object to struct about
    struct expect_sites sites;
    uint64_t copies, fills; // so far
};

static struct about *about_of(struct reader *reader, const struct replay_object *object)
{
    uint64_t *place = replay_must(base_map_put(&reader->abouts, object->object->id, NULL));
    if (!*place)
        *place = (uint64_t)(uintptr_t)replay_must(calloc(1, sizeof(struct about)));
    return (struct about *)(uintptr_t)*place;
}

// Forgets what was known about the object if a call before this one was unseen.
static void refresh(struct reader *reader, struct replay_object *object, uint64_t call)
{
    struct about *about = about_of(reader, object);
    const uint64_t epoch = told_unseen_before(&reader->comparison->told, call);
    if (about->epoch != epoch)
        memset(expect_states(object), 0, object->pieces);
    about->epoch = epoch;
}

// --- One row -------------------------------------------------------------------------------------

static void check_number(struct comparison *comparison, const struct profile_contents *row,
                         const char *name, uint64_t is, uint64_t least, uint64_t most)
{
    if (is >= least && is <= most)
        return;
    complain(comparison,
             "call %" PRIu64 ", object %" PRIu64 ", %s: %s is %" PRIu64 ", not %" PRIu64
             " to %" PRIu64,
             row->call, row->object, profile_contents_kind_word(row->kind), name, is, least, most);
}

static struct device_values_job job_of(const struct replay_object *object,
                                       const struct profile_contents *row)
{
    struct device_values_job job = {
        .base = object->base,
        .first = object->object->address,
        .end = object->object->address + object->object->size_bytes,
        .pieces = (uint32_t)object->pieces,
        .describes = row->field_count != 0,
        .stride = row->stride,
        .field_count = row->field_count,
    };
    for (uint32_t i = 0; i < row->field_count; i++) {
        job.fields[i].offset = row->fields[i].offset;
        job.fields[i].type = row->fields[i].type;
    }
    return job;
}

static struct device_field_result field_of(const struct profile_value_field *field)
{
    struct device_field_result result = {
        .elements = field->elements,
        .zeros = field->zeros,
        .nans = field->nans,
        .least = field->least,
        .greatest = field->greatest,
        .any_bits = field->any_bits,
        .all_bits = field->all_bits,
        .integral = field->integral,
        .narrow = field->narrow,
        .brief = field->brief,
        .slope = field->slope,
        .intercept = field->intercept,
        .linear = field->linear,
        .distinct = field->distinct,
    };
    for (unsigned i = 0; i < DEVICE_CANDIDATES; i++) {
        result.candidates[i].value = field->candidates[i].value;
        result.candidates[i].count = field->candidates[i].count;
    }
    for (unsigned i = 0; i < DEVICE_ROUNDINGS; i++) {
        result.roundings[i].value = field->roundings[i].value;
        result.roundings[i].count = field->roundings[i].count;
        result.roundings[i].linear = field->roundings[i].linear;
    }
    return result;
}

static void check_fields(struct comparison *comparison, const struct replay_object *object,
                         const struct profile_contents *row, const struct expect_row *wanted)
{
    const struct device_values_job job = job_of(object, row);
    const unsigned char *memory = object->bytes + (job.first - job.base);
    struct device_values_result *result = replay_must(calloc(1, sizeof(*result)));
    char why[512] = "";
    result->pieces = wanted->pieces;
    result->bytes = wanted->bytes;
    for (uint32_t i = 0; i < row->field_count; i++)
        result->fields[i] = field_of(&row->fields[i]);
    if (!values_reference_check(&job, memory, wanted->looked_at, result, why, sizeof(why)))
        complain(comparison, "call %" PRIu64 ", object %" PRIu64 ", %s: %s", row->call, row->object,
                 profile_contents_kind_word(row->kind), why);
    comparison->fields += row->field_count;
    free(result);
}

// Computes the hash of the known pieces, unless the log does not show all of their bytes.
static bool hash_of(struct replay_object *object, const struct profile_contents *row,
                    uint64_t sums[2])
{
    const struct device_values_job job = job_of(object, row);
    const unsigned char *states = expect_states(object);
    sums[0] = sums[1] = 0;
    for (uint64_t i = 0; i < object->pieces; i++) {
        uint64_t hash[2], share[2];
        if (!(states[i] & EXPECT_KNOWN))
            continue;
        for (uint64_t k = i << REPLAY_PIECE_SHIFT; k < (i + 1) << REPLAY_PIECE_SHIFT; k++) {
            const uint64_t address = object->base + k;
            if (address >= job.first && address < job.end && !object->known[k])
                return false;
        }
        values_reference_hash(&job, object->bytes + (job.first - job.base), i, hash);
        values_reference_share(i, hash, share);
        sums[0] += share[0];
        sums[1] += share[1];
    }
    return true;
}

static void check_hash(struct comparison *comparison, struct replay_object *object,
                       const struct profile_contents *row)
{
    uint64_t hash[2];
    if (!hash_of(object, row, hash))
        return;
    comparison->hashes++;
    if (row->hash_low != hash[0] || row->hash_high != hash[1])
        complain(comparison, "call %" PRIu64 ", object %" PRIu64 ", %s: the hash is wrong",
                 row->call, row->object, profile_contents_kind_word(row->kind));
}

static void check_row(struct reader *reader, struct replay_object *object, bool is_graph,
                      const struct profile_contents *row, const struct expect_row *wanted)
{
    struct comparison *comparison = reader->comparison;
    comparison->rows_seen[row - comparison->told.rows.items] = true;
    comparison->rows++;
    comparison->of_graphs += is_graph;
    if (row->flags & PROFILE_CONTENTS_CONCURRENT) {
        comparison->concurrent++;
        return;
    }
    check_number(comparison, row, "pieces", row->pieces, wanted->pieces, wanted->pieces);
    check_number(comparison, row, "bytes", row->bytes, wanted->bytes, wanted->bytes);
    check_number(comparison, row, "fresh_pieces", row->fresh_pieces, wanted->fresh, wanted->fresh);
    check_number(comparison, row, "moved_bytes", row->moved_bytes, wanted->moved, wanted->moved);
    check_number(comparison, row, "same_bytes", row->same_bytes, wanted->same,
                 wanted->same + wanted->undecided);
    check_number(comparison, row, "known_pieces", row->known_pieces, wanted->known, wanted->known);
    check_number(comparison, row, "all_pieces", row->all_pieces, object->pieces, object->pieces);
    check_hash(comparison, object, row);
    if (wanted->unknown)
        comparison->unknown++;
    else if (row->field_count)
        check_fields(comparison, object, row, wanted);
}

// --- States --------------------------------------------------------------------------------------

// Notes which pieces the row has described.
static void set_seen(struct reader *reader, struct replay_object *object,
                     const struct profile_contents *row, const struct expect_row *wanted)
{
    unsigned char *states = expect_states(object);
    for (uint64_t i = 0; i < object->pieces; i++) {
        if (wanted->looked_at[i] && row && row->field_count)
            states[i] |= EXPECT_SEEN;
        else if (wanted->looked_at[i])
            states[i] &= (unsigned char)~EXPECT_SEEN;
    }
    if (row && row->field_count)
        about_of(reader, object)->layout = job_of(object, row);
}

static bool has_layout(const struct about *about, const struct device_values_job *job)
{
    return about->layout.stride == job->stride && about->layout.field_count == job->field_count &&
           memcmp(about->layout.fields, job->fields, sizeof(job->fields)) == 0;
}

// --- Rows of calls -------------------------------------------------------------------------------

// Returns the object of the log that the row is about; NULL after a complaint.
static struct replay_object *object_of(struct reader *reader, const struct profile_contents *row)
{
    const struct profile_object *told = told_object(&reader->comparison->told, row->object);
    struct replay_object *object = told ? replay_at(reader->replay, told->address) : NULL;
    if (object && object->object->address == told->address &&
        object->object->size_bytes == told->bytes)
        return object;
    complain(reader->comparison, "call %" PRIu64 ": object %" PRIu64 " is not in the log",
             row->call, row->object);
    return NULL;
}

// Returns the next row of the call and kind, from *next on; NULL: there is none.
static const struct profile_contents *next_row(const struct told *told, uint64_t call,
                                               enum profile_contents_kind kind, size_t *next)
{
    for (; *next < told->rows.count; ++*next) {
        const struct profile_contents *row = &told->rows.items[*next];
        if (row->call == call && row->kind == kind && !row->node) {
            ++*next;
            return row;
        }
    }
    return NULL;
}

static const struct replay_write *write_of(const struct replay_event *event,
                                           const struct replay_object *object)
{
    for (size_t i = 0; i < event->write_count; i++) {
        if (event->writes[i].object == object)
            return &event->writes[i];
    }
    return NULL;
}

// Bytes between rows were not written. They may be all that is the same in changed pieces.
static void expect_gaps(uint64_t gaps, struct expect_row *wanted)
{
    const uint64_t most = wanted->same + wanted->undecided;
    wanted->moved -= gaps;
    wanted->same = wanted->same > gaps ? wanted->same - gaps : 0;
    wanted->undecided = (most > gaps ? most - gaps : 0) - wanted->same;
}

static void expect_event(struct replay_object *object, const struct replay_event *event,
                         struct expect_row *wanted)
{
    const struct replay_write *write = write_of(event, object);
    if (event->kind == REPLAY_GROUP) {
        expect_group(object, write, event->ranges, event->range_count, wanted);
        return;
    }
    const struct gpusim_log_rows *to = event->copy   ? &event->copy->to
                                       : event->fill ? &event->fill->to
                                                     : NULL;
    const uint64_t width = event->copy ? event->copy->width : event->fill ? event->fill->width : 0;
    const uint64_t height = event->copy   ? event->copy->height
                            : event->fill ? event->fill->height
                                          : 1;
    const uint64_t depth = event->copy ? event->copy->depth : 1;
    if (!to) {
        expect_marked(object, write, wanted);
        return;
    }
    const uint64_t extent = (depth - 1) * to->slice + (height - 1) * to->pitch + width;
    expect_range(object, write, to->address, to->address + extent, wanted);
    expect_gaps(extent - depth * height * width, wanted);
}

static bool has_row(struct reader *reader, uint64_t call, const struct replay_object *object)
{
    const struct profile_contents *row;
    bool found = false;
    size_t next = 0;
    while ((row = next_row(&reader->comparison->told, call, PROFILE_CONTENTS_WRITTEN, &next)))
        found |= object_of(reader, row) == object;
    return found;
}

static bool is_known(struct replay_object *object)
{
    for (uint64_t i = 0; i < object->pieces; i++) {
        if (expect_states(object)[i] & EXPECT_KNOWN)
            return true;
    }
    return false;
}

// An object whose pieces are known must have a row if the call wrote it. Kernels that never have
// rows write memory in ways that probes do not see, so nothing is known after them.
static void check_missing(struct reader *reader, const struct replay_event *event,
                          struct told_call *call)
{
    const struct told *told = &reader->comparison->told;
    for (size_t i = 0; i < event->write_count; i++) {
        struct replay_object *object = event->writes[i].object;
        if (!compare_looks_at(object->object) || !told_has_object(told, object->object) ||
            has_row(reader, call->call.number, object))
            continue;
        reader->comparison->missing++;
        refresh(reader, object, call->call.number);
        if (event->kind == REPLAY_LAUNCH && !told_has_rows(told, call->call.launch.kernel))
            call->unseen = true;
        else if (is_known(object))
            complain(reader->comparison,
                     "call %" PRIu64 " wrote the object at 0x%" PRIx64 ", and has no row",
                     call->call.number, object->object->address);
    }
}

// --- Rows of stores ------------------------------------------------------------------------------

static void see_executed(void *user, const struct gpusim_log_access *records, size_t count)
{
    struct reader *reader = user;
    expect_executed(&reader->sites, reader->replay, records, count);
}

// Whether stores of the instruction have no row, because their old bytes may not be read.
static bool is_unexamined(const struct gpusim_log_site *site)
{
    return strstr(site->text, ".volatile") || strstr(site->text, ".release") ||
           strstr(site->text, ".mmio");
}

// Compares the sums of all rows about the call's stores to an object with the log, in bytes. The
// log has more if there are looked-up atomic operations: those have no rows.
static void check_object(struct reader *reader, const struct replay_event *event, uint64_t call,
                         const struct profile_object *object)
{
    struct comparison *comparison = reader->comparison;
    uint64_t told[2] = {0}, logged[2] = {0}, undecided = 0;
    bool atomic = false;
    for (size_t i = 0; i < comparison->told.stores.count; i++) {
        const struct profile_stored *row = &comparison->told.stores.items[i];
        if (row->call != call || row->object != object->number)
            continue;
        told[0] += row->stores * row->bytes;
        told[1] += row->silent * row->bytes;
        if (!row->site) {
            comparison->stores_seen[i] = true;
            comparison->stores++;
        }
    }
    for (size_t i = 0; i < reader->sites.all.count; i++) {
        const struct expect_site *site = &reader->sites.all.items[i];
        const bool is_of_event =
            event->launch ? site->launch == event->launch : site->launch->call == event->call;
        if (!is_of_event || site->object->address != object->address || is_unexamined(site->site))
            continue;
        atomic |= site->atomic;
        logged[0] += site->stores * site->bytes;
        logged[1] += site->silent * site->bytes;
        undecided += site->undecided * site->bytes;
    }
    if (told[0] > logged[0] || told[1] > logged[1] + undecided ||
        (!atomic && (told[0] != logged[0] || told[1] < logged[1])))
        complain(comparison,
                 "call %" PRIu64 ", object %" PRIu64 ": %" PRIu64 " bytes stored, %" PRIu64
                 " silent; the log has %" PRIu64 " and %" PRIu64,
                 call, object->number, told[0], told[1], logged[0], logged[1]);
}

static void see_stores(struct reader *reader, const struct replay_event *event,
                       const struct told_call *call)
{
    const struct told *told = &reader->comparison->told;
    const struct profile_contents *row;
    size_t next = 0;
    while (call && (row = next_row(told, call->call.number, PROFILE_CONTENTS_WRITTEN, &next))) {
        const struct profile_object *object = told_object(told, row->object);
        if (object)
            check_object(reader, event, call->call.number, object);
    }
    if (event->launch)
        expect_sites_end(&reader->sites, event->launch);
    else
        expect_sites_end_call(&reader->sites, event->call);
}

// --- Events --------------------------------------------------------------------------------------

static struct told_call *call_of(struct reader *reader, const struct replay_event *event)
{
    struct told *told = &reader->comparison->told;
    switch (event->kind) {
    case REPLAY_LAUNCH: return told_call_of(told, &reader->pairs.launches, event->launch->number);
    case REPLAY_COPY: return told_call_of(told, &reader->pairs.copies, reader->copies++);
    case REPLAY_FILL: return told_call_of(told, &reader->pairs.fills, reader->fills++);
    default: return told_call_of(told, &reader->pairs.graphs, event->call);
    }
}

static void see_ended(void *user, const struct replay_event *event)
{
    struct reader *reader = user;
    struct told *told = &reader->comparison->told;
    struct told_call *call = call_of(reader, event);
    const struct profile_contents *row;
    size_t next = 0;
    if (event->is_member)
        return;
    if (event->kind == REPLAY_LAUNCH || event->kind == REPLAY_GROUP)
        see_stores(reader, event, call);
    if (!call || call->unseen)
        return;
    check_missing(reader, event, call);
    while ((row = next_row(told, call->call.number, PROFILE_CONTENTS_WRITTEN, &next))) {
        struct replay_object *object = object_of(reader, row);
        struct expect_row wanted;
        if (!object)
            continue;
        refresh(reader, object, call->call.number);
        expect_event(object, event, &wanted);
        check_row(reader, object, told_is_graph(call), row, &wanted);
        set_seen(reader, object, row, &wanted);
        free(wanted.looked_at);
    }
}

// A row about what a launch found describes all known pieces if the layout is new, else those that
// were not described.
static void see_found(struct reader *reader, const struct told_call *call)
{
    struct told *told = &reader->comparison->told;
    const struct profile_contents *row;
    size_t next = 0;
    while (call && (row = next_row(told, call->call.number, PROFILE_CONTENTS_FOUND, &next))) {
        struct replay_object *object = object_of(reader, row);
        struct expect_row wanted;
        if (!object)
            continue;
        refresh(reader, object, call->call.number);
        const struct device_values_job job = job_of(object, row);
        expect_found(object, EXPECT_KNOWN, EXPECT_SEEN, &wanted);
        if (!has_layout(about_of(reader, object), &job) || wanted.pieces != row->pieces) {
            free(wanted.looked_at);
            expect_found(object, EXPECT_KNOWN, 0, &wanted);
        }
        check_row(reader, object, told_is_graph(call), row, &wanted);
        set_seen(reader, object, row, &wanted);
        free(wanted.looked_at);
    }
}

static void see_launch(void *user, const struct gpusim_log_launch *launch)
{
    struct reader *reader = user;
    const struct told_call *call =
        told_call_of(&reader->comparison->told, &reader->pairs.launches, launch->number);
    if (!told_is_graph(call))
        see_found(reader, call);
}

static void see_group(void *user, uint64_t call)
{
    struct reader *reader = user;
    see_found(reader, told_call_of(&reader->comparison->told, &reader->pairs.graphs, call));
}

static void see_object_ended(void *user, struct replay_object *object)
{
    (void)user;
    expect_forget(object);
}

bool compare_contents(struct comparison *comparison, const char *log)
{
    struct reader reader = {.comparison = comparison};
    struct replay_totals totals;
    struct base_error error = {0};
    const struct replay_calls calls = {.user = &reader,
                                       .groups = &reader.pairs.graph_events,
                                       .group_began = see_group,
                                       .object_ended = see_object_ended,
                                       .launch_began = see_launch,
                                       .executed = see_executed,
                                       .ended = see_ended};
    bool good = told_pair(&comparison->told, log, true, &reader.pairs);
    if (good && replay_run(log, &calls, &reader.replay, &totals, &error) != BASE_OK) {
        char text[512];
        base_error_text(&error, text, sizeof(text));
        printf("%s\n", text);
        good = false;
    }
    comparison->complaints += reader.pairs.strangers;
    if (good && totals.contradictions)
        complain(comparison, "the log contradicts itself %" PRIu64 " times", totals.contradictions);
    for (size_t i = 0; i < reader.abouts.count; i++)
        free((void *)(uintptr_t)reader.abouts.entries[i].value);
    base_map_fini(&reader.abouts);
    expect_sites_fini(&reader.sites);
    told_pairs_fini(&reader.pairs);
    return good;
}
