// SPDX-License-Identifier: Apache-2.0
// Runs a warp: the dispatch loop, divergence into paths and their joins, the end of lanes, and
// waits for other lanes or warps. ops_*.c implement single instructions, frame.c calls of
// functions.
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "frame.h"
#include "machine.h"
#include "packing.h"
#include "rounds.h"
#include "warp.h"

// Instructions that a path may run beyond its turn while other paths of its warp are ready. It
// stops when it jumps back, so that paths in the same loop stand at the same place.
enum { LATE = 256 };

// Apart from its callers, so that no vector code is in the dispatch loop: the compiler would clear
// the upper halves of vector registers before each call of a handler.
static __attribute__((noinline)) void change_mask(struct sim_warp *warp, uint32_t mask)
{
    warp->mask = mask;
    for (int i = 0; i < LANES; i++)
        warp->lanes[i] = 0 - (mask >> i & 1u);
}

void sim_warp_set_mask(struct sim_warp *warp, uint32_t mask)
{
    if (warp->mask != mask)
        change_mask(warp, mask);
}

// --- Paths and joins -----------------------------------------------------------------------------

// Returns NULL when memory runs out. That cannot happen if a path has just ended, because its entry
// is free.
static __attribute__((noinline)) struct sim_path *new_path(struct sim_warp *warp)
{
    for (uint32_t i = 0; i < MOST_PATHS; i++) {
        if (i == FEW_PATHS && !warp->more) {
            warp->more = calloc(MOST_PATHS - FEW_PATHS, sizeof(*warp->more));
            if (!warp->more)
                return NULL;
        }
        struct sim_path *path = warp_path(warp, i);
        if (path->state == PATH_FREE) {
            if (i >= warp->path_count)
                warp->path_count = i + 1;
            return path;
        }
    }
    abort(); // there are never more paths than lanes
}

static __attribute__((noinline, cold)) enum sim_step no_memory(struct sim_warp *warp,
                                                               const struct sim_uop *op)
{
    return sim_warp_fault(warp, op, SIM_FAULT_NO_MEMORY, __builtin_ctz(warp->mask),
                          "out of memory for diverging");
}

static __attribute__((noinline, cold)) enum sim_step
too_deep(struct sim_warp *warp, const struct sim_uop *op, uint32_t lanes)
{
    return sim_warp_fault(warp, op, SIM_FAULT_STACK, __builtin_ctz(lanes),
                          "divergence is too deep");
}

static bool more_joins(struct sim_warp *warp)
{
    int32_t room = warp->join_room ? 2 * warp->join_room : FEW_JOINS;
    struct sim_join *joins =
        room > MOST_JOINS ? NULL : realloc(warp->joins, (size_t)room * sizeof(*joins));
    if (!joins)
        return false;
    for (int32_t i = warp->join_room; i < room; i++)
        joins[i].used = false;
    warp->joins = joins;
    warp->join_room = room;
    return true;
}

static __attribute__((noinline)) int32_t new_join(struct sim_warp *warp,
                                                  const struct sim_path *path, uint32_t pc,
                                                  const struct sim_uop *branch)
{
    for (int32_t i = 0; i < warp->join_room || more_joins(warp); i++) {
        struct sim_join *join = &warp->joins[i];
        if (join->used)
            continue;
        *join = (struct sim_join){.used = true,
                                  .branch = branch,
                                  .expected = path->mask,
                                  .pc = pc,
                                  .frame = path->frame,
                                  .rejoin = path->rejoin,
                                  .rejoin_frame = path->rejoin_frame,
                                  .join = path->join};
        return i;
    }
    return -1;
}

// Returns the join at pc in the path's frame: its own, or a new one. Returns -1 if too many are
// open, or when memory runs out.
static inline int32_t join_at(struct sim_warp *warp, struct sim_path *path, uint32_t pc,
                              const struct sim_uop *branch)
{
    if (path->join >= 0 && path->rejoin == pc && path->rejoin_frame == path->frame)
        return path->join;
    return new_join(warp, path, pc, branch);
}

