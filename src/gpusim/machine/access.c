// SPDX-License-Identifier: Apache-2.0
// Converts the addresses of lanes to pointers. Global memory is first checked against the object
// that the same instruction found last, which is nearly always the right one. Shared and local
// memory are checked against their sizes.
//
// Kernels may free memory of malloc() while the launch runs. A cached heap object is therefore
// looked up again after the next free() of any block. That detects accesses which a program orders
// after a free().
#include "access.h"

#include <stdio.h>
#include <string.h>

#include "cluster.h"
#include "logging.h"
#include "objects.h"
#include "warp.h"

// Drops all cached heap objects if any heap object was freed since they were cached.
static void forget_ended(const struct sim_warp *warp)
{
    struct sim_worker *worker = warp->block->worker;
    uint64_t ends = atomic_load(&warp->block->launch->device->memory->heap_ends);
    if (ends != worker->heap_ends)
        memset(worker->heap, 0, sizeof(worker->heap));
    worker->heap_ends = ends;
}

// The heap object that an instruction touched last; its size is 0 if there is none.
static const struct sim_seen *heap_seen_by(const struct sim_warp *warp, const struct sim_uop *op)
{
    const struct sim_seen *seen = &warp->block->worker->heap[op->seen];
    if (seen->size)
        forget_ended(warp);
    return seen;
}

static bool is_inside(const struct sim_seen *seen, uint64_t address, uint32_t bytes)
{
    uint64_t at = address - seen->start;
    return at < seen->size && seen->size - at >= bytes;
}

static void add_elements(const struct sim_warp *warp, const struct sim_uop *op, uint64_t out[LANES])
{
    for (int i = 0; i < LANES; i++) {
        int64_t index = op->flags & ADDRESS_WIDE ? ((const int64_t *)source(warp, op->a))[i]
                                                 : ((const int32_t *)source(warp, op->a))[i];
        out[i] += (uint64_t)index * op->rejoin;
    }
}

void sim_access_addresses(const struct sim_warp *warp, const struct sim_uop *op,
                          uint64_t out[LANES])
{
    uint64_t offset = (uint64_t)op->offset;
    if (op->flags & ADDRESS_NONE) {
        if (op->flags & ADDRESS_FRAME)
            offset += warp->path->frame->local_offset;
        else if (op->space == PTX_SPACE_SHARED)
            offset += warp->block->window;
        for (int i = 0; i < LANES; i++)
            out[i] = offset;
        if (op->flags & ADDRESS_INDEXED)
            add_elements(warp, op, out);
    } else if (op->flags & ADDRESS_WIDE) {
        const uint64_t *base = source(warp, op->a);
        for (int i = 0; i < LANES; i++)
            out[i] = base[i] + offset;
    } else {
        const uint32_t *base = source(warp, op->a);
        for (int i = 0; i < LANES; i++)
            out[i] = (uint32_t)(base[i] + (uint32_t)offset);
    }
}

static const char *const words[] = {"", "read", "write", "atomic operation"};

// Describes how far the bytes lie beyond a window that starts at 0.
static void describe_window(uint64_t address, uint64_t size, const char *of, char *out,
                            size_t out_bytes)
{
    unsigned long long beyond = address - size + 1;
    if (address >= size)
        snprintf(out, out_bytes, "%llu bytes beyond the %s, which has %llu bytes", beyond, of,
                 (unsigned long long)size);
    else
        snprintf(out, out_bytes, "it goes beyond the %s, which has %llu bytes", of,
                 (unsigned long long)size);
}

// An invalid generic address may be nearer to the block's shared memory than to any object.
static void describe_generic(const struct sim_warp *warp, uint64_t address, char *out,
                             size_t out_bytes)
{
    const struct sim_block *block = warp->block;
    uint64_t far = sim_objects_describe(block->launch->device, address, out, out_bytes);
    uint64_t in_shared = address - (uint64_t)(uintptr_t)block->shared;
    uint64_t beyond = in_shared < block->shared_bytes ? 0 : in_shared - block->shared_bytes;
    if (block->shared && beyond < far)
        describe_window(in_shared, block->shared_bytes, "block's shared memory", out, out_bytes);
}

