// SPDX-License-Identifier: Apache-2.0
// redundant-allocation (definition 3.3): an object could lie in the memory of another one of about
// its size, of which the last access is over before the first access to it. Pairs are found as the
// paper's section 5.1 does it: first accesses are visited from the last to the first; each object
// takes of those whose last access lies before the nearest that nobody has taken. The paper goes by
// timestamps alone; here the one access must also surely be over when the other begins.
//
// Objects stand in classes of one size, each by last access, so that a class has its nearest at
// hand: what lies behind the access that is visited is of no use for the ones before it either.
#include <stdlib.h>

#include "analyze/analyses.h"

static const struct analyze_threshold reuse_percent = {
    "reuse-percent", "percent", 10, "sizes differ by at most this much of the object's size"};

struct reuse {
    bool in_same_launch; // the other object's last access is in the graph launch that first uses it
};

enum {
    MOST_CLASSES = 256, // of sizes, and
    MOST_TRIED = 16,    // of objects in each, that are looked at for one object
    MOST_ASKED = 64,    // pairs of nodes of a graph, for two objects
    BLOCK = 16,         // classes that are passed over together
};

struct candidate {
    uint64_t last; // access: order, then index
    uint32_t object;
    bool taken;
};

struct size_class {
    uint64_t bytes;
    size_t first, count; // candidates, the nearest last
};

struct choice {
    struct candidate *candidates;
    struct size_class *classes;
    uint64_t *nearest; // of a class, the last access of its nearest; 0: none is left
    uint64_t *bounds;  // of the BLOCK classes from each BLOCK-th on: their nearest is no nearer
    size_t class_count;
    struct holding *holdings; // by object
    uint32_t reuse_percent;
};

