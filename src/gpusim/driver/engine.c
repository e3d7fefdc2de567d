// SPDX-License-Identifier: Apache-2.0
// The engine: streams are queues of commands, and workers take streams whose next command can
// start. A command starts when its predecessor in the stream and all commands it waits for are
// done; op.c executes it.
//
// The engine also keeps the simulated clock. A command starts at the latest of its stream's time,
// the ends of the commands it waited for and the time of its submission, whatever the order in
// which threads ran them. So times do not depend on the load of the machine.
#include <stdlib.h>
#include <time.h>

#include "context.h"
#include "driver.h"
#include "op.h"
#include "stream.h"

enum {
    MAX_WORKERS = 128, // a real device runs as many kernels at once
    SUBMIT_COST_NS = 1000,
};

void driver_hold(struct driver_command *command)
{
    command->references++;
}

static void forget_stream(struct driver_stream *stream)
{
    if (--stream->references == 0)
        driver_stream_free(stream);
}

static void drop_waits(struct driver_command *command)
{
    for (size_t i = 0; i < command->wait_count; i++)
        driver_release(command->waits[i]);
    free(command->waits);
    command->waits = NULL;
    command->wait_count = 0;
}

void driver_release(struct driver_command *command)
{
    if (!command || --command->references)
        return;
    drop_waits(command);
    free(command);
}

static bool can_start(const struct driver_command *command)
{
    for (size_t i = 0; i < command->wait_count; i++)
        if (!command->waits[i]->done)
            return false;
    return true;
}

static void set_blocked(struct driver_stream *stream, bool blocked)
{
    if (stream->is_blocked == blocked)
        return;
    stream->is_blocked = blocked;
    driver.blocked += blocked ? 1 : -1;
}

static void *work(void *unused);

static void start_worker(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (sim_thread_create(&thread, &attributes, work, NULL) == 0)
        driver.workers++;
    pthread_attr_destroy(&attributes);
}

// Puts the stream on the ready list if its first command can start. Higher priorities (lower
// numbers) come first.
static void kick(struct driver_stream *stream)
{
    if (stream->running || stream->queued || stream->delayed || !stream->head)
        return;
    bool ready = can_start(stream->head);
    set_blocked(stream, !ready);
    if (!ready)
        return;
    struct driver_stream **at = &driver.ready;
    while (*at && (*at)->priority <= stream->priority)
        at = &(*at)->next_ready;
    stream->next_ready = *at;
    *at = stream;
    stream->queued = true;
    if (driver.idle_workers)
        pthread_cond_signal(&driver.work);
    else if (driver.workers < MAX_WORKERS)
        start_worker();
}

static void unqueue(struct driver_stream *stream)
{
    struct driver_stream **at = &driver.ready;
    while (*at && *at != stream)
        at = &(*at)->next_ready;
    if (*at)
        *at = stream->next_ready;
    stream->queued = false;
}

static void kick_blocked(void)
{
    if (!driver.blocked)
        return;
    for (struct driver_context *context = driver.contexts; context; context = context->next)
        for (struct driver_stream *stream = context->streams; stream; stream = stream->next)
            if (stream->is_blocked)
                kick(stream);
}

// --- Delay ---------------------------------------------------------------------------------------

// With GLINT_SIM_DELAY_US, work starts late unless a call waits for it. A program that lacks a
// necessary wait then reads its data before they are written, and its error shows.

static uint64_t real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Returns whether a worker may start the stream's first command although no call waits for it.
static bool is_time(const struct driver_stream *stream)
{
    return !driver.delay_ns || real_ns() >= stream->head->not_before_ns;
}

// Waits until the stream's first command may start. Meanwhile, a thread that waits for the stream
// may run it.
static void wait_for_time(struct driver_stream *stream)
{
    stream->delayed = true;
    stream->references++;
    while (stream->head && !stream->running && !is_time(stream)) {
        const uint64_t left = stream->head->not_before_ns - real_ns();
        const struct timespec time = {0, left < 1000000 ? (long)left : 1000000};
        driver_unlock();
        nanosleep(&time, NULL);
        driver_lock();
    }
    stream->delayed = false;
    kick(stream);
    forget_stream(stream);
}

