// SPDX-License-Identifier: Apache-2.0
// Collects traces of launches, and has them go through the model of caches: see caches.h.
#include "caches.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cache_job.h"
#include "rows.h"
#include "session.h"

enum {
    MOST_DEVICES = 32,
    MOST_THREADS = 8,
    MOST_SITES = 1 << 14,
    MOST_BLOCKS = 1 << 20, // of a trace
    MOST_THREADS_OF_BLOCK = 1024,
    MOST_RECORDS = 1 << 22,
    MOST_WAITING = 256 << 20, // bytes of records that wait for the model
    MOST_MOVES = 1 << 12,     // that are kept for the next launch; earlier ones are forgotten
    MOST_ROWS = 1 << 20,      // of one of them
};

struct object {
    uint64_t first, bytes, number;
    uint64_t from, until; // calls
    bool is_part;
};

struct record_caches {
    const struct cache_preset *presets[MOST_DEVICES]; // by number - 1
    BASE_ARRAY(struct object) objects;
    struct base_map object_at; // number of an object to 1 + its index
    struct base_map kinds;     // kernel << 32 | site to 1 + enum cache_kind
    BASE_ARRAY(struct record_cache_state_move)
    moves;                         // copies and sets that no launch has followed yet
    struct record_cache_job *open; // whose trace is arriving
    uint64_t left_out;             // launches that were not modelled: too many were waiting
    struct record_cache_state *states[MOST_DEVICES]; // used by the thread
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; // protects all below
    pthread_cond_t changed;
    bool stopping;
    size_t waiting_bytes;
    struct record_cache_job *waiting, **last_waiting, *ready, **last_ready;
    bool running; // a job is neither waiting nor ready
};

// Returns NULL if there is no model, or memory runs out.
static struct record_caches *caches_of(struct record_session *session)
{
    if (session->caches || !session->has_caches)
        return session->caches;
    struct record_caches *caches = calloc(1, sizeof(*caches));
    if (!caches) {
        base_no_memory(&session->error);
        return NULL;
    }
    caches->last_waiting = &caches->waiting;
    caches->last_ready = &caches->ready;
    pthread_mutex_init(&caches->lock, NULL);
    pthread_cond_init(&caches->changed, NULL);
    return session->caches = caches;
}

// --- What the model needs to know ----------------------------------------------------------------

// Returns whether the name of a GPU contains that of a preset, whatever their case and spaces.
static bool is_named(const char *gpu, const char *preset)
{
    for (; gpu && *gpu; gpu++) {
        const char *at = gpu, *wanted = preset;
        while (*wanted && *at) {
            if (*at == ' ')
                at++;
            else if (tolower((unsigned char)*at++) != *wanted++)
                break;
            else if (!*wanted)
                return true;
        }
    }
    return false;
}

// Without a preset of its name, a GPU has that of its generation, or of the last before it.
static const struct cache_preset *preset_of(const struct event_device *device, const char *name)
{
    const uint32_t version = device->major * 10 + device->minor;
    for (const struct cache_preset *preset = cache_presets; preset->name; preset++) {
        if (is_named(name, preset->name))
            return preset;
    }
    return cache_preset_find(version >= 90   ? "h200"
                             : version == 80 ? "a100"
                             : version > 80  ? "rtx3090"
                                             : "rtx2080ti");
}

void record_caches_device(struct record_session *session, const struct event_device *device,
                          const char *name)
{
    struct record_caches *caches = caches_of(session);
    if (caches && device->number && device->number <= MOST_DEVICES)
        caches->presets[device->number - 1] = preset_of(device, name);
}

void record_caches_site(struct record_session *session, const struct event_site *site)
{
    struct record_caches *caches = caches_of(session);
    uint64_t *kind =
        caches ? base_map_put(&caches->kinds, (uint64_t)site->kernel << 32 | site->number, NULL)
               : NULL;
    if (!kind)
        return;
    *kind = 1 + (site->access == EVENT_SITE_LOAD    ? CACHE_LOAD
                 : site->access == EVENT_SITE_STORE ? CACHE_STORE
                                                    : CACHE_ATOMIC);
}

