// SPDX-License-Identifier: Apache-2.0
// Finds from which call on the memory of an object is needed. Copies from the host and sets at the
// start of an object's life only initialize it. They can be delayed until something uses the
// object: a set always, a copy if its source still holds the same bytes by then, which the
// recording has looked at (src/inject/sources). The recording looks when calls are made, so it does
// not see what the GPU has yet to write: a copy from pinned memory cannot be delayed beyond a call
// that writes there. A copy between objects is a use: its source may change. A tensor may also be
// initialized by a launch that is passed nothing else, as torch.zeros() does: operations of PyTorch
// have no other effects. Delaying is of no use if no other GPU API call runs in between.
#include <stdlib.h>

#include "analyses.h"

// Lowers *until to the first call after the copy that writes to the host memory it reads from.
static void stop_at_writes(const struct analyze_model *model, const struct analyze_touch *copy,
                           uint32_t *until)
{
    for (uint32_t i = model->calls.items[copy->call].touches;
         i < analyze_touches_end(model, copy->call); i++) {
        const struct analyze_touch *source = &model->touches.items[i];
        const struct analyze_object *host = &model->objects.items[source->object];
        if (!(source->how & ANALYZE_READ) || !host->is_host)
            continue;
        const uint32_t *uses = model->uses + host->first_use;
        size_t u =
            base_search(0, host->use_count, k, model->touches.items[uses[k]].call <= copy->call);
        for (; u < host->use_count && model->touches.items[uses[u]].call < *until; u++) {
            if (model->touches.items[uses[u]].how & ANALYZE_WRITE)
                *until = model->touches.items[uses[u]].call;
        }
    }
}

// Returns whether the access is that of a launch which fills a new tensor from nothing.
static bool fills_tensor(const struct analyze_model *model, const struct analyze_touch *touch)
{
    const struct analyze_object *object = &model->objects.items[touch->object];
    return touch->passed && object->kind == PROFILE_OBJECT_TENSOR && touch->call == object->first &&
           model->calls.items[touch->call].kind == PROFILE_CALL_LAUNCH &&
           analyze_touches_end(model, touch->call) == model->calls.items[touch->call].touches + 1;
}

// Returns whether the access can be delayed. A copy whose source was looked at again can be delayed
// until that call, which lowers *until.
static bool can_move(const struct analyze_model *model, const struct analyze_touch *touch,
                     uint32_t *until)
{
    const uint8_t kind = model->calls.items[touch->call].kind;
    if (fills_tensor(model, touch))
        return true;
    if (touch->is_kernel || touch->how != ANALYZE_WRITE || touch->beyond)
        return false;
    if (kind == PROFILE_CALL_COPY && touch->kept && touch->kept - 1 < *until)
        *until = touch->kept - 1;
    if (kind == PROFILE_CALL_COPY && touch->kept)
        stop_at_writes(model, touch, until);
    return kind == PROFILE_CALL_SET || (kind == PROFILE_CALL_COPY && touch->kept);
}

static uint32_t needed_from(const struct analyze_model *model, const struct analyze_object *object)
{
    uint32_t until = ANALYZE_NONE;
    for (uint32_t u = 0; u < object->use_count; u++) {
        const struct analyze_touch *touch =
            &model->touches.items[model->uses[object->first_use + u]];
        if (touch->call >= until)
            break;
        if (!can_move(model, touch, &until))
            return touch->call < until ? touch->call : until;
    }
    return until;
}

// Returns whether something may read the object: a call that was observed, or one that was not.
static bool is_read(const struct analyze_model *model, const struct analyze_object *object)
{
    for (uint32_t u = 0; u < object->use_count; u++) {
        const struct analyze_touch *touch =
            &model->touches.items[model->uses[object->first_use + u]];
        if (touch->is_kernel || touch->how & ANALYZE_READ)
            return true;
    }
    return analyze_first_hidden(model, object, analyze_begin(object), analyze_end(model, object)) !=
           ANALYZE_NONE;
}

static void find_needed(const struct analyze_model *model, struct analyze_object *object)
{
    object->needed = object->first;
    object->is_unused = model->ended && !is_read(model, object);
    if (object->first == ANALYZE_NONE)
        return;
    object->needed = needed_from(model, object);
    const uint32_t unseen = analyze_first_hidden(
        model, object, object->first,
        object->needed == ANALYZE_NONE ? analyze_end(model, object) : object->needed);
    if (unseen != ANALYZE_NONE)
        object->needed = unseen;
    // Data that nothing reads may be needed by what a program that did not end would do next.
    if (object->is_unused)
        object->needed = ANALYZE_NONE;
    else if (object->needed == ANALYZE_NONE)
        object->needed = object->first;
}

// Returns, for each call, how many GPU API calls come before it; NULL when memory ran out.
static uint32_t *count_apis(const struct analyze_model *model)
{
    uint32_t *before = calloc(model->calls.count + 1, sizeof(*before));
    for (size_t i = 0; before && i < model->calls.count; i++)
        before[i + 1] = before[i] + analyze_is_api(&model->calls.items[i]);
    return before;
}

// Returns whether calls that do not initialize the object run before it is needed.
static bool is_useful(const struct analyze_model *model, const struct analyze_object *object,
                      const uint32_t *apis)
{
    uint32_t own = 0;
    for (uint32_t u = 0; u < object->use_count; u++)
        own += model->touches.items[model->uses[object->first_use + u]].call < object->needed;
    return apis[object->needed] - apis[object->first] > own;
}

bool analyze_find_needed(struct analyze_model *model)
{
    uint32_t *apis = count_apis(model);
    for (size_t i = 0; apis && i < model->objects.count; i++) {
        struct analyze_object *object = &model->objects.items[i];
        if (analyze_is_subject(object))
            find_needed(model, object);
        else
            object->needed = object->first;
        if (analyze_can_delay(object) && !is_useful(model, object, apis))
            object->needed = object->first;
    }
    free(apis);
    return apis != NULL;
}