// Runs the stream's commands in order, until none can start or `until` is done.
static void drain(struct driver_stream *stream, const struct driver_command *until)
{
    stream->running = true;
    stream->references++;
    while (stream->head && can_start(stream->head) && !(until && until->done) &&
           (until || is_time(stream))) {
        struct driver_command *command = stream->head;
        stream->current = command;
        stream->head = command->next;
        stream->pending--;
        if (!stream->head)
            stream->tail = NULL;
        set_blocked(stream, false);

        uint64_t start_ns = stream->clock_ns;
        if (command->submit_ns > start_ns)
            start_ns = command->submit_ns;
        for (size_t i = 0; i < command->wait_count; i++)
            if (command->waits[i]->end_ns > start_ns)
                start_ns = command->waits[i]->end_ns;
        drop_waits(command);

        driver.running++;
        driver_unlock();
        uint64_t duration_ns = 0;
        CUresult result = CUDA_SUCCESS;
        struct driver_thread *own = driver_thread();
        uint64_t call = own->call;
        own->running_on = stream;
        own->running_for = command->call;
        own->call = 0; // calls of a host function belong to the program, not to this call
        const bool working = own->working;
        own->working = true;
        if (!driver.finished)
            result = driver_op_run(&command->op, start_ns, &duration_ns);
        own->working = working;
        own->call = call;
        driver_op_fini(&command->op);
        if (result != CUDA_SUCCESS) {
            int none = CUDA_SUCCESS;
            atomic_compare_exchange_strong(&driver.error, &none, (int)result);
        }
        driver_lock();
        driver.running--;

        stream->current = NULL;
        command->end_ns = start_ns + duration_ns;
        stream->clock_ns = command->end_ns;
        command->done = true;
        driver_release(command);
        forget_stream(stream); // the command's reference
        pthread_cond_broadcast(&driver.completed);
        kick_blocked();
    }
    stream->running = false;
    kick(stream);
    if (stream->destroyed && !stream->head)
        driver_stream_retire(stream);
    forget_stream(stream);
}

static void *work(void *unused)
{
    (void)unused;
    driver_lock();
    for (;;) {
        struct driver_stream *stream = driver.ready;
        if (stream) {
            driver.ready = stream->next_ready;
            stream->queued = false;
            if (!stream->running && stream->head && !is_time(stream))
                wait_for_time(stream);
            else if (!stream->running)
                drain(stream, NULL);
        } else {
            driver.idle_workers++;
            pthread_cond_wait(&driver.work, &driver.lock);
            driver.idle_workers--;
        }
    }
    return NULL;
}

// --- Submitting ----------------------------------------------------------------------------------

// A command that is done is added only if it ends after the submission on the simulated clock: the
// new command cannot start before that time.
static bool add_wait(struct driver_command *command, struct driver_command *other)
{
    if (!other || (other->stream && other->stream == command->stream))
        return true;
    if (other->done && other->end_ns <= command->submit_ns)
        return true;
    struct driver_command **grown =
        realloc(command->waits, (command->wait_count + 1) * sizeof *grown);
    if (!grown)
        return false;
    command->waits = grown;
    driver_hold(other);
    grown[command->wait_count++] = other;
    return true;
}

// The legacy default stream waits for all blocking streams of its context, and they for it.
static bool add_legacy_waits(struct driver_command *command, struct driver_stream *stream)
{
    struct driver_context *context = stream->context;
    if (stream != context->legacy)
        return (stream->flags & CU_STREAM_NON_BLOCKING) || add_wait(command, context->legacy->last);
    for (struct driver_stream *other = context->streams; other; other = other->next)
        if (other != stream && !(other->flags & CU_STREAM_NON_BLOCKING) &&
            !add_wait(command, other->last))
            return false;
    return true;
}

