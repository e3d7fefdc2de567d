// SPDX-License-Identifier: Apache-2.0
// Implements copies and reductions of tensors (cp.async.bulk.tensor, cp.reduce.async.bulk.tensor):
// boxes of a tensor in global memory, which a tensor map describes, from and to shared memory.
// ops_tensor_map.c changes maps, ops_async.c has the barriers.
//
// A box is copied row by row. A row is what is adjacent in the box: elements along dimension 0, at
// fixed coordinates in the other dimensions. In shared memory rows follow each other without gaps,
// and swizzling permutes them within lines. In global memory each row is one access, of what lies
// inside the tensor; in shared memory the box is one, in each block that it is copied to. Copies
// complete at once.
//
// What CUDA does not document is not executed: interleaved layouts, rows that are shorter than the
// span in which they are swizzled, NaN outside a tensor of other than 16-bit elements, and numbers
// that a copy rounds or flushes. Stores are as an H200 makes them: they end the launch at a
// negative coordinate, and the last 16 bytes of a row of the tensor are stored whole.
#include <string.h>

#include "access.h"
#include "async.h"
#include "cluster.h"
#include "families.h"
#include "ops.h"
#include "tensor.h"
#include "warp.h"

enum {
    SHARED_ALIGN = 128,
    START_ALIGN = 16,  // of the box along dimension 0; a GPU calls others an illegal instruction
    STORED_BYTES = 16, // are stored whole
    MOST_ROW_BYTES = 256 * 8,
    UNIT = 8, // bytes that swizzling leaves together
    NAN_OUTSIDE_16 = 0x7FF7,
};

struct tensor_copy {
    struct sim_uop map, shared, global, barrier; // for addresses and accesses
    slot coordinates[SIM_TENSOR_RANK];
    slot offsets[SIM_TENSOR_PIXEL_RANK]; // of im2col; NO_SLOT: 0
    slot blocks; // of multicast: a bit for each rank in the cluster; NO_SLOT: no multicast
    uint8_t rank;
    bool loads, reduces, is_im2col;
    uint16_t operation; // enum ptx_mod, of a reduction
};

// The copy of one lane while it runs.
struct tensor_transfer {
    const struct tensor_copy *copy;
    const struct sim_uop *op;
    struct sim_tensor_map map;
    int lane;
    uint32_t element_bytes, row_bytes;
    uint64_t rows;
    int64_t first[SIM_TENSOR_RANK];
    uint32_t offset[SIM_TENSOR_PIXEL_RANK];
    uint64_t shared_address; // as the instruction gives it
    unsigned char *shared[CLUSTER_BLOCKS];
    int ranks[CLUSTER_BLOCKS]; // of the blocks; AS_GIVEN: the instruction's address says which
    unsigned blocks;
    struct sim_uop reduction; // for sim_atomic_reduce()
};

static bool fail(struct sim_warp *warp, const struct tensor_transfer *transfer, const char *why)
{
    sim_warp_fault(warp, transfer->op, SIM_FAULT_INSTRUCTION, transfer->lane, "%s", why);
    return false;
}

// --- The box -------------------------------------------------------------------------------------

static uint32_t count_along(const struct sim_tensor_map *map, unsigned dimension)
{
    return (map->box[dimension] + map->step[dimension] - 1u) / map->step[dimension];
}

static uint64_t size_along(const struct sim_tensor_map *map, unsigned dimension)
{
    return map->size[dimension] ? map->size[dimension] : UINT64_C(1) << 32;
}

// Returns the last coordinate of the bounding box of pixels.
static int64_t last_pixel(const struct sim_tensor_map *map, unsigned dimension)
{
    return (int64_t)size_along(map, dimension) - 1 + map->upper[dimension - 1];
}

