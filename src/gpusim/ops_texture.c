// SPDX-License-Identifier: Apache-2.0
// Textures and surfaces by object: fetches by integer coordinate, point and linear sampling with
// the address modes, layers and cube faces, and loads and stores of surfaces. Linear weights have
// the hardware's eight bits of fraction.
#include <math.h>
#include <string.h>

#include "access.h"
#include "numbers_half.h"
#include "ops.h"

enum { COORDINATES_INT = 1 }; // in op->mode

// A texel as four floats and as four words.
struct texel {
    float f[4];
    uint32_t w[4];
};

static bool is_texture(const struct sim_texture *texture, bool surface)
{
    return texture && ((uintptr_t)texture & 7) == 0 && texture->magic == SIM_TEXTURE_MAGIC &&
           texture->is_surface == surface;
}

// Coordinates outside become what the address mode says; false: the border.
static bool address_index(int64_t *at, uint32_t size, enum sim_address_mode mode)
{
    int64_t n = size ? size : 1;
    if (*at >= 0 && *at < n)
        return true;
    switch (mode) {
    case SIM_ADDRESS_WRAP: *at = (*at % n + n) % n; return true;
    case SIM_ADDRESS_MIRROR: {
        int64_t twice = (*at % (2 * n) + 2 * n) % (2 * n);
        *at = twice < n ? twice : 2 * n - 1 - twice;
        return true;
    }
    case SIM_ADDRESS_CLAMP: *at = *at < 0 ? 0 : n - 1; return true;
    case SIM_ADDRESS_BORDER: return false;
    }
    return false;
}

static void read_channels(const struct sim_texture *texture, const unsigned char *from,
                          struct texel *texel)
{
    for (unsigned c = 0; c < 4; c++) {
        texel->w[c] = 0;
        texel->f[c] = 0;
        if (c >= texture->channels)
            continue;
        uint32_t raw = 0;
        memcpy(&raw, from + (size_t)c * texture->channel_bits / 8, texture->channel_bits / 8u);
        bool is_signed = texture->texel == SIM_TEXEL_SIGNED;
        int32_t wide = texture->channel_bits == 8    ? (int8_t)raw
                       : texture->channel_bits == 16 ? (int16_t)raw
                                                     : (int32_t)raw;
        texel->w[c] = is_signed ? (uint32_t)wide : raw;
        if (texture->texel == SIM_TEXEL_FLOAT) {
            texel->f[c] = texture->channel_bits == 16 ? num_f32_from_f16((uint16_t)raw)
                                                      : num_from_bits_f32(raw);
            texel->w[c] = num_bits_f32(texel->f[c]);
        } else if (texture->read_normalized && texture->channel_bits < 32) {
            float most = is_signed ? (float)((1 << (texture->channel_bits - 1)) - 1)
                                   : (float)((1 << texture->channel_bits) - 1);
            texel->f[c] = is_signed ? (float)wide / most : (float)raw / most;
            if (texel->f[c] < -1)
                texel->f[c] = -1;
            texel->w[c] = num_bits_f32(texel->f[c]);
        }
    }
}

// One texel at whole coordinates; layer counts slices of a layered texture or faces of a cube.
static void fetch(const struct sim_texture *texture, int64_t x, int64_t y, int64_t z,
                  struct texel *texel)
{
    bool inside = address_index(&x, texture->width, texture->address_mode[0]);
    if (texture->dimensions > 1)
        inside &= address_index(&y, texture->height, texture->address_mode[1]);
    if (texture->layered || texture->cubemap)
        z = z < 0 ? 0 : z >= (int64_t)texture->depth ? (int64_t)texture->depth - 1 : z;
    else if (texture->dimensions > 2)
        inside &= address_index(&z, texture->depth, texture->address_mode[2]);
    if (!inside) {
        for (unsigned c = 0; c < 4; c++) {
            texel->f[c] = texture->border[c];
            texel->w[c] = num_bits_f32(texture->border[c]);
        }
        return;
    }
    size_t texel_bytes = (size_t)texture->channels * texture->channel_bits / 8;
    const unsigned char *from = (const unsigned char *)texture->data + (uint64_t)x * texel_bytes +
                                (uint64_t)y * texture->pitch_bytes +
                                (uint64_t)z * texture->slice_bytes;
    read_channels(texture, from, texel);
}

// The hardware keeps weights in 9 bits with 8 of fraction.
static float weight(float fraction)
{
    return floorf(fraction * 256.0f + 0.5f) / 256.0f;
}

