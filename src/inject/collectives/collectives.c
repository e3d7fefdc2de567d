// SPDX-License-Identifier: Apache-2.0
// A collective is recorded as a call without duration, made before NCCL is entered, so that it
// precedes the driver's functions that NCCL calls in it; a record of its own has its times, its
// result and its arguments. It is known by its arguments which objects it may use: those between
// the addresses that this rank gives and gets. NCCL gives the work of a group to the GPU at the end
// of the group, so the call that ends the outermost group uses the objects of all calls in it, too.
#include "collectives.h"

#include <stdatomic.h>

#include "inject/core/call.h"
#include "inject/core/object_records.h"
#include "inject/util/imports.h"
#include "inject/util/lock.h"
#include "inject/util/next.h"

enum { MOST_OBJECTS = 32 }; // of a call, and of a group

struct used {
    uint64_t object;
    uint32_t flags; // EVENT_ACCESS_*
};

struct used_list {
    struct used items[MOST_OBJECTS];
    uint32_t count;
    bool incomplete;
};

// Initial-exec, as core_thread.
static __thread struct {
    bool inside;    // of a call of NCCL: those that it makes itself are passed on
    uint32_t depth; // of groups
    struct used_list group;
} thread __attribute__((tls_model("initial-exec")));

struct communicator {
    const void *handle;
    uint32_t number;
    int32_t rank, ranks; // -1: unknown
    bool asked;          // NCCL was asked, and need not be asked again
};

// All communicators of the process that exist.
static struct {
    struct util_lock lock; // protects the fields below
    uint32_t made;
    BASE_ARRAY(struct communicator) list;
} communicators;

// --- Communicators -------------------------------------------------------------------------------

static struct communicator *find_locked(const void *handle)
{
    for (size_t i = 0; i < communicators.list.count; i++) {
        if (communicators.list.items[i].handle == handle)
            return &communicators.list.items[i];
    }
    return NULL;
}

// A handle that is unknown, because the communicator was made in a way that is not hooked, becomes
// known now.
static struct communicator communicator_of(const void *handle)
{
    util_lock_take(&communicators.lock, RANK_COLLECTIVES);
    struct communicator *known = find_locked(handle);
    if (!known && handle) {
        known = base_array_push(&communicators.list);
        if (known)
            *known = (struct communicator){handle, ++communicators.made, -1, -1, false};
    }
    const struct communicator found =
        known ? *known : (struct communicator){NULL, 0, -1, -1, false};
    util_lock_give(&communicators.lock, RANK_COLLECTIVES);
    return found;
}

static void forget(const void *handle)
{
    util_lock_take(&communicators.lock, RANK_COLLECTIVES);
    struct communicator *known = find_locked(handle);
    if (known)
        *known = communicators.list.items[--communicators.list.count];
    util_lock_give(&communicators.lock, RANK_COLLECTIVES);
}

static struct communicator set(const void *handle, int rank, int ranks, bool asked)
{
    util_lock_take(&communicators.lock, RANK_COLLECTIVES);
    struct communicator *known = find_locked(handle), found = {NULL, 0, -1, -1, false};
    if (known) {
        known->rank = rank;
        known->ranks = ranks;
        known->asked = asked;
        found = *known;
    }
    util_lock_give(&communicators.lock, RANK_COLLECTIVES);
    return found;
}

// The handle may have belonged to a communicator that is gone.
static struct communicator make(const void *handle, int rank, int ranks)
{
    forget(handle);
    communicator_of(handle);
    return set(handle, rank, ranks, false);
}

// The functions of NCCL that describe a communicator, in the library of another of its functions.
struct queries {
    const void *beside;
    int (*count)(const void *comm, int *ranks);
    int (*user_rank)(const void *comm, int *rank);
};

static int find_queries(struct dl_phdr_info *info, size_t bytes, void *user)
{
    struct queries *queries = user;
    const uint64_t at = (uint64_t)(uintptr_t)queries->beside - info->dlpi_addr;
    (void)bytes;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || at - header->p_vaddr >= header->p_memsz)
            continue;
        queries->count = (__typeof__(queries->count))util_definition(info, "ncclCommCount");
        queries->user_rank =
            (__typeof__(queries->user_rank))util_definition(info, "ncclCommUserRank");
        return 1;
    }
    return 0;
}