// Sets the coordinates of the row in all dimensions but 0. Rows of a tile count the elements along
// dimension 1 first.
static void place_in_tile(const struct tensor_transfer *transfer, uint64_t row,
                          int64_t at[SIM_TENSOR_RANK])
{
    const struct sim_tensor_map *map = &transfer->map;
    for (unsigned i = 1; i < map->rank; i++) {
        const uint32_t count = count_along(map, i);
        at[i] = transfer->first[i] + (int64_t)(row % count) * map->step[i];
        row /= count;
    }
}

// Rows of im2col are pixels. From the first one on, they fill the bounding box in steps, and go on
// in the box of the next image. The offsets move pixels, but not the box.
static void place_pixel(const struct tensor_transfer *transfer, uint64_t row,
                        int64_t at[SIM_TENSOR_RANK])
{
    const struct sim_tensor_map *map = &transfer->map;
    const unsigned images = map->rank - 1u;
    uint64_t carry = row;
    for (unsigned i = 1; i < images; i++) {
        const int64_t lower = map->lower[i - 1], step = map->step[i];
        const int64_t upper = last_pixel(map, i);
        const uint64_t count = (uint64_t)((upper - lower) / step + 1);
        // Places from the first pixel to the end of its line; a pixel beyond the box is a line.
        const uint64_t from_first =
            transfer->first[i] > upper ? 1 : (uint64_t)((upper - transfer->first[i]) / step + 1);
        if (carry < from_first) {
            at[i] = transfer->first[i] + (int64_t)carry * step;
            carry = 0;
        } else {
            at[i] = lower + (int64_t)((carry - from_first) % count) * step;
            carry = (carry - from_first) / count + 1;
        }
    }
    at[images] = transfer->first[images] + (int64_t)carry;
    for (unsigned i = 1; i < images; i++)
        at[i] += transfer->offset[i - 1];
}

static void place_row(const struct tensor_transfer *transfer, uint64_t row,
                      int64_t at[SIM_TENSOR_RANK])
{
    if (transfer->copy->is_im2col)
        place_pixel(transfer, row, at);
    else
        place_in_tile(transfer, row, at);
}

// Returns how many elements of a row of the tensor are copied.
static int64_t row_in_reach(const struct tensor_transfer *transfer)
{
    const int64_t size = (int64_t)size_along(&transfer->map, 0);
    const int64_t whole = transfer->copy->loads ? 1 : STORED_BYTES / transfer->element_bytes;
    return (size + whole - 1) / whole * whole;
}

// Finds the part of a row that is inside the tensor: elements from *start to *end of the row, and
// the address of the first of them.
static void find_inside(const struct tensor_transfer *transfer, uint64_t row, uint32_t *start,
                        uint32_t *end, uint64_t *address)
{
    const struct sim_tensor_map *map = &transfer->map;
    const uint32_t elements = transfer->row_bytes / transfer->element_bytes;
    const int64_t first = transfer->first[0], size = row_in_reach(transfer);
    int64_t at[SIM_TENSOR_RANK] = {0};
    place_row(transfer, row, at);
    *address = map->address;
    *start = *end = 0;
    for (unsigned i = 1; i < map->rank; i++) {
        if (at[i] < 0 || at[i] >= (int64_t)size_along(map, i))
            return;
        *address += (uint64_t)at[i] * map->stride[i - 1];
    }
    const int64_t low = first < 0 ? -first : 0, high = size - first;
    if (low >= elements || high <= low)
        return;
    *start = (uint32_t)low;
    *end = high < elements ? (uint32_t)high : elements;
    *address += (uint64_t)(first + low) * transfer->element_bytes;
}

// Returns where the unit of 8 bytes at an address of shared memory is put.
static uint64_t swizzled(uint8_t mode, uint64_t address)
{
    const uint64_t line = address >> 7;
    switch ((enum sim_tensor_swizzle)mode) {
    case SIM_SWIZZLE_32: return address ^ (line & 1) << 4;
    case SIM_SWIZZLE_64: return address ^ (line & 3) << 4;
    case SIM_SWIZZLE_128: return address ^ (line & 7) << 4;
    case SIM_SWIZZLE_128_BY_32: return address ^ (line & 3) << 5;
    case SIM_SWIZZLE_128_BY_32_FLIP: return address ^ (line & 3) << 5 ^ (line & 1) << 3;
    case SIM_SWIZZLE_128_BY_64: return address ^ (line & 1) << 6;
    default: return address;
    }
}

