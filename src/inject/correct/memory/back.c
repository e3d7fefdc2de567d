// SPDX-License-Identifier: Apache-2.0
// Objects that have memory only while they are used, through the virtual memory interface. The
// allocation reserves addresses. Memory is mapped before the first call that may use the object.
// After the last use in the profile, the object may be moved into host memory, mapped at the same
// addresses. A later use that was not predicted, even by a pointer that only the device knows,
// still finds the contents, but is slower. The object is moved only when other memory is needed.
//
// The program sees none of this. If it would run out of memory without glint, it still does.
#include "back.h"

#include <stdlib.h>
#include <string.h>

#include "inject/correct/wait/owed.h"
#include "pool.h"

enum {
    NEAR_BYTES = 4096, // a pointer this close to an object may be meant for it
    LEAST_GRANULARITIES = 2,
    PLENTY_BYTES = 256 << 20,
};

enum correct_where { NOWHERE, ON_DEVICE, ON_HOST };

struct backing {
    uint64_t address;
    uint64_t bytes, size_bytes; // as requested, and rounded up to the granularity
    struct core_context *context;
    const struct plan_row *row;
    size_t last_use; // number of its row; 0: unknown, or the free
    uint64_t seen;   // calls on that path since the allocation
    enum correct_where where;
    bool over; // the last use has happened
    bool stays;
    CUmemGenericAllocationHandle handle;
};

static struct backing *backing_at(const struct base_interval *found)
{
    return found ? (struct backing *)(uintptr_t)found->value : NULL; // NOLINT
}

