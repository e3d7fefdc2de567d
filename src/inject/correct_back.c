// SPDX-License-Identifier: Apache-2.0
// Objects whose memory is there only while it is used, by the virtual memory interface. At the
// allocation addresses are reserved. Memory comes before the first call that may use them. After
// the last use that was learned the object may go where it costs nothing: into the host's memory,
// mapped at the same addresses, so that a use that nobody foresaw, even by a pointer that only the
// device knows, finds its contents; only slower. It goes when other memory is needed, and not
// before.
//
// The program sees none of it. Where it natively would have run out of memory, it still does.
#include "correct_back.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "correct.h"
#include "correct_pool.h"

enum {
    NEAR_BYTES = 4096, // a pointer so far beside an object may be meant for it
    LEAST_GRANULARITIES = 2,
    MOST_SPARE = 8,
    UNIT_BYTES = 512,         // of what the driver gives natively
    MOST_WAIT_NS = 500000000, // for the device, before an object goes
};

enum where { NOWHERE, ON_DEVICE, ON_HOST };

struct backing {
    uint64_t address;
    uint64_t bytes, size_bytes; // as asked for, and in whole granularities
    struct context *context;
    const struct plan_row *row;
    size_t last_use; // number of the row; 0: not known, or its free
    uint64_t seen;   // calls on that path since the allocation
    enum where where;
    bool over; // the last use has been
    bool stays;
    CUmemGenericAllocationHandle handle;
};

struct piece { // of the device's memory, without an address
    uint64_t size_bytes;
    CUmemGenericAllocationHandle handle;
};

static struct {
    _Atomic uint32_t live; // objects; anybody may look
    pthread_mutex_t lock;  // protects all below
    struct base_intervals at;
    uint32_t flying; // calls that may use the objects, and are with the driver just now
    uint32_t wanting;
    uint64_t from, to; // of those that are wanting, and near them
    struct piece spare[MOST_SPARE];
    unsigned spare_count;
    uint64_t spare_bytes;
    uint64_t granularity; // 0: not asked yet
    bool unfit;           // the driver, or the machine, cannot do this
    bool can_leave;       // the host's memory can stand in
    CUdevice device;
    int host_node;
    CUstream stream;           // for copies of our own
    struct context *of_stream; // its context
    uint64_t total_bytes;      // of all objects, as the program believes
    int64_t saved_bytes;       // of those that have no memory of the device's
} backs;

static struct backing *backing_at(const struct base_interval *found)
{
    return found ? (struct backing *)(uintptr_t)found->value : NULL; // NOLINT
}

static uint64_t native_bytes(const struct backing *backing)
{
    return (backing->bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
}

// --- What is counted -----------------------------------------------------------------------------

static void count_peaks(void)
{
    const int64_t now = (int64_t)backs.total_bytes - backs.saved_bytes + (int64_t)backs.spare_bytes;
    correct_count(NULL, EVENT_CORRECTION_PEAK_BYTES, now > 0 ? (uint64_t)now : 0);
    correct_count(NULL, EVENT_CORRECTION_NATIVE_PEAK_BYTES, backs.total_bytes);
}

// Where the objects lie that have no memory.
static void find_wanting(void)
{
    struct base_intervals_walk walk;
    const struct base_interval *it = base_intervals_first(&backs.at, &walk);
    backs.wanting = 0;
    backs.from = UINT64_MAX;
    backs.to = 0;
    for (; it; it = base_intervals_next(&walk)) {
        const struct backing *backing = backing_at(it);
        if (backing->where != NOWHERE)
            continue;
        backs.wanting++;
        if (backing->address - NEAR_BYTES < backs.from)
            backs.from = backing->address - NEAR_BYTES;
        if (backing->address + backing->size_bytes + NEAR_BYTES > backs.to)
            backs.to = backing->address + backing->size_bytes + NEAR_BYTES;
    }
}

static void place(struct backing *backing, enum where where)
{
    const bool was_saved = backing->where != ON_DEVICE, is_saved = where != ON_DEVICE;
    if (was_saved && !is_saved)
        backs.saved_bytes -= (int64_t)backing->bytes;
    else if (is_saved && !was_saved)
        backs.saved_bytes += (int64_t)backing->bytes;
    backing->where = where;
    find_wanting();
    count_peaks();
}

int64_t correct_back_more_bytes(uint32_t device)
{
    int64_t more = 0;
    if (!atomic_load(&backs.live) && !backs.spare_count)
        return 0;
    pthread_mutex_lock(&backs.lock);
    if ((uint32_t)backs.device + 1 == device) {
        struct base_intervals_walk walk;
        const struct base_interval *it = base_intervals_first(&backs.at, &walk);
        more = (int64_t)backs.spare_bytes;
        for (; it; it = base_intervals_next(&walk)) {
            const struct backing *backing = backing_at(it);
            more += backing->where == ON_DEVICE ? (int64_t)backing->size_bytes : 0;
            more -= (int64_t)native_bytes(backing);
        }
    }
    pthread_mutex_unlock(&backs.lock);
    return more;
}

// --- The device's memory -------------------------------------------------------------------------

static CUmemAllocationProp device_memory(void)
{
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                 .location = {CU_MEM_LOCATION_TYPE_DEVICE, backs.device}};
}

