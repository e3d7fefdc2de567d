// SPDX-License-Identifier: Apache-2.0
// redundant-allocation (definition 3.3): an object could reuse the memory of another object of
// about the same size, whose last access ends before this object's first access. Pairs are found as
// in the paper's section 5.1: first accesses are visited from the last to the first. Each object
// takes the candidate whose last access is the nearest before, if no other object has taken it. The
// paper compares only timestamps; here the one access must also surely end before the other starts,
// and both objects must exist at the same time: if the other one is freed before this one is
// allocated, the driver already gives its memory to whoever asks next, and reusing it saves
// nothing. Copies and sets that only initialize the object do not count as accesses if they can be
// delayed.
//
// Candidates are sorted into classes of one size, and within a class by last access, so the nearest
// is at the end. A candidate whose last access comes after the visited access is of no use for
// earlier accesses either, so it is dropped.
#include <stdlib.h>

#include "analyze/analyses.h"

static const struct analyze_threshold reuse_percent = {
    "reuse-percent", "percent", 10, "sizes differ by at most this much of the object's size"};

struct reuse {
    bool in_same_launch; // the other object's last access is in the graph launch that first uses it
    bool is_delayed;     // copies and sets that initialize the object are delayed
    bool passed;         // the other object's last access is known only by an argument
};

enum {
    MOST_CLASSES = 256, // size classes that are searched for one object
    MOST_TRIED = 16,    // candidates of each class that are tried
    MOST_ASKED = 64,    // pairs of graph nodes that are compared for two objects
    BLOCK = 16,         // classes that are skipped together
};

struct candidate {
    uint64_t last; // position of the last access: order, then index of the call
    uint32_t object;
    bool taken;
};

struct size_class {
    uint64_t bytes;
    size_t first, count; // candidates, sorted so that the nearest is at the end
};

struct choice {
    struct candidate *candidates;
    struct size_class *classes;
    uint64_t *nearest; // by class: last access of its nearest candidate; 0: none is left
    uint64_t *bounds;  // by block of BLOCK classes: upper bound of their `nearest`
    size_t class_count;
    struct holding *holdings; // by object
    uint32_t reuse_percent;
};

struct visit {
    uint64_t first; // position of the first access
    uint64_t end; // last accesses must be before this; one more for a graph launch, which may hold
                  // both accesses
    uint32_t object;
};

static uint64_t position(const struct analyze_model *model, uint32_t call)
{
    return (uint64_t)model->calls.items[call].order << 32 | call;
}