// The lane's address is outside every object. Returns whether the lane may access it all the same.
static bool report(struct sim_warp *warp, const struct sim_uop *op, int lane, uint32_t bytes,
                   enum sim_access_kind kind, struct sim_access *access)
{
    const uint64_t address = access->address[lane];
    struct sim_device *device = warp->block->launch->device;
    struct gpusim_object other;
    char where[340];
    describe_generic(warp, address, where, sizeof(where));
    if (device->is_mapped && device->is_mapped(address, bytes) &&
        !(sim_object_find(device, address, &other) && other.device != device->number)) {
        sim_warp_warn(warp, op, lane,
                      "invalid %s of %u bytes at 0x%llx: %s; the kernel goes on, because a GPU has "
                      "memory there",
                      words[kind], bytes, (unsigned long long)address, where);
        access->pointer[lane] = (unsigned char *)(uintptr_t)address;
        return true;
    }
    sim_warp_fault(warp, op, SIM_FAULT_ADDRESS, lane, "invalid %s of %u bytes at 0x%llx: %s",
                   words[kind], bytes, (unsigned long long)address, where);
    return false;
}

static bool misaligned(struct sim_warp *warp, const struct sim_uop *op, int lane, uint64_t address,
                       uint32_t bytes, enum sim_access_kind kind)
{
    char where[340];
    if (op->space == PTX_SPACE_SHARED)
        snprintf(where, sizeof(where), "in shared memory");
    else if (op->space == PTX_SPACE_LOCAL)
        snprintf(where, sizeof(where), "in local memory");
    else
        describe_generic(warp, address, where, sizeof(where));
    sim_warp_fault(warp, op, SIM_FAULT_MISALIGNED, lane,
                   "misaligned %s: address 0x%llx is not a multiple of %u: %s", words[kind],
                   (unsigned long long)address, bytes, where);
    return false;
}

static bool constant_written(struct sim_warp *warp, const struct sim_uop *op, int lane,
                             uint64_t address, uint32_t bytes, enum sim_access_kind kind)
{
    char where[340];
    sim_objects_describe(warp->block->launch->device, address, where, sizeof(where));
    sim_warp_fault(warp, op, SIM_FAULT_ADDRESS, lane, "%s of %u bytes at 0x%llx, a constant: %s",
                   words[kind], bytes, (unsigned long long)address, where);
    return false;
}

static bool global_lane(struct sim_warp *warp, const struct sim_uop *op, int lane, uint32_t bytes,
                        enum sim_access_kind kind, struct sim_access *access)
{
    uint64_t address = access->address[lane];
    struct sim_seen *seen = sim_seen_by(warp, op);
    if (!is_inside(seen, address, bytes) && !is_inside(heap_seen_by(warp, op), address, bytes)) {
        const struct sim_run *launch = warp->block->launch;
        const struct gpusim_object *object =
            sim_objects_find(launch->objects, launch->device, address);
        if (!object || object->kind == GPUSIM_OBJECT_HEAP) {
            // The snapshot lacks objects that a kernel or the host has made since the launch began,
            // and may hold heap objects that were freed.
            struct gpusim_object fresh;
            forget_ended(warp); // before the lookup, so that a later free() changes the count again
            if (!sim_objects_find_now(launch->device, address, &fresh) ||
                fresh.size_bytes - (address - fresh.address) < bytes)
                return report(warp, op, lane, bytes, kind, access);
            if (fresh.kind == GPUSIM_OBJECT_HEAP)
                seen = &warp->block->worker->heap[op->seen];
            *seen = (struct sim_seen){fresh.address, fresh.size_bytes};
        } else {
            if (object->size_bytes - (address - object->address) < bytes)
                return report(warp, op, lane, bytes, kind, access);
            if (object->kind == GPUSIM_OBJECT_CONSTANT && kind != ACCESS_LOAD)
                return constant_written(warp, op, lane, address, bytes, kind);
            *seen = (struct sim_seen){object->address, object->size_bytes};
        }
    }
    access->pointer[lane] = (unsigned char *)(uintptr_t)address;
    return true;
}

// Checks that another block of the cluster, whose shared memory an access reaches at `offset`, has
// not ended.
static bool reaches_block(struct sim_warp *warp, const struct sim_uop *op, int lane, uint32_t bytes,
                          enum sim_access_kind kind, const struct sim_block *other, uint64_t offset)
{
    if (!other->ended)
        return true;
    sim_warp_fault(warp, op, SIM_FAULT_CLUSTER, lane,
                   "invalid %s of %u bytes at 0x%llx of the shared memory of block (%u,%u,%u), "
                   "which has ended",
                   words[kind], bytes, (unsigned long long)offset, other->index[0], other->index[1],
                   other->index[2]);
    return false;
}

