// SPDX-License-Identifier: Apache-2.0
// Instruments one module: decides which functions are cloned, and does the steps in order.
#include "instrument.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "clone.h"
#include "counters.h"
#include "early.h"
#include "flags.h"
#include "groups.h"
#include "hoist.h"
#include "masks.h"
#include "plan.h"
#include "ranges.h"
#include "repeats.h"
#include "requests.h"
#include "reuse.h"
#include "spare.h"
#include "table.h"
#include "tally.h"
#include "texts.h"
#include "trace.h"
#include "unions.h"
#include "waits.h"
#include "word_sites.h"
#include "words.h"
#include "work.h"

bool instrument_wants(const struct instrument_request *request, const char *name)
{
    return !request->wants || request->wants(request->user, name);
}

// Returns the number of the target: 75 for "sm_75", 90 for "sm_90a"; 0 if there is none.
static uint32_t target_number(const char *target)
{
    while (*target && !isdigit((unsigned char)*target))
        target++;
    return (uint32_t)strtoul(target, NULL, 10);
}

// Returns why no kernel of the module can have probes, or NULL.
static const char *module_reason(const struct instrument_work *work)
{
    if (work->ptx->address_size != 64)
        return "its addresses are 32-bit";
    if (work->sm < 30)
        return "its target is older than sm_30";
    if (memmem(work->text, work->length, GLINT_PREFIX, strlen(GLINT_PREFIX)) ||
        memmem(work->text, work->length, GLINT_SUFFIX, strlen(GLINT_SUFFIX)))
        return "its PTX already has names with glint$ or $glint";
    return NULL;
}

static void list_kernels(struct instrument_work *work)
{
    struct instrument_module *module = work->module;
    uint32_t count = 0;
    for (uint32_t i = 0; i < work->body_count; i++)
        count += work->bodies[i].function->is_entry && !work->bodies[i].is_child &&
                 instrument_wants(work->request, work->bodies[i].function->name);
    module->kernels = base_new_array(work->arena, struct instrument_kernel, count);
    for (uint32_t i = 0; i < work->body_count && module->kernel_count < count; i++) {
        struct instrument_body *body = &work->bodies[i];
        const char *name = body->function->name;
        if (!body->function->is_entry || body->is_child || !instrument_wants(work->request, name))
            continue;
        body->kernel = &module->kernels[module->kernel_count++];
        body->kernel->name = base_alloc_text(work->arena, name, strlen(name));
        body->kernel->left_flag = INSTRUMENT_NONE;
        body->kernel->may_wait = true;
    }
}

static void list_allocators(struct instrument_work *work)
{
    struct instrument_module *module = work->module;
    module->allocators = base_new_array(work->arena, const char *, work->body_count);
    for (uint32_t i = 0; i < work->body_count; i++) {
        const struct ptx_function *function = work->bodies[i].function;
        if (function->is_entry && !work->bodies[i].is_child &&
            (work->bodies[i].allocates || work->bodies[i].calls_outside ||
             work->bodies[i].launches))
            module->allocators[module->allocator_count++] =
                base_alloc_text(work->arena, function->name, strlen(function->name));
    }
}

static void forget(struct instrument_body *body)
{
    ptx_facts_destroy(body->facts);
    body->facts = NULL;
    body->probes = NULL;
    body->probe_count = 0;
    body->flag_at = body->tally_at = NULL;
    body->leaves = NULL;
    body->observes = NULL;
    body->spans = NULL;
    body->arrays = NULL;
    body->words_at = NULL;
    body->tally_from = NULL;
    body->sweeps.items = NULL; // in scratch memory
    body->sweeps.count = body->sweeps.capacity = 0;
    body->walks.items = NULL;
    body->walks.count = body->walks.capacity = 0;
    body->saved_count = 0;
    body->points.items = NULL;
    body->points.count = body->points.capacity = 0;
    body->loops.items = NULL;
    body->loops.count = body->loops.capacity = 0;
    body->bundles.items = NULL;
    body->bundles.count = body->bundles.capacity = 0;
}

