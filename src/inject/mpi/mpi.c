// SPDX-License-Identifier: Apache-2.0
// Functions of MPI that get memory of the program. MPI may let other processes read and write it,
// and their accesses fail on closed pages, as those of the system do. So glint opens the memory
// before the call, records it as used, and does not close it while MPI uses it (guard/flight.c, if
// that is longer than the call).
//
// All arguments fit into a register, including handles, which are ints in some MPIs and pointers in
// others, so glint passes them on unchanged. It asks MPI for the size of data. MPI's Fortran
// functions call those in C, by either of their names.
//
// This is all of libglint-mpi.so, which is loaded only if the program is linked with MPI: a program
// that tests whether there is MPI must find none if there is none. glint looks up the real
// functions when its own are called, and dlsym() returns glint's only if there are real ones.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject/hooks/inside.h"
#include "inject/util/next.h"

enum mpi_how { ENDS, REQUEST, AGAIN, OUTLIVES, GOOD, COMPLETE, COMPLETE_ALL, START, FREE, MAP };

struct row {
    enum mpi_how how;
    const char *arguments;
};

enum { MOST_PIECES = 3 };

// One call, from before MPI's function until after it.
struct passing {
    const struct row *row;
    bool wide;      // its counts are MPI_Count, not int
    long *argument; // the arguments, as they are passed on
    struct stack_unwind_registers caller;
    unsigned count;
    struct mpi_piece {
        uint64_t low, high; // low 1: all memory
    } pieces[MOST_PIECES];
    struct guard_hold *guards[MOST_PIECES];
    struct guard_flight *flights[MOST_PIECES];
    uint64_t request; // the handle that MPI writes, in place of the program's variable
    void *wanted;     // address of that variable
    uint32_t mark;    // mark of the flights that the call may complete
    unsigned marked;
};

static const uint64_t unwritten = UINT64_C(0xA5A5A5A5A5A5A5A5);

static struct {
    // What libglint.so does for this library; NULL: pass all on. Written once, by the constructor.
    const struct hooks_inside *_Atomic joined;
    _Atomic uint32_t request_bytes; // of a handle; 0: none was seen yet
    _Atomic uint32_t marks;
} mpi;

static const struct hooks_inside *in(void)
{
    return atomic_load_explicit(&mpi.joined, memory_order_acquire);
}

static const void *as_pointer(long value)
{
    return (const void *)value; // NOLINT(performance-no-int-to-ptr)
}

// --- Finding the memory --------------------------------------------------------------------------

struct mpi_extent {
    int64_t each;        // bytes from one to the next
    int64_t low, within; // offset and size of the data in one element
};

static bool ask_extent(long type, struct mpi_extent *extent)
{
    int (*const each)(long, long *, long *) =
        NEXT(PMPI_Type_get_extent, int (*)(long, long *, long *));
    int (*const within)(long, long *, long *) =
        NEXT(PMPI_Type_get_true_extent, int (*)(long, long *, long *));
    long first, bytes, low, inner;
    if (!each || !within || each(type, &first, &bytes) || within(type, &low, &inner))
        return false;
    *extent = (struct mpi_extent){bytes, low, inner};
    return true;
}

struct group {
    int size, rank;
};

// Returns false for intercommunicators, whose memory is not described.
static bool ask_group(long communicator, struct group *group)
{
    int (*const size)(long, int *) = NEXT(PMPI_Comm_size, int (*)(long, int *));
    int (*const rank)(long, int *) = NEXT(PMPI_Comm_rank, int (*)(long, int *));
    int (*const is_inter)(long, int *) = NEXT(PMPI_Comm_test_inter, int (*)(long, int *));
    int inter;
    return size && rank && is_inter && !is_inter(communicator, &inter) && !inter &&
           !size(communicator, &group->size) && !rank(communicator, &group->rank);
}

// Adds `count` elements, beginning `at` elements after the address. Addresses wrap, because data
// may lie before its address.
static void add_items(struct mpi_piece *piece, uint64_t buffer, int64_t at, int64_t count,
                      const struct mpi_extent *extent)
{
    if (count <= 0 || !extent->within)
        return;
    const uint64_t step = (uint64_t)extent->each,
                   first = buffer + (uint64_t)at * step + (uint64_t)extent->low;
    const uint64_t last = first + (uint64_t)(count - 1) * step;
    const uint64_t low = extent->each < 0 ? last : first;
    const uint64_t high = (extent->each < 0 ? first : last) + (uint64_t)extent->within;
    if (!piece->high || low < piece->low)
        piece->low = low;
    if (high > piece->high)
        piece->high = high;
}