// The driver rounds such sizes up to the granularity, too; glint's accounting is exact.
static uint64_t native_bytes(const struct backing *backing)
{
    enum { UNIT_BYTES = 512 };
    return core_state.simulated ? (backing->bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES
                                : backing->size_bytes;
}

// Keeps this distance between an object and other memory, so that a pointer close to an object is
// not meant for anything else.
static uint64_t guard_bytes(void)
{
    return correct_state.pieces.granularity;
}

static void free_addresses(uint64_t address, uint64_t size_bytes)
{
    REAL(cuMemAddressFree)(address - guard_bytes(), size_bytes + 2 * guard_bytes());
}

// --- Counts --------------------------------------------------------------------------------------

// Counts requested bytes, as the report does, so that the two can be compared.
static void count_peaks(void)
{
    const int64_t now = (int64_t)(correct_state.backs.total_bytes +
                                  correct_state.pieces.spare_asked_bytes + correct_pool_kept()) -
                        correct_state.backs.saved_bytes;
    correct_count(NULL, EVENT_CORRECTION_PEAK_BYTES, now > 0 ? (uint64_t)now : 0);
    correct_count(NULL, EVENT_CORRECTION_NATIVE_PEAK_BYTES, correct_state.backs.total_bytes);
}

// Finds the bounds of the objects that are not backed by the device.
static void find_wanting(void)
{
    struct base_intervals_walk walk;
    const struct base_interval *it = base_intervals_first(&correct_state.backs.at, &walk);
    correct_state.backs.wanting = correct_state.backs.away = 0;
    correct_state.backs.from = UINT64_MAX;
    correct_state.backs.to = 0;
    for (; it; it = base_intervals_next(&walk)) {
        const struct backing *backing = backing_at(it);
        if (backing->where == ON_DEVICE)
            continue;
        *(backing->where == NOWHERE ? &correct_state.backs.wanting : &correct_state.backs.away) +=
            1;
        if (backing->address - NEAR_BYTES < correct_state.backs.from)
            correct_state.backs.from = backing->address - NEAR_BYTES;
        if (backing->address + backing->size_bytes + NEAR_BYTES > correct_state.backs.to)
            correct_state.backs.to = backing->address + backing->size_bytes + NEAR_BYTES;
    }
}

static void place(struct backing *backing, enum correct_where where)
{
    const bool was_saved = backing->where != ON_DEVICE, is_saved = where != ON_DEVICE;
    if (was_saved && !is_saved)
        correct_state.backs.saved_bytes -= (int64_t)backing->bytes;
    else if (is_saved && !was_saved)
        correct_state.backs.saved_bytes += (int64_t)backing->bytes;
    backing->where = where;
    find_wanting();
    count_peaks();
}

int64_t correct_back_more_bytes(uint32_t device)
{
    int64_t more = 0;
    if (!atomic_load(&correct_state.backs.live) && !correct_state.pieces.spare_count)
        return 0;
    util_mutex_lock(&correct_state.backs.lock, RANK_BACKS);
    if ((uint32_t)correct_state.pieces.device + 1 == device) {
        struct base_intervals_walk walk;
        const struct base_interval *it = base_intervals_first(&correct_state.backs.at, &walk);
        more = (int64_t)correct_state.pieces.spare_bytes;
        for (; it; it = base_intervals_next(&walk)) {
            const struct backing *backing = backing_at(it);
            more += backing->where == ON_DEVICE ? (int64_t)backing->size_bytes : 0;
            more -= (int64_t)native_bytes(backing);
        }
    }
    util_mutex_unlock(&correct_state.backs.lock, RANK_BACKS);
    return more;
}

// --- Moving objects away -------------------------------------------------------------------------

// Moves the object to other memory, with the same contents. Returns false if it has not moved.
static bool move(struct backing *backing, enum correct_where where)
{
    CUmemGenericAllocationHandle handle, old = backing->handle;
    if (correct_pieces_create(backing->size_bytes, where == ON_HOST, &handle) != CUDA_SUCCESS)
        return false;
    if (!correct_pieces_copy(backing->address, backing->bytes, backing->size_bytes, handle)) {
        REAL(cuMemRelease)(handle);
        return false;
    }
    REAL(cuMemUnmap)(backing->address, backing->size_bytes);
    if (correct_pieces_map(backing->address, backing->size_bytes, handle) != CUDA_SUCCESS) {
        // Nothing has changed since the old mapping was made, so this should succeed.
        correct_pieces_map(backing->address, backing->size_bytes, old);
        REAL(cuMemRelease)(handle);
        return false;
    }
    backing->handle = handle;
    if (where == ON_HOST)
        correct_pieces_spare(backing->size_bytes, backing->bytes, old);
    else
        REAL(cuMemRelease)(old);
    place(backing, where);
    return true;
}

// Returns whether no work that uses the objects is running or about to run. The lock is held, so
// that none can start meanwhile.
static bool can_move(struct core_context *context)
{
    return !correct_state.backs.flying && correct_pieces_can_move(context);
}

static struct backing *next_over(const struct core_context *context, uint64_t after)
{
    struct base_intervals_walk walk;
    const struct base_interval *it = base_intervals_first(&correct_state.backs.at, &walk);
    for (; it; it = base_intervals_next(&walk)) {
        struct backing *backing = backing_at(it);
        if (backing->address > after && backing->over && !backing->stays &&
            backing->where == ON_DEVICE && backing->context == context)
            return backing;
    }
    return NULL;
}

// Moves objects whose last use has happened into host memory, until so many bytes are free. Returns
// how many are.
static uint64_t send_away(struct core_context *context, uint64_t wanted_bytes)
{
    uint64_t gone_bytes = 0;
    struct backing *backing = correct_state.pieces.can_leave ? next_over(context, 0) : NULL;
    if (!backing || !can_move(context))
        return 0;
    for (; backing && gone_bytes < wanted_bytes; backing = next_over(context, backing->address)) {
        const bool gone = move(backing, ON_HOST);
        correct_count(backing->row, gone ? EVENT_CORRECTION_BYTES : EVENT_CORRECTION_LEFT,
                      gone ? backing->bytes : 1);
        gone_bytes += gone ? backing->size_bytes : 0;
    }
    return gone_bytes;
}

// --- Backing objects -----------------------------------------------------------------------------

// Returns a piece for the object: a spare one, or else a new one. Before it makes a new one, it
// frees spare pieces of other sizes and moves unused objects away, so that the peak does not rise.
static CUresult create(struct core_context *context, uint64_t size_bytes,
                       CUmemGenericAllocationHandle *handle)
{
    if (correct_pieces_take(size_bytes, handle))
        return CUDA_SUCCESS;
    send_away(context, size_bytes);
    if (correct_pieces_take(size_bytes, handle))
        return CUDA_SUCCESS;
    correct_pieces_release();
    CUresult result = correct_pieces_create(size_bytes, false, handle);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && send_away(context, UINT64_MAX)) {
        correct_pieces_release();
        result = correct_pieces_create(size_bytes, false, handle);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY && correct_pool_give_back())
        result = correct_pieces_create(size_bytes, false, handle);
    return result;
}

