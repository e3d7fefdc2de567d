// SPDX-License-Identifier: Apache-2.0
// Allocation and free at the plan's call paths, served from memory that was freed before. A block
// is an allocation of the driver, and can be given back to it at any time.
//
// Pending work may still use a block that is freed. The driver's free would wait for it. This file
// records an event behind that work on each stream that has any: the block's fences. The block may
// be reused before they have happened. Before a stream gets any work, it is made to wait for the
// fences of all blocks reused since its last such wait. So the host never waits, and the device
// waits no longer than the host would have. The stream of a fence itself is in order anyway.
//
// If any of this is unknown (another context is busy, this thread cannot name a stream, a stream is
// under capture, the driver returns an error), the driver frees the block and waits.
#include "pool.h"

#include <stdlib.h>
#include <string.h>

#include "back.h"
#include "inject/correct/wait/owed.h"
#include "inject/uses/clock_reads.h"

struct correct_pool {
    struct core_context *context;
    struct correct_blocks blocks;
    struct correct_fences fences;
    struct correct_pool *next;
};

static struct correct_pool *pool_of(const struct core_context *context)
{
    struct correct_pool *pool = correct_state.pools.first;
    while (pool && pool->context != context)
        pool = pool->next;
    return pool;
}

static struct correct_pool *pool_made(struct core_context *context)
{
    struct correct_pool *pool = pool_of(context);
    if (!pool && (pool = calloc(1, sizeof(*pool)))) {
        pool->context = pool->fences.context = context;
        pool->next = correct_state.pools.first;
        correct_state.pools.first = pool;
        atomic_store(&correct_state.pools.any, true);
    }
    return pool;
}

// Returns the block that holds the address, and its pool.
static struct correct_block *find(uint64_t address, struct correct_pool **of)
{
    struct correct_block *block = NULL;
    struct correct_pool *pool = correct_state.pools.first;
    for (; pool && !(block = correct_blocks_find(&pool->blocks, address)); pool = pool->next) {
    }
    *of = pool;
    return block;
}

// --- Blocks reused before their fences -----------------------------------------------------------

// Fences of one stream happen in order. A fence that is done may stay in the list behind one of
// another stream that is not; it is dropped later.
static void close_done(void)
{
    while (correct_state.pools.open_first < correct_state.pools.open.count) {
        const struct correct_open_fence *open =
            &correct_state.pools.open.items[correct_state.pools.open_first];
        if (correct_fence_ask(open->fence) != CUDA_SUCCESS)
            break;
        correct_fence_leave(&open->pool->fences, open->fence);
        correct_state.pools.open_first++;
    }
    if (correct_state.pools.open_first > correct_state.pools.open.count / 2) {
        correct_state.pools.open.count -= correct_state.pools.open_first;
        memmove(correct_state.pools.open.items,
                &correct_state.pools.open.items[correct_state.pools.open_first],
                correct_state.pools.open.count * sizeof(correct_state.pools.open.items[0]));
        correct_state.pools.open_first = 0;
    }
}

// From here on, every stream that gets work first waits for the block's fences.
static void open_fences(struct correct_pool *pool, struct correct_block *block)
{
    while (block->fence_count) {
        struct correct_fence *fence = block->fences[--block->fence_count];
        struct correct_open_fence *open =
            fence->done ? NULL : base_array_push(&correct_state.pools.open);
        if (open) {
            *open = (struct correct_open_fence){pool, fence,
                                                atomic_load(&correct_state.pools.opened) + 1};
            atomic_store(&correct_state.pools.opened, open->number);
        } else {
            correct_fence_wait(fence);
            correct_fence_leave(&pool->fences, fence);
        }
    }
}

static void wait_for_open(struct core_stream *stream)
{
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    for (size_t i = correct_state.pools.open.count; i-- > correct_state.pools.open_first;) {
        const struct correct_open_fence *open = &correct_state.pools.open.items[i];
        if (open->number <= stream->fenced)
            break;
        if (open->fence->stream == stream->number || open->fence->done)
            continue;
        if (REAL(cuStreamWaitEvent)(stream->handle, open->fence->event, 0) != CUDA_SUCCESS)
            correct_fence_wait(open->fence);
    }
    stream->fenced = atomic_load(&correct_state.pools.opened);
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
}

static void wait_for_all_open(void)
{
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    for (size_t i = correct_state.pools.open_first; i < correct_state.pools.open.count; i++)
        correct_fence_wait(correct_state.pools.open.items[i].fence);
    close_done();
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
}

static void orphan(struct core_stream *stream, const struct core_context *current)
{
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    struct correct_pool *pool = pool_of(stream->context);
    if (pool)
        correct_fences_orphan(&pool->fences, stream, current);
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
}

