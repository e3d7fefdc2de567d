// SPDX-License-Identifier: Apache-2.0
// Implements texture objects: fetches by integer coordinate, point and linear sampling, gathers,
// and queries. Sampling supports address modes, layers, cube faces, levels and gradients. Weights
// of linear filters have 8 bits of fraction, as in the hardware. Surfaces are in ops_surface.c.
#include "ops_texture.h"

#include <math.h>
#include <string.h>

#include "families.h"
#include "gpusim/numbers/half.h"
#include "logging.h"
#include "objects.h"
#include "warp.h"

// A texel as four floats and as four words.
struct texel {
    float f[4];
    uint32_t w[4];
};

bool sim_texture_address(int64_t *at, uint32_t size, enum sim_address_mode mode)
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

// The hardware uses a table of floats with 8 bits of mantissa.
static float linear_of_srgb(float a)
{
    double exact = a <= 0.04045f ? a / 12.92 : pow((a + 0.055) / 1.055, 2.4);
    int exponent;
    double mantissa = frexp(exact, &exponent);
    return (float)ldexp(nearbyint(mantissa * 256) / 256, exponent);
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
            if (texture->srgb && texture->channel_bits == 8 && !is_signed && c < 3)
                texel->f[c] = linear_of_srgb(texel->f[c]);
            texel->w[c] = num_bits_f32(texel->f[c]);
        }
    }
}

// The place that a lane samples: coordinates of the instruction, a layer, and an offset in texels.
struct texel_spot {
    struct sim_warp *warp;
    int lane;
    float at[3];
    int64_t layer;
    int64_t offset[3];
};

// Fetches one texel at integer coordinates. z counts layers of a layered texture or faces of a
// cube.
static void fetch(const struct texel_spot *by, const struct sim_texture *texture, int64_t x,
                  int64_t y, int64_t z, struct texel *texel)
{
    bool inside = sim_texture_address(&x, texture->width, texture->address_mode[0]);
    if (texture->dimensions > 1)
        inside &= sim_texture_address(&y, texture->height, texture->address_mode[1]);
    if (texture->layered || texture->cubemap)
        z = z < 0 ? 0 : z >= (int64_t)texture->depth ? (int64_t)texture->depth - 1 : z;
    else if (texture->dimensions > 2)
        inside &= sim_texture_address(&z, texture->depth, texture->address_mode[2]);
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
    if (by->warp->block->launch->device->log)
        sim_log_lane(by->warp, by->lane, GPUSIM_LOG_TEXTURE, from, (uint32_t)texel_bytes,
                     ACCESS_LOAD);
    read_channels(texture, from, texel);
}

// Returns coordinates in texels. Those beyond the texture's dimensions are 0.
static void position_of(const struct sim_texture *texture, const struct texel_spot *spot,
                        float out[3])
{
    const uint32_t sizes[3] = {texture->width, texture->height, texture->depth};
    for (unsigned d = 0; d < 3; d++) {
        out[d] = d < texture->dimensions ? spot->at[d] : 0;
        if (d < texture->dimensions && texture->normalized_coordinates)
            out[d] *= (float)sizes[d];
    }
}

static void sample(const struct sim_texture *texture, const struct texel_spot *spot,
                   struct texel *texel)
{
    float position[3];
    unsigned dimensions = texture->dimensions < 3 ? texture->dimensions : 3;
    bool sliced = texture->layered || texture->cubemap;
    position_of(texture, spot, position);
    if (!texture->filter_linear) {
        int64_t whole[3];
        for (unsigned d = 0; d < 3; d++)
            whole[d] = (int64_t)floorf(position[d]) + spot->offset[d];
        fetch(spot, texture, whole[0], whole[1], sliced ? spot->layer : whole[2], texel);
        return;
    }
    int64_t base[3] = {0, 0, 0};
    float part[3] = {0, 0, 0};
    for (unsigned d = 0; d < dimensions; d++) {
        float shifted = position[d] - 0.5f;
        base[d] = (int64_t)floorf(shifted) + spot->offset[d];
        part[d] = sim_texture_weight(shifted - floorf(shifted));
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
        fetch(spot, texture, where[0], where[1], sliced ? spot->layer : where[2], &one);
        for (unsigned c = 0; c < 4; c++)
            texel->f[c] += share * one.f[c];
    }
    for (unsigned c = 0; c < 4; c++)
        texel->w[c] = num_bits_f32(texel->f[c]);
}

