// SPDX-License-Identifier: Apache-2.0
// Finds objects that are idle at the peak, and that would be moved to the host and back to lower
// it. At the moment at which most memory is needed, the largest idle object is moved out, from the
// use before that moment to the use after it. This is repeated until no object is idle at the peak.
// What came after the lowest peak is taken back. Each device is looked at alone.
#include <stdlib.h>

#include "analyses.h"

enum {
    MOST_ROUNDS = 64,      // swaps that are tried
    MOST_OBJECTS = 100000, // a round takes time for all of them
};

struct swap_piece { // of the life of an object
    uint32_t object, from, last;
};

struct moment {
    uint32_t call;
    int64_t change; // of the bytes that are needed
};

struct swapping {
    const struct analyze_run *run;
    BASE_ARRAY(struct swap_piece) pieces;
    struct moment *moments; // room for two of each piece
    uint32_t device;        // that is looked at
    bool failed;
};

static int by_call(const void *one, const void *other)
{
    const struct moment *a = one, *b = other;
    if (a->call != b->call)
        return a->call < b->call ? -1 : 1;
    return a->change < b->change ? -1 : a->change > b->change;
}

static int by_object(const void *one, const void *other)
{
    const struct analyze_swap *a = one, *b = other;
    if (a->object != b->object)
        return a->object < b->object ? -1 : 1;
    return a->before < b->before ? -1 : a->before > b->before;
}

static void list_pieces(struct swapping *swapping)
{
    const struct analyze_model *model = swapping->run->model;
    for (uint32_t i = 0; i < model->objects.count && !swapping->failed; i++) {
        const struct analyze_object *object = &model->objects.items[i];
        uint32_t first = analyze_begin(object), last = analyze_end(model, object);
        if (!analyze_is_laid_out(model, object) ||
            (analyze_is_subject(object) &&
             !analyze_needed_time(swapping->run, object, true, &first, &last)))
            continue;
        struct swap_piece *piece = base_array_push(&swapping->pieces);
        swapping->failed |= !piece;
        if (piece)
            *piece = (struct swap_piece){i, first, last};
    }
}

static bool is_here(const struct swapping *swapping, const struct swap_piece *piece)
{
    return swapping->run->model->objects.items[piece->object].device == swapping->device;
}

// Returns the most bytes of the device that are needed at one call, and stores the first such call.
static int64_t find_peak(const struct swapping *swapping, uint32_t *call)
{
    const struct analyze_object *objects = swapping->run->model->objects.items;
    size_t count = 0;
    for (size_t i = 0; i < swapping->pieces.count; i++) {
        const struct swap_piece *piece = &swapping->pieces.items[i];
        const int64_t bytes = (int64_t)objects[piece->object].bytes;
        if (!is_here(swapping, piece))
            continue;
        swapping->moments[count++] = (struct moment){piece->from, bytes};
        swapping->moments[count++] = (struct moment){piece->last + 1, -bytes};
    }
    if (count)
        qsort(swapping->moments, count, sizeof(*swapping->moments), by_call);
    int64_t now = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        now += swapping->moments[i].change;
        if (now > most) {
            most = now;
            *call = swapping->moments[i].call;
        }
    }
    return most;
}

// Finds the uses of the object around the call. Returns false if the call uses it, if something may
// use it unobserved in between, or if there is no use on one side.
static bool find_gap(const struct analyze_run *run, const struct swap_piece *piece, uint32_t call,
                     struct analyze_swap *gap)
{
    const struct analyze_model *model = run->model;
    const struct analyze_object *object = &model->objects.items[piece->object];
    const uint32_t *uses = model->uses + object->first_use;
    if (!analyze_is_subject(object) || object->kind == PROFILE_OBJECT_MAPPING)
        return false;
    const size_t next =
        base_search(0, object->use_count, i, model->touches.items[uses[i]].call < call);
    if (next == 0 || next == object->use_count)
        return false;
    *gap = (struct analyze_swap){piece->object, model->touches.items[uses[next - 1]].call,
                                 model->touches.items[uses[next]].call};
    return gap->before >= piece->from && gap->before < call && gap->after > call &&
           gap->after <= piece->last &&
           analyze_is_before(model, run->clocks, gap->before, gap->after) &&
           analyze_first_hidden(model, object, gap->before + 1, gap->after) == ANALYZE_NONE;
}