CUresult driver_submit(struct driver_stream *stream, struct driver_op *op,
                       struct driver_command *const *waits, size_t wait_count,
                       struct driver_command **held)
{
    struct driver_command *command = calloc(1, sizeof *command);
    bool good = command != NULL;
    if (good) {
        driver.host_ns += SUBMIT_COST_NS;
        command->references = 1;
        command->stream = stream;
        command->submit_ns = driver.host_ns;
        command->not_before_ns = driver.delay_ns ? real_ns() + driver.delay_ns : 0;
        command->sequence = ++driver.sequence;
        command->call = driver_thread()->call;
        good = add_legacy_waits(command, stream);
        for (size_t i = 0; good && i < wait_count; i++)
            good = add_wait(command, waits[i]);
    }
    if (!good) {
        driver_op_fini(op);
        driver_release(command);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    command->op = *op;

    if (stream->tail)
        stream->tail->next = command;
    else
        stream->head = command;
    stream->tail = command;
    stream->pending++;
    stream->references++;
    driver_release(stream->last);
    stream->last = command;
    driver_hold(command);
    if (held) {
        driver_hold(command);
        *held = command;
    }
    kick(stream);
    return CUDA_SUCCESS;
}

// --- Waiting -------------------------------------------------------------------------------------

void driver_wait(struct driver_command *command)
{
    driver_hold(command);
    while (!command->done) {
        struct driver_stream *stream = command->stream;
        // The caller would be idle, so it runs the commands itself. A command that a graph node
        // records has no stream.
        if (stream && !stream->running && stream->head && can_start(stream->head)) {
            if (stream->queued)
                unqueue(stream);
            drain(stream, command);
        } else {
            pthread_cond_wait(&driver.completed, &driver.lock);
        }
    }
    if (command->end_ns > driver.host_ns)
        driver.host_ns = command->end_ns;
    driver_release(command);
}

void driver_wait_stream(struct driver_stream *stream)
{
    if (stream->last)
        driver_wait(stream->last);
}

// Returns a command of the stream that is not done and has a sequence number of at most `by`: the
// latest if it is known, or NULL.
static struct driver_command *unfinished(const struct driver_stream *stream, uint64_t by)
{
    if (stream->last && !stream->last->done && stream->last->sequence <= by)
        return stream->last;
    // The analyzer does not see that the thread that runs the current command holds it.
    if (stream->current && stream->current->sequence <= by) // NOLINT(clang-analyzer-unix.Malloc)
        return stream->current;
    return stream->head && stream->head->sequence <= by ? stream->head : NULL;
}

// Returns whether the context's kernels may use memory of the device.
static bool may_use(const struct driver_context *context, const struct driver_device *device)
{
    bool may = !device || context->device == device;
    for (unsigned i = 0; !may && i < context->peer_count; i++)
        may = context->peers[i]->device == device;
    return may;
}

// Waits for all commands submitted so far to the streams of one context, or of those that may use
// the device's memory, or of all. It does not
// wait for commands that other threads submit meanwhile, which might never end. The search restarts
// after each wait, because streams may change while the lock is released.
static void wait_for_all(const struct driver_context *only, const struct driver_device *device)
{
    uint64_t by = driver.sequence;
    struct driver_command *command;
    do {
        command = NULL;
        for (struct driver_context *at = driver.contexts; at && !command; at = at->next)
            for (struct driver_stream *stream = at->streams; stream && !command;
                 stream = stream->next) {
                if (only ? at != only : !may_use(at, device))
                    break;
                command = unfinished(stream, by);
                if (!command && stream->clock_ns > driver.host_ns)
                    driver.host_ns = stream->clock_ns;
            }
        if (command)
            driver_wait(command);
    } while (command);
}

void driver_wait_context(struct driver_context *context)
{
    wait_for_all(context, NULL);
}

bool driver_is_busy(const struct driver_context *context)
{
    for (const struct driver_stream *stream = context->streams; stream; stream = stream->next)
        if (unfinished(stream, driver.sequence))
            return true;
    return false;
}

void driver_wait_device(const struct driver_device *device)
{
    wait_for_all(NULL, device);
}