// Describes an invalid address in the window of shared memory, which the instruction takes for one
// in the memory of `block`. Returns how a GPU calls this fault.
static enum sim_fault_kind describe_shared(const struct sim_warp *warp, const struct sim_uop *op,
                                           const struct sim_block *block, uint64_t address,
                                           char *out, size_t out_bytes)
{
    const struct sim_block *owner = sim_cluster_owner(warp->block, address);
    const unsigned long long rank = address >> CLUSTER_WINDOW_BITS;
    if (rank == block->rank || warp->block->cluster->count == 1) {
        describe_window(address - block->window, block->shared_bytes, "block's memory", out,
                        out_bytes);
        return SIM_FAULT_ADDRESS;
    }
    if (owner) {
        snprintf(out, out_bytes, "it is in block (%u,%u,%u), which only .shared::cluster reaches",
                 owner->index[0], owner->index[1], owner->index[2]);
        return SIM_FAULT_INSTRUCTION;
    }
    snprintf(out, out_bytes, "the cluster has no block with rank %llu", rank);
    return op->flags & ADDRESS_CLUSTER ? SIM_FAULT_CLUSTER : SIM_FAULT_ADDRESS;
}

static bool shared_lane(struct sim_warp *warp, const struct sim_uop *op, int lane, uint32_t bytes,
                        enum sim_access_kind kind, struct sim_access *access)
{
    const struct sim_block *block = warp->block, *other = NULL;
    uint64_t address = access->address[lane];
    if (op->flags & ADDRESS_CLUSTER)
        other = sim_cluster_owner(block, address);
    if (!other)
        other = block;
    address -= other->window;
    if (address > other->shared_bytes || other->shared_bytes - address < bytes) {
        char where[160];
        const enum sim_fault_kind fault =
            describe_shared(warp, op, other, access->address[lane], where, sizeof(where));
        sim_warp_fault(warp, op, fault, lane,
                       "invalid %s of %u bytes at 0x%llx of shared memory: %s", words[kind], bytes,
                       (unsigned long long)address, where);
        return false;
    }
    if (!reaches_block(warp, op, lane, bytes, kind, other, address))
        return false;
    access->pointer[lane] = other->shared + address;
    return true;
}

static bool local_lane(struct sim_warp *warp, const struct sim_uop *op, int lane, uint32_t bytes,
                       enum sim_access_kind kind, struct sim_access *access)
{
    (void)kind;
    uint32_t stack = warp->block->launch->local_bytes;
    uint64_t address = access->address[lane];
    if (address > stack || stack - address < bytes) {
        char where[160];
        describe_window(address, stack, "thread's memory", where, sizeof(where));
        sim_warp_fault(warp, op, SIM_FAULT_ADDRESS, lane,
                       "invalid %s of %u bytes at 0x%llx of local memory: %s", words[kind], bytes,
                       (unsigned long long)address, where);
        return false;
    }
    access->pointer[lane] = warp->local + (size_t)lane * stack + address;
    return true;
}

// Returns whether the access is valid for the kernel's parameters, which are read-only, or for
// those of the functions that are running.
static bool in_params(const struct sim_warp *warp, uint64_t address, uint32_t bytes,
                      enum sim_access_kind kind)
{
    const struct sim_run *launch = warp->block->launch;
    uint64_t at = address - (uint64_t)(uintptr_t)launch->params,
             size = launch->code->own_param_bytes;
    if (launch->params && at < size)
        return kind == ACCESS_LOAD && size - at >= bytes;
    for (const struct sim_frame *frame = warp->path->frame; frame; frame = frame->caller) {
        at = address - (uint64_t)(uintptr_t)frame->params;
        size = (uint64_t)LANES * frame->code->param_bytes;
        if (at < size)
            return size - at >= bytes;
    }
    return false;
}

// A generic address is a host pointer to shared memory of the cluster, the lane's stack,
// parameters, or global memory.
static bool generic_lane(struct sim_warp *warp, const struct sim_uop *op, int lane, uint32_t bytes,
                         enum sim_access_kind kind, struct sim_access *access)
{
    const struct sim_block *block = warp->block;
    uint64_t address = access->address[lane];
    const struct sim_block *holder = sim_cluster_holder(block, address);
    if (holder) {
        const uint64_t in_shared = address - (uint64_t)(uintptr_t)holder->shared;
        if (holder->shared_bytes - in_shared < bytes)
            return report(warp, op, lane, bytes, kind, access);
        access->pointer[lane] = holder->shared + in_shared;
        return reaches_block(warp, op, lane, bytes, kind, holder, in_shared);
    }
    uint64_t in_local = address - (uint64_t)(uintptr_t)warp->local;
    if (warp->local && in_local < (uint64_t)LANES * block->launch->local_bytes) {
        access->pointer[lane] = warp->local + in_local;
        return true;
    }
    if (in_params(warp, address, bytes, kind)) {
        access->pointer[lane] = (unsigned char *)(uintptr_t)address;
        return true;
    }
    return global_lane(warp, op, lane, bytes, kind, access);
}

