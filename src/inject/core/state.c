// SPDX-License-Identifier: Apache-2.0
// The one mutable state of libglint.so, meeting the recorder, and the process's beginning and end.
//
// A process meets the recorder at its first recorded call. It waits a few milliseconds at most:
// where the socket does not take the ring by then, nothing is recorded. The ring's pages are not
// inherited by fork; the page with the phase is, zeroed, so that a child finds itself new and
// starts over, leaving the parent's maps behind as they are. A child of vfork shares all, and only
// goes on to exec.
#include "state.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"
#include "gpu_time.h"
#include "inject/util/pool.h"
#include "program.h"

enum {
    RING_SLOTS = 1 << 18, // 16 MiB
    RING_FEW = 1 << 14,   // where address space is scarce
    RING_LEAST = 1 << 10,
    MOST_PROGRAM_BYTES = 1 << 16,
};

struct state state;
__thread struct thread_state inject_thread __attribute__((tls_model("initial-exec")));

bool state_wanted(void)
{
    static _Atomic int wanted; // 0: not looked yet, 1: no, 2: yes
    int known = atomic_load_explicit(&wanted, memory_order_relaxed);
    if (!known) {
        const char *path = getenv(EVENT_SOCKET_VARIABLE);
        known = path && *path ? 2 : 1;
        atomic_store_explicit(&wanted, known, memory_order_relaxed);
    }
    return known == 2;
}

// --- Meeting the recorder ------------------------------------------------------------------------

// Whether address space is limited: then it is for the program.
static bool is_scarce(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// The new ring, known to the recorder, as large as there is memory for; NULL where anything fails.
static struct event_ring *meet(void)
{
    const char *path = getenv(EVENT_SOCKET_VARIABLE);
    const uint32_t slots = is_scarce() ? RING_FEW : RING_SLOTS;
    size_t bytes;
    struct event_ring *ring = path ? event_ring_offer(path, slots, RING_LEAST, &bytes) : NULL;
    if (ring) {
        madvise(ring, bytes, MADV_DONTFORK);
        madvise(ring, bytes, MADV_DONTDUMP);
    }
    return ring;
}

static void announce(const struct door_driver *driver)
{
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    struct event_process process = {
        .version = EVENT_VERSION,
        .pid = getpid(),
        .parent = getppid(),
        .driver_version = (uint32_t)driver->version,
        .start_ns = now_ns(),
        .start_unix_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec,
        .simulated = driver->simulated,
        .timestamps = state.timestamps,
    };
    char *program = malloc(MOST_PROGRAM_BYTES);
    put(EVENT_PROCESS, &process, sizeof(process), program,
        program ? program_describe(program, MOST_PROGRAM_BYTES) : 0);
    free(program);
    for (int i = 0; i < HOOK_ROWS; i++) {
        struct event_name function = {(uint64_t)i + 1};
        if (!(hook_rows[i].how & HOOK_HIDDEN) || i >= HOOK_AND_USED_COUNT)
            put(EVENT_FUNCTION, &function, sizeof(function), hook_rows[i].symbol,
                strlen(hook_rows[i].symbol));
    }
}

static void collect(void)
{
    if (atomic_load(state.phase) != PHASE_ON)
        return;
    inject_thread.depth++;
    layers_finish();
    if (state.timestamps) // last: layers may take a while, and so more has happened
        gpu_time_finish();
    inject_thread.depth--;
}

// Alone: the phase is PHASE_STARTING, and other threads wait for its end. So nothing here may wait
// for them, as the loader might.
static bool start(const struct door_driver *driver)
{
    const size_t kept = offsetof(struct state, ring); // other threads look at the phase
    const uint32_t generation = state.generation + 1;
    pool_forget();
    memset((char *)&state + kept, 0, sizeof(state) - kept);
    state.generation = generation;
    atomic_store(&state.context_changes, (uint64_t)generation << 32);
    clock_prepare(&state.clock);
    pthread_mutex_init(&state.lock, NULL);
    pthread_mutex_init(&state.variables_lock, NULL);
    objects_init(&state.objects);
    const char *timestamps = getenv(EVENT_TIMESTAMPS_VARIABLE);
    state.simulated = driver->simulated;
    state.current = driver->current;
    state.timestamps = timestamps && strcmp(timestamps, "1") == 0;
    state.ring = meet();
    bool finishes = state.timestamps;
    if (state.ring) {
        announce(driver);
        finishes |= layers_start(driver);
    }
    // While the driver still answers: it is loaded by now, and leaves after what is registered now.
    static bool registered; // children inherit it
    if (state.ring && finishes && !registered)
        registered = atexit(collect) == 0;
    if (state.ring)
        state.stacks = stack_table_make(is_scarce());
    if (state.ring && !state.stacks)
        state_no_memory();
    return state.ring != NULL;
}

// --- Questions -----------------------------------------------------------------------------------

// Who comes while one turn is waited for begins in the other, so that this does not take forever.
void state_await_asking(void)
{
    for (uint32_t turn = 0; turn < 2; turn++) {
        while (atomic_load(&state.asking[turn])) {
            atomic_store(&state.turn, 1 - turn);
            sched_yield();
        }
    }
}

// --- Phases --------------------------------------------------------------------------------------

static void forked(void)
{
    layers_forked();
    atomic_store(state.phase, PHASE_NEW);
}

static void make_phase(void)
{
    static _Atomic int in_need; // where there is no memory at all: never on
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        atomic_store(&in_need, PHASE_OFF);
        state.phase = &in_need;
        return;
    }
    state.phase = page;
    // The kernel sees every way to fork; but emulators and sandboxes say that they do this and do
    // not, so the C library's way is seen to as well.
#ifdef MADV_WIPEONFORK
    madvise(page, bytes, MADV_WIPEONFORK);
#endif
    pthread_atfork(layers_before_fork, layers_after_fork, forked);
}

bool state_on_slowly(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int error = errno;
    pthread_once(&once, make_phase);
    const struct door_driver driver = state_wanted() ? door_prepare() : (struct door_driver){0};
    int phase = PHASE_NEW;
    if (atomic_compare_exchange_strong(state.phase, &phase, PHASE_STARTING)) {
        phase = state_wanted() && start(&driver) ? PHASE_ON : PHASE_OFF;
        atomic_store_explicit(state.phase, phase, memory_order_release);
    }
    // Another thread's first call: it takes as long as a few calls of the system.
    while (phase == PHASE_STARTING) {
        sched_yield();
        phase = atomic_load_explicit(state.phase, memory_order_acquire);
    }
    errno = error;
    return phase == PHASE_ON;
}

void state_note(enum event_severity severity, const char *text)
{
    struct event_note note = {severity};
    put(EVENT_NOTE, &note, sizeof(note), text, strlen(text));
}

void state_no_memory(void)
{
    if (!atomic_exchange(&state.no_memory, true))
        state_note(EVENT_ERROR, "glint found no more memory in the program: what is recorded from "
                                "here on has gaps");
}

__attribute__((constructor)) static void loaded(void)
{
    if (state_wanted())
        door_next_dlsym();
}

// Also at exit() in a child that has not made a call: then there is nothing to finish.
__attribute__((destructor)) static void finish(void)
{
    if (!state.phase || atomic_load(state.phase) != PHASE_ON)
        return;
    layers_ended();
    struct event_finish record = {.end_ns = now_ns(),
                                  .calls = atomic_load(&state.calls),
                                  .objects = atomic_load(&state.objects.made) -
                                             atomic_load(&state.objects_untold)};
    put(EVENT_FINISH, &record, sizeof(record), NULL, 0);
}