// Returns whether a second clone would be lighter: it counts by masks, or does not trace. Few
// launches are traced.
static bool has_light_clone(const struct instrument_work *work, const struct instrument_body *body)
{
    return (work->requests && body->has_masks) ||
           (work->words && (body->kernel->range_site_count || body->kernel->looks)) ||
           body->kernel->traces;
}

static void emit(struct instrument_work *work, struct instrument_body *body)
{
    work->helpers = 0;
    body->start = work->out.length;
    instrument_emit_clone(work, body);
    if (body->kernel && has_light_clone(work, body)) {
        work->light = true;
        work->regular = body->kernel->by_masks = body->has_masks;
        instrument_emit_clone(work, body);
        work->light = work->regular = false;
    }
    body->end = work->out.length;
    body->helpers = work->helpers;
}

static void clone_function(struct instrument_work *work, struct instrument_body *body)
{
    instrument_plan(work, body);
    instrument_list_sites(work, body);
    if (!body->why_not)
        emit(work, body);
    body->failed = body->why_not != NULL;
    forget(body);
}

// A function that calls a function without a clone has none either.
static void spread_failures(struct instrument_work *work)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < work->body_count; i++) {
            struct instrument_body *body = &work->bodies[i];
            for (uint32_t k = 0; k < body->callee_count && body->cloned && !body->failed; k++)
                changed |= body->failed = work->bodies[body->callees[k]].failed;
        }
    }
}

// Marks the device functions that the body's clone calls.
static void mark_cloned(struct instrument_work *work, const struct instrument_body *body)
{
    for (uint32_t i = 0; i < body->callee_count; i++) {
        struct instrument_body *callee = &work->bodies[body->callees[i]];
        if (callee->cloned || !callee->touches)
            continue;
        callee->cloned = true;
        mark_cloned(work, callee);
    }
}

static void clone_kernel(struct instrument_work *work, struct instrument_body *body)
{
    struct instrument_kernel *kernel = body->kernel;
    kernel->may_spare = instrument_may_spare(body);
    instrument_plan(work, body);
    if (work->words) {
        instrument_plan_words(work, body);
        instrument_plan_counters(work, body);
        instrument_plan_ranges(work, body);
        instrument_plan_reuse(work, body);
    }
    if (work->trace)
        instrument_plan_trace(work, body);
    if (work->elements) {
        instrument_place_tallies(work, body);
        // The memory that a loop accessed may belong to another block when the loop is left, if the
        // kernel frees memory.
        if (!body->allocates)
            instrument_plan_sweeps(work, body);
        instrument_plan_unions(work, body);
        instrument_plan_groups(work, body);
    } else {
        instrument_place_flags(work, body);
        if (work->values || work->requests || work->words)
            instrument_place_tallies(work, body);
        if (work->values)
            instrument_plan_early(work, body);
    }
    if (work->requests) {
        instrument_plan_requests(body);
        body->has_masks = instrument_plan_masks(work, body);
    }
    if (work->words)
        instrument_list_word_sites(work, body);
    instrument_size_tallies(body);
    instrument_list_sites(work, body);
    instrument_list_shared(work, body);
    bool calls_clones = false;
    for (uint32_t i = 0; i < body->callee_count; i++)
        calls_clones |= work->bodies[body->callees[i]].touches;
    kernel->allocates = body->allocates;
    kernel->outside = body->calls_outside || body->launches;
    kernel->textures = body->textures;
    kernel->tensors = body->tensors;
    kernel->other_effects = body->other_effects;
    kernel->repeats = instrument_repeats(body);
    kernel->needs_table = body->looks_up || calls_clones || body->allocates ||
                          (work->elements && kernel->root_count > 0);
    kernel->heap = work->allocates && kernel->needs_table;
    if (body->why_not)
        instrument_add_reason(work, &kernel->reason, "%s", body->why_not);
    instrument_join_sites(work, body);
    if (!kernel->reason)
        emit(work, body);
    if (body->calls_outside)
        instrument_add_reason(work, &kernel->reason,
                              "accesses in %s are not seen: the module does not define it",
                              body->calls_outside);
    if (body->launches)
        instrument_add_reason(
            work, &kernel->reason,
            "it launches kernels from the device (%s), whose accesses are not seen",
            body->launches);
    forget(body);
}

