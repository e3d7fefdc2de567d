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
    bool is_kernel, is_atomic, changes_nothing;
};

struct redundant_search {
    struct analyze_run *run;
    uint32_t percent;
    size_t next_row, next_store;
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

static void add(struct redundant_search *looking, const struct analyze_contents *at,
                uint32_t kernel, const struct redundant *redundant)
{
    struct analyze_run *run = looking->run;
    struct analyze_finding finding =
        analyze_begin_finding(run, ANALYZE_REDUNDANT_VALUES, at->object, at->call, ANALYZE_NONE);
    if (kernel)
        finding.kernel = kernel;
    finding.aspect = redundant->site;
    analyze_set_traffic(run, &finding, at->call, redundant->same_bytes,
                        redundant->is_kernel ? 0 : redundant->written_bytes);
    analyze_set_payload(&finding, *redundant);
    analyze_add_finding(run, &finding);
}

// Returns the row about what the node wrote to the object; NULL if there is none that can be used.
static const struct analyze_contents *row_of(const struct redundant_search *looking, size_t end,
                                             uint32_t node, uint32_t object)
{
    for (size_t i = looking->next_row; i < end; i++) {
        const struct analyze_contents *at = &looking->run->model->contents.items[i];
        if (at->node == node && at->object == object && at->row->kind == PROFILE_CONTENTS_WRITTEN)
            return is_compared(at) ? at : NULL;
    }
    return NULL;
}

// Returns whether no object that the call wrote has changed.
static bool changes_nothing(const struct redundant_search *looking, size_t end)
{
    bool any = false;
    for (size_t i = looking->next_row; i < end; i++) {
        const struct analyze_contents *at = &looking->run->model->contents.items[i];
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
    for (uint32_t i = call->touches, end = analyze_touches_end(model, at->call); i < end; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        if (touch->object == at->object && touch->node == at->node)
            return touch->is_kernel;
    }
    return call->kind == PROFILE_CALL_LAUNCH;
}

// A kernel that changes nothing is reported also if its stores do, one after another.
static bool has_stores(const struct redundant_search *looking, size_t end_store,
                       const struct analyze_contents *at)
{
    for (size_t i = looking->next_store; i < end_store; i++) {
        const struct analyze_stored *stored = &looking->run->model->stores.items[i];
        if (stored->object == at->object && stored->node == at->node &&
            is_redundant(looking, stored->silent, stored->stores))
            return true;
    }
    return false;
}

static void take_rows(struct redundant_search *looking, size_t end, size_t end_store, bool nothing)
{
    const struct analyze_model *model = looking->run->model;
    for (size_t i = looking->next_row; i < end; i++) {
        const struct analyze_contents *at = &model->contents.items[i];
        const bool is_kernel = is_of_kernel(model, at);
        if (!is_compared(at) || !analyze_has_values(&model->objects.items[at->object]) ||
            !is_redundant(looking, at->row->same_bytes, at->row->moved_bytes) ||
            (is_kernel && (!nothing || has_stores(looking, end_store, at))))
            continue;
        const struct redundant redundant = {.written_bytes = at->row->moved_bytes,
                                            .same_bytes = at->row->same_bytes,
                                            .is_kernel = is_kernel,
                                            .changes_nothing = nothing};
        add(looking, at, 0, &redundant);
    }
}

static void take_stores(struct redundant_search *looking, size_t end, size_t end_store,
                        bool nothing)
{
    const struct analyze_model *model = looking->run->model;
    for (size_t i = looking->next_store; i < end_store; i++) {
        const struct analyze_stored *stored = &model->stores.items[i];
        if (stored->object == ANALYZE_NONE ||
            !analyze_has_values(&model->objects.items[stored->object]) ||
            !is_redundant(looking, stored->silent, stored->stores))
            continue;
        const struct analyze_contents *at = row_of(looking, end, stored->node, stored->object);
        if (!at)
            continue;
        struct redundant redundant = {.written_bytes = stored->stores * stored->bytes,
                                      .same_bytes = stored->silent * stored->bytes,
                                      .site = stored->site,
                                      .is_kernel = true,
                                      .changes_nothing = nothing};
        if (stored->place != ANALYZE_NONE) {
            redundant.line = model->store_sites.items[stored->place].line;
            redundant.is_atomic = model->store_sites.items[stored->place].is_atomic;
        }
        add(looking, at, stored->kernel, &redundant);
    }
}

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    struct redundant_search looking = {
        .run = run, .percent = analyze_limit(run->thresholds, &redundant_percent)};
    while (looking.next_row < model->contents.count && !run->failed) {
        const uint32_t call = model->contents.items[looking.next_row].call;
        size_t end = looking.next_row, end_store;
        while (end < model->contents.count && model->contents.items[end].call == call)
            end++;
        while (looking.next_store < model->stores.count &&
               model->stores.items[looking.next_store].call < call)
            looking.next_store++;
        end_store = looking.next_store;
        while (end_store < model->stores.count && model->stores.items[end_store].call == call)
            end_store++;
        // A launch whose accesses are unknown may have written something else, too.
        if (!(model->calls.items[call].flags & ANALYZE_UNSEEN)) {
            const bool nothing = changes_nothing(&looking, end);
            take_stores(&looking, end, end_store, nothing);
            take_rows(&looking, end, end_store, nothing);
        }
        looking.next_row = end;
        looking.next_store = end_store;
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
    .message = "{if changes_nothing}{call} changes nothing: {end}{same_bytes/written_bytes} of the "
               "bytes that {if atomic}an atomic operation{elif site}a store{elif is_kernel}it"
               "{else}{call:name}{end}{if line} ({line}){end} writes to {object} are already there"
               "{if not changes_nothing}{if is_kernel} ({call:name}{call:where}){else}"
               "{call:where}{end}{end}{if repeated}; this happens {times} times{end}",
    .suggestion = "{if changes_nothing}remove {call:name}{elif is_kernel}store only if the value "
                  "changes, or skip the elements that do not{else}write only what changes{end}",
    .find = find,
};