// The arguments since the last datatype, which describe the buffers.
struct mpi_told {
    unsigned first; // index of the first of these pieces
    uint64_t buffers[MOST_PIECES];
    int64_t count;
    const void *counts, *displacements; // by process; NULL: none
};

static int64_t item(const void *items, int i, bool wide)
{
    return wide ? ((const int64_t *)items)[i] : ((const int *)items)[i];
}

static void span(const struct passing *passing, const struct mpi_told *reported, uint64_t buffer,
                 const struct mpi_extent *extent, int processes, struct mpi_piece *piece)
{
    int64_t sum = 0;
    if (!reported->counts) {
        add_items(piece, buffer, 0, reported->count, extent);
        return;
    }
    for (int i = 0; i < processes; i++) {
        const int64_t count = item(reported->counts, i, passing->wide);
        if (reported->displacements)
            add_items(piece, buffer, item(reported->displacements, i, passing->wide), count,
                      extent);
        else
            sum += count;
    }
    add_items(piece, buffer, 0, sum, extent);
}

// Returns true for MPI_IN_PLACE, and for a buffer that only the root has. The arguments that
// describe such a buffer may be invalid.
static bool is_none(uint64_t buffer)
{
    return buffer + 1 <= 2 && buffer;
}

static bool describe_typed(struct passing *passing, const struct mpi_told *reported, long type,
                           int processes)
{
    struct mpi_extent extent;
    bool any = false;
    for (unsigned i = reported->first; i < passing->count; i++)
        any |= !is_none(reported->buffers[i]) && (reported->counts || reported->count > 0);
    if (!any)
        return true;
    if (!ask_extent(type, &extent))
        return false;
    for (unsigned i = reported->first; i < passing->count; i++)
        if (!is_none(reported->buffers[i]))
            span(passing, reported, reported->buffers[i], &extent, processes, &passing->pieces[i]);
    return true;
}

// Returns false if the memory cannot be described.
static bool describe(struct passing *passing)
{
    const char *letters = passing->row->arguments;
    const char *root = strchr(letters, 'r'), *communicator = strchr(letters, 'c');
    struct mpi_told reported = {.count = 1};
    struct group group = {1, 0};
    if (letters[0] == '*' || (communicator && strpbrk(letters, "BNv") &&
                              !ask_group(passing->argument[communicator - letters], &group)))
        return false;
    const bool is_root = !root || (int)passing->argument[root - letters] == group.rank;
    for (unsigned i = 0; letters[i]; i++) {
        const long value = passing->argument[i];
        const int64_t number = passing->wide ? value : (int)value;
        switch (letters[i]) {
        case 'B':
        case 'b':
            reported.buffers[passing->count++] =
                letters[i] == 'b' || is_root ? (uint64_t)value : UINT64_MAX;
            break;
        case 'n': reported.count = number; break;
        case 'N': reported.count = number * group.size; break;
        case 'v': reported.counts = as_pointer(value); break;
        case 'd': reported.displacements = as_pointer(value); break;
        case 't':
            if (!describe_typed(passing, &reported, value, group.size))
                return false;
            reported = (struct mpi_told){.first = passing->count, .count = 1};
            break;
        case 'z':
        case 'Z':
            add_items(&passing->pieces[reported.first], reported.buffers[reported.first], 0,
                      letters[i] == 'Z' ? value : number, &(struct mpi_extent){1, 0, 1});
            reported = (struct mpi_told){.first = passing->count, .count = 1};
            break;
        default: break;
        }
    }
    return true;
}

// --- Handing memory over -------------------------------------------------------------------------

static void open_piece(uint64_t low, uint64_t high, void *passing)
{
    if (low <= 1)
        in()->open_all();
    else
        in()->open(low, high, ((const struct passing *)passing)->caller);
}

