// SPDX-License-Identifier: Apache-2.0
// Implements surface objects: loads, stores and reductions of elements, by bytes (.b) or by texels
// of the surface's format (.p).
#include <string.h>

#include "access.h"
#include "families.h"
#include "gpusim/numbers/half.h"
#include "logging.h"
#include "ops_texture.h"
#include "warp.h"

enum { SURFACE_TRAP, SURFACE_CLAMP, SURFACE_ZERO };

// The operands of an instruction besides the handle.
struct element {
    struct sim_texture_place place;
    slot data[4];
    uint8_t count;          // registers of data
    uint8_t bytes;          // bytes of each
    uint8_t outside;        // what happens outside the surface: SURFACE_TRAP and so on
    bool formatted;         // .p: x counts texels
    struct sim_uop combine; // of a reduction: the op for sim_atomic_reduce()
};

// Returns the address of `bytes` bytes. NULL if they are outside and the mode ignores that, or if
// the launch has failed.
static unsigned char *place_of(struct sim_warp *warp, const struct sim_uop *op, int lane,
                               const struct sim_texture *to, uint32_t bytes,
                               enum sim_access_kind kind)
{
    const struct element *element = op->extra;
    const struct sim_texture_place *place = &element->place;
    unsigned first = place->layered;
    int64_t at[3] = {0, 0, 0};
    for (unsigned d = 0; d + first < place->count && d < 3; d++)
        at[d] = ((const lane_s32 *)source(warp, place->at[d + first]))[lane];
    if (first)
        at[2] = ((const lane_s32 *)source(warp, place->at[0]))[lane];
    int64_t texel_bytes = (int64_t)to->channels * to->channel_bits / 8;
    if (element->formatted)
        at[0] *= texel_bytes;
    int64_t width = (int64_t)to->width * texel_bytes;
    const int64_t sizes[3] = {width, to->height ? to->height : 1, to->depth ? to->depth : 1};
    for (unsigned d = 0; d < 3; d++) {
        int64_t room = d == 0 ? sizes[0] - (int64_t)bytes + 1 : sizes[d];
        if (at[d] >= 0 && at[d] < room)
            continue;
        if (element->outside == SURFACE_CLAMP) {
            at[d] = at[d] < 0 ? 0 : room - 1;
            continue;
        }
        if (element->outside == SURFACE_TRAP)
            sim_warp_fault(warp, op, SIM_FAULT_ADDRESS, lane,
                           "surface coordinate %lld is outside a surface of %lld", (long long)at[d],
                           (long long)sizes[d]);
        return NULL;
    }
    unsigned char *found = (unsigned char *)to->data + at[0] + (uint64_t)at[1] * to->pitch_bytes +
                           (uint64_t)at[2] * to->slice_bytes;
    if (warp->block->launch->device->log)
        sim_log_lane(warp, lane, GPUSIM_LOG_SURFACE, found, bytes, kind);
    return found;
}

static bool has_failed(const struct sim_warp *warp)
{
    return atomic_load(&warp->block->launch->root->stop);
}

static enum sim_step load(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct element *element = op->extra;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const struct sim_texture *surface = sim_texture_of(warp, op, i, true);
        const unsigned char *from =
            surface ? place_of(warp, op, i, surface, (uint32_t)element->bytes * element->count,
                               ACCESS_LOAD)
                    : NULL;
        if (!from && has_failed(warp))
            return STEP_STOP;
        for (unsigned k = 0; k < element->count; k++) {
            uint64_t value = 0;
            if (from)
                memcpy(&value, from + (size_t)k * element->bytes, element->bytes);
            if (element->data[k] == NO_SLOT)
                continue;
            if (element->bytes == 8)
                ((lane_u64 *)target(warp, element->data[k]))[i] = value;
            else
                ((lane_u32 *)target(warp, element->data[k]))[i] = (uint32_t)value;
        }
    }
    return STEP_NEXT;
}

// Returns a lane's value. Registers of up to 32 bits take 4 bytes.
static const unsigned char *value_of(const struct sim_warp *warp, const struct element *element,
                                     unsigned k, int lane)
{
    return (const unsigned char *)source(warp, element->data[k]) +
           (size_t)lane * (element->bytes == 8 ? 8 : 4);
}