bool sim_access_lanes(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                      enum sim_access_kind kind, struct sim_access *access)
{
    sim_access_addresses(warp, op, access->address);
    return sim_access_given(warp, op, bytes, kind, access);
}

static bool in_range(const struct sim_warp *warp, uint64_t start, uint64_t size, uint32_t bytes,
                     const struct sim_access *access)
{
    uint64_t room = size >= bytes ? size - bytes + 1 : 0;
    uint32_t outside = 0;
    for (int i = 0; i < LANES; i++)
        outside |= (access->address[i] - start >= room) & warp->lanes[i];
    return !outside;
}

// Fast path: one comparison per lane if all lanes touch the same object. A generic address inside
// an object is global, because shared memory, stacks and parameters are no objects.
static bool in_seen(const struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                    const struct sim_access *access)
{
    const struct sim_seen *seen = sim_seen_by(warp, op);
    if (in_range(warp, seen->start, seen->size, bytes, access))
        return true;
    seen = heap_seen_by(warp, op);
    return seen->size && in_range(warp, seen->start, seen->size, bytes, access);
}

static bool aligned(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                    enum sim_access_kind kind, const struct sim_access *access)
{
    uint64_t any = 0;
    for (int i = 0; i < LANES; i++)
        any |= access->address[i] & (uint64_t)(int64_t)(int32_t)warp->lanes[i];
    uint32_t align = bytes <= 16 ? bytes : 1;
    if (!(any & (align - 1)))
        return true;
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        if (access->address[i] & (align - 1))
            return misaligned(warp, op, i, access->address[i], align, kind);
    }
    return true;
}

typedef bool reach_lane(struct sim_warp *warp, const struct sim_uop *op, int lane, uint32_t bytes,
                        enum sim_access_kind kind, struct sim_access *access);

static inline __attribute__((always_inline)) bool
each_lane(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
          enum sim_access_kind kind, struct sim_access *access, reach_lane *reach)
{
    for (uint32_t left = warp->mask; left; left &= left - 1) {
        if (!reach(warp, op, __builtin_ctz(left), bytes, kind, access))
            return false;
    }
    return true;
}

static bool all_have(const struct sim_warp *warp, const struct sim_access *access, uint64_t address)
{
    uint64_t other = 0;
    for (int i = 0; i < LANES; i++)
        other |= (access->address[i] ^ address) & (uint64_t)(int64_t)(int32_t)warp->lanes[i];
    return !other;
}

// Generic addresses outside the object that was seen last. Mostly all lanes have the same, or all
// are in the block's shared memory, in the warp's stacks or in the kernel's parameters.
static bool generic_lanes(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                          enum sim_access_kind kind, struct sim_access *access)
{
    const struct sim_block *block = warp->block;
    const struct sim_run *launch = block->launch;
    const int first = __builtin_ctz(warp->mask);
    if (all_have(warp, access, access->address[first])) {
        if (!generic_lane(warp, op, first, bytes, kind, access))
            return false;
        for (int i = 0; i < LANES; i++)
            access->pointer[i] = access->pointer[first];
        return true;
    }
    const bool good =
        in_range(warp, (uintptr_t)block->shared, block->shared_bytes, bytes, access) ||
        in_range(warp, (uintptr_t)warp->local, (uint64_t)LANES * launch->local_bytes, bytes,
                 access) ||
        (kind == ACCESS_LOAD && launch->params &&
         in_range(warp, (uintptr_t)launch->params, launch->code->own_param_bytes, bytes, access));
    if (!good)
        return each_lane(warp, op, bytes, kind, access, generic_lane);
    for (int i = 0; i < LANES; i++)
        access->pointer[i] = (unsigned char *)(uintptr_t)access->address[i];
    return true;
}

