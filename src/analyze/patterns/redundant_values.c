// SPDX-License-Identifier: Apache-2.0
// redundant-values: a call writes what was there already. Of kernels, probes count the stores that
// change nothing, by instruction. Of copies and sets, the contents of pieces are compared before
// and after. Nothing is found where the earlier contents are unknown.
#include "analyze/values.h"

static const struct analyze_threshold redundant_percent = {
    "redundant-percent", "percent", 33, "at least this part of the written bytes do not change"};

struct redundant {
    uint64_t written_bytes, same_bytes, site;
    struct analyze_line line;
    bool is_kernel, is_atomic, changes_nothing, is_bound;
};

struct redundant_search {
    struct analyze_run *run;
    uint32_t percent;
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

// Adds what a call writes again; `stored` is the instruction of a kernel, or NULL.
static void add(struct redundant_search *looking, const struct analyze_contents *at,
                const struct analyze_stored *stored, struct redundant *redundant)
{
    struct analyze_run *run = looking->run;
    struct analyze_finding finding =
        analyze_begin_finding(run, ANALYZE_REDUNDANT_VALUES, at->object, at->call, ANALYZE_NONE);
    if (stored && stored->kernel)
        finding.kernel = stored->kernel;
    finding.aspect = redundant->site;
    if (stored)
        analyze_set_silent_traffic(run, &finding, stored);
    else
        analyze_set_traffic(run, &finding, at->call, redundant->same_bytes,
                            redundant->is_kernel ? 0 : redundant->written_bytes);
    redundant->is_bound = finding.traffic_is_bound;
    analyze_set_payload(&finding, *redundant);
    analyze_add_finding(run, &finding);
}

// The rows and stores of one call.
struct call_rows {
    size_t first_row, end_row, first_store, end_store; // indices
    bool nothing;                                      // the call changes nothing
};

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

// Returns whether no object that the call wrote has changed.
static bool changes_nothing(const struct analyze_model *model, size_t first, size_t end)
{
    bool any = false;
    for (size_t i = first; i < end; i++) {
        const struct analyze_contents *at = &model->contents.items[i];
        if (at->row->kind != PROFILE_CONTENTS_WRITTEN)
            continue;
        any = true;
        if (!is_compared(at) || at->row->same_bytes != at->row->moved_bytes)
            return false;
    }
    return any;
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
        struct redundant redundant = {.written_bytes = at->row->moved_bytes,
                                      .same_bytes = at->row->same_bytes,
                                      .is_kernel = is_kernel,
                                      .changes_nothing = rows->nothing};
        add(looking, at, NULL, &redundant);
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
            stored->place != ANALYZE_NONE && model->store_sites.items[stored->place].is_atomic;
        const struct analyze_contents *at = row_of(model, rows, stored->object, is_atomic);
        if (!at)
            continue;
        struct redundant redundant = {.written_bytes = stored->stores * stored->bytes,
                                      .same_bytes = stored->silent * stored->bytes,
                                      .site = stored->site,
                                      .is_kernel = true,
                                      .is_atomic = is_atomic,
                                      .changes_nothing = rows->nothing};
        if (stored->place != ANALYZE_NONE)
            redundant.line = model->store_sites.items[stored->place].line;
        add(looking, at, stored, &redundant);
    }
}

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    const struct analyze_contents *contents = model->contents.items;
    const struct analyze_stored *stores = model->stores.items;
    struct redundant_search looking = {
        .run = run, .percent = analyze_limit(run->thresholds, &redundant_percent)};
    struct call_rows rows = {0};
    for (; rows.first_row < model->contents.count && !run->failed; rows.first_row = rows.end_row) {
        const struct analyze_contents *at = &contents[rows.first_row];
        while (rows.end_row < model->contents.count && contents[rows.end_row].call == at->call)
            rows.end_row++;
        rows.nothing = changes_nothing(model, rows.first_row, rows.end_row);
        rows.first_store = rows.end_store;
        while (rows.first_store < model->stores.count && stores[rows.first_store].call < at->call)
            rows.first_store++;
        rows.end_store = rows.first_store;
        while (rows.end_store < model->stores.count && stores[rows.end_store].call == at->call)
            rows.end_store++;
        // A launch whose accesses are unknown may have written something else, too.
        if (model->calls.items[at->call].flags & ANALYZE_UNSEEN)
            continue;
        take_stores(&looking, &rows);
        take_rows(&looking, &rows);
    }
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"written_bytes", "bytes that the stores of one instruction write, or that a copy or set does",
     ANALYZE_OWN(COUNT, struct redundant, written_bytes), .unit = "byte"},
    {"same_bytes", "of these, bytes that were there already",
     ANALYZE_OWN(COUNT, struct redundant, same_bytes), .unit = "byte"},
    {"site", "number of the instruction in the kernel; 0: none",
     ANALYZE_OWN(COUNT, struct redundant, site), .unit = "number"},
    {"line", "of the instruction", ANALYZE_OWN(LINE, struct redundant, line)},
    {"atomic", "the instruction is an atomic operation",
     ANALYZE_OWN(FLAG, struct redundant, is_atomic)},
    {"changes_nothing", "the call changes nothing at all",
     ANALYZE_OWN(FLAG, struct redundant, changes_nothing)},
    {"upper_bound", "leaving out the stores may gain less than worth says",
     ANALYZE_OWN(FLAG, struct redundant, is_bound)},
    {"is_kernel", NULL, ANALYZE_OWN(FLAG, struct redundant, is_kernel)},
    {0},
};

const struct analyze_description analyze_redundant_values = {
    .name = "redundant-values",
    .title = "Writes what is there already",
    .definition = "A call writes values that are already in memory.",
    .remedy = "Do not write values that do not change.",
    .paper = "ValueExpert, ASPLOS 2022",
    .needs = ANALYZE_INPUT_VALUES,
    .is_about_kernel = true,
    .roles = {[ANALYZE_CALL] = {"written again", "the call that writes"}},
    .thresholds = {&redundant_percent},
    .fields = fields,
    .message = "{if changes_nothing}{call} changes nothing: {same_bytes/written_bytes} of the "
               "bytes that {if atomic}an atomic operation{elif site}a store{else}it{end}{if line} "
               "({line}){end} writes to {object}{else}{same_bytes/written_bytes} of the bytes that "
               "{if atomic}an atomic operation{if line} ({line}){end} in {elif site}a store{if "
               "line} ({line}){end} in {end}{call} writes to {object}{end} are already there",
    .suggestion = "{if changes_nothing}remove {call:name}{elif is_kernel}store only if the value "
                  "changes, or skip the elements that do not{else}write only what changes{end}",
    .find = find,
};