// Asks NCCL for what is unknown of a communicator that is about to be used: the collective
// checks the handle in the same way. function: that of NCCL which is called next.
static struct communicator ask(struct communicator known, const void *function)
{
    if (!known.handle || known.asked || (known.rank >= 0 && known.ranks >= 0))
        return known;
    struct queries queries = {.beside = function};
    dl_iterate_phdr(find_queries, &queries);
    int rank = -1, ranks = -1;
    if (!queries.count || queries.count(known.handle, &ranks) != 0)
        ranks = -1;
    if (!queries.user_rank || queries.user_rank(known.handle, &rank) != 0)
        rank = -1;
    const bool sound = ranks > 0 && rank >= 0 && rank < ranks;
    const bool later = !sound && queries.count && queries.user_rank; // it may not be ready yet
    return set(known.handle, sound ? rank : -1, sound ? ranks : -1, !later);
}

// --- Objects -------------------------------------------------------------------------------------

static void use(struct used_list *list, uint64_t object, uint32_t flags)
{
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].object == object) {
            list->items[i].flags |= flags;
            return;
        }
    }
    if (list->count == MOST_OBJECTS)
        list->incomplete = true;
    else
        list->items[list->count++] = (struct used){object, flags};
}

// Adds the objects in the range, of which only the first is known if the size is not. Returns the
// first.
static uint64_t use_range(struct used_list *list, uint64_t address, uint64_t bytes, uint32_t flags)
{
    const uint64_t end = bytes == EVENT_UNKNOWN ? address + 1 : address + bytes;
    uint64_t first = 0;
    struct core_objects_piece piece;
    while (address < end && !list->incomplete &&
           core_objects_find_piece(&core_state.objects, address, &piece)) {
        first = first ? first : piece.object.number;
        use(list, piece.object.number, flags | EVENT_ACCESS_PASSED);
        address = piece.start + piece.bytes;
    }
    return first;
}

static void put_used(const struct core_call *call, const struct used_list *list)
{
    if (call->flags & EVENT_CALL_CAPTURED)
        return;
    for (uint32_t i = 0; i < list->count; i++)
        core_object_accessed(call->number, 0, list->items[i].object, list->items[i].flags, true);
    const struct event_told told = {.call = call->number, .doubts = 1u << EVENT_DOUBT_WORK};
    if (list->incomplete)
        core_put(EVENT_TOLD, &told, sizeof(told), NULL, 0);
}

// --- Calls ---------------------------------------------------------------------------------------

struct collective {
    struct core_call call;
    struct event_collective record;
    struct used_list used;
};

// Returns false if the call must only be passed on. function: of NCCL, if it uses the communicator.
static bool begin(struct collective *at, enum core_hook hook, const void *communicator,
                  const void *function, CUstream stream, struct stack_unwind_registers caller)
{
    if (thread.inside || core_thread.depth || !core_is_on())
        return false;
    if (stream != NO_STREAM && !core_context_current())
        stream = NO_STREAM;
    if (!core_call_begin(&at->call, hook, stream, caller))
        return false;
    core_call_tell(&at->call);
    at->call.flags |= EVENT_CALL_ASYNC;
    struct communicator known = communicator_of(communicator);
    if (function)
        known = ask(known, function);
    at->used.count = 0;
    at->used.incomplete = false;
    at->record = (struct event_collective){.count = EVENT_UNKNOWN,
                                           .sent_bytes = EVENT_UNKNOWN,
                                           .received_bytes = EVENT_UNKNOWN,
                                           .communicator = known.number,
                                           .rank = known.rank,
                                           .ranks = known.ranks,
                                           .peer = -1};
    return true;
}