static void sample(const struct sim_texture *texture, const float at[3], int64_t layer,
                   struct texel *texel)
{
    float position[3] = {at[0], at[1], at[2]};
    const uint32_t sizes[3] = {texture->width, texture->height, texture->depth};
    unsigned dimensions = texture->dimensions < 3 ? texture->dimensions : 3;
    bool sliced = texture->layered || texture->cubemap;
    for (unsigned d = 0; d < dimensions; d++) {
        if (texture->normalized_coordinates)
            position[d] *= (float)sizes[d];
    }
    if (!texture->filter_linear) {
        int64_t z = sliced ? layer : dimensions > 2 ? (int64_t)floorf(position[2]) : 0;
        fetch(texture, (int64_t)floorf(position[0]),
              dimensions > 1 ? (int64_t)floorf(position[1]) : 0, z, texel);
        return;
    }
    int64_t base[3] = {0, 0, 0};
    float part[3] = {0, 0, 0};
    for (unsigned d = 0; d < dimensions; d++) {
        float shifted = position[d] - 0.5f;
        base[d] = (int64_t)floorf(shifted);
        part[d] = weight(shifted - floorf(shifted));
    }
    memset(texel, 0, sizeof(*texel));
    for (unsigned corner = 0; corner < 1u << dimensions; corner++) {
        struct texel one;
        float share = 1;
        int64_t where[3] = {base[0], base[1], base[2]};
        for (unsigned d = 0; d < dimensions; d++) {
            bool far = corner >> d & 1;
            where[d] += far;
            share *= far ? part[d] : 1 - part[d];
        }
        fetch(texture, where[0], where[1], sliced ? layer : where[2], &one);
        for (unsigned c = 0; c < 4; c++)
            texel->f[c] += share * one.f[c];
    }
    for (unsigned c = 0; c < 4; c++)
        texel->w[c] = num_bits_f32(texel->f[c]);
}

// A direction to a face and a place on it.
static int64_t cube_face(const float direction[3], float place[3])
{
    float ax = fabsf(direction[0]), ay = fabsf(direction[1]), az = fabsf(direction[2]), major, s, t;
    int64_t face;
    if (ax >= ay && ax >= az) {
        face = direction[0] < 0;
        major = ax;
        s = direction[0] < 0 ? direction[2] : -direction[2];
        t = -direction[1];
    } else if (ay >= az) {
        face = 2 + (direction[1] < 0);
        major = ay;
        s = direction[0];
        t = direction[1] < 0 ? -direction[2] : direction[2];
    } else {
        face = 4 + (direction[2] < 0);
        major = az;
        s = direction[2] < 0 ? -direction[0] : direction[0];
        t = -direction[1];
    }
    place[0] = (s / major + 1) / 2;
    place[1] = (t / major + 1) / 2;
    place[2] = 0;
    return face;
}

// By whole coordinates there is nothing outside, whatever the address mode.
static bool is_inside(const struct sim_texture *texture, const int64_t at[3], int64_t layer)
{
    if (texture->layered && (layer < 0 || layer >= texture->depth))
        return false;
    return at[0] >= 0 && at[0] < texture->width &&
           (texture->dimensions < 2 || (at[1] >= 0 && at[1] < texture->height)) &&
           (texture->dimensions < 3 || texture->layered || (at[2] >= 0 && at[2] < texture->depth));
}

static enum step texture(struct warp *warp, const struct uop *op)
{
    const lane_u64 *handles = source(warp, op->a);
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const struct sim_texture *from = (const struct sim_texture *)(uintptr_t)handles[i];
        struct texel texel;
        float at[3] = {0, 0, 0};
        int64_t whole[3] = {0, 0, 0}, layer = 0;
        if (!is_texture(from, false))
            return warp_fault(warp, op, SIM_FAULT_ADDRESS, i, "0x%llx is no texture object",
                              (unsigned long long)handles[i]);
        // A layered fetch has its layer first.
        unsigned first = op->flags;
        if (first)
            layer = ((const lane_s32 *)source(warp, op->list[0]))[i];
        for (unsigned d = 0; d + first < op->count && d < 3; d++) {
            uint32_t bits = ((const lane_u32 *)source(warp, op->list[d + first]))[i];
            whole[d] = (int32_t)bits;
            at[d] = num_from_bits_f32(bits);
        }
        if (from->cubemap) {
            float place[3];
            layer = layer * 6 + cube_face(at, place);
            memcpy(at, place, sizeof(at));
        }
        if (op->mode & COORDINATES_INT && !is_inside(from, whole, layer))
            memset(&texel, 0, sizeof(texel));
        else if (op->mode & COORDINATES_INT)
            fetch(from, whole[0], whole[1], first ? layer : whole[2], &texel);
        else
            sample(from, at, layer, &texel);
        const slot *to = op->list + op->count;
        for (unsigned c = 0; c < 4; c++) {
            if (to[c] != NO_SLOT)
                ((lane_u32 *)target(warp, to[c]))[i] = texel.w[c];
        }
    }
    return STEP_NEXT;
}

