// SPDX-License-Identifier: Apache-2.0
// Converts records of what launches did in shared memory to rows. The program can overwrite
// records, so a record that contradicts itself is rejected.
#include <stdlib.h>
#include <string.h>

#include "rows.h"

// Returns the name that the source gives the array: the last part of "kernel(int)::tile".
static const char *last_part(const char *name)
{
    const char *part = name;
    for (const char *at = strstr(name, "::"); at; at = strstr(part, "::"))
        part = at + 2;
    return part;
}

bool record_shared_array(struct record_session *session, struct record_piece *piece)
{
    struct event_array event;
    if (!record_take(piece, &event, sizeof(event)) || event.kernel == 0 || event.number == 0)
        return false;
    struct profile_shared_array array = {FACTS_SHARED_ARRAY(RECORD_AS)};
    const char *mangled = record_next_text(piece);
    char *name = mangled ? record_demangle(mangled) : NULL;
    array.name = name ? last_part(name) : NULL;
    profile_add_shared_array(session->writer, &array, &session->error);
    free(name);
    return true;
}

void record_site_array(struct record_session *session, uint32_t kernel, uint32_t site,
                       const char *mangled)
{
    char *name = record_demangle(mangled);
    const struct profile_site_array row = {
        .kernel = kernel, .site = site, .name = name ? last_part(name) : NULL};
    if (name)
        profile_add_site_array(session->writer, &row, &session->error);
    free(name);
}

// Copies the runs, which need not be aligned. Returns false if they are not whole, or not within
// the array.
static bool take_runs(struct record_piece *piece, const struct event_words *event,
                      struct profile_shared_run *runs, uint32_t count)
{
    const uint64_t most =
        ((uint64_t)event->bytes + PROFILE_SHARED_WORD_BYTES - 1) / PROFILE_SHARED_WORD_BYTES;
    uint64_t end = event->first;
    for (uint32_t i = 0; i < count; i++) {
        struct event_run run;
        if (!record_take(piece, &run, sizeof(run)) || run.words == 0 || end > most ||
            run.words > most - end)
            return false;
        runs[i] = (struct profile_shared_run){run.words, run.loads, run.stores};
        end += run.words;
    }
    return true;
}

bool record_shared_words(struct record_session *session, struct record_piece *piece)
{
    struct event_words event;
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 || event.kernel == 0 ||
        event.array == 0 || event.blocks == 0 ||
        event.flags & ~(uint32_t)(EVENT_SHARED_INCOMPLETE | EVENT_SHARED_AT_LEAST) ||
        (event.lost && !(event.flags & EVENT_SHARED_INCOMPLETE)) || piece->length == 0 ||
        piece->length % sizeof(struct event_run))
        return false;
    struct profile_shared_words words = {FACTS_SHARED_WORDS(RECORD_AS)};
    words.run_count = (uint32_t)(piece->length / sizeof(struct event_run));
    struct profile_shared_run *runs = calloc(words.run_count, sizeof(*runs));
    if (!runs) {
        base_no_memory(&session->error);
        return true;
    }
    const bool good = take_runs(piece, &event, runs, words.run_count);
    words.runs = runs;
    if (good)
        profile_add_shared_words(session->writer, &words, &session->error);
    free(runs);
    return good;
}

// Returns whether so many loads in live ranges can have been repeated, by the own thread, or part
// of a drain.
static bool are_loads(uint64_t ranges, uint64_t loads, uint64_t again, uint64_t own,
                      uint64_t drained)
{
    return again <= loads && own <= loads && drained <= loads && loads - again <= ranges;
}

bool record_shared_ranges(struct record_session *session, struct record_piece *piece)
{
    struct event_ranges event;
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 || event.kernel == 0 ||
        event.array == 0 || event.site == 0 || event.fills > 1 || event.words == 0 ||
        event.words > event.ranges ||
        !are_loads(event.ranges, event.loads, event.again, event.own, event.drained))
        return false;
    const struct profile_shared_ranges row = {FACTS_SHARED_RANGES(RECORD_AS)};
    profile_add_shared_ranges(session->writer, &row, &session->error);
    return true;
}

bool record_shared_lives(struct record_session *session, struct record_piece *piece)
{
    struct event_lives event;
    if (!record_take(piece, &event, sizeof(event)) || event.call == 0 || event.kernel == 0 ||
        event.array == 0 || event.fills > event.ranges || event.fill_loads > event.loads ||
        event.fills_min > event.fills_max || event.fills_max > event.fills ||
        event.filled_words > event.fills || event.least_fills > event.fills_max ||
        event.most_fills > event.fills_max ||
        !are_loads(event.ranges, event.loads, event.again, event.own, event.drained))
        return false;
    const struct profile_shared_lives row = {FACTS_SHARED_LIVES(RECORD_AS)};
    profile_add_shared_lives(session->writer, &row, &session->error);
    return true;
}