void record_caches_object(struct record_session *session, const struct event_object *object)
{
    struct record_caches *caches = caches_of(session);
    uint64_t *index = caches ? base_map_put(&caches->object_at, object->number, NULL) : NULL;
    struct object *kept = index ? base_array_push(&caches->objects) : NULL;
    if (!kept)
        return;
    *kept = (struct object){
        .first = object->address,
        .bytes = object->bytes,
        .number = object->number,
        .from = object->call,
        .until = UINT64_MAX,
        .is_part = object->parent != 0,
    };
    *index = caches->objects.count;
}

void record_caches_object_end(struct record_session *session, uint64_t number, uint64_t call)
{
    struct record_caches *caches = caches_of(session);
    const uint64_t *index = caches ? base_map_get(&caches->object_at, number) : NULL;
    if (index && *index && call) // 0: the end of the process, after all launches
        caches->objects.items[*index - 1].until = call;
}

// Of very many, the last count.
static void add_move(struct record_session *session, struct record_cache_state_move move)
{
    struct record_caches *caches = caches_of(session);
    if (!caches || !move.address || !move.width || !move.rows || move.rows > MOST_ROWS)
        return;
    if (caches->moves.count >= MOST_MOVES) {
        caches->moves.count /= 2;
        memmove(caches->moves.items, caches->moves.items + caches->moves.count,
                caches->moves.count * sizeof(*caches->moves.items));
    }
    struct record_cache_state_move *kept = base_array_push(&caches->moves);
    if (kept)
        *kept = move;
}

static void add_set(struct record_session *session, const struct profile_call *call)
{
    const struct profile_set *set = &call->set;
    const bool is_one = set->height <= 1;
    add_move(session,
             (struct record_cache_state_move){.call = call->number,
                                              .object = set->object,
                                              .address = set->address,
                                              .width = is_one ? set->bytes : set->width_bytes,
                                              .pitch = set->pitch,
                                              .rows = is_one ? 1 : set->height,
                                              .mover = RECORD_CACHE_STORES});
}

static bool is_on_device(unsigned memory)
{
    return memory == PROFILE_MEMORY_DEVICE || memory == PROFILE_MEMORY_MANAGED;
}

// Adds one end of a copy. Memory of the host does not go through the caches of the GPU.
static void add_copy(struct record_session *session, const struct profile_call *call, bool writes)
{
    const struct profile_copy *copy = &call->copy;
    const unsigned memory = writes ? copy->to_memory : copy->from_memory;
    const uint64_t rows = (copy->height ? copy->height : 1) * (copy->depth ? copy->depth : 1);
    if (!is_on_device(memory))
        return;
    add_move(session, (struct record_cache_state_move){
                          .call = call->number,
                          .object = writes ? copy->to_object : copy->from_object,
                          .address = writes ? copy->to : copy->from,
                          .width = rows > 1 ? copy->width_bytes : copy->bytes,
                          .pitch = writes ? copy->to_pitch : copy->from_pitch,
                          .rows = rows,
                          .mover = !is_on_device(writes ? copy->from_memory : copy->to_memory)
                                       ? RECORD_CACHE_HOST
                                   : writes ? RECORD_CACHE_STORES
                                            : RECORD_CACHE_LOADS});
}

void record_caches_call(struct record_session *session, const struct profile_call *call)
{
    if (call->result)
        return;
    if (call->kind == PROFILE_CALL_SET)
        add_set(session, call);
    if (call->kind == PROFILE_CALL_COPY) {
        add_copy(session, call, false);
        add_copy(session, call, true);
    }
}

// --- The thread ----------------------------------------------------------------------------------

