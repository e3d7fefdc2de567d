// SPDX-License-Identifier: Apache-2.0
// redundant-values: a call writes what was there already. Of kernels, probes count the stores that
// change nothing, by instruction. Of copies and sets, the contents of pieces are compared before
// and after. Nothing is found where the earlier contents are unknown.
#include "analyze/values.h"

static const struct analyze_threshold redundant_percent = {
    "redundant-percent", "percent", 33, "at least this part of the written bytes do not change"};

struct redundant {
    uint64_t written_bytes, same_bytes, site, sites, other_objects;
    uint64_t calls, unchanging; // with the same call path and kernel
    struct analyze_line line;
    bool is_kernel, is_atomic, changes_nothing, always_nothing, is_several;
};

// What a call writes again to one object: a copy or set, or instructions of a kernel.
struct redundant_match {
    struct analyze_finding finding;
    struct redundant redundant;
    uint64_t most_bytes; // that one instruction writes again
};

struct call_counts {
    uint32_t all, unchanging;
};

struct redundant_search {
    struct analyze_run *run;
    uint32_t percent;
    struct base_map places;                     // call path and kernel to struct call_counts
    BASE_ARRAY(struct redundant_match) matches; // of one call
};

// Returns whether the row compares all that it describes with known earlier contents.
static bool is_compared(const struct analyze_contents *at)
{
    return at->row->kind == PROFILE_CONTENTS_WRITTEN && at->row->fresh_pieces == 0 &&
           !(at->row->flags & PROFILE_CONTENTS_CONCURRENT);
}

static bool is_redundant(const struct redundant_search *looking, uint64_t same, uint64_t all)
{
    return all && (unsigned __int128)same * 100 >= (unsigned __int128)all * looking->percent;
}

// --- How often calls change nothing --------------------------------------------------------------

// Returns the number of calls that are made at the same place, and of those that change nothing;
// NULL if memory ran out.
static struct call_counts *counts_of(struct redundant_search *looking, uint32_t index)
{
    const struct analyze_call *call = &looking->run->model->calls.items[index];
    const uint64_t key[] = {call->path ? call->path : UINT64_MAX - index, call->kernel};
    static_assert(sizeof(struct call_counts) == sizeof(uint64_t), "fits a slot of the map");
    uint64_t *slot = base_map_put(&looking->places, base_hash(key, sizeof(key)), NULL);
    looking->run->failed |= !slot;
    return (struct call_counts *)(void *)slot;
}

// The rows and stores of one call.
struct call_rows {
    uint32_t call;                                     // index
    size_t first_row, end_row, first_store, end_store; // indices
    bool is_unseen;
    bool nothing; // the call changes nothing
};

static bool has_row(const struct analyze_model *model, const struct call_rows *rows,
                    uint32_t object)
{
    for (size_t i = rows->first_row; i < rows->end_row; i++) {
        const struct analyze_contents *at = &model->contents.items[i];
        if (at->object == object && at->row->kind == PROFILE_CONTENTS_WRITTEN)
            return true;
    }
    return false;
}

// Returns whether the call writes memory whose contents are not looked at, such as managed memory,
// or may do so. A graph may copy to the host.
static bool writes_elsewhere(const struct analyze_model *model, const struct call_rows *rows)
{
    const uint32_t end = analyze_touches_end(model, rows->call);
    for (uint32_t i = model->calls.items[rows->call].touches; i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        const bool is_to_host =
            touch->maker == ANALYZE_MADE_BY_HOST_COPY && touch->how & ANALYZE_READ;
        if (is_to_host || (touch->how & ANALYZE_WRITE && !has_row(model, rows, touch->object)))
            return true;
    }
    for (size_t i = rows->first_store; i < rows->end_store; i++) {
        if (model->stores.items[i].object == ANALYZE_NONE)
            return true;
    }
    return false;
}

// Returns whether nothing that the call wrote has changed.
static bool changes_nothing(const struct analyze_model *model, const struct call_rows *rows)
{
    bool any = false;
    for (size_t i = rows->first_row; i < rows->end_row; i++) {
        const struct analyze_contents *at = &model->contents.items[i];
        if (at->row->kind != PROFILE_CONTENTS_WRITTEN)
            continue;
        any = true;
        if (!is_compared(at) || at->row->same_bytes != at->row->moved_bytes)
            return false;
    }
    return any && !writes_elsewhere(model, rows);
}

