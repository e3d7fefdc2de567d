// SPDX-License-Identifier: Apache-2.0
// The frames of a warp's functions: where their registers, parameters and stacks are, and passing
// registers between them. Who calls whom is warp.c's matter, and what becomes of registers while a
// warp waits packing.c's.
#include <stdlib.h>
#include <string.h>

#include "machine.h"

// --- Rooms ---------------------------------------------------------------------------------------

// What stands at the start of a room that nobody uses.
struct room {
    struct room *next;
    uint32_t bytes;
};

bool frame_take_room(struct worker *worker, struct frame *frame)
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

void frame_give_room(struct worker *worker, struct frame *frame)
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

void worker_clear(struct worker *worker)
{
    while (worker->rooms) {
        struct room *next = worker->rooms->next;
        free(worker->rooms);
        worker->rooms = next;
    }
    for (size_t i = 0; i < sizeof(worker->alive) / sizeof(worker->alive[0]); i++) {
        free(worker->alive[i].units);
        worker->alive[i] = (struct alive){0};
    }
}

// --- Frames --------------------------------------------------------------------------------------

uint32_t frame_stack_end(const struct warp *warp, const struct frame *frame)
{
    uint32_t most = 0;
    for (int i = 0; frame->code->allocates && i < LANES; i++) {
        if (warp->mask >> i & 1 && frame->allocated[i] > most)
            most = frame->allocated[i];
    }
    return frame->local_offset + ((frame->code->local_bytes + most + 15u) & ~15u);
}

size_t frame_room_bytes(const struct code *code)
{
    return (size_t)LANES * code->param_bytes + (code->allocates ? LANES * sizeof(uint32_t) : 0);
}

_Static_assert(sizeof(struct frame) % 16 == 0, "the parameters behind it are aligned");

struct frame *frame_new(struct warp *warp, const struct code *code, struct frame *caller)
{
    struct frame *frame = warp->spare;
    if (frame && frame->room_bytes >= frame_room_bytes(code) &&
        (!frame->registers || frame->register_room >= code->register_bytes)) {
        warp->spare = frame->next;
    } else {
        frame = calloc(1, sizeof(*frame) + frame_room_bytes(code));
        if (!frame)
            return NULL;
        frame->room_bytes = frame_room_bytes(code);
    }
    *frame = (struct frame){.code = code,
                            .caller = caller,
                            .room_bytes = frame->room_bytes,
                            .registers = frame->registers,
                            .register_room = frame->register_room,
                            .params = (unsigned char *)(frame + 1)};
    if (!frame->registers && !frame_take_room(warp->block->worker, frame)) {
        free(frame);
        return NULL;
    }
    if (code->allocates)
        frame->allocated = (uint32_t *)(void *)(frame->params + (size_t)LANES * code->param_bytes);
    memset(frame->registers, 0, code->register_bytes);
    memset(frame->params, 0, frame_room_bytes(code));
    frame->local_offset = caller ? frame_stack_end(warp, caller) : 0;
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
    free(frame->packed);
    frame->packed = NULL;
    frame->next = warp->spare;
    warp->spare = frame;
}

void frame_free(struct frame *frame)
{
    free(frame->registers);
    free(frame);
}

// --- Parameters that are registers ---------------------------------------------------------------

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