static void follow(struct sim_path *path, uint32_t mask, uint32_t pc, int32_t join,
                   const struct sim_warp *warp)
{
    path->mask = mask;
    path->pc = pc;
    path->join = join;
    path->rejoin = warp->joins[join].pc;
    path->rejoin_frame = warp->joins[join].frame;
}

// If all lanes that the join expects have arrived or ended, continues them as one path. It is in
// the loops of the running path, which came last: lanes at an outer join may wait for both.
static void settle(struct sim_warp *warp, int32_t index)
{
    const struct sim_rounds rounds = warp->path->rounds;
    while (index >= 0) {
        struct sim_join *join = &warp->joins[index];
        if (join->arrived != join->expected)
            return;
        int32_t outer = join->join;
        if (join->expected) {
            struct sim_path *path = new_path(warp);
            *path = (struct sim_path){.state = PATH_READY,
                                      .mask = join->arrived,
                                      .pc = join->pc,
                                      .frame = join->frame,
                                      .rejoin = join->rejoin,
                                      .rejoin_frame = join->rejoin_frame,
                                      .join = outer};
            if (outer >= 0)
                path->rounds = rounds;
            join->used = false;
            return;
        }
        join->used = false; // all lanes ended; the outer joins do not expect them any more
        index = outer;
    }
}

static void arrive(struct sim_warp *warp, int32_t join, uint32_t lanes)
{
    warp->joins[join].arrived |= lanes;
    settle(warp, join);
}

enum sim_step sim_warp_branch(struct sim_warp *warp, const struct sim_uop *op, uint32_t taken,
                              uint32_t to, uint32_t next)
{
    struct sim_path *path = warp->path;
    uint32_t rest = path->mask & ~taken;
    if (!taken || !rest) {
        path->pc = taken ? to : next;
        return STEP_JUMP;
    }
    if (__atomic_load_n(&op->spins, __ATOMIC_RELAXED)) {
        // A lane that leaves here may be the one that others wait for, so the paths separate until
        // an outer join.
        struct sim_path *other = new_path(warp);
        if (!other)
            return no_memory(warp, op);
        path->loose = true;
        *other = *path;
        other->mask = taken;
        other->pc = to;
        other->state = PATH_READY;
        path->mask = rest;
        path->pc = next;
        sim_warp_set_mask(warp, rest);
        return STEP_JUMP;
    }
    int32_t join = join_at(warp, path, op->rejoin, op);
    if (join < 0)
        return too_deep(warp, op, taken);
    if (to == op->rejoin) {
        follow(path, rest, next, join, warp);
        warp->joins[join].arrived |= taken;
    } else if (next == op->rejoin) {
        follow(path, taken, to, join, warp);
        warp->joins[join].arrived |= rest;
    } else {
        struct sim_path *other = new_path(warp);
        if (!other)
            return no_memory(warp, op);
        *other = *path;
        follow(path, rest, next, join, warp);
        follow(other, taken, to, join, warp);
        other->state = PATH_READY;
    }
    sim_warp_set_mask(warp, path->mask);
    return STEP_JUMP;
}

enum sim_step sim_warp_arrive(struct sim_warp *warp, const struct sim_uop *op)
{
    (void)op;
    struct sim_path *path = warp->path;
    if (path->join < 0 || path->rejoin != path->pc || path->rejoin_frame != path->frame)
        return STEP_NEXT;
    path->state = PATH_FREE;
    arrive(warp, path->join, path->mask);
    return STEP_STOP;
}

