// SPDX-License-Identifier: Apache-2.0
// Manages the frames of a warp. A frame holds the registers and parameters of a function while
// lanes execute it; arguments and results pass between frames. warp.c decides which lanes call and
// return together. packing.c stores registers while a warp waits.
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "machine.h"
#include "warp.h"

// --- Rooms ---------------------------------------------------------------------------------------

// An unused room starts with this header. A room is memory for the registers of a frame.
struct room {
    struct room *next;
    uint32_t bytes;
};

bool sim_frame_take_room(struct sim_worker *worker, struct sim_frame *frame)
{
    uint32_t bytes = frame->code->register_bytes;
    struct room **place = &worker->rooms;
    while (*place && (*place)->bytes != bytes)
        place = &(*place)->next;
    struct room *room = *place;
    if (room)
        *place = room->next;
    else
        room = aligned_alloc(64, bytes ? bytes : 64);
    frame->registers = (unsigned char *)room;
    frame->register_room = room ? bytes : 0;
    return room != NULL;
}

void sim_frame_give_room(struct sim_worker *worker, struct sim_frame *frame)
{
    struct room *room = (struct room *)(void *)frame->registers;
    if (room && frame->register_room) {
        *room = (struct room){worker->rooms, frame->register_room};
        worker->rooms = room;
    } else {
        free(room);
    }
    frame->registers = NULL;
    frame->register_room = 0;
}

void sim_worker_clear(struct sim_worker *worker)
{
    while (worker->rooms) {
        struct room *next = worker->rooms->next;
        free(worker->rooms);
        worker->rooms = next;
    }
    for (size_t i = 0; i < sizeof(worker->alive) / sizeof(worker->alive[0]); i++) {
        free(worker->alive[i].units);
        worker->alive[i] = (struct sim_alive){0};
    }
}

// --- Frames --------------------------------------------------------------------------------------

// Returns where the stack of a function begins if the running lanes call it from the frame.
static uint32_t stack_end(const struct sim_warp *warp, const struct sim_frame *frame)
{
    uint32_t most = 0;
    for (int i = 0; frame->code->allocates && i < LANES; i++) {
        if (warp->mask >> i & 1 && frame->allocated[i] > most)
            most = frame->allocated[i];
    }
    return frame->local_offset + ((frame->code->local_bytes + most + 15u) & ~15u);
}

size_t sim_frame_room_bytes(const struct sim_code *code)
{
    return (size_t)LANES * code->param_bytes + (code->allocates ? LANES * sizeof(uint32_t) : 0);
}

struct sim_frame *sim_frame_new(struct sim_warp *warp, const struct sim_code *code,
                                struct sim_frame *caller)
{
    struct sim_frame *frame = warp->spare;
    if (frame && frame->room_bytes >= sim_frame_room_bytes(code) &&
        (!frame->registers || frame->register_room >= code->register_bytes)) {
        warp->spare = frame->next;
    } else {
        frame = calloc(1, sizeof(*frame) + sim_frame_room_bytes(code));
        if (!frame)
            return NULL;
        frame->room_bytes = sim_frame_room_bytes(code);
    }
    *frame = (struct sim_frame){.code = code,
                                .caller = caller,
                                .room_bytes = frame->room_bytes,
                                .registers = frame->registers,
                                .register_room = frame->register_room,
                                .params = (unsigned char *)(frame + 1)};
    if (!frame->registers && !sim_frame_take_room(warp->block->worker, frame)) {
        free(frame);
        return NULL;
    }
    if (code->allocates)
        frame->allocated = (uint32_t *)(void *)(frame->params + (size_t)LANES * code->param_bytes);
    for (uint32_t i = 0; i < code->unset_count; i++)
        memset(frame->registers + code->unset[i].at, 0, code->unset[i].bytes);
    memset(frame->registers + code->slot_bytes, 0, code->register_bytes - code->slot_bytes);
    memset(frame->params, 0, sim_frame_room_bytes(code));
    frame->local_offset = caller ? stack_end(warp, caller) : 0;
    frame->next = warp->frames;
    if (warp->frames)
        warp->frames->before = frame;
    warp->frames = frame;
    return frame;
}

void sim_frame_end(struct sim_warp *warp, struct sim_frame *frame)
{
    *(frame->before ? &frame->before->next : &warp->frames) = frame->next;
    if (frame->next)
        frame->next->before = frame->before;
    free(frame->packed);
    frame->packed = NULL;
    frame->next = warp->spare;
    warp->spare = frame;
}