static void hand_over(struct passing *passing)
{
    static const enum guard_flight_kind kinds[] = {[REQUEST] = GUARD_FLIGHT_ONCE,
                                                   [OUTLIVES] = GUARD_FLIGHT_LOOSE,
                                                   [AGAIN] = GUARD_FLIGHT_AGAIN,
                                                   [GOOD] = GUARD_FLIGHT_GOOD};
    const enum mpi_how how = passing->row->how;
    if (!describe(passing)) {
        passing->count = 1;
        passing->pieces[0] = (struct mpi_piece){1, UINT64_MAX};
    }
    for (unsigned i = 0; i < passing->count; i++) {
        const struct mpi_piece *piece = &passing->pieces[i];
        if (piece->low >= piece->high)
            continue;
        if (how == ENDS)
            passing->guards[i] = in()->take_guard(piece->low, piece->high);
        else
            passing->flights[i] = in()->flight_begin(piece->low, piece->high, kinds[how]);
        if (how != AGAIN)
            open_piece(piece->low, piece->high, passing);
    }
    if (how != REQUEST && how != AGAIN)
        return;
    // MPI writes its handle to a variable of glint, which shows how large a handle is.
    long *last = &passing->argument[strlen(passing->row->arguments) - 1];
    passing->wanted = (void *)as_pointer(*last);
    if (passing->wanted)
        *last = (long)(uintptr_t)&passing->request;
}

static void take_request(struct passing *passing, bool good)
{
    const uint64_t request = passing->request;
    const bool large = request >> 32 != unwritten >> 32;
    const size_t bytes = large ? sizeof(uint64_t) : sizeof(uint32_t);
    if (passing->wanted && (good || request != unwritten)) {
        memcpy(passing->wanted, &request, bytes);
        atomic_store_explicit(&mpi.request_bytes, (uint32_t)bytes, memory_order_relaxed);
    }
    if (good && passing->wanted) {
        in()->flight_name(passing->flights, passing->count, large ? request : (uint32_t)request);
        return;
    }
    for (unsigned i = 0; i < passing->count; i++)
        if (passing->flights[i])
            in()->flight_end(passing->flights[i]);
}

// --- Requests ------------------------------------------------------------------------------------

struct requests {
    const char *first;
    long count;
    size_t bytes; // each; 0: there was none yet
};

static struct requests requests_of(const struct passing *passing)
{
    const bool several = passing->row->arguments[0] == 'n';
    return (struct requests){as_pointer(passing->argument[several]),
                             several ? (int)passing->argument[0] : 1,
                             atomic_load_explicit(&mpi.request_bytes, memory_order_relaxed)};
}

static uint64_t request_at(const struct requests *requests, long i)
{
    uint64_t request = 0;
    memcpy(&request, requests->first + (size_t)i * requests->bytes, requests->bytes);
    return request;
}

static void each_request(struct passing *passing)
{
    const struct requests requests = requests_of(passing);
    if (!requests.bytes || !requests.first)
        return;
    if (passing->row->how == COMPLETE || passing->row->how == COMPLETE_ALL)
        while (!passing->mark)
            passing->mark = atomic_fetch_add(&mpi.marks, 1);
    for (long i = 0; i < requests.count; i++) {
        const uint64_t request = request_at(&requests, i);
        if (passing->row->how == FREE)
            in()->flight_free(request);
        else if (passing->row->how != START)
            passing->marked += in()->flight_mark(request, 0, passing->mark);
        else if (!in()->flight_start(request, open_piece, passing))
            in()->open_all();
    }
}

// Removes completed flights. Flights of persistent requests stay.
static void end_requests(struct passing *passing, bool good)
{
    const struct requests requests = requests_of(passing);
    const bool all = passing->row->how == COMPLETE_ALL && good;
    for (long i = 0; !all && passing->marked && i < requests.count; i++)
        passing->marked -= in()->flight_mark(request_at(&requests, i), passing->mark, 0);
    if (passing->marked)
        in()->flight_end_marked(passing->mark);
}

// --- The functions -------------------------------------------------------------------------------

static void before(struct passing *passing)
{
    switch (passing->row->how) {
    case COMPLETE:
    case COMPLETE_ALL:
    case START:
    case FREE: each_request(passing); break;
    case MAP: break;
    default: hand_over(passing); break;
    }
}

static void after(struct passing *passing, bool good)
{
    switch (passing->row->how) {
    case ENDS:
        for (unsigned i = 0; i < passing->count; i++)
            if (passing->pieces[i].low < passing->pieces[i].high)
                in()->give_guard(passing->guards[i]);
        break;
    case REQUEST:
    case AGAIN: take_request(passing, good); break;
    case COMPLETE:
    case COMPLETE_ALL:
        if (passing->marked)
            end_requests(passing, good);
        break;
    case MAP:
        if (good && passing->argument[0] > 0 && passing->argument[4]) {
            const uint64_t low = *(const uint64_t *)as_pointer(passing->argument[4]);
            in()->flight_begin(low, low + (uint64_t)passing->argument[0], GUARD_FLIGHT_GOOD);
        }
        break;
    default: break;
    }
}