// --- Gathers and questions -----------------------------------------------------------------------

// tld4: one channel, op->bytes, of the four texels that a linear filter would mix, counterclockwise
// from the one at the lower left.
static enum step gather(struct warp *warp, const struct uop *op)
{
    static const uint8_t right[4] = {0, 1, 1, 0}, down[4] = {1, 1, 0, 0};
    const lane_u64 *handles = source(warp, op->a);
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const struct sim_texture *from = (const struct sim_texture *)(uintptr_t)handles[i];
        if (!is_texture(from, false))
            return warp_fault(warp, op, SIM_FAULT_ADDRESS, i, "0x%llx is no texture object",
                              (unsigned long long)handles[i]);
        float x = num_from_bits_f32(((const lane_u32 *)source(warp, op->list[0]))[i]);
        float y = num_from_bits_f32(((const lane_u32 *)source(warp, op->list[1]))[i]);
        if (from->normalized_coordinates) {
            x *= (float)from->width;
            y *= (float)from->height;
        }
        int64_t column = (int64_t)floorf(x - 0.5f), row = (int64_t)floorf(y - 0.5f);
        for (unsigned k = 0; k < 4; k++) {
            struct texel texel;
            slot to = op->list[op->count + k];
            fetch(from, column + right[k], row + down[k], 0, &texel);
            if (to != NO_SLOT)
                ((lane_u32 *)target(warp, to))[i] = texel.w[op->bytes];
        }
    }
    return STEP_NEXT;
}

// txq and suq: width, height or depth, by op->mode. A missing height is 1, a missing depth 0.
static enum step query(struct warp *warp, const struct uop *op)
{
    const lane_u64 *handles = source(warp, op->a);
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const struct sim_texture *of = (const struct sim_texture *)(uintptr_t)handles[i];
        if (!is_texture(of, op->flags))
            return warp_fault(warp, op, SIM_FAULT_ADDRESS, i, "0x%llx is no %s object",
                              (unsigned long long)handles[i], op->flags ? "surface" : "texture");
        uint32_t height = of->dimensions > 1 && of->height ? of->height : 1;
        uint32_t depth = of->dimensions > 2 && !of->layered && !of->cubemap ? of->depth : 0;
        ((lane_u32 *)target(warp, op->d))[i] = op->mode == 0   ? of->width
                                               : op->mode == 1 ? height
                                                               : depth;
    }
    return STEP_NEXT;
}

// --- Surfaces ------------------------------------------------------------------------------------

enum { SURFACE_TRAP, SURFACE_CLAMP, SURFACE_ZERO };

// The place of an element; x counts bytes. NULL: outside, and the mode says to do nothing.
static unsigned char *surface_place(struct warp *warp, const struct uop *op, int lane,
                                    uint32_t bytes)
{
    uint64_t handle = ((const lane_u64 *)source(warp, op->a))[lane];
    const struct sim_texture *to = (const struct sim_texture *)(uintptr_t)handle;
    if (!is_texture(to, true)) {
        warp_fault(warp, op, SIM_FAULT_ADDRESS, lane, "0x%llx is no surface object",
                   (unsigned long long)handle);
        return NULL;
    }
    unsigned first = op->flags;
    int64_t at[3] = {0, 0, 0};
    for (unsigned d = 0; d + first < op->count && d < 3; d++)
        at[d] = ((const lane_s32 *)source(warp, op->list[d + first]))[lane];
    if (first)
        at[2] = ((const lane_s32 *)source(warp, op->list[0]))[lane];
    int64_t width = (int64_t)to->width * to->channels * to->channel_bits / 8;
    const int64_t sizes[3] = {width, to->height ? to->height : 1, to->depth ? to->depth : 1};
    for (unsigned d = 0; d < 3; d++) {
        int64_t room = d == 0 ? sizes[0] - (int64_t)bytes + 1 : sizes[d];
        if (at[d] >= 0 && at[d] < room)
            continue;
        if (op->mode == SURFACE_CLAMP) {
            at[d] = at[d] < 0 ? 0 : room - 1;
            continue;
        }
        if (op->mode == SURFACE_TRAP)
            warp_fault(warp, op, SIM_FAULT_ADDRESS, lane,
                       "surface coordinate %lld is outside a surface of %lld", (long long)at[d],
                       (long long)sizes[d]);
        return NULL;
    }
    return (unsigned char *)to->data + at[0] + (uint64_t)at[1] * to->pitch_bytes +
           (uint64_t)at[2] * to->slice_bytes;
}