// Lets the lanes that have arrived at a join continue without the others. Returns false when memory
// runs out; the lanes then keep waiting.
static bool leave_join(struct sim_warp *warp, struct sim_join *join)
{
    struct sim_path *freed = new_path(warp);
    if (!freed)
        return false;
    *freed = (struct sim_path){.state = PATH_READY,
                               .mask = join->arrived,
                               .pc = join->pc,
                               .frame = join->frame,
                               .rejoin = join->rejoin,
                               .rejoin_frame = join->rejoin_frame,
                               .join = join->join,
                               .loose = true};
    join->expected &= ~join->arrived;
    join->arrived = 0;
    return true;
}

// A path that has repeated a loop many times may spin until lanes act that wait for it at a join.
// Lets those lanes continue without it, and marks the branches that made them wait.
static void let_go(struct sim_warp *warp, struct sim_path *path)
{
    path->loose = true;
    for (int32_t index = path->join; index >= 0; index = warp->joins[index].join) {
        struct sim_join *join = &warp->joins[index];
        if (!join->arrived)
            continue;
        if (!leave_join(warp, join))
            return;
        if (join->branch)
            __atomic_store_n(&((struct sim_uop *)(uintptr_t)join->branch)->spins, 1,
                             __ATOMIC_RELAXED);
    }
}

static int32_t joins_around(const struct sim_warp *warp, int32_t index)
{
    int32_t count = 0;
    for (; index >= 0; index = warp->joins[index].join)
        count++;
    return count;
}

// Called if no path of a warp can run: all wait at barriers or for lanes that may stand at a join.
// PTX has no joins, so no thread may have to wait at one: the lanes at the outermost join continue
// alone. The outermost join is chosen because threads that returned early stand there. If their end
// lets the other paths continue, lanes at inner joins stay together. Returns false if no lane
// stands at a join, or if memory ran out and the launch has failed.
static bool leave_outermost_join(struct sim_warp *warp)
{
    int32_t outermost = -1, least = INT32_MAX;
    for (int32_t i = 0; i < warp->join_room; i++) {
        if (!warp->joins[i].used || !warp->joins[i].arrived)
            continue;
        int32_t around = joins_around(warp, i);
        if (around < least) {
            least = around;
            outermost = i;
        }
    }
    if (outermost < 0)
        return false;
    if (leave_join(warp, &warp->joins[outermost]))
        return true;
    warp->path = warp_path(warp, 0); // in use: new_path() has found no free one
    no_memory(warp, &warp->path->frame->code->ops[warp->path->pc]);
    return false;
}

// --- The end of lanes ----------------------------------------------------------------------------

static bool waits_beside(const struct sim_path *path, const struct sim_path *other)
{
    return other != path && other->state == PATH_TOGETHER && other->pc == path->pc &&
           other->frame == path->frame;
}

// Returns the lanes that can now execute the path's instruction of several lanes. These are the
// path's own, and those of other paths that wait there, if all lanes that they wait for are
// included. Returns 0 if the path itself has to wait.
static uint32_t gathered(struct sim_warp *warp, const struct sim_path *path)
{
    uint32_t here = path->taking_part, before;
    for (uint32_t i = 0; i < warp->path_count; i++) {
        const struct sim_path *other = warp_path(warp, i);
        here |= waits_beside(path, other) ? other->taking_part : 0;
    }
    do {
        before = here;
        for (uint32_t i = 0; i < warp->path_count; i++) {
            const struct sim_path *other = warp_path(warp, i);
            if (waits_beside(path, other) && (other->members & warp->live & ~here))
                here &= ~other->taking_part;
        }
    } while (here != before);
    return path->members & warp->live & ~here ? 0 : here;
}