// Goes to the rows and stores of the next call that has rows. Returns false if there is none.
static bool next_call(const struct analyze_model *model, struct call_rows *rows)
{
    const struct analyze_contents *contents = model->contents.items;
    const struct analyze_stored *stores = model->stores.items;
    rows->first_row = rows->end_row;
    if (rows->first_row == model->contents.count)
        return false;
    rows->call = contents[rows->first_row].call;
    while (rows->end_row < model->contents.count && contents[rows->end_row].call == rows->call)
        rows->end_row++;
    rows->first_store = rows->end_store;
    while (rows->first_store < model->stores.count && stores[rows->first_store].call < rows->call)
        rows->first_store++;
    rows->end_store = rows->first_store;
    while (rows->end_store < model->stores.count && stores[rows->end_store].call == rows->call)
        rows->end_store++;
    // A launch whose accesses are unknown may have written something else, too, and one that prints
    // is of use without them.
    const uint16_t flags = model->calls.items[rows->call].flags;
    rows->is_unseen = flags & ANALYZE_UNSEEN;
    rows->nothing = !(flags & (ANALYZE_UNSEEN | ANALYZE_ACTS)) && changes_nothing(model, rows);
    return true;
}

static void count_calls(struct redundant_search *looking)
{
    const struct analyze_model *model = looking->run->model;
    struct call_rows rows = {0};
    for (uint32_t i = 0; i < model->calls.count && !looking->run->failed; i++) {
        struct call_counts *counts =
            model->calls.items[i].flags & ANALYZE_WORKS ? counts_of(looking, i) : NULL;
        if (counts)
            counts->all++;
    }
    while (!looking->run->failed && next_call(model, &rows)) {
        struct call_counts *counts = rows.nothing ? counts_of(looking, rows.call) : NULL;
        if (counts)
            counts->unchanging++;
    }
}

// --- What one call writes again ------------------------------------------------------------------

// Returns the match about what instructions of this kind write to the object; NULL if memory ran
// out.
static struct redundant_match *match_of(struct redundant_search *looking, uint32_t object,
                                        const struct call_rows *rows, uint32_t kernel,
                                        bool is_atomic)
{
    struct analyze_run *run = looking->run;
    struct analyze_finding finding =
        analyze_begin_finding(run, ANALYZE_REDUNDANT_VALUES, object, rows->call, ANALYZE_NONE);
    if (kernel)
        finding.kernel = kernel;
    finding.aspect = is_atomic;
    for (size_t i = 0; i < looking->matches.count; i++) {
        struct redundant_match *match = &looking->matches.items[i];
        if (match->finding.object == finding.object && match->finding.kernel == finding.kernel &&
            match->finding.aspect == finding.aspect)
            return match;
    }
    struct redundant_match *made = base_array_push(&looking->matches);
    run->failed |= !made;
    if (made)
        *made = (struct redundant_match){
            .finding = finding,
            .redundant = {.changes_nothing = rows->nothing, .is_atomic = is_atomic}};
    return made;
}

// Returns the row about what was written to the object; NULL if there is none that can be used. An
// atomic operation changes nothing or does, whatever other streams do.
static const struct analyze_contents *row_of(const struct analyze_model *model,
                                             const struct call_rows *rows, uint32_t object,
                                             bool is_atomic)
{
    for (size_t i = rows->first_row; i < rows->end_row; i++) {
        const struct analyze_contents *at = &model->contents.items[i];
        if (at->object == object && at->row->kind == PROFILE_CONTENTS_WRITTEN)
            return is_compared(at) || (is_atomic && at->row->fresh_pieces == 0) ? at : NULL;
    }
    return NULL;
}

static void join_worth(struct analyze_finding *finding, const struct analyze_finding *more)
{
    finding->traffic_bytes += more->traffic_bytes;
    finding->gpu_ns += more->gpu_ns;
    finding->traffic_is_bound |= more->traffic_is_bound;
    finding->time_is_estimate |= more->time_is_estimate;
}

static bool is_of_kernel(const struct analyze_model *model, const struct analyze_contents *at)
{
    const struct analyze_call *call = &model->calls.items[at->call];
    const struct analyze_touch *touches = model->touches.items;
    const size_t end = analyze_touches_end(model, at->call);
    if (call->kind == PROFILE_CALL_GRAPH_LAUNCH) // its row is about whole pieces, not about a copy
        return true;
    for (size_t i = call->touches; i < end; i++) {
        if (touches[i].object == at->object)
            return touches[i].is_kernel;
    }
    return call->kind == PROFILE_CALL_LAUNCH;
}

static bool has_stores(const struct redundant_search *looking, const struct call_rows *rows,
                       uint32_t object)
{
    for (size_t i = rows->first_store; i < rows->end_store; i++) {
        const struct analyze_stored *stored = &looking->run->model->stores.items[i];
        if (stored->object == object && is_redundant(looking, stored->silent, stored->stores))
            return true;
    }
    return false;
}

