// SPDX-License-Identifier: Apache-2.0
// Watched launches before they are enqueued: which objects their roots point into, what need not be
// counted since the launch knows it, which of the kernel's clones runs, and what its context says.
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "graph.h"
#include "lane.h"
#include "malloc.h"
#include "memory.h"
#include "reduce.h"
#include "repeats.h"
#include "scan.h"
#include "shadow.h"
#include "shapes.h"
#include "table.h"
#include "tell.h"
#include "trace.h"
#include "words.h"

struct shadow_ticket *shadow_ticket_make(struct shadow *shadow, const struct shadow_launch *launch)
{
    const struct instrument_kernel *kernel = launch->kernel;
    struct shadow_ticket *ticket =
        calloc(1, sizeof(*ticket) + kernel->root_count * sizeof(ticket->roots[0]));
    if (!ticket) {
        core_no_memory();
        return NULL;
    }
    ticket->shadow = shadow;
    ticket->stream = launch->stream;
    ticket->kernel = kernel;
    ticket->kernel_number = launch->kernel_number;
    ticket->facts = launch->facts;
    ticket->root_count = kernel->root_count;
    ticket->threads = ticket->blocks = 1;
    ticket->dynamic_bytes = launch->dynamic_bytes;
    ticket->tags = launch->tags;
    ticket->turn = launch->turn;
    ticket->alike = launch->alike;
    if (launch->flying) {
        const size_t bytes = launch->passed_count * sizeof(*launch->passed);
        ticket->passed = malloc(bytes ? bytes : 1);
        if (!ticket->passed) {
            free(ticket);
            core_no_memory();
            return NULL;
        }
        if (bytes)
            memcpy(ticket->passed, launch->passed, bytes);
        ticket->passed_count = launch->passed_count;
        ticket->flying = launch->flying;
        atomic_fetch_add(ticket->flying, 1);
    }
    for (int i = 0; i < 3; i++) {
        ticket->threads *= (uint64_t)launch->grid[i] * launch->block[i];
        ticket->blocks *= launch->grid[i];
        ticket->block[i] = launch->block[i];
    }
    for (uint32_t i = 0; i < kernel->root_count; i++) {
        struct core_objects_piece piece;
        if (launch->roots[i] &&
            core_objects_find_piece(&core_state.objects, launch->roots[i], &piece))
            ticket->roots[i] = (struct shadow_root){.object = piece.object.number,
                                                    .first = piece.start,
                                                    .bytes = piece.bytes,
                                                    .offset = launch->roots[i] - piece.start};
        else
            ticket->roots[i].address = launch->roots[i];
        ticket->roots[i].aimed = launch->roots[i] != launch->given[i];
        ticket->strangers |= ticket->roots[i].address != 0;
    }
    if (kernel->textures && atomic_load(&core_state.linear_textures))
        ticket->doubts = 1u << EVENT_DOUBT_TEXTURE;
    if (kernel->tensors && atomic_load(&core_state.wide_tensors))
        ticket->doubts |= 1u << EVENT_DOUBT_LEFT;
    return ticket;
}

void shadow_ticket_free(struct shadow_ticket *ticket)
{
    struct shadow *shadow = ticket->shadow;
    if (ticket->table || ticket->begun || ticket->memory || ticket->mallocs || ticket->written ||
        ticket->shape || ticket->trace) {
        util_mutex_lock(&shadow->lock, RANK_SHADOW);
        shadow_shape_drop(ticket->shape);
        shadow_scan_leave(ticket);
        shadow_table_drop(shadow, ticket->table);
        if (ticket->begun)
            shadow_element_told(shadow, ticket);
        if (ticket->memory)
            shadow_node_told(shadow, ticket->memory);
        shadow_malloc_told(ticket);
        shadow_trace_drop(shadow, ticket->trace);
        util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    }
    struct shadow_whole *whole = ticket->whole;
    if (whole && atomic_fetch_sub(&whole->tickets, 1) == 1) {
        if (!atomic_load(&whole->untold))
            shadow_put_told(ticket->call, 0, 0);
        free(whole);
    }
    if (ticket->flying)
        atomic_fetch_sub(ticket->flying, 1);
    free(ticket->passed);
    free(ticket->written);
    free(ticket->jobs);
    free(ticket->looked);
    shadow_repeats_free(ticket->repeat);
    free(ticket->known_flags);
    if (!ticket->memory)
        free(ticket->word_places);
    free(ticket);
}