void correct_pool_share(uint64_t address)
{
    struct correct_pool *pool;
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    struct correct_block *block = find(address, &pool);
    if (block)
        block->shared = true;
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
}

// Refuses a copy or a fill in freed memory, or beyond the requested bytes, as the driver would
// without glint.
static void check_end(struct core_call *call, uint64_t address, uint64_t bytes)
{
    struct correct_pool *pool;
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    const struct correct_block *block = find(address, &pool);
    if (block && (block->kept || address + bytes > block->address + block->asked_bytes))
        call->refused = CUDA_ERROR_INVALID_VALUE;
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
}

static void check_ends(struct core_call *call)
{
    const struct event_copy *copy = &call->detail.copy;
    const struct event_set *set = &call->detail.set;
    if (call->kind == EVENT_CALL_SET) {
        check_end(call, set->address, set->height > 1 ? 1 : set->bytes);
    } else if (call->kind == EVENT_CALL_COPY) {
        const uint64_t bytes = copy->height > 1 || copy->depth > 1 ? 1 : copy->bytes;
        check_end(call, copy->from, bytes);
        check_end(call, copy->to, bytes);
    }
}

// --- Allocation and free -------------------------------------------------------------------------

struct rating {
    bool failed; // the device has an error, which the driver is to report
};

static enum correct_block_rating rate(struct correct_block *block, void *user)
{
    struct rating *rating = user;
    unsigned left = 0;
    for (unsigned i = 0; i < block->fence_count && !rating->failed; i++) {
        const CUresult result = correct_fence_ask(block->fences[i]);
        left += result == CUDA_ERROR_NOT_READY;
        rating->failed = result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY;
    }
    if (rating->failed)
        return CORRECT_BLOCK_UNFIT;
    return left == 0 ? CORRECT_BLOCK_BEST : left == 1 ? CORRECT_BLOCK_GOOD : CORRECT_BLOCK_POOR;
}

// Returns memory of so many bytes that was freed before; 0: none can be reused.
static uint64_t take_kept(const struct core_context *context, size_t bytes)
{
    uint64_t address = 0;
    struct rating rating = {0};
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    close_done();
    struct correct_pool *pool = pool_of(context);
    const bool fresh = pool && !correct_blocks_over(&pool->blocks, bytes);
    struct correct_block *block =
        pool ? correct_blocks_fit(&pool->blocks, bytes, fresh, rate, &rating) : NULL;
    if (block && !rating.failed) {
        open_fences(pool, block);
        correct_blocks_use(&pool->blocks, block, bytes);
        address = block->address;
    }
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
    return address;
}

static void note_made(struct core_context *context, uint64_t address, size_t bytes)
{
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    struct correct_pool *pool = pool_made(context);
    // If memory runs out, the block is not in the pool, and is never kept.
    if (pool)
        correct_blocks_add(&pool->blocks, address, bytes);
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
}

// Queries are forbidden during a capture, and so is this call without glint.
static bool may_ask(const struct core_call *call)
{
    return call && call->current && core_ask();
}