// Moves the largest object that is idle at the call to the host. Returns false if there is none.
static bool swap_out(struct swapping *swapping, uint32_t call, struct analyze_swaps *swaps)
{
    const struct analyze_object *objects = swapping->run->model->objects.items;
    struct analyze_swap best = {0}, gap;
    size_t at = SIZE_MAX;
    for (size_t i = 0; i < swapping->pieces.count; i++) {
        const struct swap_piece *piece = &swapping->pieces.items[i];
        if (piece->from > call || piece->last < call || !is_here(swapping, piece) ||
            (at != SIZE_MAX && objects[piece->object].bytes <= objects[best.object].bytes) ||
            !find_gap(swapping->run, piece, call, &gap))
            continue;
        best = gap;
        at = i;
    }
    if (at == SIZE_MAX)
        return false;
    struct analyze_swap *row = base_array_push(&swaps->rows);
    struct swap_piece *rest = row ? base_array_push(&swapping->pieces) : NULL;
    swapping->failed |= !rest;
    if (!rest)
        return false;
    *row = best;
    *rest = (struct swap_piece){best.object, best.after, swapping->pieces.items[at].last};
    swapping->pieces.items[at].last = best.before;
    return true;
}

double analyze_host_rate(const struct analyze_model *model)
{
    enum { LEAST_BYTES = 64 << 10 }; // smaller copies take as long as an empty one
    uint64_t bytes = 0, ns = 0;
    for (size_t i = 0; i < model->touches.count && !model->simulated; i++) {
        const struct analyze_touch *touch = &model->touches.items[i];
        const struct analyze_call *call = &model->calls.items[touch->call];
        uint64_t moved;
        if (call->kind != PROFILE_CALL_COPY || !(call->flags & ANALYZE_HOST_END) || !call->gpu_ns ||
            __builtin_mul_overflow(touch->row_bytes, touch->rows, &moved) || moved < LEAST_BYTES ||
            __builtin_add_overflow(bytes, moved, &bytes))
            continue;
        ns += call->gpu_ns;
    }
    return ns ? (double)bytes / (double)ns : 0;
}

static void add_up(const struct analyze_model *model, struct analyze_swaps *swaps)
{
    const double rate = analyze_host_rate(model);
    // What is overwritten afterwards is freed and allocated again, and need not be copied.
    for (size_t i = 0; i < swaps->rows.count; i++) {
        const struct analyze_swap *swap = &swaps->rows.items[i];
        if (!analyze_overwrites(model, swap->after, swap->object))
            swaps->copied_bytes += 2 * model->objects.items[swap->object].bytes;
    }
    swaps->copy_ns = rate > 0 ? (uint64_t)((double)swaps->copied_bytes / rate) : 0;
    if (swaps->rows.count)
        qsort(swaps->rows.items, swaps->rows.count, sizeof(*swaps->rows.items), by_object);
}

// Adds the swaps that lower the peak of the device.
static void swap_on_device(struct swapping *swapping, struct analyze_swaps *swaps)
{
    uint32_t call = 0;
    size_t kept = swaps->rows.count;
    int64_t lowest = find_peak(swapping, &call);
    for (unsigned i = 0; i < MOST_ROUNDS && !swapping->failed; i++) {
        if (!swap_out(swapping, call, swaps))
            break;
        const int64_t peak = find_peak(swapping, &call);
        if (peak < lowest) {
            lowest = peak;
            kept = swaps->rows.count;
        }
    }
    swaps->rows.count = kept;
}

// Returns the least number of a device with pieces from this one on; UINT32_MAX: there is none.
static uint32_t next_device(const struct swapping *swapping, uint32_t from)
{
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < swapping->pieces.count; i++) {
        const uint32_t device =
            swapping->run->model->objects.items[swapping->pieces.items[i].object].device;
        if (device >= from && device < least)
            least = device;
    }
    return least;
}

bool analyze_find_swaps(const struct analyze_run *run, struct analyze_swaps *swaps)
{
    struct swapping swapping = {.run = run};
    if (run->model->objects.count > MOST_OBJECTS)
        return true;
    list_pieces(&swapping);
    uint32_t devices = 0;
    for (uint32_t d = next_device(&swapping, 0); d != UINT32_MAX; d = next_device(&swapping, d + 1))
        devices++;
    const size_t rounds = (size_t)devices * MOST_ROUNDS;
    swapping.moments = calloc(2 * (swapping.pieces.count + rounds + 1), sizeof(*swapping.moments));
    swapping.failed |= !swapping.moments;
    for (uint32_t d = next_device(&swapping, 0); d != UINT32_MAX && !swapping.failed;
         d = next_device(&swapping, d + 1)) {
        swapping.device = d;
        swap_on_device(&swapping, swaps);
    }
    if (!swapping.failed)
        add_up(run->model, swaps);
    base_array_fini(&swapping.pieces);
    free(swapping.moments);
    return !swapping.failed;
}
