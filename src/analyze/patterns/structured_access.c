// SPDX-License-Identifier: Apache-2.0
// structured-access: each launch touches a slice of an object, and no two slices overlap, so that
// memory for one slice is enough. Probes count for each launch the elements that no earlier launch
// touched: if these are all its elements, its slice overlaps no earlier one. The launches may be of
// different kernels. If this holds only for the launches of one kernel, other accesses must not
// touch more of the object at once, and hardly anything twice; the fix then keeps memory for one
// slice, and for what other kernels touch besides.
//
// A slice must also be of no use once the next one is. Which elements a launch touched is unknown,
// so only two shapes of a program are accepted. Copies and sets: each launch has its own before or
// behind it, of other bytes than all others. Launches that touch what was touched before: there are
// equally many between any two slices, and they touch only what exactly one launch had touched.
#include <stdlib.h>

#include "analyze/analyses.h"

static const struct analyze_threshold slices = {"slices", "launches", 2,
                                                "at least this many touch a slice of their own"};
static const struct analyze_threshold retouched_percent = {
    "retouched-percent", "percent", 10,
    "at most this many of the touched elements are touched again"};

struct sliced {
    uint64_t elements; // of the object
    uint64_t touched;  // by the launch that touches most
    uint64_t element_bytes, slice_bytes;
    bool of_several; // the launches are of several kernels
};

enum {
    MOST_STREAMS = 16, // most streams for which the order of all accesses is computed
};

struct limits { // values of the thresholds
    uint32_t slices, retouched_percent;
};

struct kernel_use {
    uint32_t kernel, first_call;
    uint64_t launches, largest; // elements
    uint64_t once;              // elements that were touched before, by exactly one launch
    uint64_t again;
    bool disjoint;
};

struct structured_use {
    BASE_ARRAY(struct kernel_use) kernels;
    struct base_map index; // kernel to index + 1
    uint64_t touched, again;
    uint64_t launches, largest; // of all kernels; elements
    uint32_t element_bytes;
    bool known;
};

static void add_launch(struct analyze_run *run, struct structured_use *use,
                       const struct analyze_touch *touch)
{
    uint64_t *slot = base_map_put(&use->index, touch->kernel, NULL);
    if (slot && *slot == 0) {
        struct kernel_use *made = base_array_push(&use->kernels);
        if (made)
            *made = (struct kernel_use){touch->kernel, touch->call, 0, 0, 0, 0, true};
        *slot = made ? use->kernels.count : 0;
    }
    run->failed |= !slot || *slot == 0;
    if (run->failed)
        return;
    struct kernel_use *kernel = &use->kernels.items[*slot - 1];
    kernel->launches++;
    kernel->again += touch->elements - touch->new_elements;
    kernel->once += touch->shared_elements == PROFILE_UNKNOWN ? 0 : touch->shared_elements;
    kernel->disjoint &= touch->elements == touch->new_elements;
    if (touch->elements > kernel->largest)
        kernel->largest = touch->elements;
    use->launches++;
    use->largest = touch->elements > use->largest ? touch->elements : use->largest;
    use->touched += touch->new_elements;
    use->again += touch->elements - touch->new_elements;
}

static void add_use(struct analyze_run *run, struct structured_use *use,
                    const struct analyze_touch *touch)
{
    if (!touch->is_kernel)
        return;
    use->known &= touch->element_bytes && touch->elements != PROFILE_UNKNOWN &&
                  touch->new_elements <= touch->elements &&
                  (use->element_bytes == 0 || use->element_bytes == touch->element_bytes);
    use->element_bytes = touch->element_bytes;
    if (use->known)
        add_launch(run, use, touch);
}

// Returns whether all launches, of whatever kernels, touch slices of their own.
static bool is_all_sliced(const struct limits *limits, const struct structured_use *use)
{
    return use->again == 0 && use->launches >= limits->slices;
}