// Takes copies and sets; and a kernel that changes nothing although its stores do, one by one.
static void take_rows(struct redundant_search *looking, const struct call_rows *rows)
{
    const struct analyze_model *model = looking->run->model;
    for (size_t i = rows->first_row; i < rows->end_row; i++) {
        const struct analyze_contents *at = &model->contents.items[i];
        const bool is_kernel = is_of_kernel(model, at);
        if (!is_compared(at) || !analyze_has_values(&model->objects.items[at->object]) ||
            !is_redundant(looking, at->row->same_bytes, at->row->moved_bytes) ||
            (is_kernel && (!rows->nothing || has_stores(looking, rows, at->object))))
            continue;
        struct redundant_match *match = match_of(looking, at->object, rows, 0, false);
        if (!match)
            return;
        struct analyze_finding more = {.traffic_bytes = 0};
        match->redundant.written_bytes += at->row->moved_bytes;
        match->redundant.same_bytes += at->row->same_bytes;
        match->redundant.is_kernel = is_kernel;
        analyze_set_traffic(looking->run, &more, at->call, at->row->same_bytes,
                            is_kernel ? 0 : at->row->moved_bytes);
        join_worth(&match->finding, &more);
    }
}

static void take_stores(struct redundant_search *looking, const struct call_rows *rows)
{
    const struct analyze_model *model = looking->run->model;
    for (size_t i = rows->first_store; i < rows->end_store; i++) {
        const struct analyze_stored *stored = &model->stores.items[i];
        if (stored->object == ANALYZE_NONE ||
            !analyze_has_values(&model->objects.items[stored->object]) ||
            !is_redundant(looking, stored->silent, stored->stores))
            continue;
        const bool is_atomic =
            stored->place != ANALYZE_NONE && analyze_is_atomic(&model->sites.items[stored->place]);
        struct redundant_match *match =
            row_of(model, rows, stored->object, is_atomic)
                ? match_of(looking, stored->object, rows, stored->kernel, is_atomic)
                : NULL;
        if (!match)
            continue;
        const uint64_t same_bytes = stored->silent * stored->bytes;
        struct analyze_finding more = {.traffic_bytes = 0};
        match->redundant.is_kernel = true;
        match->redundant.written_bytes += stored->stores * stored->bytes;
        match->redundant.same_bytes += same_bytes;
        match->redundant.sites += stored->site != 0;
        if (same_bytes > match->most_bytes) {
            match->most_bytes = same_bytes;
            match->redundant.site = stored->site;
            match->redundant.line = stored->place != ANALYZE_NONE
                                        ? model->sites.items[stored->place].line
                                        : (struct analyze_line){0};
        }
        analyze_set_silent_traffic(looking->run, &more, stored);
        join_worth(&match->finding, &more);
    }
}

// --- Findings ------------------------------------------------------------------------------------

static bool is_first_of_object(const struct redundant_search *looking, size_t index)
{
    const struct redundant_match *matches = looking->matches.items;
    for (size_t i = 0; i < index; i++) {
        if (matches[i].finding.object == matches[index].finding.object)
            return false;
    }
    return true;
}

// Of a call that changes nothing, all objects are one match, which names the one with most bytes:
// the call can be left out, and with it all that it writes.
static void join_objects(struct redundant_search *looking)
{
    struct redundant_match *matches = looking->matches.items, joined = matches[0];
    for (size_t i = 1; i < looking->matches.count; i++) {
        if (matches[i].redundant.same_bytes > joined.redundant.same_bytes)
            joined = matches[i];
    }
    joined.finding.traffic_bytes = joined.finding.gpu_ns = 0;
    for (size_t i = 0; i < looking->matches.count; i++) {
        join_worth(&joined.finding, &matches[i].finding);
        joined.redundant.other_objects +=
            is_first_of_object(looking, i) && matches[i].finding.object != joined.finding.object;
    }
    matches[0] = joined;
    looking->matches.count = 1;
}

static void add_matches(struct redundant_search *looking, const struct call_rows *rows)
{
    struct analyze_run *run = looking->run;
    const struct call_counts *counts = counts_of(looking, rows->call);
    const uint64_t took_ns = run->model->calls.items[rows->call].gpu_ns;
    if (rows->nothing && looking->matches.count > 1)
        join_objects(looking);
    for (size_t i = 0; i < looking->matches.count && counts; i++) {
        struct redundant_match *match = &looking->matches.items[i];
        struct analyze_finding *finding = &match->finding;
        finding->gpu_ns = finding->gpu_ns < took_ns ? finding->gpu_ns : took_ns;
        match->redundant.calls = counts->all;
        match->redundant.unchanging = counts->unchanging;
        match->redundant.always_nothing = counts->unchanging == counts->all;
        match->redundant.is_several = match->redundant.sites > 1;
        analyze_set_payload(finding, match->redundant);
        analyze_add_finding(run, finding);
    }
    looking->matches.count = 0;
}