// Samples the nearest level of a mipmap, or interpolates between the two nearest levels.
static void sample_level(const struct sim_texture *texture, const struct texel_spot *spot,
                         float level, struct texel *texel)
{
    if (!texture->level_count) {
        sample(texture, spot, texel);
        return;
    }
    float most = fminf(texture->level_most, (float)(texture->level_count - 1));
    float chosen = fminf(fmaxf(level + texture->level_bias, texture->level_least), most);
    if (!(chosen > 0)) // also if it is NaN
        chosen = 0;
    if (!texture->levels_linear) {
        sample(&texture->levels[(unsigned)floorf(chosen + 0.5f)], spot, texel);
        return;
    }
    unsigned near = (unsigned)floorf(chosen);
    float share = sim_texture_weight(chosen - (float)near);
    struct texel further = {0};
    sample(&texture->levels[near], spot, texel);
    if (share > 0)
        sample(&texture->levels[near + 1], spot, &further);
    for (unsigned c = 0; c < 4 && share > 0; c++) {
        texel->f[c] = (1 - share) * texel->f[c] + share * further.f[c];
        texel->w[c] = num_bits_f32(texel->f[c]);
    }
}

// Converts a direction to a face of the cube and coordinates on it.
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

// With integer coordinates, texels outside the texture are 0 in every address mode.
static bool is_inside(const struct sim_texture *texture, const int64_t at[3], int64_t layer)
{
    if (texture->layered && (layer < 0 || layer >= texture->depth))
        return false;
    return at[0] >= 0 && at[0] < texture->width &&
           (texture->dimensions < 2 || (at[1] >= 0 && at[1] < texture->height)) &&
           (texture->dimensions < 3 || texture->layered || (at[2] >= 0 && at[2] < texture->depth));
}

// --- The object of a handle ----------------------------------------------------------------------

static bool has_memory(const struct sim_run *launch, const struct sim_texture *texture)
{
    uint64_t rows = texture->height ? texture->height : 1,
             slices = texture->depth ? texture->depth : 1;
    uint64_t bytes = (slices - 1) * texture->slice_bytes + (rows - 1) * texture->pitch_bytes +
                     (uint64_t)texture->width * texture->channels * texture->channel_bits / 8;
    uint64_t start = (uint64_t)(uintptr_t)texture->data;
    const struct gpusim_object *object = sim_objects_find(launch->objects, launch->device, start);
    return object && object->size_bytes - (start - object->address) >= bytes;
}

const struct sim_texture *sim_texture_of(struct sim_warp *warp, const struct sim_uop *op, int lane,
                                         bool surface)
{
    uint64_t handle = ((const lane_u64 *)source(warp, op->a))[lane];
    struct sim_worker *worker = warp->block->worker;
    const struct sim_run *launch = warp->block->launch;
    const struct sim_texture *texture = (const struct sim_texture *)(uintptr_t)handle;
    // Texture objects live as long as a kernel that uses them, so a cached handle stays valid.
    if (handle && handle == worker->texture && texture->is_surface == surface)
        return texture;
    if (!sim_objects_is_texture(launch->device, texture) || texture->is_surface != surface) {
        sim_warp_fault(warp, op, SIM_FAULT_ADDRESS, lane, "0x%llx is not a %s object",
                       (unsigned long long)handle, surface ? "surface" : "texture");
        return NULL;
    }
    if (!has_memory(launch, texture)) {
        sim_warp_fault(warp, op, SIM_FAULT_ADDRESS, lane,
                       "the memory of the %s object 0x%llx was freed",
                       surface ? "surface" : "texture", (unsigned long long)handle);
        return NULL;
    }
    worker->texture = handle;
    return texture;
}

// --- Sampling and gathers ------------------------------------------------------------------------

static float float_of(const struct sim_warp *warp, slot at, int lane)
{
    return num_from_bits_f32(((const lane_u32 *)source(warp, at))[lane]);
}

static void find_spot(struct sim_warp *warp, const struct sim_sampling *sampling,
                      const struct sim_texture *texture, int lane, struct texel_spot *spot)
{
    const struct sim_texture_place *place = &sampling->place;
    unsigned first = place->layered;
    *spot = (struct texel_spot){.warp = warp, .lane = lane};
    if (first)
        spot->layer = ((const lane_s32 *)source(warp, place->at[0]))[lane];
    for (unsigned d = 0; d + first < place->count && d < 3; d++)
        spot->at[d] = float_of(warp, place->at[d + first], lane);
    uint32_t sign = sampling->offset_sign;
    for (unsigned d = 0; d < 3 && sign; d++) {
        if (sampling->offset[d] == NO_SLOT)
            continue;
        uint32_t bits = ((const lane_u32 *)source(warp, sampling->offset[d]))[lane];
        spot->offset[d] = (int64_t)(bits % (2 * sign) ^ sign) - sign;
    }
    if (texture->cubemap) {
        int64_t cubes = texture->depth / 6, cube = spot->layer < cubes ? spot->layer : cubes - 1;
        float on_face[3];
        spot->layer = (cube < 0 ? 0 : cube) * 6 + cube_face(spot->at, on_face);
        memcpy(spot->at, on_face, sizeof(on_face));
    }
}