// Returns the kernel with the largest slices that do not overlap; NULL if there is none.
static const struct kernel_use *find_sliced(const struct limits *limits,
                                            const struct structured_use *use)
{
    const struct kernel_use *best = NULL;
    const bool all = is_all_sliced(limits, use);
    for (size_t i = 0; i < use->kernels.count; i++) {
        const struct kernel_use *kernel = &use->kernels.items[i];
        if (kernel->disjoint && (all || kernel->launches >= limits->slices) &&
            (!best || kernel->largest > best->largest))
            best = kernel;
    }
    return best;
}

// Returns the memory that is enough: the largest slice; or, if only one kernel has slices, the sum
// of the largest slices of all kernels.
static uint64_t slice_bytes(const struct limits *limits, const struct structured_use *use)
{
    uint64_t elements = 0;
    if (is_all_sliced(limits, use))
        return use->largest * use->element_bytes;
    for (size_t i = 0; i < use->kernels.count; i++)
        elements += use->kernels.items[i].largest;
    return elements * use->element_bytes;
}

static bool is_structured(const struct limits *limits, const struct analyze_object *object,
                          const struct structured_use *use)
{
    const struct kernel_use *best = find_sliced(limits, use);
    if (!best || (unsigned __int128)use->again * 100 >
                     (unsigned __int128)use->touched * limits->retouched_percent)
        return false;
    for (size_t i = 0; i < use->kernels.count; i++) {
        const struct kernel_use *kernel = &use->kernels.items[i];
        if (kernel->largest > best->largest || kernel->again != kernel->once)
            return false;
    }
    return slice_bytes(limits, use) <= object->bytes / 2;
}

// --- The order of uses ---------------------------------------------------------------------------

// Copies and sets that read the object, or write to it.
struct side {
    struct base_intervals bytes; // that they accessed so far; the value is the launch before
    uint64_t now;                // bytes since the last launch
    uint64_t launches;           // that have some on this side
};

// Adds a copy or set between the launches `launch` and launch + 1. Returns false if others have
// accessed some of its bytes beside another launch. Between rows, all bytes count.
static bool add_to_side(struct side *side, const struct analyze_touch *touch, uint64_t launch)
{
    const uint64_t rows = touch->rows ? touch->rows : 1,
                   bytes = touch->row_bytes + (rows - 1) * touch->pitch;
    struct base_intervals_walk walk;
    struct base_interval *at =
        base_intervals_first_overlap(&side->bytes, touch->offset, bytes, &walk);
    for (; at; at = base_intervals_next(&walk)) {
        if (at->value != launch)
            return false;
    }
    side->now += touch->row_bytes * rows;
    return base_intervals_remove_range(&side->bytes, touch->offset, bytes) == BASE_OK &&
           base_intervals_insert(&side->bytes, touch->offset, bytes, launch, NULL) == BASE_OK;
}

// Ends what lies between two launches. Returns false if that is more than a slice.
static bool end_side(struct side *side, uint64_t slice)
{
    const bool fits = side->now <= slice;
    side->launches += side->now > 0;
    side->now = 0;
    return fits;
}

// What lies between launches that touch slices.
struct between {
    struct side reads, writes;
    uint64_t slice;         // bytes
    uint64_t launches;      // so far
    uint64_t again, middle; // launches that touch elements again: now; between any two slices
    bool differs;           // they are not equally many
};

static bool add_copy(struct between *between, const struct analyze_touch *touch)
{
    return (!(touch->how & ANALYZE_READ) ||
            (between->launches && add_to_side(&between->reads, touch, between->launches))) &&
           (!(touch->how & ANALYZE_WRITE) ||
            add_to_side(&between->writes, touch, between->launches));
}

// Takes the next launch that touches a slice.
static bool add_slice(struct between *between)
{
    if (between->launches < 2) {
        between->differs |= between->launches && between->middle > between->again;
        between->middle = between->again;
    }
    between->differs |= between->middle != between->again;
    between->again = 0;
    between->launches++;
    return end_side(&between->reads, between->slice) && end_side(&between->writes, between->slice);
}