// Converts 32 bits to a channel of the surface. Integers are clamped to its range.
static uint32_t channel_of(const struct sim_texture *surface, uint32_t value)
{
    unsigned bits = surface->channel_bits;
    if (bits == 32)
        return value;
    if (surface->texel == SIM_TEXEL_FLOAT)
        return num_f16_from_f32(num_from_bits_f32(value), NUM_RZ, 0);
    if (surface->texel == SIM_TEXEL_UNSIGNED)
        return value >> bits ? (1u << bits) - 1 : value;
    int32_t most = (1 << (bits - 1)) - 1, least = -most - 1, number = (int32_t)value;
    return (uint32_t)(number > most ? most : number < least ? least : number);
}

static enum sim_step store(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct element *element = op->extra;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const struct sim_texture *surface = sim_texture_of(warp, op, i, true);
        if (!surface)
            return STEP_STOP;
        uint32_t bytes = element->formatted ? surface->channel_bits / 8u : element->bytes;
        uint32_t count = element->formatted ? surface->channels : element->count;
        unsigned char *to = place_of(warp, op, i, surface, bytes * count, ACCESS_STORE);
        if (!to && has_failed(warp))
            return STEP_STOP;
        for (unsigned k = 0; to && k < count; k++) {
            uint64_t value = 0;
            if (k < element->count)
                memcpy(&value, value_of(warp, element, k, i), element->bytes);
            if (element->formatted)
                value = channel_of(surface, (uint32_t)value);
            memcpy(to + (size_t)k * bytes, &value, bytes);
        }
    }
    return STEP_NEXT;
}

static enum sim_step reduce(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct element *element = op->extra;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const struct sim_texture *surface = sim_texture_of(warp, op, i, true);
        unsigned char *to =
            surface ? place_of(warp, op, i, surface, element->bytes, ACCESS_ATOMIC) : NULL;
        if (!to && has_failed(warp))
            return STEP_STOP;
        if (!to)
            continue;
        struct sim_uop combine = element->combine;
        if (element->formatted && surface->texel == SIM_TEXEL_SIGNED)
            combine.mode = PTX_S32;
        if ((uintptr_t)to % element->bytes)
            return sim_warp_fault(warp, op, SIM_FAULT_MISALIGNED, i,
                                  "surface coordinate x is not a multiple of %u", element->bytes);
        sim_atomic_reduce(&combine, to, value_of(warp, element, 0, i), element->bytes, true);
    }
    return STEP_NEXT;
}

static bool choose_element(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    bool loads = ptx_op(instr) == PTX_OP_SULD, reduces = ptx_op(instr) == PTX_OP_SURED;
    if (form->type_count != 1 || instr->operand_count != 2)
        return false;
    enum ptx_type type = (enum ptx_type)form->types[0];
    const struct ptx_operand *data = &instr->operands[loads ? 0 : 1];
    struct element *element = base_new(decoder->arena, struct element);
    element->formatted = strstr(form->text, ".p.") != NULL;
    element->bytes = (uint8_t)ptx_type_bytes(type);
    element->count = form->vec;
    element->outside = (uint8_t)(ptx_form_has(form, PTX_MOD_CLAMP)  ? SURFACE_CLAMP
                                 : ptx_form_has(form, PTX_MOD_ZERO) ? SURFACE_ZERO
                                                                    : SURFACE_TRAP);
    if (element->count > 4 || (element->formatted && (loads || element->bytes != 4)) ||
        !sim_texture_decode_place(decoder, instr, &instr->operands[loads ? 1 : 0], op,
                                  &element->place))
        return false;
    for (unsigned k = 0; k < element->count; k++) {
        const struct ptx_operand *part =
            data->kind == PTX_OPERAND_VECTOR && k < data->count ? &data->elements[k] : data;
        element->data[k] = loads ? sim_decode_target(decoder, instr, part)
                                 : sim_decode_typed(decoder, instr, part, type);
    }
    if (reduces) {
        // .b32 counts as unsigned; .p takes the type from the surface.
        element->combine = (struct sim_uop){.target = form->operation,
                                            .mode = (uint8_t)(type == PTX_B32 ? PTX_U32 : type),
                                            .bytes = element->bytes};
        if (!form->operation || element->count != 1 || element->bytes < 4)
            return false;
    }
    op->extra = element;
    op->run = loads ? load : reduces ? reduce : store;
    return true;
}

bool sim_choose_surface(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    switch (ptx_op(instr)) {
    case PTX_OP_SUQ: return sim_choose_texture_query(decoder, instr, op);
    case PTX_OP_SULD:
    case PTX_OP_SUST:
    case PTX_OP_SURED: return choose_element(decoder, instr, op);
    default: return false;
    }
}