// Converts gradients to a level: the logarithm of the texels per step along x or y.
static float level_of_slopes(const struct sim_warp *warp, const struct sim_sampling *sampling,
                             const struct sim_texture *texture, int lane)
{
    const uint32_t sizes[3] = {texture->width, texture->height, texture->depth};
    float longest = 0;
    for (unsigned over = 0; over < 2; over++) {
        float squares = 0;
        for (unsigned d = 0; d < 3 && d < texture->dimensions; d++) {
            if (sampling->slope[over][d] == NO_SLOT)
                continue;
            float step = float_of(warp, sampling->slope[over][d], lane) * (float)sizes[d];
            squares += step * step;
        }
        longest = fmaxf(longest, sqrtf(squares));
    }
    return log2f(longest);
}

static void give(struct sim_warp *warp, const struct sim_sampling *sampling, int lane,
                 const struct texel *texel)
{
    for (unsigned c = 0; c < 4; c++) {
        if (sampling->to[c] == NO_SLOT)
            continue;
        uint32_t word = texel->w[c];
        if (sampling->packs)
            word = num_f16_from_f32(texel->f[2 * c], NUM_RN, 0) |
                   (uint32_t)num_f16_from_f32(texel->f[2 * c + 1], NUM_RN, 0) << 16;
        ((lane_u32 *)target(warp, sampling->to[c]))[lane] = word;
    }
}

static enum sim_step texture(struct sim_warp *warp, const struct sim_uop *op)
{
    const struct sim_sampling *sampling = op->extra;
    const struct sim_texture_place *place = &sampling->place;
    const struct sim_texture *first = sim_texture_of(warp, op, __builtin_ctz(warp->mask), false);
    if (!first)
        return STEP_STOP;
    if (sim_texture_rows(warp, op, first))
        return STEP_NEXT;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const struct sim_texture *from = sim_texture_of(warp, op, i, false);
        if (!from)
            return STEP_STOP;
        struct texel texel;
        struct texel_spot spot;
        find_spot(warp, sampling, from, i, &spot);
        if (sampling->whole) {
            int64_t at[3] = {0, 0, 0};
            for (unsigned d = 0; d + place->layered < place->count && d < 3; d++)
                at[d] = ((const lane_s32 *)source(warp, place->at[d + place->layered]))[i] +
                        spot.offset[d];
            if (is_inside(from, at, spot.layer))
                fetch(&spot, from, at[0], at[1], place->layered ? spot.layer : at[2], &texel);
            else
                memset(&texel, 0, sizeof(texel));
        } else {
            float level = sampling->level != NO_SLOT ? float_of(warp, sampling->level, i)
                          : sampling->has_slope      ? level_of_slopes(warp, sampling, from, i)
                                                     : 0;
            sample_level(from, &spot, level, &texel);
        }
        give(warp, sampling, i, &texel);
    }
    // Sparse arrays are not simulated, so everything is resident.
    set_predicate(warp, sampling->resident, UINT32_MAX);
    return STEP_NEXT;
}

// tld4 gathers one channel of the four texels that a linear filter would mix, counterclockwise from
// the lower left one.
static enum sim_step gather(struct sim_warp *warp, const struct sim_uop *op)
{
    static const uint8_t right[4] = {0, 1, 1, 0}, down[4] = {1, 1, 0, 0};
    const struct sim_sampling *sampling = op->extra;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const struct sim_texture *from = sim_texture_of(warp, op, i, false);
        if (!from)
            return STEP_STOP;
        struct texel_spot spot;
        struct texel four = {0};
        float position[3];
        find_spot(warp, sampling, from, i, &spot);
        position_of(from, &spot, position);
        int64_t column = (int64_t)floorf(position[0] - 0.5f) + spot.offset[0],
                row = (int64_t)floorf(position[1] - 0.5f) + spot.offset[1];
        for (unsigned k = 0; k < 4; k++) {
            struct texel texel;
            fetch(&spot, from, column + right[k], row + down[k], spot.layer, &texel);
            four.w[k] = texel.w[sampling->component];
        }
        give(warp, sampling, i, &four);
    }
    set_predicate(warp, sampling->resident, UINT32_MAX);
    return STEP_NEXT;
}