// Returns where a unit of a row lies in shared memory, from the start of the box.
static uint64_t unit_of(const struct tensor_transfer *transfer, uint64_t row, uint32_t at)
{
    const uint64_t address = transfer->shared_address + row * transfer->row_bytes + at;
    return swizzled(transfer->map.swizzle, address) - transfer->shared_address;
}

// --- Memory --------------------------------------------------------------------------------------

static bool reach(struct sim_warp *warp, const struct sim_uop *op, int lane, uint64_t address,
                  uint32_t bytes, enum sim_access_kind kind, unsigned char **out)
{
    struct sim_access access = {.address = {0}};
    access.address[lane] = address;
    if (!sim_access_given(warp, op, bytes, kind, &access))
        return false;
    *out = access.pointer[lane];
    return true;
}

// Returns whether the copy's effect on the elements is known. Copies of tf32 round f32, and those
// with .ftz flush subnormal numbers; how is only clear where there is nothing to round or flush.
static bool is_exact(const struct tensor_transfer *transfer, const unsigned char *from,
                     uint32_t bytes)
{
    const uint8_t type = transfer->map.type;
    const bool rounds = type == SIM_TENSOR_TF32 || type == SIM_TENSOR_TF32_FTZ,
               flushes = type == SIM_TENSOR_F32_FTZ || type == SIM_TENSOR_TF32_FTZ;
    for (uint32_t i = 0; (rounds || flushes) && i < bytes; i += sizeof(uint32_t)) {
        uint32_t bits;
        memcpy(&bits, from + i, sizeof(bits));
        if ((rounds && bits & 0x1FFF) || (flushes && !(bits & 0x7F800000) && bits << 1))
            return false;
    }
    return true;
}

static const char inexact[] = "a number that this tensor copy rounds or flushes in an unknown way";

// Accesses `bytes` bytes in global memory and copies or combines them. A row of up to 16 bytes need
// not be aligned as one access must be, so its elements are accessed one by one.
static bool move_global(struct sim_warp *warp, const struct tensor_transfer *transfer,
                        uint64_t address, unsigned char *row, uint32_t bytes)
{
    const struct tensor_copy *copy = transfer->copy;
    const enum sim_access_kind kind = copy->loads     ? ACCESS_LOAD
                                      : copy->reduces ? ACCESS_ATOMIC
                                                      : ACCESS_STORE;
    const uint32_t most = bytes > 16 ? bytes : transfer->element_bytes;
    for (uint32_t at = 0; at < bytes; at += most) {
        unsigned char *memory;
        if (!reach(warp, &copy->global, transfer->lane, address + at, most, kind, &memory))
            return false;
        if (!is_exact(transfer, copy->loads ? memory : row + at, most))
            return fail(warp, transfer, inexact);
        if (copy->loads)
            memcpy(row + at, memory, most);
        else if (copy->reduces)
            sim_atomic_reduce(&transfer->reduction, memory, row + at, most, true);
        else
            memcpy(memory, row + at, most);
    }
    return true;
}

static void fill_row(const struct tensor_transfer *transfer, unsigned char *row)
{
    const uint16_t nan = NAN_OUTSIDE_16;
    memset(row, 0, transfer->row_bytes);
    for (uint32_t i = 0; transfer->map.fills_nan && i < transfer->row_bytes; i += sizeof(nan))
        memcpy(row + i, &nan, sizeof(nan));
}