// Returns whether nothing needs a slice longer than until the next one: each launch that touches a
// slice has the copies and sets of that slice, if there are any, beside it, and so have launches
// that touch elements again.
static bool are_others_beside(const struct analyze_model *model, const struct limits *limits,
                              const struct analyze_object *object, const struct structured_use *use)
{
    const bool all = is_all_sliced(limits, use);
    const struct kernel_use *best = find_sliced(limits, use);
    struct between between = {.slice = slice_bytes(limits, use)};
    bool good = true;
    for (uint32_t u = 0; u < object->use_count && good; u++) {
        const struct analyze_touch *touch =
            &model->touches.items[model->uses[object->first_use + u]];
        if (!touch->is_kernel)
            good = add_copy(&between, touch);
        else if (all || touch->kernel == best->kernel)
            good = add_slice(&between);
        else
            between.again += touch->elements > touch->new_elements;
    }
    good = good && !between.differs && between.again <= between.middle &&
           end_side(&between.reads, between.slice) && between.writes.now == 0 &&
           (!between.reads.launches || between.reads.launches == between.launches) &&
           (!between.writes.launches || between.writes.launches == between.launches);
    base_intervals_fini(&between.reads.bytes);
    base_intervals_fini(&between.writes.bytes);
    return good;
}

static void add(struct analyze_run *run, const struct limits *limits, uint32_t index,
                const struct structured_use *use)
{
    const struct analyze_model *model = run->model;
    const struct analyze_object *object = &model->objects.items[index];
    const struct kernel_use *best = find_sliced(limits, use);
    struct analyze_finding finding = analyze_begin_finding(run, ANALYZE_STRUCTURED_ACCESS, index,
                                                           best->first_call, object->call);
    finding.kernel = best->kernel;
    const bool of_several = is_all_sliced(limits, use) && use->kernels.count > 1;
    finding.times = of_several ? use->launches : best->launches;
    const struct sliced sliced = {.elements = object->bytes / use->element_bytes +
                                              (object->bytes % use->element_bytes != 0),
                                  .touched = best->largest,
                                  .element_bytes = use->element_bytes,
                                  .slice_bytes = slice_bytes(limits, use),
                                  .of_several = of_several};
    analyze_set_payload(&finding, sliced);
    analyze_set_enough(run, object, sliced.slice_bytes);
    analyze_add_shorter(run, &finding, object, analyze_begin(object), analyze_end(model, object),
                        object->bytes - sliced.slice_bytes);
}

// Returns the clocks of all calls that touch something. Returns NULL when memory ran out, or if
// there are so many streams that clocks would need too much of it.
static struct analyze_clocks *make_clocks(struct analyze_run *run)
{
    struct analyze_model *model = run->model;
    struct analyze_clocks *clocks = NULL;
    if (model->streams.count > MOST_STREAMS)
        return NULL;
    bool *wanted = calloc(model->calls.count + 1, sizeof(*wanted));
    for (size_t i = 0; wanted && i < model->touches.count; i++)
        wanted[model->touches.items[i].call] = true;
    run->failed |= !wanted || !analyze_set_order(model, wanted, &clocks);
    free(wanted);
    return clocks;
}

// Returns whether one access surely ends before the next starts. Clocks are made on the first need,
// because accesses of one stream do not need them.
static bool follows(struct analyze_run *run, const struct analyze_touch *one,
                    const struct analyze_touch *next, struct analyze_clocks **clocks)
{
    const struct analyze_model *model = run->model;
    const struct analyze_call *call = &model->calls.items[next->call];
    if (one->call == next->call)
        return one->node == next->node ||
               (call->kind == PROFILE_CALL_GRAPH_LAUNCH && call->graph &&
                analyze_is_node_before(model, call->graph - 1, one->node, next->node));
    if (model->calls.items[one->call].stream == call->stream && call->stream)
        return true;
    if (!*clocks)
        *clocks = make_clocks(run);
    return *clocks && analyze_is_before(model, *clocks, one->call, next->call);
}