// --- Queries -------------------------------------------------------------------------------------

enum { WIDTH, HEIGHT, DEPTH };

// The height of a layered 1D texture, and the depth of a layered 2D texture, is the number of
// layers. On an H200, a missing height is 1 for textures and 0 for surfaces; a missing depth is 0.
static uint32_t extent_of(const struct sim_texture *of, unsigned which)
{
    uint32_t layers = of->cubemap ? of->depth / 6 : of->depth;
    bool plane = of->dimensions > 1;
    if (which == WIDTH)
        return of->width;
    if (which == HEIGHT)
        return plane ? of->height : of->layered ? layers : of->is_surface ? 0 : 1;
    return !of->layered && !of->cubemap ? (of->dimensions > 2 ? of->depth : 0)
           : plane && of->layered       ? layers
                                        : 0;
}

static enum sim_step query(struct sim_warp *warp, const struct sim_uop *op)
{
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        const struct sim_texture *of = sim_texture_of(warp, op, i, op->flags);
        if (!of)
            return STEP_STOP;
        uint32_t level = op->b == NO_SLOT ? 0 : ((const lane_u32 *)source(warp, op->b))[i];
        bool there = level < (of->level_count ? of->level_count : 1);
        if (there && level)
            of = &of->levels[level];
        ((lane_u32 *)target(warp, op->d))[i] = there ? extent_of(of, op->mode) : 0;
    }
    return STEP_NEXT;
}

bool sim_choose_texture_query(struct sim_decoder *decoder, const struct ptx_instr *instr,
                              struct sim_uop *op)
{
    const char *text = instr->form->text;
    const struct ptx_operand *of = &instr->operands[1];
    bool level = strstr(text, ".level") != NULL;
    if (instr->operand_count != (level ? 3 : 2) || of->kind != PTX_OPERAND_ADDRESS ||
        of->count != 1 || of->offset)
        return false;
    if (strstr(text, ".width"))
        op->mode = WIDTH;
    else if (strstr(text, ".height"))
        op->mode = HEIGHT;
    else if (strstr(text, ".depth"))
        op->mode = DEPTH;
    else
        sim_decode_refuse(decoder, instr, "GPUs do not support this query for objects either");
    op->flags = ptx_op(instr) == PTX_OP_SUQ;
    op->d = sim_decode_register(decoder, instr, &instr->operands[0]);
    op->a = sim_decode_typed(decoder, instr, &of->elements[0], PTX_U64);
    if (level)
        op->b = sim_decode_typed(decoder, instr, &instr->operands[2], PTX_U32);
    op->run = query;
    return true;
}

// --- Choice --------------------------------------------------------------------------------------

bool sim_texture_decode_place(struct sim_decoder *decoder, const struct ptx_instr *instr,
                              const struct ptx_operand *operand, struct sim_uop *op,
                              struct sim_texture_place *place)
{
    const struct ptx_form *form = instr->form;
    if (operand->kind != PTX_OPERAND_ADDRESS || operand->count != 2)
        return false; // also with a separate sampler
    const struct ptx_operand *where = &operand->elements[1];
    bool vector = where->kind == PTX_OPERAND_VECTOR;
    place->count = (uint8_t)(vector ? where->count : 1);
    if (place->count > 4)
        return false;
    op->a = sim_decode_typed(decoder, instr, &operand->elements[0], PTX_U64);
    for (unsigned k = 0; k < place->count; k++)
        place->at[k] =
            sim_decode_typed(decoder, instr, vector ? &where->elements[k] : where, PTX_B32);
    place->layered = ptx_form_has(form, PTX_MOD_DIM_A1D) || ptx_form_has(form, PTX_MOD_DIM_A2D) ||
                     ptx_form_has(form, PTX_MOD_DIM_ACUBE);
    return true;
}

