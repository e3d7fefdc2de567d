// SPDX-License-Identifier: Apache-2.0
// Packs the registers of waiting warps. In a cooperative launch, thousands of warps wait for each
// other, and a frame has room for the most registers that are ever live together. A packed frame
// keeps only the registers that are live where the warp's paths wait. It keeps a single value of
// registers that are equal in all lanes. Another warp uses the frame's room meanwhile.
//
// The format of a packed frame is: a byte for each unit of its slots (enum unit_kind), the kept
// units, and the predicates.
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "machine.h"
#include "packing.h"

enum { UNIT = SLOT_UNIT, PERIOD = 8 }; // bytes; PERIOD is the widest lane except those of 128 bits

enum unit_kind { UNIT_DEAD, UNIT_UNIFORM, UNIT_WHOLE };

// --- Liveness ------------------------------------------------------------------------------------

static uint32_t unit_count(const struct sim_code *code)
{
    return code->slot_bytes / UNIT;
}

// Returns the index of the op's instruction in the text; for a join, that of the next instruction.
static uint32_t place_of(const struct sim_code *code, uint32_t pc)
{
    while (pc < code->op_count && !code->ops[pc].instr)
        pc++;
    return pc < code->op_count ? code->ops[pc].instr->index : code->last_place;
}

// Returns a byte for each unit: whether it is live at the place. NULL when memory runs out.
static const unsigned char *units_at(struct sim_worker *worker, const struct sim_code *code,
                                     uint32_t place)
{
    struct sim_alive *known = &worker->alive[place % ALIVE_PLACES];
    if (known->units && known->code == code && known->place == place)
        return known->units;
    free(known->units);
    *known = (struct sim_alive){code, place, calloc(unit_count(code) + 1, 1)};
    for (uint32_t i = 0; known->units && i < code->life_count; i++) {
        const struct sim_life *life = &code->lives[i];
        if (life->first <= place && place <= life->last)
            memset(known->units + life->at / UNIT, 1, life->bytes / UNIT);
    }
    return known->units;
}

static bool mark(struct sim_worker *worker, const struct sim_code *code, uint32_t pc,
                 unsigned char *marks)
{
    const unsigned char *units = units_at(worker, code, place_of(code, pc));
    for (uint32_t i = 0; units && i < unit_count(code); i++)
        marks[i] |= units[i];
    return units;
}

// Marks the units that are live where lanes stand in the frame: in paths, at joins, and in calls
// from it. For a call, both the call and the next instruction count, because the result is still to
// be stored.
static bool mark_frame(struct sim_warp *warp, const struct sim_frame *frame, unsigned char *marks)
{
    struct sim_worker *worker = warp->block->worker;
    const struct sim_code *code = frame->code;
    bool good = true;
    for (uint32_t i = 0; good && i < warp->path_count; i++) {
        const struct sim_path *path = warp_path(warp, i);
        if (path->state != PATH_FREE && path->frame == frame)
            good = mark(worker, code, path->pc, marks);
    }
    for (int32_t i = 0; good && i < warp->join_room; i++) {
        if (warp->joins[i].used && warp->joins[i].frame == frame)
            good = mark(worker, code, warp->joins[i].pc, marks);
    }
    for (const struct sim_frame *called = warp->frames; good && called; called = called->next) {
        if (called->caller == frame)
            good = mark(worker, code, called->return_pc - 1, marks) &&
                   mark(worker, code, called->return_pc, marks);
    }
    return good;
}

// --- Packing -------------------------------------------------------------------------------------

static bool pack_frame(struct sim_warp *warp, struct sim_frame *frame)
{
    const struct sim_code *code = frame->code;
    uint32_t units = unit_count(code), rest = code->register_bytes - code->slot_bytes;
    unsigned char *kinds = calloc(units + 1, 1);
    if (!kinds || !mark_frame(warp, frame, kinds)) {
        free(kinds);
        return false;
    }
    size_t bytes = units + rest;
    for (uint32_t i = 0; i < units; i++) {
        const unsigned char *unit = frame->registers + (size_t)i * UNIT;
        if (kinds[i])
            kinds[i] = memcmp(unit, unit + PERIOD, UNIT - PERIOD) == 0 ? UNIT_UNIFORM : UNIT_WHOLE;
        bytes += kinds[i] == UNIT_WHOLE ? UNIT : kinds[i] == UNIT_UNIFORM ? PERIOD : 0;
    }
    unsigned char *packed = malloc(bytes + 1), *to = packed;
    if (packed) {
        to = (unsigned char *)mempcpy(to, kinds, units);
        for (uint32_t i = 0; i < units; i++) {
            size_t length = kinds[i] == UNIT_WHOLE ? UNIT : kinds[i] == UNIT_UNIFORM ? PERIOD : 0;
            to = (unsigned char *)mempcpy(to, frame->registers + (size_t)i * UNIT, length);
        }
        memcpy(to, frame->registers + code->slot_bytes, rest);
        frame->packed = packed;
        sim_frame_give_room(warp->block->worker, frame);
    }
    free(kinds);
    return packed;
}

static bool unpack_frame(struct sim_warp *warp, struct sim_frame *frame)
{
    const struct sim_code *code = frame->code;
    if (!sim_frame_take_room(warp->block->worker, frame))
        return false;
    uint32_t units = unit_count(code);
    const unsigned char *from = frame->packed + units;
    for (uint32_t i = 0; i < units; i++) {
        unsigned char *unit = frame->registers + (size_t)i * UNIT;
        if (frame->packed[i] == UNIT_WHOLE) {
            memcpy(unit, from, UNIT);
            from += UNIT;
        } else if (frame->packed[i] == UNIT_UNIFORM) {
            for (int k = 0; k < UNIT; k += PERIOD)
                memcpy(unit + k, from, PERIOD);
            from += PERIOD;
        }
    }
    memcpy(frame->registers + code->slot_bytes, from, code->register_bytes - code->slot_bytes);
    free(frame->packed);
    frame->packed = NULL;
    return true;
}

void sim_warp_pack(struct sim_warp *warp)
{
    for (struct sim_frame *frame = warp->frames; frame; frame = frame->next) {
        if (!frame->packed && pack_frame(warp, frame))
            warp->packed = true;
    }
    for (struct sim_frame *frame = warp->spare; frame; frame = frame->next)
        sim_frame_give_room(warp->block->worker, frame);
}

bool sim_warp_unpack(struct sim_warp *warp)
{
    for (struct sim_frame *frame = warp->frames; frame; frame = frame->next) {
        if (frame->packed && !unpack_frame(warp, frame))
            return false;
    }
    warp->packed = false;
    return true;
}