// Backs the object. If that is not possible, refuses the call: without glint, the allocation would
// have failed earlier.
static void back(struct core_call *call, struct backing *backing)
{
    if (backing->where == ON_HOST) {
        // A use that was not predicted; more may follow. If the object cannot be moved now, the
        // device uses it in host memory.
        backing->stays = true;
        if (can_move(call->current))
            move(backing, ON_DEVICE);
    }
    if (backing->where != NOWHERE)
        return;
    CUmemGenericAllocationHandle handle;
    enum correct_where where = ON_DEVICE;
    CUresult result = create(call->current, backing->size_bytes, &handle);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && correct_state.pieces.has_host) {
        // The rounded size exceeds the memory that the program has without glint, so the host backs
        // the rest.
        where = ON_HOST;
        backing->stays = true;
        result = correct_pieces_create(backing->size_bytes, true, &handle);
    }
    if (result == CUDA_SUCCESS) {
        result = correct_pieces_map(backing->address, backing->size_bytes, handle);
        if (result != CUDA_SUCCESS)
            REAL(cuMemRelease)(handle);
    }
    if (result == CUDA_SUCCESS) {
        backing->handle = handle;
        place(backing, where);
    } else if (call->refused == CUDA_SUCCESS) {
        call->refused = result;
    }
}

bool correct_back_lock(void)
{
    if (!atomic_load_explicit(&correct_state.backs.live, memory_order_acquire))
        return false;
    util_mutex_lock(&correct_state.backs.lock, RANK_BACKS);
    return true;
}

void correct_back_unlock(void)
{
    util_mutex_unlock(&correct_state.backs.lock, RANK_BACKS);
}

bool correct_back_is_wanting(void)
{
    return correct_state.backs.wanting;
}

bool correct_back_is_away(void)
{
    return correct_state.backs.away;
}

void correct_back_bounds(uint64_t *from, uint64_t *to)
{
    *from = correct_state.backs.from;
    *to = correct_state.backs.to;
}

bool correct_back_may_mean(uint64_t word)
{
    static const uint64_t least = UINT64_C(1) << 31, around = UINT64_C(1) << 42,
                          address_bits = (UINT64_C(1) << 48) - 1;
    struct core_object object;
    if (word & ~address_bits)
        return (word & address_bits) >= correct_state.backs.from &&
               (word & address_bits) < correct_state.backs.to;
    return word >= least && word + around >= correct_state.backs.from &&
           word < correct_state.backs.to + around &&
           !core_objects_find(&core_state.objects, OBJECTS_MEMORY, word, &object);
}

void correct_back_use(struct core_call *call, uint64_t address, uint64_t bytes)
{
    struct base_intervals_walk walk;
    const uint64_t start = address - NEAR_BYTES;
    const struct base_interval *it = base_intervals_first_overlap(
        &correct_state.backs.at, start, bytes + 2 * (uint64_t)NEAR_BYTES, &walk);
    for (; it; it = base_intervals_next(&walk)) { // backing does not change the list
        const struct backing *backing = backing_at(it);
        const uint64_t at = address - backing->address;
        back(call, backing_at(it));
        // Without glint, there is no memory beyond the requested bytes.
        if (at < backing->size_bytes && at + bytes > backing->bytes && bytes > 1)
            call->refused = CUDA_ERROR_INVALID_VALUE;
    }
}

void correct_back_use_word(struct core_call *call, uint64_t word)
{
    if (word >= correct_state.backs.from && word < correct_state.backs.to)
        correct_back_use(call, word, 1);
}

