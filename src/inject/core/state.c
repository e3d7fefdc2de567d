// SPDX-License-Identifier: Apache-2.0
// The state of core, meeting the recorder, and the start and end of the process.
//
// A process meets the recorder at its first recorded call. It waits a few milliseconds at most: if
// the socket has not taken the ring by then, nothing is recorded. A child of fork does not inherit
// the ring's pages. It inherits the page with the phase, zeroed, so that it starts over; it
// abandons its copy of the parent's maps. A child of vfork shares everything, and only calls exec.
#include "state.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "driver.h"
#include "gpu_time.h"
#include "inject/util/pool.h"
#include "inject/util/settings.h"
#include "presence.h"
#include "program.h"

enum {
    RING_SLOTS = 1 << 18, // 16 MiB
    RING_FEW = 1 << 14,   // if address space is limited
    RING_LEAST = 1 << 10,
    MOST_PROGRAM_BYTES = 1 << 16,
};

struct core_state core_state = {.once = PTHREAD_ONCE_INIT};
__thread struct core_thread core_thread __attribute__((tls_model("initial-exec")));

bool core_is_wanted(void)
{
    int known = atomic_load_explicit(&core_state.wanted, memory_order_relaxed);
    if (!known) {
        const char *path = util_setting(EVENT_SOCKET_VARIABLE);
        known = path && *path ? 2 : 1;
        atomic_store_explicit(&core_state.wanted, known, memory_order_relaxed);
    }
    return known == 2;
}

// --- Meeting the recorder ------------------------------------------------------------------------

// Returns whether address space is limited. Most of it is then left to the program.
static bool is_scarce(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// Makes a ring, as large as memory allows, and gives it to the recorder; NULL: failed.
static struct event_ring *meet(void)
{
    const char *path = util_setting(EVENT_SOCKET_VARIABLE);
    const uint32_t slots = is_scarce() ? RING_FEW : RING_SLOTS;
    size_t bytes;
    enum event_refusal refusal;
    struct event_ring *ring =
        event_ring_offer(path, util_introduction(), slots, RING_LEAST, &bytes, &refusal);
    core_presence_meet(refusal, errno);
    if (ring) {
        madvise(ring, bytes, MADV_DONTFORK);
        madvise(ring, bytes, MADV_DONTDUMP);
    }
    return ring;
}

static void announce(const struct core_driver *driver)
{
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    struct event_process process = {
        .version = EVENT_VERSION,
        .pid = getpid(),
        .parent = getppid(),
        .driver_version = (uint32_t)driver->version,
        .start_ns = core_now_ns(),
        .start_unix_ns = (uint64_t)real.tv_sec * 1000000000u + (uint64_t)real.tv_nsec,
        .simulated = driver->simulated,
        .timestamps = core_state.timestamps,
    };
    char *program = malloc(MOST_PROGRAM_BYTES);
    core_put(EVENT_PROCESS, &process, sizeof(process), program,
             program ? core_program_describe(program, MOST_PROGRAM_BYTES) : 0);
    free(program);
    for (int i = 0; i < HOOK_ROWS; i++) {
        struct event_name function = {(uint64_t)i + 1};
        if (!(core_hook_rows[i].how & HOOK_HIDDEN) || i >= HOOK_AND_USED_COUNT)
            core_put(EVENT_FUNCTION, &function, sizeof(function), core_hook_rows[i].symbol,
                     strlen(core_hook_rows[i].symbol));
    }
}

static void collect(void)
{
    if (atomic_load(core_state.phase) != PHASE_ON)
        return;
    core_thread.depth++;
    core_layers_finish();
    core_note_fault();
    if (core_state.timestamps) // last, because more events have happened by then
        core_gpu_time_finish();
    core_thread.depth--;
}

// Only one thread runs this: the phase is PHASE_STARTING, and other threads wait until it changes.
// So nothing here may wait for other threads, as the loader might.
static bool start(const struct core_driver *driver)
{
    const size_t kept = offsetof(struct core_state, ring); // other threads read the phase
    const uint32_t generation = core_state.generation + 1;
    core_presence_call();
    util_pool_forget();
    memset((char *)&core_state + kept, 0, sizeof(core_state) - kept);
    core_state.generation = generation;
    atomic_store(&core_state.context_changes, (uint64_t)generation << 32);
    util_clock_prepare(&core_state.clock);
    pthread_mutex_init(&core_state.lock, NULL);
    pthread_mutex_init(&core_state.variables_lock, NULL);
    core_objects_init(&core_state.objects);
    const char *timestamps = util_setting(EVENT_TIMESTAMPS_VARIABLE);
    core_state.simulated = driver->simulated;
    core_state.current = driver->current;
    core_state.fault = driver->fault;
    core_state.timestamps = timestamps && strcmp(timestamps, "1") == 0;
    core_state.ring = meet();
    bool finishes = core_state.timestamps;
    if (core_state.ring) {
        announce(driver);
        finishes |= core_layers_start(driver);
    }
    // Registered while the driver is loaded: its exit handlers were registered earlier, so they run
    // later.
    if (core_state.ring && finishes && !core_state.finishes)
        core_state.finishes = atexit(collect) == 0;
    if (core_state.ring)
        core_state.stacks = stack_table_make(is_scarce());
    if (core_state.ring && !core_state.stacks)
        core_no_memory();
    return core_state.ring != NULL;
}

// --- Questions -----------------------------------------------------------------------------------

// Threads that arrive while this waits for one turn begin in the other, so the wait ends.
void core_await_asking(void)
{
    for (uint32_t turn = 0; turn < 2; turn++) {
        while (atomic_load(&core_state.asking[turn])) {
            atomic_store(&core_state.turn, 1 - turn);
            sched_yield();
        }
    }
}

// --- Phases --------------------------------------------------------------------------------------

static void forked(void)
{
    util_ranks_forget();
    core_layers_forked();
    atomic_store(core_state.phase, PHASE_NEW);
}

static void make_phase(void)
{
    const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        core_presence_call();
        core_presence_meet(EVENT_REFUSED_MEMORY, ENOMEM);
        atomic_store(&core_state.no_phase, PHASE_OFF);
        core_state.phase = &core_state.no_phase;
        return;
    }
    core_state.phase = page;
    // The kernel sees every kind of fork. But emulators and sandboxes accept the advice and ignore
    // it, so fork of the C library is handled as well.
#ifdef MADV_WIPEONFORK
    madvise(page, bytes, MADV_WIPEONFORK);
#endif
    pthread_atfork(core_layers_before_fork, core_layers_after_fork, forked);
}