static enum step surface_load(struct warp *warp, const struct uop *op)
{
    unsigned elements = op->space; // of the vector
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const unsigned char *from = surface_place(warp, op, i, op->bytes * elements);
        if (!from && atomic_load(&warp->block->launch->stop))
            return STEP_STOP;
        for (unsigned k = 0; k < elements; k++) {
            uint64_t value = 0;
            if (from)
                memcpy(&value, from + (size_t)k * op->bytes, op->bytes);
            slot to = op->list[op->count + k];
            if (to == NO_SLOT)
                continue;
            if (op->bytes == 8)
                ((lane_u64 *)target(warp, to))[i] = value;
            else
                ((lane_u32 *)target(warp, to))[i] = (uint32_t)value;
        }
    }
    return STEP_NEXT;
}

static enum step surface_store(struct warp *warp, const struct uop *op)
{
    unsigned elements = op->space;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        unsigned char *to = surface_place(warp, op, i, op->bytes * elements);
        if (!to && atomic_load(&warp->block->launch->stop))
            return STEP_STOP;
        for (unsigned k = 0; to && k < elements; k++) {
            const unsigned char *lanes = source(warp, op->list[op->count + k]);
            memcpy(to + (size_t)k * op->bytes, lanes + (size_t)i * (op->bytes == 8 ? 8 : 4),
                   op->bytes);
        }
    }
    return STEP_NEXT;
}

// --- Choice --------------------------------------------------------------------------------------

static unsigned has_layer(const struct ptx_form *form)
{
    return ptx_form_has(form, PTX_MOD_DIM_A1D) || ptx_form_has(form, PTX_MOD_DIM_A2D) ||
           ptx_form_has(form, PTX_MOD_DIM_ACUBE);
}

// [handle, {coordinates}]: handle to op->a, coordinates to the front of a list with room behind.
static bool decode_place(struct decoder *decoder, const struct ptx_instr *instr,
                         const struct ptx_operand *operand, struct uop *op, slot *list)
{
    if (operand->kind != PTX_OPERAND_ADDRESS || operand->count != 2)
        return false;
    const struct ptx_operand *where = &operand->elements[1];
    op->a = decode_typed(decoder, instr, &operand->elements[0], PTX_U64);
    op->count = (uint8_t)(where->kind == PTX_OPERAND_VECTOR ? where->count : 1);
    if (op->count > 4)
        return false;
    for (unsigned k = 0; k < op->count; k++)
        list[k] =
            decode_typed(decoder, instr,
                         where->kind == PTX_OPERAND_VECTOR ? &where->elements[k] : where, PTX_B32);
    op->list = list;
    return true;
}

static bool choose_tex(struct decoder *decoder, const struct ptx_instr *instr, struct uop *op)
{
    const struct ptx_form *form = instr->form;
    const struct ptx_operand *to = &instr->operands[0];
    bool base_level = ptx_form_has(form, PTX_MOD_LEVEL) || ptx_form_has(form, PTX_MOD_BASE);
    if (form->type_count != 2 || form->vec != 4 || to->kind != PTX_OPERAND_VECTOR ||
        to->count != 4 || ptx_type_info((enum ptx_type)form->types[0])->bits != 32 ||
        instr->operand_count != (base_level && ptx_form_has(form, PTX_MOD_LEVEL) ? 3 : 2) ||
        ptx_form_has(form, PTX_MOD_GRAD) || ptx_form_has(form, PTX_MOD_DIM_2DMS))
        return false;
    slot *list = base_new_array(decoder->arena, slot, 8);
    if (!decode_place(decoder, instr, &instr->operands[1], op, list))
        return false;
    for (unsigned c = 0; c < 4; c++)
        list[op->count + c] = decode_target(decoder, instr, &to->elements[c]);
    op->mode = form->types[1] == PTX_S32 ? COORDINATES_INT : 0;
    op->flags = (uint8_t)has_layer(form);
    op->run = texture;
    return true;
}