// What the machine can do, asked once. Its memory must be the only device's: that of others would
// have to be told who may see it.
static bool prepare(void)
{
    if (backs.granularity || backs.unfit)
        return !backs.unfit;
    int devices = 0, able = 0, host = 0, node = -1;
    size_t granularity = 0;
    backs.unfit = true;
    if (REAL(cuDeviceGetCount)(&devices) != CUDA_SUCCESS || devices != 1 ||
        REAL(cuCtxGetDevice)(&backs.device) != CUDA_SUCCESS ||
        REAL(cuDeviceGetAttribute)(&able, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
                                   backs.device) != CUDA_SUCCESS ||
        !able)
        return false;
    const CUmemAllocationProp prop = device_memory();
    if (REAL(cuMemGetAllocationGranularity)(&granularity, &prop,
                                            CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) != CUDA_SUCCESS ||
        !granularity)
        return false;
    REAL(cuDeviceGetAttribute)
    (&host, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, backs.device);
    REAL(cuDeviceGetAttribute)(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, backs.device);
    backs.can_leave = host;
    backs.host_node = node < 0 ? 0 : node;
    backs.granularity = granularity;
    backs.unfit = false;
    return true;
}

static CUresult map(uint64_t address, uint64_t size_bytes, CUmemGenericAllocationHandle handle)
{
    const CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, backs.device},
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult result = REAL(cuMemMap)(address, size_bytes, 0, handle, 0);
    if (result != CUDA_SUCCESS)
        return result;
    result = REAL(cuMemSetAccess)(address, size_bytes, &access, 1);
    if (result != CUDA_SUCCESS)
        REAL(cuMemUnmap)(address, size_bytes);
    return result;
}

static void release_spare(void)
{
    while (backs.spare_count)
        REAL(cuMemRelease)(backs.spare[--backs.spare_count].handle);
    backs.spare_bytes = 0;
}

// A piece that nothing is mapped to any more: the next object of its size has it.
static void spare(uint64_t size_bytes, CUmemGenericAllocationHandle handle)
{
    if (backs.spare_count == MOST_SPARE)
        release_spare();
    backs.spare[backs.spare_count++] = (struct piece){size_bytes, handle};
    backs.spare_bytes += size_bytes;
}

static bool take_spare(uint64_t size_bytes, CUmemGenericAllocationHandle *handle)
{
    for (unsigned i = 0; i < backs.spare_count; i++) {
        if (backs.spare[i].size_bytes != size_bytes)
            continue;
        *handle = backs.spare[i].handle;
        backs.spare[i] = backs.spare[--backs.spare_count];
        backs.spare_bytes -= size_bytes;
        return true;
    }
    return false;
}

