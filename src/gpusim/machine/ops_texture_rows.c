// SPDX-License-Identifier: Apache-2.0
// Samples textures for all lanes of a warp together, step by step: coordinates, texels, sums. Each
// step is a loop over lanes, most of which compile to vector code. This is only for what is most
// frequent: plain textures of one to three dimensions and one object for all lanes, without levels,
// layers, faces and offsets. The results are those of ops_texture.c, which does everything else.
#include <string.h>

#include "gpusim/numbers/half.h"
#include "ops_texture.h"

// Coordinates beyond this have no fraction, and might not fit into 32 bits.
#define FAR_AWAY 0x1p22f

// Where the lanes sample along one dimension: the texel, with a linear filter also the next one and
// its weight. Bits of `inside` are those of lanes whose texel is not in the border.
struct along {
    int32_t at[2][LANES];
    uint32_t inside[2];
    float weight[LANES];
};

struct texels {
    uint32_t word[4][LANES];
};

static bool is_plain(const struct sim_texture *texture, const struct sim_sampling *sampling)
{
    return texture->dimensions >= 1 && texture->dimensions <= 3 && !texture->layered &&
           !texture->cubemap && !texture->level_count && !texture->srgb &&
           !sampling->place.layered && !sampling->offset_sign && !sampling->packs;
}

// Whether a linear filter of the texture's numbers gives anything.
static bool has_floats(const struct sim_texture *texture)
{
    return texture->texel == SIM_TEXEL_FLOAT ||
           (texture->read_normalized && texture->channel_bits < 32);
}

static bool is_alike(const struct sim_warp *warp, const struct sim_uop *op,
                     const struct sim_texture *texture)
{
    const lane_u64 *handles = source(warp, op->a);
    uint64_t apart = 0;
    for (int i = 0; i < LANES; i++)
        apart |= warp->lanes[i] ? handles[i] ^ (uint64_t)(uintptr_t)texture : 0;
    return !apart;
}

// Applies the address mode to the texels of one side.
static void address(const struct sim_warp *warp, int32_t at[LANES], uint32_t *inside, uint32_t size,
                    enum sim_address_mode mode)
{
    const uint32_t n = size ? size : 1;
    uint32_t outside = 0;
    *inside = ALL_LANES;
    for (int i = 0; i < LANES; i++)
        outside |= (uint32_t)at[i] >= n;
    for (int i = 0; i < LANES && outside; i++) {
        int64_t place = at[i];
        if (!warp->lanes[i] || !sim_texture_address(&place, size, mode)) {
            *inside &= ~(1u << i);
            place = 0;
        }
        at[i] = (int32_t)place;
    }
}

// Fills what a dimension has for coordinates that are floats. Returns false if one is too large.
static bool place_floats(const struct sim_warp *warp, const struct sim_texture *texture,
                         const lane_f32 *in, uint32_t size, enum sim_address_mode mode,
                         struct along *along)
{
    const float factor = texture->normalized_coordinates ? (float)size : 1.0f;
    float position[LANES];
    uint32_t far = 0;
    for (int i = 0; i < LANES; i++) {
        position[i] = warp->lanes[i] ? (in ? in[i] : 0.0f) * factor : 0.0f;
        far |= !(__builtin_fabsf(position[i]) < FAR_AWAY);
    }
    if (far)
        return false;
    if (!texture->filter_linear) {
        for (int i = 0; i < LANES; i++)
            along->at[0][i] = (int32_t)__builtin_floorf(position[i]);
    } else {
        for (int i = 0; i < LANES; i++) {
            const float shifted = position[i] - 0.5f, whole = __builtin_floorf(shifted);
            along->at[0][i] = (int32_t)whole;
            along->at[1][i] = (int32_t)whole + 1;
            along->weight[i] = sim_texture_weight(shifted - whole);
        }
        address(warp, along->at[1], &along->inside[1], size, mode);
    }
    address(warp, along->at[0], &along->inside[0], size, mode);
    return true;
}

// With integer coordinates, texels outside the texture are 0 in every address mode.
static void place_integers(const struct sim_warp *warp, const lane_s32 *in, uint32_t size,
                           struct along *along)
{
    uint32_t inside = 0;
    for (int i = 0; i < LANES; i++) {
        const int32_t at = in ? in[i] : 0;
        const bool good = at >= 0 && (uint32_t)at < size && warp->lanes[i];
        along->at[0][i] = good ? at : 0;
        inside |= good ? 1u << i : 0;
    }
    along->inside[0] = inside;
}

#define CHANNEL(type, value)                                  \
    for (int i = 0; i < LANES; i++) {                         \
        type raw;                                             \
        memcpy(&raw, from[i] + c * sizeof(raw), sizeof(raw)); \
        out->word[c][i] = (uint32_t)(value);                  \
    }                                                         \
    break
#define BITS(value)             num_bits_f32(value)
#define AT_LEAST_MINUS_1(value) ((value) < -1 ? -1.0f : (value))