static bool choose_gather(struct decoder *decoder, const struct ptx_instr *instr, struct uop *op)
{
    const struct ptx_form *form = instr->form;
    const struct ptx_operand *to = &instr->operands[0];
    if (form->type_count != 2 || form->vec != 4 || to->kind != PTX_OPERAND_VECTOR ||
        to->count != 4 || ptx_type_info((enum ptx_type)form->types[0])->bits != 32 ||
        form->types[1] != PTX_F32 || instr->operand_count != 2 ||
        !ptx_form_has(form, PTX_MOD_DIM_2D))
        return false;
    slot *list = base_new_array(decoder->arena, slot, 8);
    if (!decode_place(decoder, instr, &instr->operands[1], op, list) || op->count < 2)
        return false;
    for (unsigned c = 0; c < 4; c++)
        list[op->count + c] = decode_target(decoder, instr, &to->elements[c]);
    op->bytes = (uint8_t)(strstr(form->text, ".r.")   ? 0
                          : strstr(form->text, ".g.") ? 1
                          : strstr(form->text, ".b.") ? 2
                                                      : 3);
    op->run = gather;
    return true;
}

static bool choose_query(struct decoder *decoder, const struct ptx_instr *instr, struct uop *op)
{
    const char *text = instr->form->text;
    const struct ptx_operand *of = &instr->operands[1];
    if (instr->operand_count != 2 || of->kind != PTX_OPERAND_ADDRESS || of->count != 1 ||
        of->offset || strstr(text, ".level"))
        return false;
    op->mode = (uint8_t)(strstr(text, ".width")    ? 0
                         : strstr(text, ".height") ? 1
                         : strstr(text, ".depth")  ? 2
                                                   : 3);
    if (op->mode == 3)
        return false;
    op->flags = ptx_op(instr) == PTX_OP_SUQ;
    op->d = decode_register(decoder, instr, &instr->operands[0]);
    op->a = decode_typed(decoder, instr, &of->elements[0], PTX_U64);
    op->run = query;
    return true;
}

static bool choose_surface(struct decoder *decoder, const struct ptx_instr *instr, struct uop *op)
{
    const struct ptx_form *form = instr->form;
    bool loads = ptx_op(instr) == PTX_OP_SULD;
    if (!ptx_form_has(form, PTX_MOD_B) || !form->type_count)
        return false;
    const struct ptx_operand *data = &instr->operands[loads ? 0 : 1];
    slot *list = base_new_array(decoder->arena, slot, 8);
    if (!decode_place(decoder, instr, &instr->operands[loads ? 1 : 0], op, list))
        return false;
    enum ptx_type type = (enum ptx_type)form->types[0];
    op->bytes = (uint8_t)ptx_type_bytes(type);
    op->space = form->vec;
    op->flags = (uint8_t)has_layer(form);
    op->mode = (uint8_t)(ptx_form_has(form, PTX_MOD_CLAMP)  ? SURFACE_CLAMP
                         : ptx_form_has(form, PTX_MOD_ZERO) ? SURFACE_ZERO
                                                            : SURFACE_TRAP);
    for (unsigned k = 0; k < form->vec; k++) {
        const struct ptx_operand *element =
            data->kind == PTX_OPERAND_VECTOR && k < data->count ? &data->elements[k] : data;
        list[op->count + k] = loads ? decode_target(decoder, instr, element)
                                    : decode_typed(decoder, instr, element, type);
    }
    op->run = loads ? surface_load : surface_store;
    return true;
}

bool choose_texture(struct decoder *decoder, const struct ptx_instr *instr, struct uop *op)
{
    switch (ptx_op(instr)) {
    case PTX_OP_TLD4: return choose_gather(decoder, instr, op);
    case PTX_OP_TXQ:
    case PTX_OP_SUQ: return choose_query(decoder, instr, op);
    case PTX_OP_TEX: return choose_tex(decoder, instr, op);
    case PTX_OP_SULD:
    case PTX_OP_SUST: return choose_surface(decoder, instr, op);
    default: return false;
    }
}