enum sim_step sim_warp_exit_lanes(struct sim_warp *warp, uint32_t lanes)
{
    struct sim_path *path = warp->path;
    struct sim_block *block = warp->block;
    warp->live &= ~lanes;
    block->live_threads -= (uint32_t)__builtin_popcount(lanes);
    for (int32_t join = path->join; join >= 0; join = warp->joins[join].join)
        warp->joins[join].expected &= ~lanes;
    for (struct sim_frame *frame = path->frame; frame; frame = frame->caller)
        frame->lanes &= ~lanes;
    path->mask &= ~lanes;
    block->progressed = true;
    sim_cluster_left(warp, lanes);
    for (unsigned i = 0; i < BARRIERS; i++) {
        if (block->barriers[i].arrived)
            sim_warp_left_barrier(warp, i);
    }
    // Paths that waited only for these lanes can run again.
    for (uint32_t i = 0; i < warp->path_count; i++) {
        struct sim_path *other = warp_path(warp, i);
        if (other->state == PATH_TOGETHER && gathered(warp, other))
            other->state = PATH_READY;
    }
    if (path->mask) {
        sim_warp_set_mask(warp, path->mask);
        return STEP_NEXT;
    }
    path->state = PATH_FREE;
    settle(warp, path->join);
    return STEP_STOP;
}

// --- Calls and returns that split paths ----------------------------------------------------------

bool sim_warp_part(struct sim_warp *warp, const struct sim_uop *op)
{
    struct sim_path *path = warp->path;
    if (warp->mask == path->mask)
        return true;
    struct sim_path *other = new_path(warp);
    if (!other) {
        no_memory(warp, op);
        return false;
    }
    *other = *path;
    other->mask = path->mask & ~warp->mask;
    other->pc = path->pc + 1;
    path->mask = warp->mask;
    return true;
}

enum sim_step sim_warp_call_some(struct sim_warp *warp, const struct sim_uop *op, uint32_t lanes,
                                 uint32_t others, const struct sim_code *code)
{
    const struct sim_path *path = warp->path;
    if (lanes != path->mask &&
        sim_warp_branch(warp, op, path->mask & ~lanes, others, path->pc) == STEP_STOP)
        return STEP_STOP;
    return sim_frame_call(warp, op, code);
}

// The active lanes return from the function; the other lanes of the path, if any, continue in it.
enum sim_step sim_warp_return(struct sim_warp *warp)
{
    struct sim_path *path = warp->path;
    struct sim_frame *frame = path->frame;
    uint32_t lanes = warp->mask;
    if (!frame->caller)
        return sim_warp_exit_lanes(warp, lanes);
    bool together = path->join >= 0 && path->rejoin == PC_RETURN && path->rejoin_frame == frame;
    if (lanes != path->mask || together) {
        int32_t join = join_at(warp, path, PC_RETURN, NULL);
        if (join < 0)
            return too_deep(warp, &frame->code->ops[path->pc], lanes);
        uint32_t rest = path->mask & ~lanes;
        if (rest) {
            follow(path, rest, path->pc + 1, join, warp);
            warp->joins[join].arrived |= lanes;
            sim_warp_set_mask(warp, rest);
            return STEP_JUMP;
        }
        path->state = PATH_FREE;
        arrive(warp, join, lanes);
        return STEP_STOP;
    }
    sim_frame_leave(warp);
    return STEP_JUMP;
}

// --- Waiting for lanes of the warp ---------------------------------------------------------------

bool sim_warp_together(struct sim_warp *warp, const struct sim_uop *op, uint32_t members)
{
    struct sim_path *path = warp->path;
    (void)op;
    members &= warp->live;
    if ((warp->mask & members) == members)
        return true;
    path->members = members;
    path->taking_part = warp->mask;
    uint32_t here = gathered(warp, path);
    if (!here) {
        path->state = PATH_TOGETHER;
        return false;
    }
    for (uint32_t i = 0; i < warp->path_count; i++) {
        struct sim_path *other = warp_path(warp, i);
        if (waits_beside(path, other) && (other->taking_part & here)) {
            other->state = PATH_READY;
            other->pc++;
        }
    }
    sim_warp_set_mask(warp, here);
    return true;
}

enum sim_step sim_warp_apart(struct sim_warp *warp)
{
    sim_warp_set_mask(warp, warp->path->mask);
    return STEP_NEXT;
}

// --- The dispatch loop ---------------------------------------------------------------------------