void sim_frame_free(struct sim_frame *frame)
{
    free(frame->registers);
    free(frame);
}

// --- Parameters that are registers ---------------------------------------------------------------

static unsigned char *place_of(const struct sim_frame *frame, const struct sim_passed *passed,
                               int lane)
{
    return frame->params + (size_t)lane * frame->code->param_bytes + passed->offset;
}

void sim_frame_store_params(struct sim_frame *frame, const struct sim_passed *passed,
                            uint32_t count, uint32_t lanes)
{
    for (uint32_t i = 0; i < count; i++, passed++) {
        const unsigned char *from = passed->reg & POOL ? frame->code->pool + (passed->reg & ~POOL)
                                                       : frame->registers + passed->reg;
        for (uint32_t left = lanes; left; left &= left - 1) {
            int lane = __builtin_ctz(left);
            memcpy(place_of(frame, passed, lane), from + (size_t)lane * passed->lane_bytes,
                   passed->bytes);
        }
    }
}

void sim_frame_load_params(struct sim_frame *frame, const struct sim_passed *passed, uint32_t count,
                           uint32_t lanes)
{
    for (uint32_t i = 0; i < count; i++, passed++) {
        for (uint32_t left = lanes; left; left &= left - 1) {
            int lane = __builtin_ctz(left);
            unsigned char *to = frame->registers + passed->reg + (size_t)lane * passed->lane_bytes;
            memset(to, 0, passed->lane_bytes);
            memcpy(to, place_of(frame, passed, lane), passed->bytes);
        }
    }
}

// --- Calls ---------------------------------------------------------------------------------------

enum sim_step sim_frame_call(struct sim_warp *warp, const struct sim_uop *op,
                             const struct sim_code *code)
{
    struct sim_path *path = warp->path;
    struct sim_frame *caller = path->frame;
    struct sim_run *launch = warp->block->launch;
    uint32_t stack = stack_end(warp, caller);
    // The depth is limited as well, because a call needs stack even if the function has no local
    // variables.
    if (stack + code->local_bytes > launch->local_bytes ||
        caller->depth > launch->local_bytes / LEAST_FRAME)
        return sim_warp_fault(warp, op, SIM_FAULT_STACK, __builtin_ctz(warp->mask),
                              "the stack of %u bytes overflows in a call of %s",
                              launch->local_bytes, code->name);
    struct sim_frame *frame = sim_frame_new(warp, code, caller);
    if (!frame)
        return sim_warp_fault(warp, op, SIM_FAULT_NO_MEMORY, 0, "out of memory calling %s",
                              code->name);
    frame->depth = caller->depth + 1;
    frame->lanes = warp->mask;
    frame->call = op;
    const struct sim_call_plan *plan = op->extra;
    sim_frame_store_params(caller, plan->given, plan->given_count, warp->mask);
    for (uint32_t i = 0; i < plan->argument_count && i < code->param_count; i++) {
        for (int lane = 0; lane < LANES; lane++) {
            if (warp->mask >> lane & 1)
                memcpy(frame->params + (size_t)lane * code->param_bytes + code->params[i].offset,
                       caller->params + (size_t)lane * caller->code->param_bytes +
                           plan->arguments[i].offset,
                       code->params[i].size_bytes);
        }
    }
    sim_frame_load_params(frame, code->given, code->given_count, warp->mask);
    frame->return_pc = path->pc + 1;
    path->frame = frame;
    path->pc = 0;
    return STEP_JUMP;
}

void sim_frame_leave(struct sim_warp *warp)
{
    struct sim_path *path = warp->path;
    struct sim_frame *frame = path->frame, *caller = frame->caller;
    uint32_t lanes = warp->mask;
    const struct sim_call_plan *plan = frame->call->extra;
    sim_frame_store_params(frame, &frame->code->result, frame->code->result.bytes != 0, lanes);
    if (plan->result_bytes) {
        for (int lane = 0; lane < LANES; lane++) {
            if (lanes >> lane & 1)
                memcpy(caller->params + (size_t)lane * caller->code->param_bytes +
                           plan->result_offset,
                       frame->params + (size_t)lane * frame->code->param_bytes +
                           frame->code->return_offset,
                       plan->result_bytes);
        }
    }
    sim_frame_load_params(caller, &plan->taken, plan->taken.bytes != 0, lanes);
    path->frame = caller;
    path->pc = frame->return_pc;
    // Other paths may still be in the frame.
    frame->lanes &= ~lanes;
    if (!frame->lanes)
        sim_frame_end(warp, frame);
}
