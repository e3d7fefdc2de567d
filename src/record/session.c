// SPDX-License-Identifier: Apache-2.0
// Moves the records of a process into its profile. If the profile fails (a full disk), writing
// stops but reading does not: the ring is drained to the end, and the error is reported.
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "caches.h"
#include "sources.h"

// Stops writing after a failure.
static void check_writer(struct record_session *session)
{
    if (session->error.code != BASE_OK && session->writer) {
        profile_abandon(session->writer);
        session->writer = NULL;
    }
}

// Fills in what is known of the process's place in its job.
static void set_rank(struct record_session *session, const struct event_rank *from)
{
    char host[RECORD_HOST_BYTES];
    struct profile_rank *rank = &session->program.rank;
    record_host_name(host);
    *rank = (struct profile_rank){
        .host = host[0] ? base_alloc_text(&session->arena, host, strlen(host)) : NULL,
        .launcher = from->launcher,
        .job = from->job[0] ? base_alloc_text(&session->arena, from->job, strlen(from->job)) : NULL,
        .has_number = from->has_number,
        .has_count = from->has_count,
        .has_local = from->has_local,
        .number = from->number,
        .count = from->count,
        .local = from->local};
    if (from->malformed && session->writer) {
        char text[160];
        snprintf(text, sizeof(text), "the rank is unknown: the value of %s is not valid",
                 from->malformed);
        const struct profile_note note = {PROFILE_WARNING, text};
        profile_add_note(session->writer, &note, &session->error);
        check_writer(session);
    }
}

struct record_session *record_session_open(struct event_ring *ring, size_t bytes,
                                           const struct record_process *process, const char *path,
                                           struct profile_place *place,
                                           const struct record_request *request)
{
    struct record_session *session = calloc(1, sizeof(*session));
    char *copy = strdup(path);
    if (!session || !copy || !event_reader_init(&session->reader, ring, bytes)) {
        free(session);
        free(copy);
        event_ring_release(ring, bytes);
        profile_release(place);
        return NULL;
    }
    base_arena_init(&session->arena, 0);
    session->ring = ring;
    session->ring_bytes = bytes;
    const int pid = session->pid = process->pid;
    // This fails if the process has ended and its parent has waited for it.
    session->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    session->ended = session->pidfd < 0 && errno == ESRCH;
    session->path = copy;
    session->nameless = request->nameless;
    session->has_caches = request->caches;
    session->cold_caches = request->cold_caches;
    session->progress = request->progress;
    session->user = request->user;
    if (place)
        profile_create_at(place, &session->writer, &session->error);
    else
        profile_create(path, request->overwrite, &session->writer, &session->error);
    session->made = session->writer != NULL;
    for (uint32_t i = 0; i < request->setting_count && session->writer; i++) {
        profile_set_setting(session->writer, &request->settings[i], &session->error);
        check_writer(session);
    }
    set_rank(session, &process->rank);
    return session;
}

uint32_t record_session_drain(struct record_session *session, uint32_t most)
{
    uint32_t count = 0;
    while (count < most) {
        enum event_kind kind = event_take(&session->reader, &session->record, session->ended);
        if (kind == EVENT_NONE)
            break;
        count++;
        if (session->record.failed) {
            base_no_memory(&session->error);
            base_buf_fini(&session->record);
            session->record = (struct base_buf){0};
        } else if (session->writer && !record_session_write(session, kind, session->record.text,
                                                            session->record.length)) {
            const struct profile_note note = {PROFILE_WARNING,
                                              "a record was not valid and was ignored"};
            profile_add_note(session->writer, &note, &session->error);
        }
        check_writer(session);
    }
    if (!count && session->writer) {
        record_caches_write(session, false);
        profile_tick(session->writer, &session->error);
        check_writer(session);
    }
    return count;
}

static uint64_t tell_losses(struct record_session *session)
{
    uint64_t all = session->reader.unfinished;
    if (all && session->writer) {
        const struct profile_dropped unfinished = {PROFILE_UNFINISHED, all};
        profile_set_dropped(session->writer, &unfinished, &session->error);
    }
    for (unsigned kind = 1; kind < EVENT_KINDS; kind++) {
        uint64_t count = event_dropped(&session->reader, (enum event_kind)kind);
        const struct profile_dropped dropped = {event_kind_name((enum event_kind)kind), count};
        if (count && session->writer)
            profile_set_dropped(session->writer, &dropped, &session->error);
        all += count;
    }
    check_writer(session);
    return all;
}

void record_session_close(struct record_session *session, enum profile_ending ending, int code,
                          struct record_profile *out)
{
    session->ended = true;
    while (record_session_drain(session, UINT32_MAX))
        ;
    record_session_end_graph(session);
    record_session_write_untold(session);
    record_caches_write(session, true);
    uint64_t dropped = tell_losses(session);
    if (session->writer)
        record_session_write_paths(session);
    if (session->writer)
        record_sources_write(session);
    check_writer(session);
    if (session->writer)
        profile_finish(session->writer, ending, code, &session->error);
    *out = (struct record_profile){.path = session->path,
                                   .pid = session->pid,
                                   .made = session->made,
                                   .calls = session->calls,
                                   .objects = session->objects,
                                   .dropped = dropped,
                                   .error = session->error};
    event_ring_release(session->ring, session->ring_bytes);
    if (session->pidfd >= 0)
        close(session->pidfd);
    base_buf_fini(&session->record);
    base_array_fini(&session->images);
    base_array_fini(&session->stacks);
    base_array_fini(&session->sources);
    base_map_fini(&session->source_index);
    base_array_fini(&session->image_paths);
    base_array_fini(&session->frames);
    base_array_fini(&session->nodes);
    base_map_fini(&session->stack_numbers);
    base_array_fini(&session->codes);
    base_map_fini(&session->code_numbers);
    base_array_fini(&session->python_frames);
    base_array_fini(&session->objects_made);
    base_map_fini(&session->allocations);
    base_map_fini(&session->sync_stacks);
    base_map_fini(&session->waiting);
    base_map_fini(&session->named);
    base_map_fini(&session->untold);
    record_caches_destroy(session->caches);
    base_arena_fini(&session->arena);
    free(session);
}