static void enter(struct sim_warp *warp, struct sim_path *path)
{
    warp->path = path;
    warp->registers = path->frame->registers;
    warp->pool = path->frame->code->pool;
    sim_warp_set_mask(warp, path->mask);
}

// A path whose join is at the function's end returns as soon as all its lanes have arrived.
static bool must_return(const struct sim_path *path)
{
    return path->pc == PC_RETURN;
}

// The path has jumped back in its frame. Counts the rounds of loops while other lanes may wait for
// the path. Returns whether it must stop because it is late.
static inline bool repeats(struct sim_warp *warp, struct sim_path *path, const struct sim_uop *op,
                           uint32_t from, bool late)
{
    if (path->join >= 0 &&
        sim_rounds_repeat(&path->rounds, path->frame->depth, from, path->pc, op->may_wait))
        let_go(warp, path);
    warp->repeats += op->may_wait;
    return late;
}

// Runs one path and returns the rest of the budget. The path stops at a jump backwards if no more
// than `late` instructions are left.
static uint64_t run_path(struct sim_warp *warp, struct sim_path *path, uint64_t budget,
                         uint64_t late)
{
    enter(warp, path);
    if (must_return(path)) {
        enum sim_step step = sim_warp_return(warp);
        if (step == STEP_STOP)
            return budget;
        enter(warp, path);
    }
    const struct sim_frame *frame = path->frame;
    const struct sim_uop *ops = frame->code->ops;
    uint32_t pc = path->pc;
    const struct sim_uop *op = &ops[pc]; // of this path and pc, all the time
    uint64_t left = budget;
    while (left--) {
        enum sim_step step;
        path->pc = pc;
        if (!op->guard) {
            warp->thread_instructions += (unsigned)__builtin_popcount(warp->mask);
            step = op->run(warp, op);
        } else {
            uint32_t guard = predicate(warp, (op->guard & ~GUARD_NEGATED) - 1);
            uint32_t mask = path->mask & (op->guard & GUARD_NEGATED ? ~guard : guard);
            if (!mask) {
                pc++;
                op++;
                continue;
            }
            warp->thread_instructions += (unsigned)__builtin_popcount(mask);
            if (mask == path->mask) {
                step = op->run(warp, op);
            } else {
                sim_warp_set_mask(warp, mask);
                step = op->run(warp, op);
                if (step == STEP_NEXT)
                    sim_warp_set_mask(warp, path->mask);
            }
        }
        if (step == STEP_NEXT) {
            pc++;
            op++;
        } else if (step == STEP_JUMP) {
            if (path->frame == frame) {
                if (path->pc <= pc && repeats(warp, path, op, pc, left < late))
                    return left;
                pc = path->pc;
                op = &ops[pc];
                sim_warp_set_mask(warp, path->mask);
                continue;
            }
            if (path->join >= 0)
                sim_rounds_return(&path->rounds, path->frame->depth);
            pc = path->pc;
            enter(warp, path);
            frame = path->frame;
            ops = frame->code->ops;
            op = &ops[pc];
        } else {
            return left;
        }
    }
    path->pc = pc;
    return 0;
}

static bool is_beside(const struct sim_path *path, const struct sim_path *other)
{
    return other != path && other->state == PATH_READY && other->loose && !other->released &&
           other->pc == path->pc && other->frame == path->frame && other->join == path->join &&
           other->rejoin == path->rejoin && other->rejoin_frame == path->rejoin_frame;
}

// Lets a path that has separated from others without a common join run as one with those that now
// stand at the same place.
static void merge(struct sim_warp *warp, struct sim_path *path)
{
    if (!path->loose || path->released)
        return;
    for (uint32_t i = 0; i < warp->path_count; i++) {
        struct sim_path *other = warp_path(warp, i);
        if (!is_beside(path, other))
            continue;
        path->mask |= other->mask;
        other->state = PATH_FREE;
    }
}