// Records the call; NCCL is called next.
static void enter(struct collective *at)
{
    if (thread.depth) {
        for (uint32_t i = 0; i < at->used.count; i++)
            use(&thread.group, at->used.items[i].object, at->used.items[i].flags);
        thread.group.incomplete |= at->used.incomplete;
    }
    put_used(&at->call, &at->used);
    at->record.call = at->call.number;
    core_call_start(&at->call);
    core_call_stop(&at->call, CUDA_SUCCESS);
    core_call_end(&at->call);
    at->record.start_ns = core_now_ns();
    thread.inside = true;
}

static int leave(struct collective *at, int status)
{
    at->record.end_ns = core_now_ns();
    at->record.status = status;
    core_put(EVENT_COLLECTIVE, &at->record, sizeof(at->record), NULL, 0);
    thread.inside = false;
    return status;
}

// --- What a rank gives and gets ------------------------------------------------------------------

static uint64_t size_of(int type)
{
    static const uint8_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1}; // by NCCL's numbers
    return type >= 0 && type < (int)sizeof(sizes) ? sizes[type] : 0;
}

enum share { NOTHING, ONE, ALL }; // elements: the count, or as many for each rank

static uint64_t bytes_of(const struct collective *at, enum share share, size_t count, int type)
{
    const uint64_t size = size_of(type);
    if (!size || (share == ALL && at->record.ranks < 0))
        return EVENT_UNKNOWN;
    return size * count * (share == ALL ? (uint64_t)at->record.ranks : 1);
}

static void move(struct collective *at, const void *from, enum share given, void *to,
                 enum share got, size_t count, int type)
{
    struct event_collective *record = &at->record;
    record->count = count;
    record->type = size_of(type) ? (uint8_t)(type + 1) : 0;
    record->sent_bytes = record->received_bytes = 0;
    if (given != NOTHING) {
        record->from = (uint64_t)(uintptr_t)from;
        record->sent_bytes = bytes_of(at, given, count, type);
        record->from_object =
            use_range(&at->used, record->from, record->sent_bytes, EVENT_ACCESS_READ);
    }
    if (got != NOTHING) {
        record->to = (uint64_t)(uintptr_t)to;
        record->received_bytes = bytes_of(at, got, count, type);
        record->to_object =
            use_range(&at->used, record->to, record->received_bytes, EVENT_ACCESS_WRITTEN);
    }
}

// Of a collective with a root: what the root does, or the others. Whose rank is unknown may be
// the root.
static enum share if_root(const struct collective *at, int root, enum share share)
{
    return at->record.rank < 0 || at->record.rank == root ? share : NOTHING;
}

static enum share unless_root(const struct collective *at, int root, enum share share)
{
    return at->record.rank < 0 || at->record.rank != root ? share : NOTHING;
}

// --- The functions -------------------------------------------------------------------------------

struct unique_id { // passed by value
    char bytes[128];
};