// Returns whether accesses come one after another. Otherwise memory for one slice is not enough.
static bool come_one_by_one(struct analyze_run *run, const struct analyze_object *object,
                            struct analyze_clocks **clocks)
{
    const struct analyze_model *model = run->model;
    for (uint32_t u = 1; u < object->use_count; u++) {
        const uint32_t *uses = &model->uses[object->first_use + u];
        if (!follows(run, &model->touches.items[uses[-1]], &model->touches.items[uses[0]], clocks))
            return false;
    }
    return true;
}

static void find(struct analyze_run *run)
{
    const struct analyze_model *model = run->model;
    const struct limits limits = {analyze_limit(run->thresholds, &slices),
                                  analyze_limit(run->thresholds, &retouched_percent)};
    struct analyze_clocks *clocks = NULL;
    for (uint32_t i = 0; i < model->objects.count && !run->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        if (!analyze_is_subject(object) || object->use_count < limits.slices ||
            analyze_first_unseen(model, object, analyze_begin(object),
                                 analyze_end(model, object)) != ANALYZE_NONE)
            continue;
        struct structured_use use = {.known = true};
        for (uint32_t u = 0; u < object->use_count && use.known && !run->failed; u++)
            add_use(run, &use, &model->touches.items[model->uses[object->first_use + u]]);
        if (use.known && use.element_bytes && !run->failed &&
            is_structured(&limits, object, &use) &&
            are_others_beside(model, &limits, object, &use) &&
            come_one_by_one(run, object, &clocks))
            add(run, &limits, i, &use);
        base_map_fini(&use.index);
        base_array_fini(&use.kernels);
    }
    analyze_clocks_free(clocks);
}

// --- The description -----------------------------------------------------------------------------

static const struct analyze_field fields[] = {
    {"elements", "elements of the object", ANALYZE_OWN(COUNT, struct sliced, elements),
     .unit = "element"},
    {"touched", "elements that the launch touches that touches most",
     ANALYZE_OWN(COUNT, struct sliced, touched), .unit = "element"},
    {"element_bytes", "the size of an element", ANALYZE_OWN(BYTES, struct sliced, element_bytes),
     .least = 1},
    {"slice_bytes", "the size that would do", ANALYZE_OWN(BYTES, struct sliced, slice_bytes),
     .least = 1},
    {"of_several", NULL, ANALYZE_OWN(FLAG, struct sliced, of_several)},
    {0},
};

const struct analyze_description analyze_structured_access = {
    .name = "structured-access",
    .title = "Used one slice at a time",
    .definition = "Each launch touches a slice of an object that no other launch touches, and "
                  "copies of a slice are made just before or after its launch.",
    .remedy = "Allocate memory for one slice, and reuse it for each launch.",
    .paper = "DrGPUM, definition 3.10",
    .needs = ANALYZE_INPUT_ELEMENTS,
    .is_about_kernel = true,
    .roles = {[ANALYZE_CALL] = {"first launched", "the first launch"},
              [ANALYZE_OTHER_CALL] = {"allocated", "the allocation"}},
    .thresholds = {&slices, &retouched_percent},
    .fields = fields,
    .message =
        "{if alone}{times} {end}launches of {kernel}{if of_several} and other kernels{end} each "
        "touch a different slice of {object}",
    .suggestion = "{if brief}allocate one slice of {object:name} ({slice_bytes}) and reuse it for "
                  "each launch{else}"
                  "allocate one slice of {object:name}, {slice_bytes} instead of {object:size}, "
                  "and reuse it for each launch"
                  "{end}",
    .find = find,
};