static int by_size(const void *one, const void *other, void *user)
{
    const struct analyze_object *objects = user;
    const struct candidate *a = one, *b = other;
    uint64_t a_bytes = objects[a->object].bytes, b_bytes = objects[b->object].bytes;
    if (a_bytes != b_bytes)
        return a_bytes < b_bytes ? -1 : 1;
    if (a->last != b->last)
        return a->last < b->last ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

static int latest_first(const void *one, const void *other)
{
    const struct visit *a = one, *b = other;
    if (a->first != b->first)
        return a->first > b->first ? -1 : 1;
    return a->object < b->object ? -1 : a->object > b->object;
}

// A mapping cannot be moved into other memory. An object without known accesses has no position.
static bool takes_part(const struct analyze_object *object)
{
    return analyze_is_subject(object) && object->kind != PROFILE_OBJECT_MAPPING &&
           object->needed != ANALYZE_NONE;
}

// For a graph launch that touches `one` last and `other` first: returns whether each node that
// touches `one` ends before any node that touches `other` starts.
static bool is_over_in_graph(const struct analyze_model *model, const struct analyze_object *one,
                             const struct analyze_object *other)
{
    const uint32_t call = one->last, graph = model->calls.items[call].graph - 1;
    uint32_t asked = 0;
    for (uint32_t a = one->use_count; a-- > 0;) {
        const struct analyze_touch *last = &model->touches.items[model->uses[one->first_use + a]];
        if (last->call != call)
            break;
        for (uint32_t b = 0; b < other->use_count; b++) {
            const struct analyze_touch *first =
                &model->touches.items[model->uses[other->first_use + b]];
            if (first->call < call)
                continue; // it is delayed until this call
            if (first->call != call)
                break;
            if (asked++ == MOST_ASKED ||
                !analyze_is_node_before(model, graph, last->node, first->node))
                return false;
        }
    }
    return true;
}

static bool is_graph_launch(const struct analyze_model *model, uint32_t call)
{
    return model->calls.items[call].kind == PROFILE_CALL_GRAPH_LAUNCH &&
           model->calls.items[call].graph;
}

// Returns whether the last access to `one` surely ends before the first access to `other` starts,
// and nothing may access `one` unobserved after that, up to its end.
static bool is_over(const struct analyze_run *run, const struct analyze_object *one,
                    const struct analyze_object *other)
{
    const struct analyze_model *model = run->model;
    if (one->last == other->needed)
        return is_graph_launch(model, one->last) && is_over_in_graph(model, one, other) &&
               analyze_first_hidden(model, one, one->last, analyze_end(model, one)) == ANALYZE_NONE;
    return analyze_is_before(model, run->clocks, one->last, other->needed) &&
           analyze_first_hidden(model, one, one->last + 1, analyze_end(model, one)) == ANALYZE_NONE;
}

// Memory of one allocator cannot replace that of another: each pool is one, PyTorch's is one for
// all its segments, and the driver's is for everything else.
static uint64_t allocator(const struct analyze_object *object)
{
    if (object->kind == PROFILE_OBJECT_TENSOR)
        return (uint64_t)ANALYZE_NONE + 1;
    return object->parent;
}

static bool can_reuse(const struct analyze_run *run, const struct analyze_object *object,
                      const struct analyze_object *other)
{
    return other != object && other->device == object->device &&
           allocator(other) == allocator(object) &&
           analyze_end(run->model, other) > analyze_begin(object) && is_over(run, other, object);
}

// Drops candidates that are taken or whose last access is not before the visited access.
static void trim(struct choice *choice, size_t class, const struct visit *visit)
{
    struct size_class *row = &choice->classes[class];
    const struct candidate *candidates = choice->candidates + row->first;
    while (row->count &&
           (candidates[row->count - 1].taken || candidates[row->count - 1].last >= visit->end))
        row->count--;
    choice->nearest[class] = row->count ? candidates[row->count - 1].last : 0;
}

// Returns the nearest candidate of the class that can be reused if it is nearer than `best`;
// otherwise `best`, which may be NULL.
static struct candidate *nearer(const struct analyze_run *run, const struct choice *choice,
                                size_t class, const struct visit *visit, struct candidate *best)
{
    const struct analyze_object *objects = run->model->objects.items;
    const struct size_class *row = &choice->classes[class];
    size_t tried = 0;
    for (size_t i = row->count; i-- > 0 && tried < MOST_TRIED; tried++) {
        struct candidate *candidate = &choice->candidates[row->first + i];
        if (best && candidate->last <= best->last)
            break;
        if (!candidate->taken &&
            can_reuse(run, &objects[visit->object], &objects[candidate->object]))
            return candidate;
    }
    return best;
}

// Returns the nearest candidate of the classes [first, end). Usually the first one that is tried
// can be reused.
static struct candidate *nearest_of(const struct analyze_run *run, struct choice *choice,
                                    size_t first, size_t end, const struct visit *visit)
{
    size_t most = first;
    uint64_t last = 0; // last access of the nearest candidate so far
    for (size_t i = first, next; i < end; i = next) {
        bool is_block = i % BLOCK == 0 && end - i >= BLOCK;
        uint64_t bound = 0;
        next = is_block ? i + BLOCK : i + 1;
        if (is_block && choice->bounds[i / BLOCK] <= last)
            continue;
        for (size_t k = i; k < next; k++) {
            if (choice->nearest[k] >= visit->end)
                trim(choice, k, visit);
            bound = choice->nearest[k] > bound ? choice->nearest[k] : bound;
            most = choice->nearest[k] > last ? k : most;
            last = choice->nearest[k] > last ? choice->nearest[k] : last;
        }
        if (is_block)
            choice->bounds[i / BLOCK] = bound;
    }
    if (last == 0)
        return NULL;
    struct candidate *best = nearer(run, choice, most, visit, NULL);
    if (best && best->last == last)
        return best;
    best = NULL;
    for (size_t i = first; i < end; i++)
        best = nearer(run, choice, i, visit, best);
    return best;
}

// --- The worth of a pair -------------------------------------------------------------------------

// The size and end of an object's memory when other objects reuse it. Objects that reuse it are
// visited earlier. If this object reuses another one's memory, that one must hold all of them. This
// applies only within one group, whose matches are fixed together.
struct holding {
    uint64_t bytes;
    uint32_t end;
    uint32_t group; // NONE: nothing reuses it
};

static struct holding own(const struct analyze_model *model, const struct analyze_object *object)
{
    return (struct holding){object->bytes, analyze_end(model, object), ANALYZE_NONE};
}

// Stores the changes if the memory that `held` describes moves into that of `other`. Returns their
// number.
static unsigned move_into(const struct analyze_model *model, const struct analyze_object *object,
                          struct holding held, const struct analyze_object *other,
                          struct analyze_change changes[3])
{
    uint32_t from = analyze_begin(other), to = analyze_end(model, other);
    uint64_t bytes = held.bytes > other->bytes ? held.bytes : other->bytes;
    if (!analyze_change_of(object, &changes[0])) // the other one is in the same memory
        return 0;
    const uint32_t pool = changes[0].pool, device = object->device;
    changes[0] = (struct analyze_change){
        analyze_begin(object), held.end, held.bytes, 0, false, pool, device};
    changes[1] = (struct analyze_change){from, to, bytes - other->bytes, 0, true, pool, device};
    changes[2] =
        (struct analyze_change){to > from ? to : from, held.end, bytes, 0, true, pool, device};
    return 3;
}

static void add(struct analyze_run *run, uint32_t index, uint32_t other_index,
                struct holding *holdings)
{
    const struct analyze_model *model = run->model;
    const struct analyze_object *object = &model->objects.items[index];
    const struct analyze_object *other = &model->objects.items[other_index];
    const struct analyze_call *last = &model->calls.items[other->last];
    struct analyze_change changes[3];
    struct analyze_finding finding = analyze_begin_finding(run, ANALYZE_REDUNDANT_ALLOCATION, index,
                                                           object->call, object->needed);
    finding.other_object = other->number;
    finding.last_call = last->number;
    finding.last_path = last->path;
    finding.last_kind = (enum profile_call_kind)last->kind;
    finding.last_kernel = last->kernel;
    const struct reuse reuse = {.in_same_launch = other->last == object->needed,
                                .is_delayed = analyze_can_delay(object),
                                .passed = analyze_is_passed(model, other, other->last)};
    analyze_set_payload(&finding, reuse);
    if (!reuse.in_same_launch)
        analyze_set_distance(model, &finding, other->last, object->needed);
    unsigned count = move_into(model, object, own(model, object), other, changes);
    finding.peak_bytes = analyze_replay_gain(run->replay, changes, count);
    uint32_t group = analyze_add_finding(run, &finding);
    // In combination with other fixes, this fix makes both objects live only while they are used.
    analyze_add_fix(run, group, object, analyze_begin(object), object->needed, object->bytes);
    analyze_add_fix(run, group, other, other->last + 1, analyze_end(model, other), other->bytes);

    struct holding held = holdings[index];
    if (held.group != group)
        held = own(model, object);
    count = move_into(model, object, held, other, changes);
    for (unsigned i = 0; i < count; i++)
        analyze_add_change(run, group, changes[i]);
    struct holding into = own(model, other);
    holdings[other_index] = (struct holding){held.bytes > into.bytes ? held.bytes : into.bytes,
                                             held.end > into.end ? held.end : into.end, group};
}

// --- Pairs ---------------------------------------------------------------------------------------

// Returns the first class of at least that many bytes.
static size_t first_class(const struct choice *choice, uint64_t bytes)
{
    return base_search(0, choice->class_count, i, choice->classes[i].bytes < bytes);
}

static void visit_object(struct analyze_run *run, const struct visit *visit, struct choice *choice)
{
    const struct analyze_model *model = run->model;
    const struct analyze_object *object = &model->objects.items[visit->object];
    uint64_t slack = (uint64_t)((unsigned __int128)object->bytes * choice->reuse_percent / 100);
    uint64_t least = object->bytes > slack ? object->bytes - slack : 0;
    uint64_t most = object->bytes > UINT64_MAX - slack ? UINT64_MAX : object->bytes + slack;
    size_t low = first_class(choice, least);
    size_t high = most == UINT64_MAX ? choice->class_count : first_class(choice, most + 1);
    if (analyze_first_hidden(model, object, analyze_begin(object), object->needed) != ANALYZE_NONE)
        return;
    high = high - low < MOST_CLASSES ? high : low + MOST_CLASSES;
    struct candidate *best = nearest_of(run, choice, low, high, visit);
    if (!best)
        return;
    best->taken = true;
    trim(choice, first_class(choice, model->objects.items[best->object].bytes), visit);
    add(run, visit->object, best->object, choice->holdings);
}

static void make_classes(const struct analyze_model *model, struct choice *choice, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = model->objects.items[choice->candidates[i].object].bytes;
        size_t class = choice->class_count;
        if (class == 0 || choice->classes[class - 1].bytes != bytes)
            choice->classes[choice->class_count++] = (struct size_class){bytes, i, 0};
        choice->classes[choice->class_count - 1].count++;
        choice->nearest[choice->class_count - 1] = choice->candidates[i].last;
        choice->bounds[(choice->class_count - 1) / BLOCK] = UINT64_MAX;
    }
}

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    size_t count = 0, room = model->objects.count + 1;
    struct visit *visits = calloc(room, sizeof(*visits));
    struct choice choice = {.candidates = calloc(room, sizeof(struct candidate)),
                            .classes = calloc(room, sizeof(struct size_class)),
                            .nearest = calloc(room, sizeof(uint64_t)),
                            .bounds = calloc(room, sizeof(uint64_t)),
                            .holdings = calloc(room, sizeof(struct holding)),
                            .reuse_percent = analyze_limit(run->thresholds, &reuse_percent)};
    run->failed |= !visits || !choice.candidates || !choice.classes || !choice.nearest ||
                   !choice.bounds || !choice.holdings;
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!takes_part(object))
            continue;
        choice.holdings[i].group = ANALYZE_NONE;
        choice.candidates[count] = (struct candidate){position(model, object->last), i, false};
        const uint64_t first = position(model, object->needed);
        visits[count++] = (struct visit){first, first + is_graph_launch(model, object->needed), i};
    }
    if (!run->failed && count) {
        qsort_r(choice.candidates, count, sizeof(*choice.candidates), by_size,
                model->objects.items);
        qsort(visits, count, sizeof(*visits), latest_first);
        make_classes(model, &choice, count);
        for (size_t i = 0; i < count && !run->failed; i++)
            visit_object(run, &visits[i], &choice);
    }
    free(visits);
    free(choice.candidates);
    free(choice.classes);
    free(choice.nearest);
    free(choice.bounds);
    free(choice.holdings);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"reuse", "the other object, whose memory this one could use",
     ANALYZE_SHARED(NUMBER_OF_OBJECT, other_object), .least = 1},
    {"last_access", "the last access to the other object",
     ANALYZE_SHARED(NUMBER_OF_CALL, last_call), .least = 1},
    {"first_access", "the first access to this object", ANALYZE_SHARED(NUMBER_OF_CALL, other_call),
     .least = 1},
    {"is_delayed", NULL, ANALYZE_OWN(FLAG, struct reuse, is_delayed)},
    {"passed", NULL, ANALYZE_OWN(FLAG, struct reuse, passed)},
    {"in_same_launch", NULL, ANALYZE_OWN(FLAG, struct reuse, in_same_launch)},
    {0},
};