bool sim_warp_run(struct sim_warp *warp, uint64_t budget)
{
    const struct sim_run *root = warp->block->launch->root;
    uint32_t at = warp->next_path;
    while (budget) {
        uint32_t ready = 0;
        struct sim_path *chosen = NULL;
        uint32_t first = at;
        for (uint32_t i = 0; i < warp->path_count; i++) {
            uint32_t index = (first + i) % warp->path_count;
            struct sim_path *path = warp_path(warp, index);
            if (path->state != PATH_READY)
                continue;
            ready++;
            if (!chosen) {
                chosen = path;
                at = index + 1; // the next turn goes to another path
            }
        }
        if (!chosen && !leave_outermost_join(warp))
            break;
        if (!chosen)
            continue;
        if (warp->packed && !sim_warp_unpack(warp)) {
            warp->path = chosen;
            no_memory(warp, &chosen->frame->code->ops[chosen->pc]);
            return false;
        }
        if (ready > 1)
            merge(warp, chosen);
        const uint64_t late = ready > 1 ? LATE : 0;
        const uint64_t ran = budget + late - run_path(warp, chosen, budget + late, late);
        warp->warp_instructions += ran;
        warp->block->progressed = true;
        budget -= ran < budget ? ran : budget;
        if (!warp->block->warp_turn)
            budget = 0;
        if (atomic_load_explicit(&root->stop, memory_order_relaxed))
            return false;
    }
    warp->next_path = warp->path_count ? at % warp->path_count : 0;
    return true;
}

// --- Start and end -------------------------------------------------------------------------------

uint64_t sim_warp_bytes(const struct sim_run *launch)
{
    return sizeof(struct sim_warp) + sizeof(struct sim_frame) + launch->code->register_bytes +
           sim_frame_room_bytes(launch->code) +
           (uint64_t)LANES * (launch->code->endless ? launch->request->kernel->info.local_bytes
                                                    : launch->local_bytes);
}

bool sim_warp_init(struct sim_warp *warp, struct sim_block *block, uint32_t index)
{
    const struct sim_run *launch = block->launch;
    memset(warp, 0, sizeof(*warp));
    warp->block = block;
    warp->seen = block->worker->seen;
    warp->logged = launch->device->log || launch->request->watch;
    warp->index = index;
    warp->tid = (const uint32_t(*)[LANES])launch->tids[index];
    if (launch->local_bytes)
        warp->local = calloc(LANES, launch->local_bytes);
    return warp->local || !launch->local_bytes;
}

bool sim_warp_start(struct sim_warp *warp)
{
    const struct sim_run *launch = warp->block->launch;
    uint32_t left = launch->threads_per_block - warp->index * LANES;
    warp->live = left >= LANES ? ALL_LANES : (1u << left) - 1;
    warp->carry = warp->group_products = 0;
    if (warp->errors)
        memset(warp->errors, 0, LANES * sizeof(*warp->errors));
    memset(warp->came, 0, sizeof(warp->came));
    warp->cluster_came = 0;
    warp->path_count = warp->next_path = 0;
    struct sim_frame *frame = sim_frame_new(warp, launch->code, NULL);
    if (!frame)
        return false;
    struct sim_path *path = new_path(warp);
    *path = (struct sim_path){.state = PATH_READY, .mask = warp->live, .frame = frame, .join = -1};
    return true;
}

void sim_warp_stop(struct sim_warp *warp)
{
    while (warp->frames)
        sim_frame_end(warp, warp->frames);
}

void sim_warp_fini(struct sim_warp *warp)
{
    sim_warp_stop(warp);
    while (warp->spare) {
        struct sim_frame *next = warp->spare->next;
        sim_frame_free(warp->spare);
        warp->spare = next;
    }
    free(warp->local);
    free(warp->more);
    free(warp->joins);
    free(warp->errors);
    warp->errors = NULL;
    warp->local = NULL;
    warp->more = NULL;
    warp->joins = NULL;
}