static CUresult allocates(CUdeviceptr *address, size_t bytes)
{
    const struct core_call *call = correct_call();
    const struct plan_row *row = correct_row(PLAN_BACK);
    CUresult backed;
    if (row && correct_back_allocates(row, address, bytes, &backed))
        return backed;
    if (!correct_back_makes_room(bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    row = correct_is_off() ? NULL : correct_row(PLAN_POOL);
    if (!row || !address || !bytes || !may_ask(call))
        return REAL(cuMemAlloc_v2)(address, bytes);
    const uint64_t kept = take_kept(call->current, bytes);
    core_asked();
    if (kept) {
        *address = kept;
        correct_count(row, EVENT_CORRECTION_APPLIED, 1);
        return CUDA_SUCCESS;
    }
    const CUresult result = REAL(cuMemAlloc_v2)(address, bytes);
    if (result == CUDA_SUCCESS)
        note_made(call->current, *address, bytes);
    return result;
}

// Takes kept blocks out of the pools until `enough` returns true, and lets the driver free them.
typedef bool pool_enough(const struct correct_pool *pool);

static bool never(const struct correct_pool *pool)
{
    (void)pool;
    return false;
}

static bool within_bounds(const struct correct_pool *pool)
{
    return !correct_blocks_over(&pool->blocks, 0);
}

typedef BASE_ARRAY(CUdeviceptr) pool_given;

static void take_out(struct correct_pool *pool, pool_enough *enough, pool_given *given)
{
    struct correct_block *block = pool->blocks.oldest;
    while (block && !enough(pool)) {
        struct correct_block *next = block->newer;
        CUdeviceptr *place = base_array_push(given);
        if (!place)
            break;
        *place = block->address;
        correct_fences_leave(&pool->fences, block);
        correct_blocks_remove(&pool->blocks, block);
        block = next;
    }
}

static bool free_all(pool_given *given)
{
    const bool any = given->count;
    if (any)
        correct_settle();
    // A capture in another thread would forbid the call, but the program does not know of it.
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool capturing = any && atomic_load(&core_state.captures);
    if (capturing)
        REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    for (size_t i = 0; given->items && i < given->count; i++)
        REAL(cuMemFree_v2)(given->items[i]);
    if (capturing)
        REAL(cuThreadExchangeStreamCaptureMode)(&mode);
    base_array_fini(given);
    return any;
}

static bool give_back(pool_enough *enough)
{
    pool_given given = {0};
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    for (struct correct_pool *pool = correct_state.pools.first; pool; pool = pool->next)
        take_out(pool, enough, &given);
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
    return free_all(&given);
}

bool correct_pool_give_back(void)
{
    return atomic_load(&correct_state.pools.any) && give_back(never);
}

bool correct_pool_is_alone(const struct core_context *context)
{
    bool alone = true;
    util_mutex_lock(&core_state.lock, RANK_STATE);
    for (size_t i = 0; i < core_state.contexts.count && alone; i++) {
        const struct core_context *other = core_context_at(i);
        alone = !other || other == context || !atomic_load(&other->busy);
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    return alone;
}

enum freed { FREED_UNKNOWN, FREED_ALREADY, FREED_BY_DRIVER, FREED_IDLE, FREED_PENDING };

static enum freed keep(const struct core_call *call, uint64_t address, bool wanted)
{
    struct correct_pool *pool;
    struct correct_block *block = find(address, &pool);
    if (!block)
        return FREED_UNKNOWN;
    if (block->kept || block->address != address)
        return FREED_ALREADY;
    if (wanted && !block->shared && pool->context == call->current &&
        correct_pool_is_alone(call->current) && correct_fences_put(&pool->fences, block)) {
        const bool pending = block->fence_count;
        if (correct_blocks_keep(&pool->blocks, block))
            return pending ? FREED_PENDING : FREED_IDLE;
        correct_fences_leave(&pool->fences, block);
    }
    correct_blocks_remove(&pool->blocks, block);
    return FREED_BY_DRIVER;
}

static CUresult frees(CUdeviceptr address)
{
    struct core_call *call = correct_call();
    CUresult backed;
    if (address && correct_back_frees(address, &backed))
        return backed;
    if (!atomic_load(&correct_state.pools.any) || !address || !call->current)
        return REAL(cuMemFree_v2)(address);
    const struct plan_row *row = correct_row(PLAN_POOL);
    const bool wanted = row && !correct_is_off() && core_ask();
    if (row && correct_is_off())
        correct_count(row, EVENT_CORRECTION_LEFT, 1);
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    const enum freed freed = keep(call, address, wanted);
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
    if (wanted)
        core_asked();
    if (freed == FREED_ALREADY)
        return CUDA_ERROR_INVALID_VALUE;
    if (freed == FREED_UNKNOWN || freed == FREED_BY_DRIVER) {
        correct_settle();
        // The driver accepts every block of a pool, unless the device has an error.
        return REAL(cuMemFree_v2)(address);
    }
    CUresult result = CUDA_SUCCESS;
    const bool owed = freed == FREED_IDLE || correct_owe(NULL);
    if (!owed)
        result = REAL(cuCtxSynchronize)();
    else
        call->pending_count = 0; // the call does not wait
    if (owed && freed == FREED_PENDING)
        uses_clock_left_out();
    correct_count(row, owed ? EVENT_CORRECTION_APPLIED : EVENT_CORRECTION_LEFT, 1);
    give_back(within_bounds);
    return result;
}

// Takes a block out of the pool if cuMemAlloc memory is freed in stream order, where the driver
// supports that. The program must not free a kept block.
static bool leaves(uint64_t address, struct correct_block *was, struct core_context **context)
{
    struct correct_pool *pool;
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    struct correct_block *block = find(address, &pool);
    *was = block ? *block : (struct correct_block){0};
    *context = block ? pool->context : NULL;
    if (block && !block->kept && block->address == address)
        correct_blocks_remove(&pool->blocks, block);
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
    return !was->kept;
}

#define FREES_ASYNC(name, symbol)                                        \
    static CUresult name(CUdeviceptr address, CUstream stream)           \
    {                                                                    \
        struct correct_block was;                                        \
        struct core_context *context;                                    \
        if (!atomic_load(&correct_state.pools.any))                      \
            return REAL(symbol)(address, stream);                        \
        if (!leaves(address, &was, &context))                            \
            return CUDA_ERROR_INVALID_VALUE;                             \
        const CUresult result = REAL(symbol)(address, stream);           \
        if (result != CUDA_SUCCESS && context && was.address == address) \
            note_made(context, address, was.bytes);                      \
        return result;                                                   \
    }

FREES_ASYNC(frees_async, cuMemFreeAsync)
FREES_ASYNC(frees_async_ptsz, cuMemFreeAsync_ptsz)

// --- Kept blocks ---------------------------------------------------------------------------------

uint64_t correct_pool_kept(void)
{
    uint64_t bytes = 0;
    if (!atomic_load(&correct_state.pools.any))
        return 0;
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    for (const struct correct_pool *pool = correct_state.pools.first; pool; pool = pool->next)
        bytes += pool->blocks.kept_bytes;
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
    return bytes;
}

uint64_t correct_pool_kept_bytes(uint32_t device)
{
    uint64_t bytes = 0;
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    for (const struct correct_pool *pool = correct_state.pools.first; pool; pool = pool->next) {
        const struct correct_block *block =
            pool->context->device == device ? pool->blocks.oldest : NULL;
        for (; block; block = block->newer)
            bytes += (block->bytes + CORRECT_BLOCK_CLASS_BYTES - 1) &
                     ~(uint64_t)(CORRECT_BLOCK_CLASS_BYTES - 1);
    }
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
    return bytes;
}

bool correct_pool_view(uint64_t address, uint64_t *bytes)
{
    struct correct_pool *pool;
    if (!atomic_load(&correct_state.pools.any))
        return false;
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    const struct correct_block *block = find(address, &pool);
    if (block)
        *bytes =
            block->kept || address - block->address >= block->asked_bytes ? 0 : block->asked_bytes;
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
    return block != NULL;
}

// --- Before calls --------------------------------------------------------------------------------

// Called before a context may be destroyed, after which its events must not be queried. Kept blocks
// are given to the driver, and blocks in use become the driver's to free. If the context survives,
// its pool begins anew.
static void leave_context(const struct core_context *context)
{
    pool_given given = {0};
    util_mutex_lock(&correct_state.pools.lock, RANK_POOLS);
    size_t open = correct_state.pools.open_first;
    for (size_t i = correct_state.pools.open_first; i < correct_state.pools.open.count; i++) {
        // Another thread may have added fences since everything was settled.
        if (correct_state.pools.open.items[i].pool->context == context)
            correct_fence_wait(correct_state.pools.open.items[i].fence);
        else
            correct_state.pools.open.items[open++] = correct_state.pools.open.items[i];
    }
    correct_state.pools.open.count = open;
    struct correct_pool **link = &correct_state.pools.first;
    while (*link && (*link)->context != context)
        link = &(*link)->next;
    struct correct_pool *pool = *link;
    if (pool) {
        take_out(pool, never, &given);
        *link = pool->next;
        correct_fences_end(&pool->fences);
        correct_blocks_fini(&pool->blocks);
        free(pool);
    }
    util_mutex_unlock(&correct_state.pools.lock, RANK_POOLS);
    free_all(&given);
}

void correct_pool_before(struct core_call *call)
{
    if (!atomic_load_explicit(&correct_state.pools.any, memory_order_acquire))
        return;
    if (call->kind == EVENT_CALL_CONTEXT && call->how & HOOK_WAITS && call->context)
        leave_context(call->context);
    check_ends(call);
    // The call shares the memory with another process, or advises the driver about it.
    if (call->kind == EVENT_CALL_MEMORY && call->detail.alloc.address)
        correct_pool_share(call->detail.alloc.address);
    if (call->hook == HOOK_cuLaunchCooperativeKernelMultiDevice)
        wait_for_all_open();
    if (!call->stream || call->flags & EVENT_CALL_CAPTURED || call->kind == EVENT_CALL_SYNC)
        return;
    if (call->kind == EVENT_CALL_STREAM)
        orphan(call->stream, call->current);
    else if (call->stream->fenced <
             atomic_load_explicit(&correct_state.pools.opened, memory_order_acquire))
        wait_for_open(call->stream);
}

// --- Start ---------------------------------------------------------------------------------------

void correct_pool_start(void)
{
    memset(&correct_state.pools, 0, sizeof(correct_state.pools));
    pthread_mutex_init(&correct_state.pools.lock, NULL);
    correct_stand(HOOK_cuMemAlloc_v2, (void *)(uintptr_t)allocates);
    correct_stand(HOOK_cuMemFree_v2, (void *)(uintptr_t)frees);
    correct_stand(HOOK_cuMemFreeAsync, (void *)(uintptr_t)frees_async);
    correct_stand(HOOK_cuMemFreeAsync_ptsz, (void *)(uintptr_t)frees_async_ptsz);
}