static void *run_jobs(void *user)
{
    struct record_caches *caches = user;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const unsigned threads = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (unsigned)cores;
    pthread_mutex_lock(&caches->lock);
    for (;;) {
        while (!caches->waiting && !caches->stopping)
            pthread_cond_wait(&caches->changed, &caches->lock);
        struct record_cache_job *job = caches->waiting;
        if (!job)
            break;
        caches->waiting = job->next;
        if (!caches->waiting)
            caches->last_waiting = &caches->waiting;
        job->next = NULL;
        caches->waiting_bytes -= job->record_count * sizeof(struct event_traced);
        caches->running = true;
        pthread_mutex_unlock(&caches->lock);
        struct record_cache_state **state = &caches->states[job->about.device - 1];
        if (!*state)
            *state = record_cache_state_create();
        if (*state)
            record_cache_job_run(job, *state, threads);
        pthread_mutex_lock(&caches->lock);
        caches->running = false;
        *caches->last_ready = job;
        caches->last_ready = &job->next;
        pthread_cond_broadcast(&caches->changed);
    }
    pthread_mutex_unlock(&caches->lock);
    return NULL;
}

// Hands the job over. If there are too many, or no thread can be made, it is left out.
static void submit(struct record_caches *caches, struct record_cache_job *job)
{
    const size_t bytes = job->record_count * sizeof(struct event_traced);
    if (!caches->started)
        caches->started = pthread_create(&caches->thread, NULL, run_jobs, caches) == 0;
    pthread_mutex_lock(&caches->lock);
    const bool fits = caches->started && caches->waiting_bytes + bytes <= MOST_WAITING;
    if (fits) {
        caches->waiting_bytes += bytes;
        *caches->last_waiting = job;
        caches->last_waiting = &job->next;
        pthread_cond_broadcast(&caches->changed);
    }
    pthread_mutex_unlock(&caches->lock);
    if (fits)
        return;
    caches->left_out++;
    record_cache_job_destroy(job);
}

// --- Traces --------------------------------------------------------------------------------------

// Adds what is known of the kernel's sites and of objects at the time of the launch.
static bool complete(const struct record_caches *caches, struct record_cache_job *job)
{
    uint32_t count = 0;
    while (count < MOST_SITES &&
           base_map_get(&caches->kinds, (uint64_t)job->about.kernel << 32 | (count + 1)))
        count++;
    job->kinds = calloc(count + 1, sizeof(*job->kinds));
    if (!job->kinds)
        return false;
    job->site_count = count;
    for (uint32_t i = 0; i < count; i++)
        job->kinds[i] =
            (uint8_t)(*base_map_get(&caches->kinds, (uint64_t)job->about.kernel << 32 | (i + 1)) -
                      1);
    for (size_t i = 0; i < caches->objects.count; i++) {
        const struct object *object = &caches->objects.items[i];
        if (object->from > job->about.call || object->until <= job->about.call)
            continue;
        struct record_cache_job_object *kept = base_array_push(&job->objects);
        if (!kept)
            return false;
        *kept = (struct record_cache_job_object){object->first, object->bytes, object->number,
                                                 object->is_part};
    }
    return true;
}

// Moves those of the copies and sets to the job that precede its launch.
static void take_moves(struct record_caches *caches, struct record_cache_job *job)
{
    size_t left = 0;
    for (size_t i = 0; i < caches->moves.count; i++) {
        const struct record_cache_state_move move = caches->moves.items[i];
        struct record_cache_state_move *kept =
            move.call < job->about.call ? base_array_push(&job->moves) : NULL;
        if (kept)
            *kept = move;
        else
            caches->moves.items[left++] = move;
    }
    caches->moves.count = left;
}

static struct record_cache_job *open_job(const struct event_trace *about,
                                         const struct cache_preset *preset, bool cold)
{
    struct record_cache_job *job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->about = *about;
    job->preset = preset;
    job->cold = cold;
    job->records = calloc(about->records + 1, sizeof(*job->records));
    job->blocks = calloc(about->blocks, sizeof(*job->blocks));
    if (job->records && job->blocks)
        return job;
    record_cache_job_destroy(job);
    return NULL;
}

bool record_trace(struct record_session *session, struct record_piece *piece)
{
    struct event_trace event;
    struct record_caches *caches = caches_of(session);
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 || event.kernel == 0 ||
        event.device == 0 || event.device > MOST_DEVICES || event.share > CACHE_ALL ||
        !event.blocks || event.blocks > MOST_BLOCKS || event.records > MOST_RECORDS ||
        !event.threads || event.threads > MOST_THREADS_OF_BLOCK)
        return false;
    if (!caches || !caches->presets[event.device - 1])
        return true;
    if (caches->open)
        record_cache_job_destroy(caches->open); // the rest of it was dropped
    caches->open = open_job(&event, caches->presets[event.device - 1], session->cold_caches);
    return true;
}