// Reads the channels that the texture has of the texels at the pointers.
static void read_texels(const struct sim_texture *texture, const unsigned char *const from[LANES],
                        struct texels *out)
{
    enum { FLOAT = 1, UNSIGNED = 2, SIGNED = 3, NORMALIZED = 4 };
    const bool normalized = texture->read_normalized && texture->channel_bits < 32;
    const int kind = texture->texel == SIM_TEXEL_FLOAT
                         ? FLOAT
                         : (texture->texel == SIM_TEXEL_SIGNED ? SIGNED : UNSIGNED) +
                               (normalized ? NORMALIZED : 0);
    for (unsigned c = 0; c < texture->channels; c++) {
        switch (kind << 8 | texture->channel_bits) {
        case FLOAT << 8 | 16: CHANNEL(uint16_t, BITS(num_f32_from_f16(raw)));
        case UNSIGNED << 8 | 8: CHANNEL(uint8_t, raw);
        case UNSIGNED << 8 | 16: CHANNEL(uint16_t, raw);
        case SIGNED << 8 | 8: CHANNEL(int8_t, (int32_t)raw);
        case SIGNED << 8 | 16: CHANNEL(int16_t, (int32_t)raw);
        case (UNSIGNED + NORMALIZED) << 8 | 8: CHANNEL(uint8_t, BITS((float)raw / 255.0f));
        case (UNSIGNED + NORMALIZED) << 8 | 16: CHANNEL(uint16_t, BITS((float)raw / 65535.0f));
        case (SIGNED + NORMALIZED) << 8 | 8:
            CHANNEL(int8_t, BITS(AT_LEAST_MINUS_1((float)raw / 127.0f)));
        case (SIGNED + NORMALIZED) << 8 | 16:
            CHANNEL(int16_t, BITS(AT_LEAST_MINUS_1((float)raw / 32767.0f)));
        default: CHANNEL(uint32_t, raw);
        }
    }
}

// Reads the texel of each lane at the side of each dimension that a bit of `corner` says. Sets
// only channels that the texture has, unless a lane is in the border, which has four.
static void fetch_texels(const struct sim_texture *texture, const struct along *along,
                         unsigned corner, const float border[4], struct texels *out)
{
    const uint64_t steps[3] = {(uint64_t)texture->channels * texture->channel_bits / 8,
                               texture->pitch_bytes, texture->slice_bytes};
    const unsigned char *from[LANES];
    uint32_t inside = ALL_LANES;
    for (int i = 0; i < LANES; i++)
        from[i] = texture->data;
    for (unsigned d = 0; d < texture->dimensions; d++) {
        const unsigned side = corner >> d & 1;
        const int32_t *at = along[d].at[side];
        for (int i = 0; i < LANES; i++)
            from[i] += (uint64_t)(uint32_t)at[i] * steps[d];
        inside &= along[d].inside[side];
    }
    read_texels(texture, from, out);
    for (uint32_t left = ~inside; left; left &= left - 1) {
        for (unsigned c = 0; c < 4; c++)
            out->word[c][__builtin_ctz(left)] = num_bits_f32(border[c]);
    }
}

static void filter(const struct sim_texture *texture, const struct along *along, struct texels *out)
{
    unsigned channels = texture->channels;
    for (unsigned d = 0; d < texture->dimensions; d++)
        channels = (along[d].inside[0] & along[d].inside[1]) == ALL_LANES ? channels : 4;
    for (unsigned corner = 0; corner < 1u << texture->dimensions; corner++) {
        float share[LANES];
        struct texels one;
        for (int i = 0; i < LANES; i++)
            share[i] = 1;
        for (unsigned d = 0; d < texture->dimensions; d++) {
            const float *weight = along[d].weight;
            if (corner >> d & 1)
                for (int i = 0; i < LANES; i++)
                    share[i] *= weight[i];
            else
                for (int i = 0; i < LANES; i++)
                    share[i] *= 1 - weight[i];
        }
        if (channels > texture->channels)
            memset(&one, 0, sizeof(one));
        fetch_texels(texture, along, corner, texture->border, &one);
        for (unsigned c = 0; c < channels; c++) {
            const lane_f32 *texel = (const void *)one.word[c];
            lane_f32 *sum = (void *)out->word[c];
            for (int i = 0; i < LANES; i++)
                sum[i] += share[i] * texel[i];
        }
    }
}

bool sim_texture_rows(struct sim_warp *warp, const struct sim_uop *op,
                      const struct sim_texture *texture)
{
    static const float zeros[4];
    const struct sim_sampling *sampling = op->extra;
    const struct sim_texture_place *place = &sampling->place;
    const uint32_t sizes[3] = {texture->width, texture->height, texture->depth};
    const bool linear = texture->filter_linear && !sampling->whole;
    struct along along[3];
    struct texels result;
    if (warp->logged || !is_plain(texture, sampling) || (linear && !has_floats(texture)) ||
        !is_alike(warp, op, texture))
        return false;
    for (unsigned d = 0; d < 3 && d < texture->dimensions; d++) {
        const void *in = d < place->count ? source(warp, place->at[d]) : NULL;
        if (sampling->whole)
            place_integers(warp, in, sizes[d], &along[d]);
        else if (!place_floats(warp, texture, in, sizes[d],
                               (enum sim_address_mode)texture->address_mode[d], &along[d]))
            return false;
    }
    memset(&result, 0, sizeof(result));
    if (linear)
        filter(texture, along, &result);
    else
        fetch_texels(texture, along, 0, sampling->whole ? zeros : texture->border, &result);
    for (unsigned c = 0; c < 4; c++) {
        if (sampling->to[c] == NO_SLOT)
            continue;
        lane_u32 *out = target(warp, sampling->to[c]);
        OVER_LANES(lane_u32, out, (void)0, result.word[c][i]);
    }
    set_predicate(warp, sampling->resident, UINT32_MAX);
    return true;
}