// Ends the program, because it calls a function that no MPI library has. Without glint, the loader
// would have ended it.
static __attribute__((noreturn, noinline)) void end_without(const char *name)
{
    static const char why[] = "glint: the program has no MPI library, and calls ";
    const bool said = write(STDERR_FILENO, why, sizeof(why) - 1) > 0 &&
                      write(STDERR_FILENO, name, strlen(name)) > 0 &&
                      write(STDERR_FILENO, "\n", 1) > 0;
    (void)said;
    abort();
}

#define WITH_1(f)  f(0)
#define WITH_2(f)  WITH_1(f), f(1)
#define WITH_3(f)  WITH_2(f), f(2)
#define WITH_4(f)  WITH_3(f), f(3)
#define WITH_5(f)  WITH_4(f), f(4)
#define WITH_6(f)  WITH_5(f), f(5)
#define WITH_7(f)  WITH_6(f), f(6)
#define WITH_8(f)  WITH_7(f), f(7)
#define WITH_9(f)  WITH_8(f), f(8)
#define WITH_10(f) WITH_9(f), f(9)
#define WITH_11(f) WITH_10(f), f(10)
#define WITH_12(f) WITH_11(f), f(11)
#define WITH_13(f) WITH_12(f), f(12)
#define TYPED(i)   long a##i
#define NAMED(i)   a##i
#define PLACED(i)  argument[i]

#define STANDS(count, symbol, large, how, arguments)                                         \
    int mpi_##symbol(WITH_##count(TYPED)) __asm__(#symbol);                                  \
    int mpi_##symbol(WITH_##count(TYPED))                                                    \
    {                                                                                        \
        static const struct row row = {how, arguments};                                      \
        _Static_assert(sizeof(arguments) == (count) + 1, "each argument has a letter");      \
        int (*const next)(WITH_##count(TYPED)) = NEXT(symbol, int (*)(WITH_##count(TYPED))); \
        if (__builtin_expect(!next, 0))                                                      \
            end_without(#symbol);                                                            \
        if (!in())                                                                           \
            return next(WITH_##count(NAMED));                                                \
        long argument[] = {WITH_##count(NAMED)};                                             \
        struct passing passing = {.row = &row,                                               \
                                  .wide = (large),                                           \
                                  .argument = argument,                                      \
                                  .caller = UNWIND_CALLER,                                   \
                                  .request = unwritten};                                     \
        before(&passing);                                                                    \
        const int result = next(WITH_##count(PLACED));                                       \
        after(&passing, result == 0);                                                        \
        return result;                                                                       \
    }

#pragma GCC visibility push(default)
#define ROW(count, name, how, arguments)             \
    STANDS(count, MPI_##name, false, how, arguments) \
    STANDS(count, PMPI_##name, false, how, arguments)
#define SIZED(count, name, how, arguments)              \
    ROW(count, name, how, arguments)                    \
    STANDS(count, MPI_##name##_c, true, how, arguments) \
    STANDS(count, PMPI_##name##_c, true, how, arguments)
#include "mpi.def"
#pragma GCC visibility pop

// --- Joining libglint.so -------------------------------------------------------------------------

static void *find(const char *name)
{
#define LISTED(symbol)                   {#symbol, (void *)(uintptr_t)mpi_##symbol},
#define ROW(count, name, how, arguments) LISTED(MPI_##name) LISTED(PMPI_##name)
#define SIZED(count, name, how, arguments) \
    ROW(count, name, how, arguments) LISTED(MPI_##name##_c) LISTED(PMPI_##name##_c)
    static const struct {
        const char *name;
        void *function;
    } functions[] = {
#include "mpi.def"
    };
    if (strncmp(name, "MPI_", 4) != 0 && strncmp(name, "PMPI_", 5) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (strcmp(functions[i].name, name) == 0)
            return functions[i].function;
    return NULL;
}

__attribute__((constructor)) static void join(void)
{
    static const struct guard_outer_mpi outer = {.find = find, .next = util_next};
    const struct hooks_inside *(*const ask)(uint32_t, const struct guard_outer_mpi *) =
        (const struct hooks_inside *(*)(uint32_t, const struct guard_outer_mpi *))util_next(
            "glint_v1_join_mpi");
    atomic_store_explicit(&mpi.joined, ask ? ask(INSIDE_VERSION, &outer) : NULL,
                          memory_order_release);
}