static bool copy_row(struct sim_warp *warp, const struct tensor_transfer *transfer, uint64_t row)
{
    unsigned char bytes[MOST_ROW_BYTES];
    uint32_t start, end;
    uint64_t address;
    find_inside(transfer, row, &start, &end, &address);
    start *= transfer->element_bytes;
    end *= transfer->element_bytes;
    if (!transfer->copy->loads) {
        for (uint32_t at = 0; at < transfer->row_bytes; at += UNIT)
            memcpy(bytes + at, transfer->shared[0] + unit_of(transfer, row, at), UNIT);
        return start == end || move_global(warp, transfer, address, bytes + start, end - start);
    }
    if (end - start < transfer->row_bytes) {
        if (transfer->map.fills_nan && transfer->element_bytes != sizeof(uint16_t))
            return fail(warp, transfer, "a NaN outside a tensor of other than 16-bit elements");
        fill_row(transfer, bytes);
    }
    if (start != end && !move_global(warp, transfer, address, bytes + start, end - start))
        return false;
    for (uint32_t at = 0; at < transfer->row_bytes; at += UNIT) {
        const uint64_t unit = unit_of(transfer, row, at);
        for (unsigned i = 0; i < transfer->blocks; i++)
            memcpy(transfer->shared[i] + unit, bytes + at, UNIT);
    }
    return true;
}

// --- Copies --------------------------------------------------------------------------------------

bool sim_tensor_map_read(struct sim_warp *warp, const struct sim_uop *op, const struct sim_uop *map,
                         int lane, struct sim_tensor_map *out)
{
    unsigned char *at;
    uint64_t addresses[LANES] = {0};
    const bool logged = warp->logged;
    const uint64_t bytes = warp->global_bytes;
    sim_access_addresses(warp, map, addresses);
    warp->logged = false;
    const bool good =
        reach(warp, map, lane, addresses[lane], SIM_TENSOR_MAP_BYTES, ACCESS_LOAD, &at);
    warp->logged = logged;
    warp->global_bytes = bytes;
    if (!good)
        return false;
    memcpy(out, at, sizeof(*out));
    if (out->magic == SIM_TENSOR_MAGIC)
        return true;
    sim_warp_fault(warp, op, SIM_FAULT_INSTRUCTION, lane, "there is no tensor map at 0x%llx",
                   (unsigned long long)addresses[lane]);
    return false;
}

// By enum sim_tensor_type.
static const struct {
    uint8_t bytes, number, bits; // number and bits: PTX types, for arithmetic and for logic
} types[] = {
    {1, PTX_TYPE_NONE, PTX_TYPE_NONE},
    {2, PTX_TYPE_NONE, PTX_TYPE_NONE},
    {4, PTX_U32, PTX_B32},
    {4, PTX_S32, PTX_B32},
    {8, PTX_U64, PTX_B64},
    {8, PTX_S64, PTX_B64},
    {2, PTX_F16, PTX_TYPE_NONE},
    {4, PTX_F32, PTX_TYPE_NONE},
    {4, PTX_F32, PTX_TYPE_NONE},
    {8, PTX_F64, PTX_TYPE_NONE},
    {2, PTX_BF16, PTX_TYPE_NONE},
    {4, PTX_TYPE_NONE, PTX_TYPE_NONE},
    {4, PTX_TYPE_NONE, PTX_TYPE_NONE},
};

// Returns whether the reduction exists for the tensor's type, and sim_atomic_reduce() has it.
static bool choose_reduction(struct tensor_transfer *transfer)
{
    const uint16_t operation = transfer->copy->operation;
    const uint8_t type = transfer->map.type, number = types[type].number;
    const bool is_float =
        number != PTX_TYPE_NONE && ptx_type_info((enum ptx_type)number)->kind == PTX_CLASS_FLOAT;
    struct sim_uop *op = &transfer->reduction;
    op->target = operation;
    op->bytes = types[type].bytes;
    op->mode = number;
    switch (operation) {
    case PTX_MOD_ADD:
        op->mode = type == SIM_TENSOR_S64 ? PTX_U64 : number; // the bits are the same
        break;
    case PTX_MOD_MIN:
    case PTX_MOD_MAX:
        if (is_float)
            return false;
        break;
    case PTX_MOD_INC:
    case PTX_MOD_DEC:
        if (type != SIM_TENSOR_U32)
            return false;
        break;
    default: op->mode = types[type].bits;
    }
    return op->mode != PTX_TYPE_NONE;
}