// Decodes {results}, perhaps with | and a predicate.
static bool decode_results(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           struct sim_sampling *sampling)
{
    const struct ptx_form *form = instr->form;
    const struct ptx_operand *to = &instr->operands[0];
    enum ptx_type type = (enum ptx_type)form->types[0];
    sampling->resident = NO_SLOT;
    if (to->kind == PTX_OPERAND_PAIR) {
        sampling->resident = sim_decode_target(decoder, instr, &to->elements[1]);
        to = &to->elements[0];
    }
    sampling->packs = type == PTX_F16X2;
    unsigned count = sampling->packs ? 2 : 4;
    if (to->kind != PTX_OPERAND_VECTOR || to->count != count || form->vec != count ||
        ptx_type_info(type)->bits != 32)
        return false;
    for (unsigned c = 0; c < 4; c++)
        sampling->to[c] = c < count ? sim_decode_target(decoder, instr, &to->elements[c]) : NO_SLOT;
    return true;
}

static bool decode_three(struct sim_decoder *decoder, const struct ptx_instr *instr,
                         const struct ptx_operand *vector, enum ptx_type type, slot out[3])
{
    if (vector->kind != PTX_OPERAND_VECTOR)
        return false;
    for (unsigned d = 0; d < 3; d++)
        out[d] = d < vector->count ? sim_decode_typed(decoder, instr, &vector->elements[d], type)
                                   : NO_SLOT;
    return true;
}

static bool choose_sampling(struct sim_decoder *decoder, const struct ptx_instr *instr,
                            struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    struct sim_sampling *sampling = base_new(decoder->arena, struct sim_sampling);
    uint8_t at = 2;
    if (form->type_count != 2 || instr->operand_count < 2 || ptx_form_has(form, PTX_MOD_DIM_2DMS) ||
        strstr(form->text, ".a2dms") || !decode_results(decoder, instr, sampling) ||
        !sim_texture_decode_place(decoder, instr, &instr->operands[1], op, &sampling->place))
        return false;
    sampling->whole = form->types[1] == PTX_S32;
    sampling->level = NO_SLOT;
    if (ptx_form_has(form, PTX_MOD_LEVEL)) {
        if (sampling->whole)
            sim_decode_refuse(decoder, instr, "a level with whole coordinates");
        if (at == instr->operand_count)
            return false;
        sampling->level = sim_decode_typed(decoder, instr, &instr->operands[at++], PTX_F32);
    } else if (ptx_form_has(form, PTX_MOD_GRAD)) {
        if (sampling->whole || strstr(form->text, "cube") || instr->operand_count < at + 2)
            sim_decode_refuse(decoder, instr, "gradients of this geometry or type");
        sampling->has_slope = true;
        for (unsigned over = 0; over < 2; over++) {
            if (!decode_three(decoder, instr, &instr->operands[at++], PTX_F32,
                              sampling->slope[over]))
                return false;
        }
    }
    if (at < instr->operand_count) {
        if (!decode_three(decoder, instr, &instr->operands[at++], PTX_S32, sampling->offset))
            sim_decode_refuse(decoder, instr, "a comparison of depth");
        sampling->offset_sign = 8;
    }
    if (at != instr->operand_count)
        sim_decode_refuse(decoder, instr, "a comparison of depth");
    op->extra = sampling;
    op->run = texture;
    return true;
}

static bool choose_gather(struct sim_decoder *decoder, const struct ptx_instr *instr,
                          struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    struct sim_sampling *sampling = base_new(decoder->arena, struct sim_sampling);
    if (form->type_count != 2 || form->types[1] != PTX_F32 || instr->operand_count < 2 ||
        !decode_results(decoder, instr, sampling) || sampling->packs ||
        !sim_texture_decode_place(decoder, instr, &instr->operands[1], op, &sampling->place))
        return false;
    if (instr->operand_count > 3)
        sim_decode_refuse(decoder, instr, "a comparison of depth");
    if (instr->operand_count == 3) {
        if (!decode_three(decoder, instr, &instr->operands[2], PTX_S32, sampling->offset))
            sim_decode_refuse(decoder, instr, "a comparison of depth");
        sampling->offset_sign = 32;
    }
    sampling->level = NO_SLOT;
    sampling->component = (uint8_t)(strstr(form->text, ".r.")   ? 0
                                    : strstr(form->text, ".g.") ? 1
                                    : strstr(form->text, ".b.") ? 2
                                                                : 3);
    op->extra = sampling;
    op->run = gather;
    return true;
}

bool sim_choose_texture(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    switch (ptx_op(instr)) {
    case PTX_OP_TEX: return choose_sampling(decoder, instr, op);
    case PTX_OP_TLD4: return choose_gather(decoder, instr, op);
    case PTX_OP_TXQ: return sim_choose_texture_query(decoder, instr, op);
    default: return false;
    }
}