// Adds what a part has. More than was announced is not valid.
static bool add_part(struct record_cache_job *job, bool is_records,
                     const struct record_piece *piece)
{
    const size_t each = is_records ? sizeof(*job->records) : sizeof(*job->blocks);
    const uint64_t all = is_records ? job->about.records : job->about.blocks;
    size_t *count = is_records ? &job->record_count : &job->block_count;
    char *to = is_records ? (char *)job->records : (char *)job->blocks;
    if (piece->length % each || piece->length / each > all - *count)
        return false;
    memcpy(to + *count * each, piece->bytes, piece->length);
    *count += piece->length / each;
    return true;
}

bool record_trace_part(struct record_session *session, struct record_piece *piece)
{
    struct event_trace_part event;
    struct record_caches *caches = caches_of(session);
    if (!record_take(piece, &event, sizeof(event)))
        return false;
    struct record_cache_job *job = caches ? caches->open : NULL;
    if (!job || job->about.call != event.call || job->about.node != event.node)
        return true; // the beginning was dropped
    if (!event.is_last)
        return add_part(job, event.is_records, piece);
    caches->open = NULL;
    take_moves(caches, job);
    if (complete(caches, job))
        submit(caches, job);
    else
        record_cache_job_destroy(job);
    return true;
}

// --- Rows ----------------------------------------------------------------------------------------

static void write_job(struct record_session *session, const struct record_cache_job *job)
{
    if (!job->done || !session->writer)
        return;
    profile_add_cache_launch(session->writer, &job->launch, &session->error);
    for (size_t i = 0; i < job->rows.count; i++)
        profile_add_cache(session->writer, &job->rows.items[i], &session->error);
    for (size_t i = 0; i < job->reuse.count; i++)
        profile_add_cache_reuse(session->writer, &job->reuse.items[i], &session->error);
}

void record_caches_write(struct record_session *session, bool all)
{
    struct record_caches *caches = session->caches;
    if (!caches || !caches->started)
        return;
    pthread_mutex_lock(&caches->lock);
    while (all && (caches->waiting || caches->running))
        pthread_cond_wait(&caches->changed, &caches->lock);
    struct record_cache_job *ready = caches->ready;
    caches->ready = NULL;
    caches->last_ready = &caches->ready;
    pthread_mutex_unlock(&caches->lock);
    if (all && caches->left_out && session->writer) {
        char text[160];
        snprintf(text, sizeof(text),
                 "how %llu launches use caches is unknown, because too many were traced in a short "
                 "time",
                 (unsigned long long)caches->left_out);
        const struct profile_note note = {PROFILE_INFO, text};
        profile_add_note(session->writer, &note, &session->error);
        caches->left_out = 0;
    }
    while (ready) {
        struct record_cache_job *job = ready;
        ready = job->next;
        write_job(session, job);
        record_cache_job_destroy(job);
    }
}

static void destroy_jobs(struct record_cache_job *job)
{
    while (job) {
        struct record_cache_job *next = job->next;
        record_cache_job_destroy(job);
        job = next;
    }
}

void record_caches_destroy(struct record_caches *caches)
{
    if (!caches)
        return;
    pthread_mutex_lock(&caches->lock);
    caches->stopping = true;
    pthread_cond_broadcast(&caches->changed);
    pthread_mutex_unlock(&caches->lock);
    if (caches->started)
        pthread_join(caches->thread, NULL);
    destroy_jobs(caches->waiting);
    destroy_jobs(caches->ready);
    destroy_jobs(caches->open);
    for (int i = 0; i < MOST_DEVICES; i++)
        record_cache_state_destroy(caches->states[i]);
    base_array_fini(&caches->objects);
    base_map_fini(&caches->object_at);
    base_map_fini(&caches->kinds);
    base_array_fini(&caches->moves);
    pthread_cond_destroy(&caches->changed);
    pthread_mutex_destroy(&caches->lock);
    free(caches);
}