static bool check_map(struct sim_warp *warp, struct tensor_transfer *transfer)
{
    static const uint8_t spans[] = {0, 32, 64, 128, 128, 128, 128}; // by enum sim_tensor_swizzle
    const struct tensor_copy *copy = transfer->copy;
    const struct sim_tensor_map *map = &transfer->map;
    const uint8_t mode = copy->is_im2col ? SIM_TENSOR_IM2COL : SIM_TENSOR_TILED;
    if (map->rank != copy->rank || map->mode != mode)
        return fail(warp, transfer, "a tensor map of another rank or mode");
    if (map->type >= SIM_TENSOR_TYPES || map->swizzle >= sizeof(spans))
        return fail(warp, transfer, "a tensor map with invalid values");
    if (map->interleave)
        return fail(warp, transfer, "an interleaved tensor, whose layout is not documented");
    transfer->element_bytes = types[map->type].bytes;
    transfer->row_bytes = transfer->element_bytes * (copy->is_im2col ? map->channels : map->box[0]);
    if (!transfer->row_bytes || transfer->row_bytes % 16 || transfer->row_bytes > MOST_ROW_BYTES)
        return fail(warp, transfer, "a tensor map whose rows have no multiple of 16 bytes");
    if (map->swizzle && transfer->row_bytes != spans[map->swizzle])
        return fail(warp, transfer, "rows shorter than the span in which they are swizzled");
    if (copy->reduces && !choose_reduction(transfer))
        return fail(warp, transfer, "a reduction that this type of tensor does not have");
    transfer->rows = copy->is_im2col ? map->pixels : 1;
    for (unsigned i = 1; i < map->rank; i++) {
        const bool is_pixel = copy->is_im2col && i + 1u < map->rank;
        if (!map->step[i] || (!copy->is_im2col && !map->box[i]) ||
            (is_pixel && last_pixel(map, i) < map->lower[i - 1]))
            return fail(warp, transfer, "a tensor map with an empty box");
        transfer->rows *= copy->is_im2col ? 1 : count_along(map, i);
    }
    return true;
}

// No coordinate of what is stored may be negative.
static bool check_stored(struct sim_warp *warp, const struct tensor_transfer *transfer)
{
    bool negative = transfer->first[0] < 0;
    for (uint64_t row = 0; row < transfer->rows && !negative; row++) {
        int64_t at[SIM_TENSOR_RANK] = {0};
        place_row(transfer, row, at);
        for (unsigned i = 1; i < transfer->map.rank; i++)
            negative |= at[i] < 0;
    }
    return !negative || fail(warp, transfer, "a store to a negative coordinate of a tensor");
}

static bool read_coordinates(struct sim_warp *warp, struct tensor_transfer *transfer)
{
    const struct tensor_copy *copy = transfer->copy;
    for (unsigned i = 0; i < copy->rank; i++)
        transfer->first[i] = ((const lane_s32 *)source(warp, copy->coordinates[i]))[transfer->lane];
    for (unsigned i = 0; i < SIM_TENSOR_PIXEL_RANK; i++)
        transfer->offset[i] =
            copy->offsets[i] == NO_SLOT
                ? 0
                : ((const lane_u32 *)source(warp, copy->offsets[i]))[transfer->lane] & 0xFFFF;
    if (transfer->first[0] * (int64_t)transfer->element_bytes % START_ALIGN)
        return fail(warp, transfer, "a box that does not start at a multiple of 16 bytes");
    return copy->loads || check_stored(warp, transfer);
}