// --- Into the host's memory ----------------------------------------------------------------------

static bool is_idle(const struct context *context)
{
    struct stream *streams[CALL_MOST_STREAMS];
    const size_t count = streams_of((struct context *)context, false, streams, CALL_MOST_STREAMS);
    bool idle = count < CALL_MOST_STREAMS;
    for (size_t i = 0; i < count && idle; i++) {
        const uint64_t enqueued = atomic_load(&streams[i]->enqueued);
        const bool own = !(streams[i]->flags & EVENT_STREAM_PER_THREAD) ||
                         streams[i]->thread == inject_thread.number;
        idle = enqueued == atomic_load(&streams[i]->idle) ||
               (own && !streams[i]->foreign &&
                REAL(cuStreamQuery)(streams[i]->handle) == CUDA_SUCCESS);
    }
    return idle;
}

// Waits a while until nothing runs that may use the objects. Not for good: what runs may wait for
// another thread, which waits for our lock.
static bool wait_until_idle(const struct context *context)
{
    const struct timespec pause = {0, 20000};
    const uint64_t start_ns = now_ns();
    while (!is_idle(context)) {
        if (now_ns() - start_ns > MOST_WAIT_NS)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

static bool has_stream(struct context *context)
{
    if (backs.of_stream != context) {
        backs.of_stream = NULL;
        if (REAL(cuStreamCreate)(&backs.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS)
            backs.of_stream = context;
    }
    return backs.of_stream == context;
}

// Copies the object's contents into other memory. False: nothing has changed.
static bool copy_out(const struct backing *backing, CUmemGenericAllocationHandle to)
{
    CUdeviceptr aside = 0;
    if (REAL(cuMemAddressReserve)(&aside, backing->size_bytes, 0, 0, 0) != CUDA_SUCCESS)
        return false;
    bool good = map(aside, backing->size_bytes, to) == CUDA_SUCCESS;
    if (good) {
        good = REAL(cuMemcpyDtoDAsync_v2)(aside, backing->address, backing->bytes, backs.stream) ==
                   CUDA_SUCCESS &&
               REAL(cuStreamSynchronize)(backs.stream) == CUDA_SUCCESS;
        REAL(cuMemUnmap)(aside, backing->size_bytes);
    }
    REAL(cuMemAddressFree)(aside, backing->size_bytes);
    return good;
}

// The object's memory is another from here on, with the same contents. False: it has stayed.
static bool move(struct backing *backing, enum where where)
{
    CUmemAllocationProp prop = device_memory();
    CUmemGenericAllocationHandle handle, old = backing->handle;
    if (where == ON_HOST)
        prop.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST_NUMA, backs.host_node};
    if (REAL(cuMemCreate)(&handle, backing->size_bytes, &prop, 0) != CUDA_SUCCESS)
        return false;
    if (!copy_out(backing, handle)) {
        REAL(cuMemRelease)(handle);
        return false;
    }
    REAL(cuMemUnmap)(backing->address, backing->size_bytes);
    if (map(backing->address, backing->size_bytes, handle) != CUDA_SUCCESS) {
        // The old one was mapped just now, and nothing has changed since.
        map(backing->address, backing->size_bytes, old);
        REAL(cuMemRelease)(handle);
        return false;
    }
    backing->handle = handle;
    if (where == ON_HOST)
        spare(backing->size_bytes, old);
    else
        REAL(cuMemRelease)(old);
    place(backing, where);
    return true;
}

// Objects whose last use has been leave, until so many bytes are free. The lock is held, and the
// thread's context is theirs.
static uint64_t send_away(struct context *context, uint64_t wanted_bytes)
{
    uint64_t gone_bytes = 0;
    bool idle = false;
    if (!backs.can_leave || backs.flying || !context)
        return 0;
    for (uint64_t at = 0; gone_bytes < wanted_bytes;) {
        struct backing *found = NULL;
        struct base_intervals_walk walk;
        const struct base_interval *it = base_intervals_first(&backs.at, &walk);
        for (; it && !found; it = base_intervals_next(&walk)) {
            struct backing *backing = backing_at(it);
            if (backing->address > at && backing->over && !backing->stays &&
                backing->where == ON_DEVICE && backing->context == context)
                found = backing;
        }
        if (!found)
            break;
        at = found->address;
        if (!idle && (!correct_pool_is_alone(context) || !has_stream(context) || !state_ask()))
            break;
        if (!idle) {
            idle = wait_until_idle(context);
            state_asked();
        }
        if (!idle)
            break;
        const bool gone = move(found, ON_HOST);
        correct_count(found->row, gone ? EVENT_CORRECTION_BYTES : EVENT_CORRECTION_LEFT,
                      gone ? found->bytes : 1);
        if (gone)
            gone_bytes += found->size_bytes;
    }
    return gone_bytes;
}

// --- Memory when it is needed --------------------------------------------------------------------

// A piece for the object: one that is left over, else a new one, for which what is left over of
// other sizes is given back, and what is no longer used goes away, so that the peak does not rise.
static CUresult create(struct context *context, uint64_t size_bytes,
                       CUmemGenericAllocationHandle *handle)
{
    const CUmemAllocationProp prop = device_memory();
    if (take_spare(size_bytes, handle))
        return CUDA_SUCCESS;
    send_away(context, size_bytes);
    if (take_spare(size_bytes, handle))
        return CUDA_SUCCESS;
    release_spare();
    CUresult result = REAL(cuMemCreate)(handle, size_bytes, &prop, 0);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && send_away(context, UINT64_MAX)) {
        release_spare();
        result = REAL(cuMemCreate)(handle, size_bytes, &prop, 0);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY && correct_pool_give_back())
        result = REAL(cuMemCreate)(handle, size_bytes, &prop, 0);
    return result;
}

// The object has memory, or the call is refused, which natively would not have come so far.
static void back(struct call *call, struct backing *backing)
{
    if (backing->where != NOWHERE)
        return;
    CUmemGenericAllocationHandle handle;
    CUresult result = create(call->current, backing->size_bytes, &handle);
    if (result == CUDA_SUCCESS) {
        result = map(backing->address, backing->size_bytes, handle);
        if (result != CUDA_SUCCESS)
            spare(backing->size_bytes, handle);
    }
    if (result == CUDA_SUCCESS) {
        backing->handle = handle;
        place(backing, ON_DEVICE);
    } else if (call->refused == CUDA_SUCCESS) {
        call->refused = result;
    }
}

bool correct_back_lock(void)
{
    if (!atomic_load_explicit(&backs.live, memory_order_acquire))
        return false;
    pthread_mutex_lock(&backs.lock);
    return true;
}

void correct_back_unlock(void)
{
    pthread_mutex_unlock(&backs.lock);
}

bool correct_back_is_wanting(void)
{
    return backs.wanting;
}

void correct_back_bounds(uint64_t *from, uint64_t *to)
{
    *from = backs.from;
    *to = backs.to;
}

void correct_back_use(struct call *call, uint64_t address, uint64_t bytes)
{
    struct base_intervals_walk walk;
    const uint64_t start = address - NEAR_BYTES;
    const struct base_interval *it =
        base_intervals_first_overlap(&backs.at, start, bytes + 2 * (uint64_t)NEAR_BYTES, &walk);
    for (; it; it = base_intervals_next(&walk)) // which backing does not change
        back(call, backing_at(it));
}

void correct_back_use_word(struct call *call, uint64_t word)
{
    if (word >= backs.from && word < backs.to)
        correct_back_use(call, word, 1);
}

void correct_back_use_all(struct call *call)
{
    struct base_intervals_walk walk;
    const struct base_interval *it = base_intervals_first(&backs.at, &walk);
    for (; it && backs.wanting; it = base_intervals_next(&walk))
        back(call, backing_at(it));
}

void correct_back_stay(uint64_t address)
{
    struct backing *backing = backing_at(base_intervals_find(&backs.at, address));
    if (backing)
        backing->stays = true;
}

void correct_back_stay_all(void)
{
    backs.can_leave = false;
}

void correct_back_seen(const struct plan_row *last_use)
{
    const size_t number = correct_row_number(last_use);
    struct base_intervals_walk walk;
    const struct base_interval *it = base_intervals_first(&backs.at, &walk);
    for (; it; it = base_intervals_next(&walk)) {
        struct backing *backing = backing_at(it);
        if (backing->last_use == number && ++backing->seen >= backing->row->numbers[1])
            backing->over = true;
    }
}

void correct_back_flies(struct call *call)
{
    call->flies = true;
    backs.flying++;
}

void correct_back_after(struct call *call)
{
    const bool counts = call->result == CUDA_SUCCESS && call->detail.alloc.object &&
                        (call->kind == EVENT_CALL_ALLOC || call->kind == EVENT_CALL_FREE) &&
                        call->hook != HOOK_cuMemAllocHost_v2 && call->hook != HOOK_cuMemHostAlloc &&
                        call->hook != HOOK_cuMemFreeHost;
    if (!backs.granularity || (!call->flies && !counts))
        return;
    pthread_mutex_lock(&backs.lock);
    backs.flying -= call->flies;
    if (counts && call->kind == EVENT_CALL_ALLOC)
        backs.total_bytes += call->detail.alloc.bytes;
    else if (counts && call->detail.alloc.bytes <= backs.total_bytes)
        backs.total_bytes -= call->detail.alloc.bytes;
    if (counts)
        count_peaks();
    pthread_mutex_unlock(&backs.lock);
}

// --- Allocation and free -------------------------------------------------------------------------

// Whether there would be so much memory natively. Exact where the driver's own count is.
static bool has_natively(uint64_t bytes, const struct context *context)
{
    size_t free_bytes = 0, total = 0;
    if (REAL(cuMemGetInfo_v2)(&free_bytes, &total) != CUDA_SUCCESS)
        return true;
    const int64_t more = correct_back_more_bytes(context->device);
    return (int64_t)free_bytes + (int64_t)correct_pool_kept_bytes(context->device) + more >=
           (int64_t)bytes;
}

// The row of the object's last use, where all rows of its path agree on it.
static size_t last_use_of(const struct plan_row *row)
{
    return correct_row_after(row) ? 0 : (size_t)row->numbers[0];
}

bool correct_back_allocates(const struct plan_row *row, CUdeviceptr *address, size_t bytes,
                            CUresult *result)
{
    const struct call *call = correct_call();
    if (!address || !call->current || atomic_load(&state.captures))
        return false;
    pthread_mutex_lock(&backs.lock);
    const bool fit = prepare() && bytes >= LEAST_GRANULARITIES * backs.granularity;
    const uint64_t granularity = backs.granularity;
    pthread_mutex_unlock(&backs.lock);
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
    if (!backing || REAL(cuMemAddressReserve)(&start, size_bytes, 0, 0, 0) != CUDA_SUCCESS) {
        free(backing);
        return false;
    }
    *backing = (struct backing){.address = start,
                                .bytes = bytes,
                                .size_bytes = size_bytes,
                                .context = call->current,
                                .row = row,
                                .last_use = last_use_of(row)};
    pthread_mutex_lock(&backs.lock);
    const bool entered = base_intervals_insert(&backs.at, start, size_bytes,
                                               (uint64_t)(uintptr_t)backing, NULL) == BASE_OK;
    if (entered) {
        atomic_fetch_add(&backs.live, 1);
        backs.saved_bytes += (int64_t)bytes;
        find_wanting();
    }
    pthread_mutex_unlock(&backs.lock);
    if (!entered) {
        REAL(cuMemAddressFree)(start, size_bytes);
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
    const struct call *call = correct_call();
    if (!call->current || !correct_back_lock())
        return true;
    const bool saving = backs.saved_bytes > 0;
    if (bytes >= LEAST_GRANULARITIES * backs.granularity && send_away(call->current, bytes))
        release_spare();
    correct_back_unlock();
    return !saving || has_natively(bytes, call->current);
}

bool correct_back_give_back(void)
{
    const struct call *call = correct_call();
    if (!backs.granularity || !call)
        return false;
    pthread_mutex_lock(&backs.lock);
    // The call that lacks memory is with the driver no longer.
    backs.flying -= call->flies;
    const bool any = send_away(call->current, UINT64_MAX) || backs.spare_count;
    backs.flying += call->flies;
    release_spare();
    count_peaks();
    pthread_mutex_unlock(&backs.lock);
    return any;
}

// What natively is waited for when memory is freed: all that the device has to do.
static CUresult wait_for_all(void)
{
    CUcontext contexts[16];
    size_t count = 0;
    CUresult result = CUDA_SUCCESS;
    correct_settle();
    pthread_mutex_lock(&state.lock);
    for (size_t i = 0; i < state.contexts.count && count < 16; i++) {
        const struct base_map_entry *entry = &state.contexts.entries[i];
        if (!entry->removed)
            contexts[count++] = ((const struct context *)(uintptr_t)entry->value)->handle; // NOLINT
    }
    pthread_mutex_unlock(&state.lock);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        CUcontext popped;
        if (REAL(cuCtxPushCurrent_v2)(contexts[i]) != CUDA_SUCCESS)
            continue;
        result = REAL(cuCtxSynchronize)();
        REAL(cuCtxPopCurrent_v2)(&popped);
    }
    return result;
}

// The lock is held, and nothing uses the object any more.
static void drop(struct backing *backing)
{
    if (backing->where != NOWHERE)
        REAL(cuMemUnmap)(backing->address, backing->size_bytes);
    if (backing->where == ON_DEVICE)
        spare(backing->size_bytes, backing->handle);
    else if (backing->where == ON_HOST)
        REAL(cuMemRelease)(backing->handle);
    REAL(cuMemAddressFree)(backing->address, backing->size_bytes);
    if (backing->where != ON_DEVICE)
        backs.saved_bytes -= (int64_t)backing->bytes;
    base_intervals_remove(&backs.at, backing->address, NULL);
    atomic_fetch_sub(&backs.live, 1);
    find_wanting();
    free(backing);
}

static struct backing *find(uint64_t address)
{
    struct backing *backing = NULL;
    if (correct_back_lock()) {
        backing = backing_at(base_intervals_find(&backs.at, address));
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
    // While it waited, another thread may have freed it.
    pthread_mutex_lock(&backs.lock);
    backing = backing_at(base_intervals_find(&backs.at, address));
    if (backing && backing->address == address)
        drop(backing);
    pthread_mutex_unlock(&backs.lock);
    return true;
}

bool correct_back_view(uint64_t address, struct correct_back_view *view)
{
    if (!correct_back_lock())
        return false;
    struct backing *backing = backing_at(base_intervals_find(&backs.at, address));
    if (backing) {
        struct call *call = correct_call();
        back(call, backing);
        *view = (struct correct_back_view){
            backing->address, address - backing->address < backing->bytes ? backing->bytes : 0,
            backing->context->handle};
    }
    correct_back_unlock();
    return backing != NULL;
}

// --- Beginning and end ---------------------------------------------------------------------------

void correct_back_start(void)
{
    memset(&backs, 0, sizeof(backs));
    pthread_mutex_init(&backs.lock, NULL);
    find_wanting();
}

void correct_back_context_gone(const struct context *context)
{
    if (!backs.granularity)
        return;
    pthread_mutex_lock(&backs.lock);
    struct base_interval *it = base_intervals_after(&backs.at, 0);
    while (it) {
        struct backing *backing = backing_at(it);
        const uint64_t at = backing->address;
        if (backing->context == context)
            drop(backing);
        it = base_intervals_after(&backs.at, at);
    }
    if (backs.of_stream == context)
        backs.of_stream = NULL;
    release_spare();
    pthread_mutex_unlock(&backs.lock);
}