void correct_back_use_all(struct core_call *call)
{
    struct base_intervals_walk walk;
    const struct base_interval *it = base_intervals_first(&correct_state.backs.at, &walk);
    for (; it && correct_state.backs.wanting; it = base_intervals_next(&walk)) {
        if (backing_at(it)->where == NOWHERE)
            back(call, backing_at(it));
    }
}

void correct_back_stay(uint64_t address)
{
    struct backing *backing = backing_at(base_intervals_find(&correct_state.backs.at, address));
    if (backing)
        backing->stays = true;
}

void correct_back_stay_all(void)
{
    correct_state.pieces.can_leave = false;
}

void correct_back_seen(const struct plan_row *last_use)
{
    const size_t number = correct_row_number(last_use);
    struct base_intervals_walk walk;
    const struct base_interval *it = base_intervals_first(&correct_state.backs.at, &walk);
    for (; it; it = base_intervals_next(&walk)) {
        struct backing *backing = backing_at(it);
        if (backing->last_use == number && ++backing->seen >= backing->row->numbers[1])
            backing->over = true;
    }
}

void correct_back_flies(struct core_call *call)
{
    call->flies = true;
    correct_state.backs.flying++;
}

void correct_back_after(struct core_call *call)
{
    const bool counts = call->result == CUDA_SUCCESS && call->detail.alloc.object &&
                        (call->kind == EVENT_CALL_ALLOC || call->kind == EVENT_CALL_FREE) &&
                        call->hook != HOOK_cuMemAllocHost_v2 && call->hook != HOOK_cuMemHostAlloc &&
                        call->hook != HOOK_cuMemFreeHost;
    if (!call->flies && !counts)
        return;
    util_mutex_lock(&correct_state.backs.lock, RANK_BACKS);
    correct_state.backs.flying -= call->flies;
    if (counts && call->kind == EVENT_CALL_ALLOC)
        correct_state.backs.total_bytes += call->detail.alloc.bytes;
    else if (counts && call->detail.alloc.bytes <= correct_state.backs.total_bytes)
        correct_state.backs.total_bytes -= call->detail.alloc.bytes;
    if (counts)
        count_peaks();
    util_mutex_unlock(&correct_state.backs.lock, RANK_BACKS);
}

// --- Allocation and free -------------------------------------------------------------------------

static int64_t left_natively(uint64_t bytes, const struct core_context *context)
{
    size_t free_bytes = 0, total = 0;
    if (REAL(cuMemGetInfo_v2)(&free_bytes, &total) != CUDA_SUCCESS)
        return 0;
    return (int64_t)free_bytes + (int64_t)correct_pool_kept_bytes(context->device) +
           correct_back_more_bytes(context->device) - (int64_t)bytes;
}

// Returns whether there would be so much memory without glint. If little is left, gives kept memory
// back first, so that the driver's count is exact.
static bool has_natively(uint64_t bytes, const struct core_context *context)
{
    int64_t left = left_natively(bytes, context);
    if (left < PLENTY_BYTES && correct_pool_give_back())
        left = left_natively(bytes, context);
    util_mutex_lock(&correct_state.backs.lock, RANK_BACKS);
    correct_state.backs.left_bytes = left;
    util_mutex_unlock(&correct_state.backs.lock, RANK_BACKS);
    return left >= 0;
}

// Returns the row of the object's last use, if all rows of its path agree on it.
static size_t last_use_of(const struct plan_row *row)
{
    return correct_row_after(row) ? 0 : (size_t)row->numbers[0];
}