bool core_on_slowly(void)
{
    int error = errno;
    pthread_once(&core_state.once, make_phase);
    const struct core_driver driver =
        core_is_wanted() ? core_driver_prepare() : (struct core_driver){0};
    int phase = PHASE_NEW;
    if (atomic_compare_exchange_strong(core_state.phase, &phase, PHASE_STARTING)) {
        phase = core_is_wanted() && start(&driver) ? PHASE_ON : PHASE_OFF;
        atomic_store_explicit(core_state.phase, phase, memory_order_release);
    }
    // Another thread's first call is meeting the recorder, which takes as long as a few system
    // calls.
    while (phase == PHASE_STARTING) {
        sched_yield();
        phase = atomic_load_explicit(core_state.phase, memory_order_acquire);
    }
    errno = error;
    return phase == PHASE_ON;
}

void core_note(enum event_severity severity, const char *text)
{
    struct event_note note = {severity};
    core_put(EVENT_NOTE, &note, sizeof(note), text, strlen(text));
}

void core_note_fault(void)
{
    char note[1200];
    const char *text = core_state.fault ? core_state.fault() : NULL;
    if (!text || atomic_exchange(&core_state.fault_noted, true))
        return;
    snprintf(note, sizeof(note), FACTS_FAULT_NOTE "%s", text);
    core_note(EVENT_INFO, note); // the simulated GPU has printed it
}

void core_no_memory(void)
{
    if (!atomic_exchange(&core_state.no_memory, true))
        core_note(EVENT_ERROR,
                  "glint ran out of memory in the program: the recording has gaps from here on");
}

__attribute__((constructor)) static void loaded(void)
{
    const int error = errno; // the program's, which is 0 when it starts
    util_settings_keep();
    if (core_is_wanted()) {
        core_presence_begin();
        core_driver_next_dlsym();
    }
    errno = error;
}

// Also runs at exit() in a child that has made no call, which has nothing to finish.
__attribute__((destructor)) static void finish(void)
{
    core_presence_end();
    if (!core_state.phase || atomic_load(core_state.phase) != PHASE_ON)
        return;
    core_layers_ended();
    struct event_finish record = {.end_ns = core_now_ns(),
                                  .calls = atomic_load(&core_state.calls),
                                  .objects = atomic_load(&core_state.objects.made) -
                                             atomic_load(&core_state.objects_untold)};
    core_put(EVENT_FINISH, &record, sizeof(record), NULL, 0);
}