const struct analyze_description analyze_redundant_allocation = {
    .name = "redundant-allocation",
    .title = "Could reuse another object's memory",
    .definition = "When an object is first accessed, another object of about the same size, which "
                  "exists at the same time, is no longer needed.",
    .remedy = "Reuse the other object's memory, allocated as large as the larger of the two.",
    .paper = "DrGPUM, definition 3.3",
    .needs = ANALYZE_INPUT_OBJECTS,
    .takes_arguments = true,
    .roles = {[ANALYZE_CALL] = {"allocated", "the allocation"},
              [ANALYZE_OTHER_CALL] = {"first used", "the first access"},
              [ANALYZE_LAST_CALL] = {"last use of what it could reuse",
                                     "the last access to the memory that it could reuse"}},
    .other_object = "could reuse",
    .thresholds = {&reuse_percent},
    .fields = fields,
    .message = "{if brief}{object} could reuse the memory of {other_object:name}{else}"
               "{object} is first used when {other_object} is no longer needed, and could reuse "
               "its memory"
               "{end}",
    .suggestion =
        "{if brief}{if is_delayed}reuse {other_object:name}, but only after {last_call}{else}reuse "
        "it: {other_object:name} is unused after {last_call}{end}{else}"
        "let {object:name}{if call}{call:where}{end} reuse the memory of {other_object:name}, "
        "which {if passed}no kernel gets{else}nothing uses{end} after {if in_same_launch}earlier "
        "nodes of {end}{last_call}"
        "{if is_delayed}; initialize it just before {other_call}{end}"
        "{end}",
    .find = find,
};