bool correct_back_allocates(const struct plan_row *row, CUdeviceptr *address, size_t bytes,
                            CUresult *result)
{
    const struct core_call *call = correct_call();
    if (!address || !call->current || atomic_load(&core_state.captures))
        return false;
    util_mutex_lock(&correct_state.backs.lock, RANK_BACKS);
    const bool fit = !correct_is_off() && correct_pieces_prepare() &&
                     bytes >= LEAST_GRANULARITIES * correct_state.pieces.granularity;
    const uint64_t granularity = correct_state.pieces.granularity;
    util_mutex_unlock(&correct_state.backs.lock, RANK_BACKS);
    if (!fit) {
        correct_count(row, EVENT_CORRECTION_LEFT, 1);
        return false;
    }
    *result = CUDA_ERROR_OUT_OF_MEMORY;
    if (!has_natively(bytes, call->current))
        return true;
    struct backing *backing = calloc(1, sizeof(*backing));
    CUdeviceptr start = 0;
    const uint64_t size_bytes = (bytes + granularity - 1) / granularity * granularity;
    if (!backing || REAL(cuMemAddressReserve)(&start, size_bytes + 2 * guard_bytes(), 0, 0, 0) !=
                        CUDA_SUCCESS) {
        free(backing);
        return false;
    }
    start += guard_bytes();
    *backing = (struct backing){.address = start,
                                .bytes = bytes,
                                .size_bytes = size_bytes,
                                .context = call->current,
                                .row = row,
                                .last_use = last_use_of(row)};
    util_mutex_lock(&correct_state.backs.lock, RANK_BACKS);
    const bool entered =
        !correct_is_off() && // a thread that turns corrections off takes the lock afterwards
        base_intervals_insert(&correct_state.backs.at, start, size_bytes,
                              (uint64_t)(uintptr_t)backing, NULL) == BASE_OK;
    if (entered) {
        atomic_fetch_add(&correct_state.backs.live, 1);
        correct_state.backs.saved_bytes += (int64_t)bytes;
        find_wanting();
    }
    util_mutex_unlock(&correct_state.backs.lock, RANK_BACKS);
    if (!entered) {
        free_addresses(start, size_bytes);
        free(backing);
        return false;
    }
    *address = start;
    *result = CUDA_SUCCESS;
    correct_count(row, EVENT_CORRECTION_APPLIED, 1);
    return true;
}

bool correct_back_makes_room(size_t bytes)
{
    const struct core_call *call = correct_call();
    if (!call->current || !correct_back_lock())
        return true;
    if (bytes >= LEAST_GRANULARITIES * correct_state.pieces.granularity) {
        send_away(call->current, bytes);
        correct_pieces_release();
    }
    // The driver is queried again when its memory may have become scarce.
    correct_state.backs.left_bytes -= (int64_t)bytes;
    const bool plenty =
        correct_state.backs.saved_bytes <= 0 || correct_state.backs.left_bytes > PLENTY_BYTES;
    correct_back_unlock();
    return plenty || has_natively(bytes, call->current);
}

bool correct_back_give_back(void)
{
    const struct core_call *call = correct_call();
    if (!correct_state.pieces.granularity || !call)
        return false;
    util_mutex_lock(&correct_state.backs.lock, RANK_BACKS);
    // The call that lacks memory is no longer in the driver.
    correct_state.backs.flying -= call->flies;
    const bool any = send_away(call->current, UINT64_MAX) || correct_state.pieces.spare_count;
    correct_state.backs.flying += call->flies;
    correct_pieces_release();
    count_peaks();
    util_mutex_unlock(&correct_state.backs.lock, RANK_BACKS);
    return any;
}

// Another thread may be about to destroy the context. Either it does so after this wait, or this
// function does not use the context.
static CUresult wait_for(const struct core_context *context)
{
    CUcontext popped;
    CUresult result = CUDA_SUCCESS;
    const bool asks = core_ask();
    if (!atomic_load(&context->ending) &&
        REAL(cuCtxPushCurrent_v2)(context->handle) == CUDA_SUCCESS) {
        result = REAL(cuCtxSynchronize)();
        REAL(cuCtxPopCurrent_v2)(&popped);
    }
    if (asks)
        core_asked();
    return result;
}

// Waits for everything that the driver's free waits for: all work of the device.
static CUresult wait_for_all(void)
{
    enum { MOST = 16 };
    const struct core_context *current = correct_call()->current, *others[MOST];
    size_t count = 0;
    correct_settle();
    util_mutex_lock(&core_state.lock, RANK_STATE);
    for (size_t i = 0; i < core_state.contexts.count && count < MOST; i++) {
        const struct core_context *context = core_context_at(i);
        if (context && context != current)
            others[count++] = context; // contexts are never freed
    }
    util_mutex_unlock(&core_state.lock, RANK_STATE);
    CUresult result = current ? REAL(cuCtxSynchronize)() : CUDA_SUCCESS;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = wait_for(others[i]);
    return result;
}