// The ranks of the blocks that the lane copies to.
static void choose_blocks(const struct sim_warp *warp, struct tensor_transfer *transfer)
{
    const slot blocks = transfer->copy->blocks;
    if (blocks == NO_SLOT) {
        transfer->ranks[transfer->blocks++] = AS_GIVEN;
        return;
    }
    const uint32_t mask = ((const lane_u32 *)source(warp, blocks))[transfer->lane] & UINT16_MAX;
    for (uint32_t left = mask; left; left &= left - 1)
        transfer->ranks[transfer->blocks++] = __builtin_ctz(left);
}

static bool reach_shared(struct sim_warp *warp, struct tensor_transfer *transfer)
{
    uint64_t addresses[LANES] = {0};
    const struct tensor_copy *copy = transfer->copy;
    const uint64_t bytes = transfer->rows * transfer->row_bytes;
    sim_access_addresses(warp, &copy->shared, addresses);
    transfer->shared_address = addresses[transfer->lane];
    if (transfer->shared_address % SHARED_ALIGN) {
        sim_warp_fault(warp, transfer->op, SIM_FAULT_MISALIGNED, transfer->lane,
                       "address 0x%llx is not a multiple of %d",
                       (unsigned long long)transfer->shared_address, SHARED_ALIGN);
        return false;
    }
    choose_blocks(warp, transfer);
    for (unsigned i = 0; i < transfer->blocks; i++) {
        uint64_t address = transfer->shared_address;
        if (transfer->ranks[i] != AS_GIVEN)
            address = sim_cluster_place((uint32_t)transfer->ranks[i], address);
        if (!reach(warp, &copy->shared, transfer->lane, address,
                   bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
                   copy->loads ? ACCESS_STORE : ACCESS_LOAD, &transfer->shared[i]))
            return false;
    }
    return true;
}

static bool copy_lane(struct sim_warp *warp, const struct sim_uop *op, int lane)
{
    const struct tensor_copy *copy = op->extra;
    struct tensor_transfer transfer = {.copy = copy, .op = op, .lane = lane};
    if (!sim_tensor_map_read(warp, op, &copy->map, lane, &transfer.map) ||
        !check_map(warp, &transfer) || !read_coordinates(warp, &transfer) ||
        !reach_shared(warp, &transfer))
        return false;
    for (uint64_t row = 0; transfer.blocks && row < transfer.rows; row++) {
        if (!copy_row(warp, &transfer, row))
            return false;
    }
    for (unsigned i = 0; copy->loads && i < transfer.blocks; i++) {
        if (!sim_async_complete(warp, op, &copy->barrier, lane, transfer.ranks[i],
                                (uint32_t)(transfer.rows * transfer.row_bytes)))
            return false;
    }
    return true;
}

static enum sim_step copy_tensor(struct sim_warp *warp, const struct sim_uop *op)
{
    const uint32_t all = warp->mask;
    bool good = true;
    for (uint32_t left = all; left && good; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        sim_warp_set_mask(warp, 1u << lane);
        good = copy_lane(warp, op, lane);
    }
    sim_warp_set_mask(warp, all);
    return good ? STEP_NEXT : STEP_STOP;
}

static enum sim_step prefetch(struct sim_warp *warp, const struct sim_uop *op)
{
    (void)warp;
    (void)op;
    return STEP_NEXT;
}

// --- Choice --------------------------------------------------------------------------------------

// Refuses what only later GPUs have, by its name.
static void refuse_others(struct sim_decoder *decoder, const struct ptx_instr *instr)
{
    static const struct {
        const char *modifier, *why;
    } others[] = {
        {".tile::gather4", "sm_90 has no gathering copies"},
        {".tile::scatter4", "sm_90 has no scattering copies"},
        {".im2col::w", "sm_90 has no copies of single lines of pixels"},
        {".cta_group", "sm_90 has no pairs of blocks"},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        if (strstr(instr->form->text, others[i].modifier))
            sim_decode_refuse(decoder, instr, others[i].why);
    }
}