static void find(struct analyze_run *run)
{
    struct redundant_search looking = {
        .run = run, .percent = analyze_limit(run->thresholds, &redundant_percent)};
    struct call_rows rows = {0};
    if (run->model->contents.count)
        count_calls(&looking);
    while (!run->failed && next_call(run->model, &rows)) {
        if (rows.is_unseen)
            continue;
        take_stores(&looking, &rows);
        take_rows(&looking, &rows);
        if (!run->failed)
            add_matches(&looking, &rows);
    }
    base_map_fini(&looking.places);
    base_array_fini(&looking.matches);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"written_bytes", "bytes that these instructions write, or that a copy or set does",
     ANALYZE_OWN(COUNT, struct redundant, written_bytes), .unit = "byte"},
    {"same_bytes", "of these, bytes that were there already",
     ANALYZE_OWN(COUNT, struct redundant, same_bytes), .unit = "byte"},
    {"sites", "instructions of the kernel that write what is there already; 0: unknown, or none",
     ANALYZE_OWN(COUNT, struct redundant, sites), .unit = "store"},
    {"site", "number, in the kernel, of the one that writes most of these bytes; 0: none",
     ANALYZE_OWN(COUNT, struct redundant, site), .unit = "number"},
    {"line", "of that instruction", ANALYZE_OWN(LINE, struct redundant, line)},
    {"atomic", "the instructions are atomic operations",
     ANALYZE_OWN(FLAG, struct redundant, is_atomic)},
    {"changes_nothing", "the call changes nothing at all",
     ANALYZE_OWN(FLAG, struct redundant, changes_nothing)},
    {"other_objects", "if it changes nothing, other objects to which it writes",
     ANALYZE_OWN(COUNT, struct redundant, other_objects), .unit = "other object"},
    {"calls", "calls with the same call path and kernel",
     ANALYZE_OWN(COUNT, struct redundant, calls), .unit = "call"},
    {"unchanging_calls", "of these, calls that change nothing at all",
     ANALYZE_OWN(COUNT, struct redundant, unchanging), .unit = "call"},
    {"upper_bound", "leaving out the stores may save fewer bytes than worth says",
     ANALYZE_SHARED(FLAG, traffic_is_bound)},
    {"is_kernel", NULL, ANALYZE_OWN(FLAG, struct redundant, is_kernel)},
    {"always_nothing", NULL, ANALYZE_OWN(FLAG, struct redundant, always_nothing)},
    {"several", NULL, ANALYZE_OWN(FLAG, struct redundant, is_several)},
    {0},
};

const struct analyze_description analyze_redundant_values = {
    .name = "redundant-values",
    .title = "Writes what is there already",
    .definition = "At least a third of the bytes that a copy, a set, or an instruction of a kernel "
                  "writes are already there; or a launch changes nothing at all.",
    .remedy = "Do not write values that do not change.",
    .paper = "ValueExpert, ASPLOS 2022",
    .needs = ANALYZE_INPUT_VALUES,
    .is_about_kernel = true,
    .changes_kernel = true,
    .roles = {[ANALYZE_CALL] = {"written again", "the call that writes"}},
    .thresholds = {&redundant_percent},
    .fields = fields,
    .message =
        "{if brief}{if changes_nothing}{call:name} changes nothing: {object} holds what it "
        "writes{else}{same_bytes/written_bytes}"
        " of what {call:name} writes to {object} is there already{end}{else}"
        "{if changes_nothing}{call} changes nothing{if always_nothing}{else}, as "
        "{unchanging_calls} "
        "of {calls} such calls do{end}: what it writes to {object}{if other_objects} and "
        "{other_objects:unit}{end} is already there{else}{same_bytes/written_bytes} of the bytes "
        "that {call} writes to {object}{if atomic} by atomic operations{elif sites} by "
        "{sites:unit}{end}{if line} ({line}{if several} and others{end}){end} are already "
        "there{end}"
        "{end}",
    .suggestion =
        "{if changes_nothing}leave out {call:name}{if always_nothing}{else} where it changes "
        "nothing{end}{elif is_kernel}store only if the value changes, or skip the elements that do "
        "not{else}write only what changes{end}",
    .find = find,
};