// The caller holds the lock, and nothing uses the object.
static void drop(struct backing *backing)
{
    if (backing->where != NOWHERE)
        REAL(cuMemUnmap)(backing->address, backing->size_bytes);
    if (backing->where == ON_DEVICE)
        correct_pieces_spare(backing->size_bytes, backing->bytes, backing->handle);
    else if (backing->where == ON_HOST)
        REAL(cuMemRelease)(backing->handle);
    free_addresses(backing->address, backing->size_bytes);
    if (backing->where != ON_DEVICE)
        correct_state.backs.saved_bytes -= (int64_t)backing->bytes;
    base_intervals_remove(&correct_state.backs.at, backing->address, NULL);
    atomic_fetch_sub(&correct_state.backs.live, 1);
    find_wanting();
    free(backing);
}

static struct backing *find(uint64_t address)
{
    struct backing *backing = NULL;
    if (correct_back_lock()) {
        backing = backing_at(base_intervals_find(&correct_state.backs.at, address));
        correct_back_unlock();
    }
    return backing;
}

bool correct_back_frees(CUdeviceptr address, CUresult *result)
{
    struct backing *backing = find(address);
    if (!backing || backing->address != address) {
        *result = CUDA_ERROR_INVALID_VALUE;
        return backing != NULL;
    }
    *result = wait_for_all();
    if (*result != CUDA_SUCCESS)
        return true;
    // Another thread may have freed it during the wait.
    util_mutex_lock(&correct_state.backs.lock, RANK_BACKS);
    backing = backing_at(base_intervals_find(&correct_state.backs.at, address));
    if (backing && backing->address == address)
        drop(backing);
    util_mutex_unlock(&correct_state.backs.lock, RANK_BACKS);
    return true;
}

bool correct_back_view(uint64_t address, struct correct_back_view *view)
{
    if (!correct_back_lock())
        return false;
    struct backing *backing = backing_at(base_intervals_find(&correct_state.backs.at, address));
    if (backing) {
        struct core_call *call = correct_call();
        back(call, backing);
        *view = (struct correct_back_view){
            backing->address, address - backing->address < backing->bytes ? backing->bytes : 0,
            backing->context->handle};
    }
    correct_back_unlock();
    return backing != NULL;
}

// --- Start and end -------------------------------------------------------------------------------

// The thread's current context may be another one, or none.
void correct_back_end(void)
{
    if (!correct_back_lock())
        return;
    struct base_intervals_walk walk;
    const struct base_interval *it = base_intervals_first(&correct_state.backs.at, &walk);
    for (; it && correct_state.backs.wanting; it = base_intervals_next(&walk)) {
        struct backing *backing = backing_at(it);
        struct core_call call = {.current = backing->context};
        CUcontext popped;
        if (backing->where != NOWHERE || atomic_load(&backing->context->ending) ||
            REAL(cuCtxPushCurrent_v2)(backing->context->handle) != CUDA_SUCCESS)
            continue;
        back(&call, backing);
        REAL(cuCtxPopCurrent_v2)(&popped);
    }
    correct_back_unlock();
}

void correct_back_start(void)
{
    memset(&correct_state.backs, 0, sizeof(correct_state.backs));
    memset(&correct_state.pieces, 0, sizeof(correct_state.pieces));
    pthread_mutex_init(&correct_state.backs.lock, NULL);
    find_wanting();
}

void correct_back_context_gone(const struct core_context *context)
{
    if (!correct_state.pieces.granularity)
        return;
    util_mutex_lock(&correct_state.backs.lock, RANK_BACKS);
    struct base_interval *it = base_intervals_after(&correct_state.backs.at, 0);
    while (it) {
        struct backing *backing = backing_at(it);
        const uint64_t at = backing->address;
        if (backing->context == context)
            drop(backing);
        it = base_intervals_after(&correct_state.backs.at, at);
    }
    if (correct_state.pieces.of_stream == context)
        correct_state.pieces.of_stream = NULL;
    correct_pieces_release();
    util_mutex_unlock(&correct_state.backs.lock, RANK_BACKS);
}