// Returns whether an instruction reached global memory: not that of the block, the thread or the
// parameters of the launch.
static bool is_global(const struct sim_warp *warp, const unsigned char *place)
{
    const struct sim_run *launch = warp->block->launch;
    return !sim_cluster_holder(warp->block, (uint64_t)(uintptr_t)place) &&
           (uint64_t)(place - warp->local) >= (uint64_t)LANES * launch->local_bytes &&
           (!launch->params || (uint64_t)(place - launch->params) >= launch->code->own_param_bytes);
}

static void watch(const struct sim_warp *warp, const unsigned char *place, uint32_t bytes,
                  enum sim_access_kind kind)
{
    const struct sim_launch *request = warp->block->launch->request;
    if (request->watch && is_global(warp, place))
        request->watch(request->watch_user, (uint64_t)(uintptr_t)place, bytes, kind != ACCESS_STORE,
                       kind != ACCESS_LOAD);
}

// Passes the access on to the log, and to who watches the launch.
static void note(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                 enum sim_access_kind kind, struct sim_access *access)
{
    const bool watched =
        warp->block->launch->request->watch && (op->space == PTX_SPACE_GLOBAL || !op->space);
    for (uint32_t left = watched ? warp->mask : 0; left; left &= left - 1)
        watch(warp, access->pointer[__builtin_ctz(left)], bytes, kind);
    if (warp->block->launch->device->log)
        sim_log_access(warp, op, bytes, kind, access);
}

bool sim_access_given(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                      enum sim_access_kind kind, struct sim_access *access)
{
    uint64_t all_bytes = (uint64_t)__builtin_popcount(warp->mask) * bytes;
    bool good = aligned(warp, op, bytes, kind, access);
    if (!good)
        return false;
    if (op->space == PTX_SPACE_SHARED) {
        const struct sim_block *block = warp->block;
        const uintptr_t base = (uintptr_t)block->shared - block->window;
        if (in_range(warp, block->window, block->shared_bytes, bytes, access))
            for (int i = 0; i < LANES; i++) // inactive lanes may have any address
                access->pointer[i] = (unsigned char *)(base + access->address[i]);
        else
            good = each_lane(warp, op, bytes, kind, access, shared_lane);
        warp->shared_bytes += all_bytes;
    } else if (op->space == PTX_SPACE_LOCAL) {
        const uint64_t stack = warp->block->launch->local_bytes;
        if (in_range(warp, 0, stack, bytes, access))
            for (int i = 0; i < LANES; i++)
                access->pointer[i] = warp->local + (uint64_t)i * stack + access->address[i];
        else
            good = each_lane(warp, op, bytes, kind, access, local_lane);
    } else if (in_seen(warp, op, bytes, access)) {
        for (int i = 0; i < LANES; i++)
            access->pointer[i] = (unsigned char *)(uintptr_t)access->address[i];
        warp->global_bytes += all_bytes;
    } else {
        bool global = op->space == PTX_SPACE_GLOBAL || op->space == PTX_SPACE_CONST;
        good = global ? each_lane(warp, op, bytes, kind, access, global_lane)
                      : generic_lanes(warp, op, bytes, kind, access);
        warp->global_bytes += global ? all_bytes : 0;
    }
    if (good && warp->logged)
        note(warp, op, bytes, kind, access);
    return good;
}

// --- Whole warps ---------------------------------------------------------------------------------

// Offsets of adjacent lanes of 1, 2, 4, 8 and 16 bytes from the first lane.
#define STEPS(b)                                                                              \
    {                                                                                         \
        0, b, 2 * b, 3 * b, 4 * b, 5 * b, 6 * b, 7 * b, 8 * b, 9 * b, 10 * b, 11 * b, 12 * b, \
            13 * b, 14 * b, 15 * b, 16 * b, 17 * b, 18 * b, 19 * b, 20 * b, 21 * b, 22 * b,   \
            23 * b, 24 * b, 25 * b, 26 * b, 27 * b, 28 * b, 29 * b, 30 * b, 31 * b            \
    }
static const uint64_t steps_64[][LANES] = {STEPS(1), STEPS(2), STEPS(4), STEPS(8), STEPS(16)};
static const uint32_t steps_32[][LANES] = {STEPS(1), STEPS(2), STEPS(4), STEPS(8), STEPS(16)};