// Decodes [map, {coordinates}].
static bool choose_map(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       const struct ptx_operand *operand, struct tensor_copy *copy)
{
    if (operand->kind != PTX_OPERAND_ADDRESS || operand->count != 2 ||
        operand->elements[1].kind != PTX_OPERAND_VECTOR)
        return false;
    const struct ptx_operand *vector = &operand->elements[1];
    if (!vector->count || vector->count > SIM_TENSOR_RANK)
        return false;
    sim_decode_address(decoder, instr, operand, &copy->map);
    copy->rank = (uint8_t)vector->count;
    for (unsigned i = 0; i < vector->count; i++)
        copy->coordinates[i] = sim_decode_typed(decoder, instr, &vector->elements[i], PTX_S32);
    return true;
}

// Decodes the offsets behind the barrier: one for each dimension but the first and the last.
static bool choose_offsets(struct sim_decoder *decoder, const struct ptx_instr *instr,
                           const struct ptx_operand *operand, struct tensor_copy *copy)
{
    if (operand->kind != PTX_OPERAND_VECTOR || operand->count + 2 != copy->rank)
        return false;
    for (unsigned i = 0; i < operand->count; i++)
        copy->offsets[i] = sim_decode_typed(decoder, instr, &operand->elements[i], PTX_U16);
    return true;
}

static bool choose_copy(struct sim_decoder *decoder, const struct ptx_instr *instr,
                        struct sim_uop *op)
{
    const struct ptx_form *form = instr->form;
    struct tensor_copy *copy = base_new(decoder->arena, struct tensor_copy);
    refuse_others(decoder, instr);
    copy->loads = form->space == PTX_SPACE_SHARED;
    copy->reduces = ptx_op(instr) == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR;
    copy->is_im2col = strstr(form->text, ".im2col") != NULL;
    copy->operation = form->operation;
    const unsigned at = copy->loads; // of the map
    if (instr->operand_count < 2 + at || (copy->reduces && (copy->loads || !copy->operation)) ||
        (form->space2 != PTX_SPACE_SHARED && form->space2 != PTX_SPACE_GLOBAL) ||
        form->space == form->space2)
        return false;
    copy->map = copy->shared = copy->global = copy->barrier = *op;
    copy->map.space = PTX_SPACE_GENERIC;
    copy->global.space = PTX_SPACE_GLOBAL;
    copy->shared.space = copy->barrier.space = PTX_SPACE_SHARED;
    for (unsigned i = 0; i < SIM_TENSOR_PIXEL_RANK; i++)
        copy->offsets[i] = NO_SLOT;
    if (!choose_map(decoder, instr, &instr->operands[at], copy))
        return false;
    sim_decode_address(decoder, instr, &instr->operands[copy->loads ? 0 : 1], &copy->shared);
    if (copy->loads)
        sim_decode_address(decoder, instr, &instr->operands[2], &copy->barrier);
    if (copy->loads && copy->is_im2col &&
        (instr->operand_count < 4 || !choose_offsets(decoder, instr, &instr->operands[3], copy)))
        return false;
    const bool multicast = ptx_form_has(form, PTX_MOD_MULTICAST_CLUSTER);
    const unsigned blocks = copy->is_im2col ? 4 : 3; // which operand they are
    if (multicast && (!copy->loads || instr->operand_count <= blocks))
        return false;
    copy->blocks =
        multicast ? sim_decode_typed(decoder, instr, &instr->operands[blocks], PTX_U16) : NO_SLOT;
    if (copy->is_im2col && copy->rank < SIM_TENSOR_PIXEL_RANK)
        return false;
    op->extra = copy;
    op->run = copy_tensor;
    return true;
}

bool sim_choose_tensor(struct sim_decoder *decoder, const struct ptx_instr *instr,
                       struct sim_uop *op)
{
    switch (ptx_op(instr)) {
    case PTX_OP_CP_ASYNC_BULK_TENSOR:
    case PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR: return choose_copy(decoder, instr, op);
    case PTX_OP_CP_ASYNC_BULK_PREFETCH_TENSOR:
        refuse_others(decoder, instr);
        op->run = prefetch;
        return true;
    default: return sim_tensor_choose_map(decoder, instr, op);
    }
}