static void run(struct instrument_work *work)
{
    const char *reason = module_reason(work);
    instrument_find_calls(work);
    list_kernels(work);
    instrument_find_ties(work);
    list_allocators(work);
    for (uint32_t i = 0; i < work->module->kernel_count && reason; i++)
        work->module->kernels[i].reason = base_alloc_text(work->arena, reason, strlen(reason));
    if (!reason) {
        for (uint32_t i = 0; i < work->body_count; i++) {
            if (work->bodies[i].kernel)
                mark_cloned(work, &work->bodies[i]);
        }
        for (uint32_t i = 0; i < work->body_count; i++) {
            if (work->bodies[i].cloned)
                clone_function(work, &work->bodies[i]);
        }
        spread_failures(work);
        for (uint32_t i = 0; i < work->body_count; i++) {
            if (work->bodies[i].kernel)
                clone_kernel(work, &work->bodies[i]);
        }
        instrument_spread_waits(work);
    }
    instrument_put_texts(work);
}

static void release(struct instrument_work *work)
{
    for (uint32_t i = 0; i < work->body_count; i++)
        ptx_facts_destroy(work->bodies[i].facts);
    ptx_module_destroy(work->ptx);
    base_map_fini(&work->by_name);
    base_map_fini(&work->texts);
    base_map_fini(&work->names);
    base_buf_fini(&work->out);
    base_buf_fini(&work->ways);
    free(work->heap);
    base_arena_fini(&work->scratch);
}

enum base_code instrument_ptx(const char *text, size_t length,
                              const struct instrument_request *request,
                              struct instrument_module **module, struct base_error *error)
{
    struct base_error own = {0};
    *module = NULL;
    struct instrument_work *work = calloc(1, sizeof(*work));
    struct instrument_module *made = calloc(1, sizeof(*made));
    if (!work || !made) {
        free(work);
        free(made);
        return base_no_memory(error);
    }
    *work = (struct instrument_work){.text = text,
                                     .length = length,
                                     .request = request,
                                     .module = made,
                                     .arena = &made->arena,
                                     .error = error ? error : &own};
    work->elements = request->facts & INSTRUMENT_ELEMENTS;
    work->counts = work->elements && request->facts & INSTRUMENT_COUNTS;
    work->values = request->facts & INSTRUMENT_VALUES;
    work->accessed = work->values && request->facts & INSTRUMENT_ACCESSED;
    work->requests = request->facts & INSTRUMENT_REQUESTS;
    work->words = request->facts & INSTRUMENT_SHARED;
    work->trace = request->facts & INSTRUMENT_CACHE;
    base_arena_init(&made->arena, request->limit_bytes);
    base_arena_init(&work->scratch, request->limit_bytes);
    enum base_code code =
        ptx_parse_within(text, length, "the module", request->limit_bytes, &work->ptx, work->error);
    if (code == BASE_OK) {
        work->sm = target_number(work->ptx->target);
        work->clusters = work->sm >= 90 && instrument_version_from(work->ptx, 7, 8);
        work->param_addresses = instrument_version_from(work->ptx, 7, 7) && work->sm >= 70 &&
                                memmem(text, length, "cvta.param", 10);
        made->arena.escape = work->scratch.escape = &work->escape;
        if (setjmp(work->escape) == 0)
            run(work);
        else
            code = base_no_memory_while(work->error, "cloning kernels");
        made->arena.escape = NULL;
    }
    release(work);
    free(work);
    if (code != BASE_OK) {
        instrument_destroy(made);
        return code;
    }
    *module = made;
    return BASE_OK;
}

void instrument_destroy(struct instrument_module *module)
{
    if (!module)
        return;
    base_arena_fini(&module->arena);
    free(module);
}
