// SPDX-License-Identifier: Apache-2.0
// Frames: what the lanes of a path have of a function while they are in it, and what goes in and
// out of it. Which lanes call and return together is decided in warp.c.
#include <stdlib.h>
#include <string.h>

#include "machine.h"

// Where the stack of a function begins that the running lanes call from the frame.
static uint32_t stack_end(const struct warp *warp, const struct frame *frame)
{
    uint32_t most = 0;
    for (int i = 0; frame->code->allocates && i < LANES; i++) {
        if (warp->mask >> i & 1 && frame->allocated[i] > most)
            most = frame->allocated[i];
    }
    return frame->local_offset + ((frame->code->local_bytes + most + 15u) & ~15u);
}

size_t frame_room(const struct code *code)
{
    return 64 + code->register_bytes + (size_t)LANES * code->param_bytes + 64;
}

// Registers start as zeros: what a program reads without having written it is the same in every
// run.
struct frame *frame_create(struct warp *warp, const struct code *code, struct frame *caller)
{
    size_t room = frame_room(code);
    struct frame *frame = warp->spare;
    if (frame && frame->room_bytes >= room) {
        warp->spare = frame->next;
        room = frame->room_bytes;
    } else {
        frame = malloc(sizeof(*frame) + room);
        if (!frame)
            return NULL;
    }
    *frame = (struct frame){.code = code, .caller = caller, .room_bytes = room};
    frame->registers = (unsigned char *)(((uintptr_t)(frame + 1) + 63) & ~(uintptr_t)63);
    frame->params = frame->registers + code->register_bytes;
    memset(frame->registers, 0, code->register_bytes + (size_t)LANES * code->param_bytes);
    frame->local_offset = caller ? stack_end(warp, caller) : 0;
    frame->next = warp->frames;
    if (warp->frames)
        warp->frames->before = frame;
    warp->frames = frame;
    return frame;
}

void frame_end(struct warp *warp, struct frame *frame)
{
    *(frame->before ? &frame->before->next : &warp->frames) = frame->next;
    if (frame->next)
        frame->next->before = frame->before;
    frame->next = warp->spare;
    warp->spare = frame;
}

// --- Parameters ----------------------------------------------------------------------------------

static unsigned char *place_of(const struct frame *frame, const struct passed *passed, int lane)
{
    return frame->params + (size_t)lane * frame->code->param_bytes + passed->offset;
}

void frame_store_params(struct frame *frame, const struct passed *passed, uint32_t count,
                        uint32_t lanes)
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

void frame_load_params(struct frame *frame, const struct passed *passed, uint32_t count,
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

enum step frame_call(struct warp *warp, const struct uop *op, const struct code *code)
{
    struct path *path = warp->path;
    struct frame *caller = path->frame;
    struct launch *launch = warp->block->launch;
    uint32_t stack = stack_end(warp, caller);
    // A call takes some of the stack even where the function has no variables there.
    if (stack + code->local_bytes > launch->local_bytes ||
        caller->depth > launch->local_bytes / LEAST_FRAME)
        return warp_fault(warp, op, SIM_FAULT_STACK, __builtin_ctz(warp->mask),
                          "the stack of %u bytes is used up calling %s", launch->local_bytes,
                          code->name);
    struct frame *frame = frame_create(warp, code, caller);
    if (!frame)
        return warp_fault(warp, op, SIM_FAULT_NO_MEMORY, 0, "out of memory calling %s", code->name);
    frame->depth = caller->depth + 1;
    frame->lanes = warp->mask;
    frame->call = op;
    const struct call_plan *plan = op->extra;
    frame_store_params(caller, plan->given, plan->given_count, warp->mask);
    for (uint32_t i = 0; i < plan->argument_count && i < code->param_count; i++) {
        for (int lane = 0; lane < LANES; lane++) {
            if (warp->mask >> lane & 1)
                memcpy(frame->params + (size_t)lane * code->param_bytes + code->params[i].offset,
                       caller->params + (size_t)lane * caller->code->param_bytes +
                           plan->arguments[i].offset,
                       code->params[i].size_bytes);
        }
    }
    frame_load_params(frame, code->given, code->given_count, warp->mask);
    frame->return_pc = path->pc + 1;
    path->frame = frame;
    path->pc = 0;
    return STEP_JUMP;
}

void frame_leave(struct warp *warp)
{
    struct path *path = warp->path;
    struct frame *frame = path->frame, *caller = frame->caller;
    uint32_t lanes = warp->mask;
    const struct call_plan *plan = frame->call->extra;
    frame_store_params(frame, &frame->code->result, frame->code->result.bytes != 0, lanes);
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
    frame_load_params(caller, &plan->taken, plan->taken.bytes != 0, lanes);
    path->frame = caller;
    path->pc = frame->return_pc;
    // Other lanes may be in it still, on paths of their own.
    frame->lanes &= ~lanes;
    if (!frame->lanes)
        frame_end(warp, frame);
}