// The distances between some lanes say which shape is possible, so that only one has to be checked.
#define DEFINE_SHAPE(bits)                                                                     \
    static inline __attribute__((always_inline)) enum sim_reach shape_##bits(                  \
        const uint##bits##_t *address, uint32_t bytes)                                         \
    {                                                                                          \
        const uint##bits##_t *steps = steps_##bits[__builtin_ctz(bytes)];                      \
        const uint##bits##_t first = address[0], second = address[HALF];                       \
        const uint##bits##_t span = address[LANES - 1] - first;                                \
        uint##bits##_t other = 0;                                                              \
        if (span == (LANES - 1) * bytes) {                                                     \
            for (int i = 0; i < LANES; i++)                                                    \
                other |= address[i] ^ (first + steps[i]);                                      \
            return other ? REACH_EACH : REACH_ROW;                                             \
        }                                                                                      \
        if (!span) {                                                                           \
            for (int i = 0; i < LANES; i++)                                                    \
                other |= address[i] ^ first;                                                   \
            return other ? REACH_EACH : REACH_ONE;                                             \
        }                                                                                      \
        const uint##bits##_t spans = address[LANES - 1] - second;                              \
        if (address[HALF - 1] - first != spans || (spans && spans != (HALF - 1) * bytes))      \
            return REACH_EACH;                                                                 \
        if (!spans) {                                                                          \
            for (int i = 0; i < HALF; i++)                                                     \
                other |= (address[i] ^ first) | (address[HALF + i] ^ second);                  \
            return other ? REACH_EACH : REACH_ONES;                                            \
        }                                                                                      \
        for (int i = 0; i < HALF; i++)                                                         \
            other |=                                                                           \
                (address[i] ^ (first + steps[i])) | (address[HALF + i] ^ (second + steps[i])); \
        return other ? REACH_EACH : REACH_ROWS;                                                \
    }
DEFINE_SHAPE(64)
DEFINE_SHAPE(32)

// Returns the bytes that a shape covers from pointer[0] on, and from pointer[HALF] on if it has two
// parts.
static inline uint32_t span_of(enum sim_reach shape, uint32_t bytes)
{
    return shape == REACH_ROW ? LANES * bytes : shape == REACH_ROWS ? HALF * bytes : bytes;
}

static inline bool has_two(enum sim_reach shape)
{
    return shape == REACH_ONES || shape == REACH_ROWS;
}

// Classifies 32 active lanes with global addresses. Returns REACH_EACH if they have no shape, or
// do not lie inside the object.
static inline __attribute__((always_inline)) enum sim_reach
reach_within(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
             const struct sim_seen *seen, struct sim_access *access)
{
    const uint64_t *base = source(warp, op->a);
    const uint64_t at = base[0] + (uint64_t)op->offset;
    const enum sim_reach shape = shape_64(base, bytes);
    const uint32_t span = span_of(shape, bytes);
    if (shape == REACH_EACH || at & (bytes - 1) || !is_inside(seen, at, span))
        return REACH_EACH;
    access->pointer[0] = (unsigned char *)(uintptr_t)at;
    if (has_two(shape)) {
        const uint64_t second = base[HALF] + (uint64_t)op->offset;
        if (second & (bytes - 1) || !is_inside(seen, second, span))
            return REACH_EACH;
        access->pointer[HALF] = (unsigned char *)(uintptr_t)second;
    }
    warp->global_bytes += (uint64_t)LANES * bytes;
    return shape;
}

// Sets the pointers of lanes whose addresses are aligned and lie inside the object. Returns false
// if those of an active lane do not. Inactive lanes get the pointer of an active one.
static __attribute__((noinline)) bool each_within(struct sim_warp *warp, const struct sim_uop *op,
                                                  uint32_t bytes, const struct sim_seen *seen,
                                                  struct sim_access *access)
{
    if (seen->size < bytes || seen->size > INT64_MAX)
        return false;
    const uint64_t *base = source(warp, op->a);
    const uint64_t start = seen->start, last = seen->size - bytes;
    const uint64_t offset = (uint64_t)op->offset, first = base[__builtin_ctz(warp->mask)];
    uint64_t outside = 0, odd = 0;
    for (int i = 0; i < LANES; i++) {
        const uint64_t address = (warp->lanes[i] ? base[i] : first) + offset, at = address - start;
        outside |= at | (last - at); // the highest bit is set if at > last
        odd |= address;
        access->pointer[i] = (unsigned char *)(uintptr_t)address;
    }
    if (outside >> 63 || odd & (bytes - 1))
        return false;
    warp->global_bytes += (uint64_t)__builtin_popcount(warp->mask) * bytes;
    return true;
}