// F(name, hook, parameters, arguments, what is moved). All have `comm` and `stream`.
#define FUNCTIONS(F)                                                                               \
    F(ncclAllGather, all_gather,                                                                   \
      (const void *from, void *to, size_t count, int type, void *comm, CUstream stream),           \
      (from, to, count, type, comm, stream), move(&at, from, ONE, to, ALL, count, type))           \
    F(ncclAllReduce, all_reduce,                                                                   \
      (const void *from, void *to, size_t count, int type, int op, void *comm, CUstream stream),   \
      (from, to, count, type, op, comm, stream), move(&at, from, ONE, to, ONE, count, type))       \
    F(ncclAlltoAll, all_to_all,                                                                    \
      (const void *from, void *to, size_t count, int type, void *comm, CUstream stream),           \
      (from, to, count, type, comm, stream), move(&at, from, ALL, to, ALL, count, type))           \
    F(ncclBcast, bcast, (void *to, size_t count, int type, int root, void *comm, CUstream stream), \
      (to, count, type, root, comm, stream), {                                                     \
          at.record.peer = root;                                                                   \
          move(&at, to, if_root(&at, root, ONE), to, unless_root(&at, root, ONE), count, type);    \
      })                                                                                           \
    F(ncclBroadcast, broadcast,                                                                    \
      (const void *from, void *to, size_t count, int type, int root, void *comm, CUstream stream), \
      (from, to, count, type, root, comm, stream), {                                               \
          at.record.peer = root;                                                                   \
          move(&at, from, if_root(&at, root, ONE), to, ONE, count, type);                          \
      })                                                                                           \
    F(ncclGather, gather,                                                                          \
      (const void *from, void *to, size_t count, int type, int root, void *comm, CUstream stream), \
      (from, to, count, type, root, comm, stream), {                                               \
          at.record.peer = root;                                                                   \
          move(&at, from, ONE, to, if_root(&at, root, ALL), count, type);                          \
      })                                                                                           \
    F(ncclRecv, receive,                                                                           \
      (void *to, size_t count, int type, int peer, void *comm, CUstream stream),                   \
      (to, count, type, peer, comm, stream), {                                                     \
          at.record.peer = peer;                                                                   \
          move(&at, NULL, NOTHING, to, ONE, count, type);                                          \
      })                                                                                           \
    F(ncclReduce, reduce,                                                                          \
      (const void *from, void *to, size_t count, int type, int op, int root, void *comm,           \
       CUstream stream),                                                                           \
      (from, to, count, type, op, root, comm, stream), {                                           \
          at.record.peer = root;                                                                   \
          move(&at, from, ONE, to, if_root(&at, root, ONE), count, type);                          \
      })                                                                                           \
    F(ncclReduceScatter, reduce_scatter,                                                           \
      (const void *from, void *to, size_t count, int type, int op, void *comm, CUstream stream),   \
      (from, to, count, type, op, comm, stream), move(&at, from, ALL, to, ONE, count, type))       \
    F(ncclScatter, scatter,                                                                        \
      (const void *from, void *to, size_t count, int type, int root, void *comm, CUstream stream), \
      (from, to, count, type, root, comm, stream), {                                               \
          at.record.peer = root;                                                                   \
          move(&at, from, if_root(&at, root, ALL), to, ONE, count, type);                          \
      })                                                                                           \
    F(ncclSend, send_to,                                                                           \
      (const void *from, size_t count, int type, int peer, void *comm, CUstream stream),           \
      (from, count, type, peer, comm, stream), {                                                   \
          at.record.peer = peer;                                                                   \
          move(&at, from, ONE, NULL, NOTHING, count, type);                                        \
      })

enum {
#define F(symbol, function, params, args, moved) FUNCTION_##function,
    FUNCTIONS(F)
#undef F
        FUNCTION_comm_abort,
    FUNCTION_comm_destroy,
    FUNCTION_comm_init_all,
    FUNCTION_comm_init_rank,
    FUNCTION_comm_init_rank_config,
    FUNCTION_comm_init_rank_scalable,
    FUNCTION_comm_shrink,
    FUNCTION_comm_split,
    FUNCTION_group_end,
    FUNCTION_group_start,
    FUNCTION_COUNT
};

#define F(symbol, function, params, args, moved) static int function params;
FUNCTIONS(F)
#undef F
static int comm_abort(void *comm);
static int comm_destroy(void *comm);
static int comm_init_all(void **comms, int count, const int *devices);
static int comm_init_rank(void **comm, int ranks, struct unique_id id, int rank);
static int comm_init_rank_config(void **comm, int ranks, struct unique_id id, int rank,
                                 void *config);
static int comm_init_rank_scalable(void **comm, int ranks, int rank, int ids, struct unique_id *id,
                                   void *config);
static int comm_shrink(void *comm, int *left_out, int count, void **made, void *config, int flags);
static int comm_split(void *comm, int color, int key, void **made, void *config);
static int group_end(void);
static int group_start(void);

