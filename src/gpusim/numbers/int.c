// SPDX-License-Identifier: Apache-2.0
// Implements the functions of int.h that contain loops or tables.
#include "int.h"

uint32_t num_fns(uint32_t mask, uint32_t base, int32_t offset)
{
    if (base > 31)
        return UINT32_MAX;
    if (offset == 0)
        return mask >> base & 1 ? base : UINT32_MAX;
    int step = offset > 0 ? 1 : -1;
    uint32_t left = offset > 0 ? (uint32_t)offset : -(uint32_t)offset;
    for (int position = (int)base; position >= 0 && position < 32; position += step)
        if ((mask >> position & 1) && --left == 0)
            return (uint32_t)position;
    return UINT32_MAX;
}

uint32_t num_prmt_selector(enum num_prmt mode, uint32_t control)
{
    static const uint16_t selectors[][4] = {
        [NUM_PRMT_F4E] = {0x3210, 0x4321, 0x5432, 0x6543},
        [NUM_PRMT_B4E] = {0x5670, 0x6701, 0x7012, 0x0123},
        [NUM_PRMT_RC8] = {0x0000, 0x1111, 0x2222, 0x3333},
        [NUM_PRMT_ECL] = {0x3210, 0x3211, 0x3222, 0x3333},
        [NUM_PRMT_ECR] = {0x0000, 0x1110, 0x2210, 0x3210},
        [NUM_PRMT_RC16] = {0x1010, 0x3232, 0x1010, 0x3232},
    };
    return mode == NUM_PRMT_INDEX ? control & 0xFFFFu : selectors[mode][control & 3];
}

static int32_t part(uint32_t value, unsigned index, unsigned bits, bool is_signed)
{
    uint32_t field = value >> index * bits << (32 - bits);
    return is_signed ? (int32_t)field >> (32 - bits) : (int32_t)(field >> (32 - bits));
}

uint32_t num_dp4a(uint32_t a, bool a_signed, uint32_t b, bool b_signed, uint32_t c)
{
    for (unsigned i = 0; i < 4; i++)
        c += (uint32_t)(part(a, i, 8, a_signed) * part(b, i, 8, b_signed));
    return c;
}

uint32_t num_dp2a(uint32_t a, bool a_signed, uint32_t b, bool b_signed, bool hi, uint32_t c)
{
    for (unsigned i = 0; i < 2; i++)
        c += (uint32_t)(part(a, i, 16, a_signed) * part(b, (hi ? 2 : 0) + i, 8, b_signed));
    return c;
}