// The same for addresses of shared memory in 32-bit registers.
static inline __attribute__((always_inline)) bool each_shared(struct sim_warp *warp,
                                                              const struct sim_uop *op,
                                                              uint32_t bytes,
                                                              struct sim_access *access)
{
    const struct sim_block *block = warp->block;
    if (block->shared_bytes < bytes || block->shared_bytes > INT32_MAX)
        return false;
    const uint32_t *base = source(warp, op->a);
    const uint32_t offset = (uint32_t)op->offset - block->window;
    const uint32_t last = block->shared_bytes - bytes;
    const uint32_t first = base[__builtin_ctz(warp->mask)];
    uint32_t outside = 0, odd = 0;
    for (int i = 0; i < LANES; i++) {
        const uint32_t at = (warp->lanes[i] ? base[i] : first) + offset;
        outside |= at | (last - at);
        odd |= at;
        access->pointer[i] = (unsigned char *)((uintptr_t)block->shared + at);
    }
    if (outside >> 31 || odd & (bytes - 1))
        return false;
    warp->shared_bytes += (uint64_t)__builtin_popcount(warp->mask) * bytes;
    return true;
}

static bool each_beside(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                        enum sim_access_kind kind, struct sim_access *access)
{
    if (!sim_access_lanes(warp, op, bytes, kind, access))
        return false;
    unsigned char *const first = access->pointer[__builtin_ctz(warp->mask)];
    for (int i = 0; i < LANES; i++)
        access->pointer[i] = warp->lanes[i] ? access->pointer[i] : first;
    return true;
}

// The slow path, if the access is not in the object that was seen last. Inlining it would cost its
// caller registers.
static __attribute__((noinline)) enum sim_reach
reach_beside(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
             enum sim_access_kind kind, struct sim_access *access)
{
    const struct sim_seen *heap = heap_seen_by(warp, op);
    if (heap->size && warp->mask == ALL_LANES && !warp->logged && sim_access_is_wide(op)) {
        const enum sim_reach shape = reach_within(warp, op, bytes, heap, access);
        if (shape != REACH_EACH)
            return shape;
    }
    return each_beside(warp, op, bytes, kind, access) ? REACH_EACH : REACH_NOTHING;
}

static inline __attribute__((always_inline)) enum sim_reach reach_shared(struct sim_warp *warp,
                                                                         const struct sim_uop *op,
                                                                         uint32_t bytes,
                                                                         struct sim_access *access)
{
    const uint32_t *base = source(warp, op->a);
    const struct sim_block *block = warp->block;
    const uint32_t offset = (uint32_t)op->offset - block->window, at = base[0] + offset;
    const enum sim_reach shape = shape_32(base, bytes);
    const uint32_t span = span_of(shape, bytes);
    if (shape == REACH_EACH || at & (bytes - 1) || at >= block->shared_bytes ||
        block->shared_bytes - at < span)
        return REACH_EACH;
    access->pointer[0] = block->shared + at;
    if (has_two(shape)) {
        const uint32_t second = base[HALF] + offset;
        if (second & (bytes - 1) || second >= block->shared_bytes ||
            block->shared_bytes - second < span)
            return REACH_EACH;
        access->pointer[HALF] = block->shared + second;
    }
    warp->shared_bytes += (uint64_t)LANES * bytes;
    return shape;
}

// The address of a variable, which all lanes have.
static __attribute__((noinline)) bool reach_fixed(struct sim_warp *warp, const struct sim_uop *op,
                                                  uint32_t bytes, struct sim_access *access)
{
    const struct sim_block *block = warp->block;
    const uint64_t at = (uint64_t)op->offset;
    if (!(op->flags & ADDRESS_NONE) || op->flags & (ADDRESS_INDEXED | ADDRESS_FRAME) ||
        at & (bytes - 1))
        return false;
    if (op->space == PTX_SPACE_SHARED) {
        if (at > block->shared_bytes || block->shared_bytes - at < bytes)
            return false;
        access->pointer[0] = block->shared + at;
        warp->shared_bytes += (uint64_t)LANES * bytes;
        return true;
    }
    if (!is_inside(sim_seen_by(warp, op), at, bytes))
        return false;
    access->pointer[0] = (unsigned char *)(uintptr_t)at;
    warp->global_bytes += (uint64_t)LANES * bytes;
    return true;
}

// A fixed place in the stack of each thread.
static __attribute__((noinline)) bool each_local(struct sim_warp *warp, const struct sim_uop *op,
                                                 uint32_t bytes, struct sim_access *access)
{
    const uint64_t stack = warp->block->launch->local_bytes;
    if (!(op->flags & ADDRESS_NONE) || op->flags & ADDRESS_INDEXED || stack < bytes)
        return false;
    const uint64_t at =
        (uint64_t)op->offset + (op->flags & ADDRESS_FRAME ? warp->path->frame->local_offset : 0);
    if (at & (bytes - 1) || at > stack - bytes)
        return false;
    for (int i = 0; i < LANES; i++)
        access->pointer[i] = warp->local + (uint64_t)i * stack + at;
    return true;
}