void shadow_count_unwatched(struct shadow *shadow, uint32_t kernel_number,
                            const struct instrument_kernel *kernel)
{
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    struct shadow_kernel *about = shadow_kernel(shadow, kernel_number, kernel);
    if (about)
        about->unwatched++;
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

static bool has_rows(const struct shadow_launch *launch, const struct instrument_slot *slots)
{
    bool small = true;
    for (uint32_t i = 0; launch->facts & INSTRUMENT_ELEMENTS && i < launch->kernel->root_count; i++)
        small &= slots[i].bytes < UINT64_C(1) << 32;
    return small && instrument_are_rows(launch->block);
}

void shadow_context_fill(const struct shadow_launch *launch, const struct shadow_ticket *ticket,
                         struct instrument_context *about, const struct instrument_slot *slots,
                         const struct instrument_pieces *pieces, void *context)
{
    const struct instrument_kernel *kernel = launch->kernel;
    const bool elements = launch->facts & INSTRUMENT_ELEMENTS;
    about->options = has_rows(launch, slots) ? INSTRUMENT_ROWS : 0;
    if (launch->spare_word && about->words && (!about->known || kernel->counts_rest))
        instrument_set_spare(kernel, launch->dynamic_bytes, launch->spare_word, about);
    memset(context, 0, kernel->context_bytes);
    memcpy(context, about, sizeof(*about));
    for (uint32_t i = 0; elements && i < kernel->root_count; i++) {
        const struct instrument_view view =
            instrument_view_of(&slots[i], kernel->roots[i].element_bytes);
        memcpy((char *)context + sizeof(*about) + i * sizeof(view), &view, sizeof(view));
    }
    for (uint32_t i = 0; !elements && i < kernel->root_count; i++) {
        const struct shadow_root *root = &ticket->roots[i];
        const struct instrument_bounds bounds =
            instrument_bounds_of(root->first, root->bytes, kernel->roots[i].reach);
        memcpy((char *)context + sizeof(*about) + i * sizeof(bounds), &bounds, sizeof(bounds));
    }
    if (pieces && kernel->root_count) {
        const size_t bytes = kernel->root_count * sizeof(*pieces);
        memcpy((char *)context + kernel->context_bytes - bytes, pieces, bytes);
    }
}

enum { FEW_ROOTS = 16 };
// What the roots of a launch need, in arrays by root.
struct root_arrays {
    struct instrument_slot *slots, few_slots[FEW_ROOTS];
    struct instrument_pieces *pieces, few_pieces[FEW_ROOTS];
};

static bool is_reduced(uint32_t facts)
{
    return facts & (INSTRUMENT_ELEMENTS | INSTRUMENT_VALUES | INSTRUMENT_REQUESTS |
                    INSTRUMENT_SHARED | INSTRUMENT_CACHE);
}

// Returns whether scans need the code for structures and small types to describe what the kernel
// uses.
static bool has_others(const struct instrument_kernel *kernel)
{
    for (uint32_t i = 0; i < kernel->root_count; i++)
        if (!shadow_contents_is_words(&kernel->roots[i].layout))
            return true;
    return false;
}

void shadow_prepare(struct core_context *context, const struct instrument_kernel *kernel,
                    uint32_t facts)
{
    struct shadow *shadow = is_reduced(facts) ? shadow_of(context) : NULL;
    if (!shadow || !shadow_watches(shadow))
        return;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    shadow_reduce_load(shadow, facts & INSTRUMENT_COUNTS);
    if (facts & INSTRUMENT_VALUES && shadow_scan_load(shadow, true) && has_others(kernel))
        shadow_scan_load(shadow, false);
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

static bool enter(struct shadow_ticket *ticket, const struct shadow_launch *launch,
                  struct instrument_context *about, struct root_arrays *arrays)
{
    struct shadow_lane *lane = shadow_lane_take(ticket->shadow, launch->stream);
    if (!lane)
        return false;
    if (!is_reduced(launch->facts)
            ? shadow_lane_enter(lane, ticket, about)
            : shadow_reduce_enter(lane, ticket, launch, about, arrays->slots, arrays->pieces)) {
        ticket->lane = lane;
        return true;
    }
    shadow_lane_leave(lane);
    return false;
}

static bool make_arrays(struct root_arrays *arrays, const struct shadow_launch *launch)
{
    const uint32_t count = launch->kernel->root_count;
    memset(arrays, 0, sizeof(*arrays));
    arrays->slots = arrays->few_slots;
    arrays->pieces = arrays->few_pieces;
    if (count <= FEW_ROOTS || !is_reduced(launch->facts))
        return true;
    arrays->slots = calloc(count, sizeof(*arrays->slots));
    arrays->pieces = calloc(count, sizeof(*arrays->pieces));
    return arrays->slots && arrays->pieces;
}

static void free_arrays(struct root_arrays *arrays)
{
    if (arrays->slots != arrays->few_slots)
        free(arrays->slots);
    if (arrays->pieces != arrays->few_pieces)
        free(arrays->pieces);
}

struct instrument_launch shadow_says(const struct shadow_launch *launch)
{
    return (struct instrument_launch){
        .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
        .block = {launch->block[0], launch->block[1], launch->block[2]},
        .params = launch->params,
        .roots = launch->given,
    };
}

static bool find_extent(void *user, uint64_t address, struct instrument_extent *found)
{
    struct core_objects_piece piece;
    (void)user;
    if (!core_objects_find_piece(&core_state.objects, address, &piece))
        return false;
    *found = (struct instrument_extent){piece.start, piece.bytes};
    return true;
}

void shadow_aim(const struct shadow_launch *launch, uint64_t *roots)
{
    const struct instrument_launch says = shadow_says(launch);
    for (uint32_t i = 0; i < launch->kernel->root_count; i++)
        roots[i] = instrument_aim(launch->kernel, i, &says, find_extent, NULL);
}

void shadow_mute(struct shadow_ticket *ticket)
{
    ticket->muted = true;
}

bool shadow_is_light(const struct shadow_ticket *ticket)
{
    return ticket->light;
}

bool shadow_is_repeated(const struct shadow_ticket *ticket)
{
    return ticket->repeated;
}

// Finds the launch's shape, if there are requests, and which clone it runs.
static void find_shape(struct shadow_ticket *ticket, const struct shadow_launch *launch,
                       const struct instrument_launch *says)
{
    struct shadow *shadow = ticket->shadow;
    if (launch->facts & INSTRUMENT_REQUESTS)
        ticket->shape = shadow_shape_take(shadow, launch, says);
    shadow_words_find(ticket, says);
    if (!launch->may_light)
        return;
    if (!launch->kernel->by_masks) {
        ticket->light = !launch->turn && (ticket->word_places || !launch->kernel->word_site_count);
        return;
    }
    if (!ticket->shape || !ticket->shape->regular)
        return;
    util_mutex_lock(&shadow->lock, RANK_SHADOW);
    const struct shadow_kernel *about =
        shadow_kernel(shadow, launch->kernel_number, launch->kernel);
    ticket->light = ticket->regular =
        about && !about->irregular && !(launch->turn && launch->kernel->traces);
    util_mutex_unlock(&shadow->lock, RANK_SHADOW);
}

// Returns whether results of the launch must come back from the GPU.
static bool comes_back(struct shadow_ticket *ticket, const struct shadow_launch *launch)
{
    const struct instrument_kernel *kernel = launch->kernel;
    if (is_reduced(launch->facts))
        return true;
    if (!kernel->flag_count && !kernel->needs_table)
        return false;
    shadow_repeats_enter(ticket, launch);
    util_mutex_lock(&ticket->shadow->lock, RANK_SHADOW);
    const bool known = shadow_repeats_find_flags(ticket);
    util_mutex_unlock(&ticket->shadow->lock, RANK_SHADOW);
    return !known;
}

// Finds out what need not be counted, because the launch knows it.
static void find_known(struct shadow_ticket *ticket, struct instrument_context *about)
{
    if (ticket->shape)
        instrument_set_whole(ticket->shape->block, ticket->shape->whole, about);
    for (int i = 0; i < 2; i++)
        ticket->counted[i] = instrument_counted_by(about, i);
    if (ticket->lane)
        shadow_words_point(&ticket->lane->pad, ticket, about);
}

struct shadow_ticket *shadow_begin(const struct shadow_launch *launch, void *context)
{
    const struct instrument_kernel *kernel = launch->kernel;
    struct shadow *shadow = shadow_of(launch->stream->context);
    if (!shadow || !shadow_watches(shadow))
        return NULL;
    struct instrument_context about = {0};
    struct root_arrays arrays;
    struct shadow_ticket *ticket =
        make_arrays(&arrays, launch) ? shadow_ticket_make(shadow, launch) : NULL;
    const bool enters = ticket && comes_back(ticket, launch);
    const struct instrument_launch says = shadow_says(launch);
    if (ticket)
        find_shape(ticket, launch, &says);
    if (enters && !enter(ticket, launch, &about, &arrays)) {
        shadow_ticket_free(ticket);
        ticket = NULL;
    } else if (ticket && !enters && (ticket->strangers || kernel->outside)) {
        util_mutex_lock(&shadow->lock, RANK_SHADOW);
        shadow_malloc_enter(shadow, ticket);
        util_mutex_unlock(&shadow->lock, RANK_SHADOW);
    }
    if (ticket)
        find_known(ticket, &about);
    if (ticket)
        shadow_context_fill(launch, ticket, &about, arrays.slots,
                            launch->facts & INSTRUMENT_VALUES ? arrays.pieces : NULL, context);
    else
        shadow_count_unwatched(shadow, launch->kernel_number, kernel);
    free_arrays(&arrays);
    return ticket;
}