static struct util_import functions[FUNCTION_COUNT] = {
#define F(symbol, function, params, args, moved) \
    [FUNCTION_##function] = {.name = #symbol, .hook = (void *)(function)},
    FUNCTIONS(F)
#undef F
        [FUNCTION_comm_abort] = {.name = "ncclCommAbort", .hook = (void *)comm_abort},
    [FUNCTION_comm_destroy] = {.name = "ncclCommDestroy", .hook = (void *)comm_destroy},
    [FUNCTION_comm_init_all] = {.name = "ncclCommInitAll", .hook = (void *)comm_init_all},
    [FUNCTION_comm_init_rank] = {.name = "ncclCommInitRank", .hook = (void *)comm_init_rank},
    [FUNCTION_comm_init_rank_config] = {.name = "ncclCommInitRankConfig",
                                        .hook = (void *)comm_init_rank_config},
    [FUNCTION_comm_init_rank_scalable] = {.name = "ncclCommInitRankScalable",
                                          .hook = (void *)comm_init_rank_scalable},
    [FUNCTION_comm_shrink] = {.name = "ncclCommShrink", .hook = (void *)comm_shrink},
    [FUNCTION_comm_split] = {.name = "ncclCommSplit", .hook = (void *)comm_split},
    [FUNCTION_group_end] = {.name = "ncclGroupEnd", .hook = (void *)group_end},
    [FUNCTION_group_start] = {.name = "ncclGroupStart", .hook = (void *)group_start},
};
static struct util_imports imports = {
    .items = functions, .count = FUNCTION_COUNT, .prefix = "nccl"};

#define REAL_NCCL(function)                                                              \
    ((__typeof__(&(function)))atomic_load_explicit(&functions[FUNCTION_##function].real, \
                                                   memory_order_acquire))

#define F(symbol, function, params, args, moved)                           \
    static int function params                                             \
    {                                                                      \
        struct collective at;                                              \
        const void *real = (const void *)REAL_NCCL(function);              \
        if (!begin(&at, HOOK_##symbol, comm, real, stream, UNWIND_CALLER)) \
            return REAL_NCCL(function) args;                               \
        moved;                                                             \
        enter(&at);                                                        \
        return leave(&at, REAL_NCCL(function) args);                       \
    }
FUNCTIONS(F)
#undef F

// --- Communicators and groups --------------------------------------------------------------------

enum { SUCCESS = 0, IN_PROGRESS = 7 }; // ncclResult_t

static void made(struct collective *at, int status, void *const *handle, int rank, int ranks)
{
    if ((status != SUCCESS && status != IN_PROGRESS) || !handle || !*handle)
        return;
    const struct communicator known = make(*handle, rank, ranks);
    at->record.communicator = known.number;
    at->record.rank = known.rank;
    at->record.ranks = known.ranks;
}

static int comm_init_rank(void **comm, int ranks, struct unique_id id, int rank)
{
    struct collective at;
    if (!begin(&at, HOOK_ncclCommInitRank, NULL, NULL, NO_STREAM, UNWIND_CALLER))
        return REAL_NCCL(comm_init_rank)(comm, ranks, id, rank);
    enter(&at);
    const int status = REAL_NCCL(comm_init_rank)(comm, ranks, id, rank);
    made(&at, status, comm, rank, ranks);
    return leave(&at, status);
}

static int comm_init_rank_config(void **comm, int ranks, struct unique_id id, int rank,
                                 void *config)
{
    struct collective at;
    if (!begin(&at, HOOK_ncclCommInitRankConfig, NULL, NULL, NO_STREAM, UNWIND_CALLER))
        return REAL_NCCL(comm_init_rank_config)(comm, ranks, id, rank, config);
    enter(&at);
    const int status = REAL_NCCL(comm_init_rank_config)(comm, ranks, id, rank, config);
    made(&at, status, comm, rank, ranks);
    return leave(&at, status);
}

static int comm_init_rank_scalable(void **comm, int ranks, int rank, int ids, struct unique_id *id,
                                   void *config)
{
    struct collective at;
    if (!begin(&at, HOOK_ncclCommInitRankScalable, NULL, NULL, NO_STREAM, UNWIND_CALLER))
        return REAL_NCCL(comm_init_rank_scalable)(comm, ranks, rank, ids, id, config);
    enter(&at);
    const int status = REAL_NCCL(comm_init_rank_scalable)(comm, ranks, rank, ids, id, config);
    made(&at, status, comm, rank, ranks);
    return leave(&at, status);
}

// The record has no communicator, because there are several.
static int comm_init_all(void **comms, int count, const int *devices)
{
    struct collective at;
    if (!begin(&at, HOOK_ncclCommInitAll, NULL, NULL, NO_STREAM, UNWIND_CALLER))
        return REAL_NCCL(comm_init_all)(comms, count, devices);
    enter(&at);
    const int status = REAL_NCCL(comm_init_all)(comms, count, devices);
    for (int i = 0; i < count && status == SUCCESS && comms; i++) {
        if (comms[i])
            make(comms[i], i, count);
    }
    return leave(&at, status);
}

// The ranks that stay keep their order.
static int comm_shrink(void *comm, int *left_out, int count, void **shrunk, void *config, int flags)
{
    struct collective at;
    if (!begin(&at, HOOK_ncclCommShrink, comm, NULL, NO_STREAM, UNWIND_CALLER))
        return REAL_NCCL(comm_shrink)(comm, left_out, count, shrunk, config, flags);
    enter(&at);
    int rank = at.record.rank, ranks = at.record.ranks < 0 ? -1 : at.record.ranks - count;
    for (int i = 0; i < count && rank >= 0; i++)
        rank -= left_out[i] < at.record.rank;
    const int status = REAL_NCCL(comm_shrink)(comm, left_out, count, shrunk, config, flags);
    if ((status == SUCCESS || status == IN_PROGRESS) && shrunk && *shrunk)
        make(*shrunk, rank, ranks);
    return leave(&at, status);
}

// How many ranks have the same color, only NCCL knows: it is asked when the communicator is used.
static int comm_split(void *comm, int color, int key, void **split, void *config)
{
    struct collective at;
    if (!begin(&at, HOOK_ncclCommSplit, comm, NULL, NO_STREAM, UNWIND_CALLER))
        return REAL_NCCL(comm_split)(comm, color, key, split, config);
    enter(&at);
    const int status = REAL_NCCL(comm_split)(comm, color, key, split, config);
    if ((status == SUCCESS || status == IN_PROGRESS) && split && *split)
        make(*split, -1, -1);
    return leave(&at, status);
}

// The handle is forgotten first: another thread may get the same one for a new communicator.
static int comm_destroy(void *comm)
{
    struct collective at;
    if (!begin(&at, HOOK_ncclCommDestroy, comm, NULL, NO_STREAM, UNWIND_CALLER))
        return REAL_NCCL(comm_destroy)(comm);
    enter(&at);
    forget(comm);
    return leave(&at, REAL_NCCL(comm_destroy)(comm));
}

static int comm_abort(void *comm)
{
    struct collective at;
    if (!begin(&at, HOOK_ncclCommAbort, comm, NULL, NO_STREAM, UNWIND_CALLER))
        return REAL_NCCL(comm_abort)(comm);
    enter(&at);
    forget(comm);
    return leave(&at, REAL_NCCL(comm_abort)(comm));
}

static int group_start(void)
{
    struct collective at;
    if (!begin(&at, HOOK_ncclGroupStart, NULL, NULL, NO_STREAM, UNWIND_CALLER))
        return REAL_NCCL(group_start)();
    enter(&at);
    const int status = REAL_NCCL(group_start)();
    if (status == SUCCESS && thread.depth++ == 0) {
        thread.group.count = 0;
        thread.group.incomplete = false;
    }
    return leave(&at, status);
}

static int group_end(void)
{
    struct collective at;
    if (!begin(&at, HOOK_ncclGroupEnd, NULL, NULL, NO_STREAM, UNWIND_CALLER))
        return REAL_NCCL(group_end)();
    if (thread.depth && --thread.depth == 0)
        at.used = thread.group;
    enter(&at);
    return leave(&at, REAL_NCCL(group_end)());
}

void collectives_look(void)
{
    util_imports_redirect(&imports);
}