static inline __attribute__((always_inline)) enum sim_reach
reach_bytes(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
            enum sim_access_kind kind, struct sim_access *access)
{
    const uint32_t based = op->flags & (ADDRESS_WIDE | ADDRESS_NONE);
    if (warp->logged)
        return reach_beside(warp, op, bytes, kind, access);
    if (sim_access_is_wide(op)) {
        const struct sim_seen *seen = sim_seen_by(warp, op);
        enum sim_reach shape = REACH_EACH;
        if (warp->mask == ALL_LANES)
            shape = reach_within(warp, op, bytes, seen, access);
        if (shape != REACH_EACH || each_within(warp, op, bytes, seen, access))
            return shape;
    } else if (!based && op->space == PTX_SPACE_SHARED) {
        enum sim_reach shape = REACH_EACH;
        if (warp->mask == ALL_LANES)
            shape = reach_shared(warp, op, bytes, access);
        if (shape != REACH_EACH || each_shared(warp, op, bytes, access))
            return shape;
    } else if (op->space == PTX_SPACE_LOCAL) {
        if (each_local(warp, op, bytes, access))
            return REACH_EACH;
    } else if (warp->mask == ALL_LANES && reach_fixed(warp, op, bytes, access)) {
        return REACH_ONE;
    }
    return reach_beside(warp, op, bytes, kind, access);
}

enum sim_reach sim_access_reach_4(struct sim_warp *warp, const struct sim_uop *op,
                                  enum sim_access_kind kind, struct sim_access *access)
{
    return reach_bytes(warp, op, 4, kind, access);
}

enum sim_reach sim_access_reach_8(struct sim_warp *warp, const struct sim_uop *op,
                                  enum sim_access_kind kind, struct sim_access *access)
{
    return reach_bytes(warp, op, 8, kind, access);
}

bool sim_access_each(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                     enum sim_access_kind kind, struct sim_access *access)
{
    const uint32_t based = op->flags & (ADDRESS_WIDE | ADDRESS_NONE);
    if (!warp->logged && sim_access_is_wide(op) &&
        each_within(warp, op, bytes, sim_seen_by(warp, op), access))
        return true;
    if (!warp->logged && !based && op->space == PTX_SPACE_SHARED &&
        each_shared(warp, op, bytes, access))
        return true;
    return each_beside(warp, op, bytes, kind, access);
}

enum sim_reach sim_access_reach(struct sim_warp *warp, const struct sim_uop *op, uint32_t bytes,
                                enum sim_access_kind kind, struct sim_access *access)
{
    const enum sim_reach shape = reach_bytes(warp, op, bytes, kind, access);
    if (shape == REACH_ONE)
        for (int i = 1; i < LANES; i++)
            access->pointer[i] = access->pointer[0];
    if (shape == REACH_ONES || shape == REACH_ROWS) {
        const uint32_t step = shape == REACH_ROWS ? bytes : 0;
        for (uint32_t i = 0; i < HALF; i++) {
            access->pointer[i] = access->pointer[0] + i * step;
            access->pointer[HALF + i] = access->pointer[HALF] + i * step;
        }
    }
    return shape <= REACH_ROW ? (shape == REACH_ONE ? REACH_EACH : shape) : REACH_EACH;
}

unsigned char *sim_access_place(struct sim_warp *warp, const struct sim_uop *op, int lane,
                                uint64_t address, uint64_t bytes, enum sim_access_kind kind)
{
    struct sim_access access;
    access.address[lane] = address;
    uint32_t size = (uint32_t)(bytes < UINT32_MAX ? bytes : UINT32_MAX);
    if (!generic_lane(warp, op, lane, size, kind, &access))
        return NULL;
    watch(warp, access.pointer[lane], size, kind);
    if (warp->block->launch->device->log)
        sim_log_lane(warp, lane, 0, access.pointer[lane], size, kind);
    return access.pointer[lane];
}

const unsigned char *sim_access_check(struct sim_warp *warp, const struct sim_uop *op, int lane,
                                      uint64_t address, uint64_t bytes)
{
    return sim_access_place(warp, op, lane, address, bytes, ACCESS_LOAD);
}