struct visit {
    uint64_t first; // access
    uint64_t end;   // others must be over before: in the launch of a graph, one may be
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

// A mapping cannot be moved into other memory; what nobody can see being used is left alone.
static bool takes_part(const struct analyze_object *object)
{
    return analyze_is_subject(object) && object->kind != PROFILE_OBJECT_MAPPING &&
           object->first != ANALYZE_NONE;
}

// The launch of a graph touches the one last and the other first: each node that touches the one is
// over when one begins that touches the other.
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

// The last access to the one is surely over when the first to the other begins, also if there are
// more than are told.
static bool is_over(const struct analyze_run *run, const struct analyze_object *one,
                    const struct analyze_object *other)
{
    const struct analyze_model *model = run->model;
    if (one->last == other->first)
        return is_graph_launch(model, one->last) && is_over_in_graph(model, one, other) &&
               analyze_first_unseen(model, one, one->last, one->last + 1) == ANALYZE_NONE;
    return analyze_is_before(model, run->clocks, one->last, other->first) &&
           analyze_first_unseen(model, one, one->last + 1, other->first) == ANALYZE_NONE;
}

// A pool gives memory out again by itself: of its parts, those matter that are there at once.
static bool can_reuse(const struct analyze_run *run, const struct analyze_object *object,
                      const struct analyze_object *other)
{
    return other != object && other->device == object->device && other->parent == object->parent &&
           (object->parent == ANALYZE_NONE ||
            analyze_end(run->model, other) > analyze_begin(object)) &&
           is_over(run, other, object);
}

// Leaves out what is taken, and what is used no earlier than the access that is visited.
static void trim(struct choice *choice, size_t class, const struct visit *visit)
{
    struct size_class *row = &choice->classes[class];
    const struct candidate *candidates = choice->candidates + row->first;
    while (row->count &&
           (candidates[row->count - 1].taken || candidates[row->count - 1].last >= visit->end))
        row->count--;
    choice->nearest[class] = row->count ? candidates[row->count - 1].last : 0;
}

// The nearest of the class that can be reused, if it is nearer than `best` (which may be NULL);
// else that.
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

// The nearest of the classes from `first` to before `end`. Mostly it is the first one that is
// tried.
static struct candidate *nearest_of(const struct analyze_run *run, struct choice *choice,
                                    size_t first, size_t end, const struct visit *visit)
{
    size_t most = first;
    uint64_t last = 0; // access of the nearest of them
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

// --- What it is worth ----------------------------------------------------------------------------

// What an object's memory has to be when others lie in it: larger, and longer. Those that reuse it
// are visited before it; when it reuses another's in its turn, that one holds all of them. Only for
// those of one group, which are fixed together.
struct holding {
    uint64_t bytes;
    uint32_t end;
    uint32_t group; // NONE: nothing lies in it
};

static struct holding own(const struct analyze_model *model, const struct analyze_object *object)
{
    return (struct holding){object->bytes, analyze_end(model, object), ANALYZE_NONE};
}

// The changes when what `held` says lies in the memory of the other one. Returns how many.
static unsigned move_into(const struct analyze_model *model, const struct analyze_object *object,
                          struct holding held, const struct analyze_object *other,
                          struct analyze_change changes[3])
{
    uint32_t from = analyze_begin(other), to = analyze_end(model, other);
    uint64_t bytes = held.bytes > other->bytes ? held.bytes : other->bytes;
    uint32_t pool; // of both
    if (!analyze_change_of(object, &pool))
        return 0;
    changes[0] =
        (struct analyze_change){analyze_begin(object), held.end, held.bytes, 0, false, pool};
    changes[1] = (struct analyze_change){from, to, bytes - other->bytes, 0, true, pool};
    changes[2] = (struct analyze_change){to > from ? to : from, held.end, bytes, 0, true, pool};
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
                                                           object->call, object->first);
    finding.other_object = other->number;
    finding.last_call = last->number;
    finding.last_path = last->path;
    finding.last_kind = (enum profile_call_kind)last->kind;
    finding.last_kernel = last->kernel;
    const struct reuse reuse = {.in_same_launch = other->last == object->first};
    analyze_set_payload(&finding, reuse);
    if (!reuse.in_same_launch)
        analyze_set_distance(model, &finding, other->last, object->first);
    unsigned count = move_into(model, object, own(model, object), other, changes);
    finding.peak_bytes = analyze_replay_gain(run->replay, changes, count);
    uint32_t group = analyze_add_finding(run, &finding);
    // Beside other fixes, it makes both live only while they are used.
    analyze_add_fix(run, group, object, analyze_begin(object), object->first, object->bytes);
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

// The first class of so many bytes or more.
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
    if (analyze_first_unseen(model, object, analyze_begin(object), object->first) != ANALYZE_NONE)
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
        const uint64_t first = position(model, object->first);
        visits[count++] = (struct visit){first, first + is_graph_launch(model, object->first), i};
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
    {"in_same_launch", NULL, ANALYZE_OWN(FLAG, struct reuse, in_same_launch)},
    {0},
};

const struct analyze_description analyze_redundant_allocation = {
    .name = "redundant-allocation",
    .title = "Could reuse another object's memory",
    .definition = "When an object is first accessed, another object of about the same size is no "
                  "longer needed.",
    .remedy = "Reuse the other object's memory, allocated as large as the larger of the two.",
    .paper = "DrGPUM, definition 3.3",
    .needs = ANALYZE_INPUT_OBJECTS,
    .roles = {[ANALYZE_CALL] = {"allocated", "the allocation"},
              [ANALYZE_OTHER_CALL] = {"first used", "the first access"},
              [ANALYZE_LAST_CALL] = {"last use of what it could reuse",
                                     "the last access to the memory that it could reuse"}},
    .other_object = "could reuse",
    .thresholds = {&reuse_percent},
    .fields = fields,
    .message = "{object} is first used when {other_object} is no longer needed, and could reuse "
               "its memory",
    .suggestion =
        "let {object:name}{if call}{call:where}{end} reuse the memory of {other_object:name}, "
        "which nothing uses after {if in_same_launch}earlier nodes of {end}{last_call}",
    .find = find,
};
