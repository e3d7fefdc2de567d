// SPDX-License-Identifier: Apache-2.0
// Counters of words of shared memory: see words.h. They are copied and cleared by the driver, on
// the launch's stream, rather than by the reduction: they need no sums, and most launches have few.
#include "words.h"

#include <stdlib.h>
#include <string.h>

#include "lane.h"
#include "memory.h"
#include "ranges.h"

// --- Around the launch ---------------------------------------------------------------------------

bool shadow_words_wanted(const struct shadow_ticket *ticket)
{
    return ticket->facts & INSTRUMENT_SHARED && ticket->kernel->array_count;
}

// Bytes of the counters of words, and of the tallies by thread that follow them. Counters of live
// ranges follow these.
static uint64_t counter_bytes(const struct shadow_ticket *ticket)
{
    return (1 + instrument_word_count(ticket->kernel, ticket->dynamic_bytes)) *
           sizeof(struct instrument_word);
}

static uint64_t thread_bytes(const struct shadow_ticket *ticket)
{
    return (uint64_t)ticket->kernel->thread_tallies * ticket->block[0] * ticket->block[1] *
           ticket->block[2] * sizeof(uint64_t);
}

void shadow_words_enter(struct shadow *shadow, struct shadow_pad *pad, struct shadow_ticket *ticket,
                        struct shadow_block *old)
{
    if (!shadow_words_wanted(ticket))
        return;
    const uint64_t needed =
        counter_bytes(ticket) + thread_bytes(ticket) + shadow_ranges_bytes(ticket);
    struct shadow_kernel *about = shadow_kernel(shadow, ticket->kernel_number, ticket->kernel);
    if (about && ticket->turn && ticket->kernel->range_site_count && !shadow_ranges_bytes(ticket))
        about->ranges_missed++;
    if (pad->words.bytes < needed) {
        *old = pad->words;
        pad->words = (struct shadow_block){0};
        if (!shadow_take(shadow, &shadow->device, needed, &pad->words) ||
            !shadow_own_clear(shadow, pad->words)) {
            shadow_give(&shadow->device, &pad->words);
            if (about)
                about->words_missed++;
            return;
        }
    }
    ticket->word_bytes = needed;
}

void shadow_words_find(struct shadow_ticket *ticket, const struct instrument_launch *launch)
{
    const struct instrument_kernel *kernel = ticket->kernel;
    if (!shadow_words_wanted(ticket) || !kernel->word_site_count)
        return;
    ticket->word_places = calloc(kernel->word_site_count, sizeof(*ticket->word_places));
    if (ticket->word_places &&
        instrument_word_places(kernel, launch, ticket->dynamic_bytes, ticket->word_places))
        return;
    free(ticket->word_places);
    ticket->word_places = NULL;
}

void shadow_words_point(const struct shadow_pad *pad, struct shadow_ticket *ticket,
                        struct instrument_context *context)
{
    if (!ticket->word_bytes)
        return;
    context->words = pad->words.address;
    context->dynamic_bytes = ticket->dynamic_bytes;
    context->known = ticket->word_places != NULL;
    if (context->known && ticket->kernel->thread_tallies)
        context->threads = context->words + counter_bytes(ticket);
    shadow_ranges_point(ticket, context->words + counter_bytes(ticket) + thread_bytes(ticket),
                        context);
}

CUresult shadow_words_fetch(const struct shadow_pad *pad, const struct shadow_ticket *ticket,
                            CUstream stream)
{
    CUresult result = CUDA_SUCCESS;
    if (!ticket->word_bytes)
        return result;
    if (ticket->result)
        result = REAL(cuMemcpyDtoHAsync_v2)((char *)ticket->result + ticket->words_at,
                                            pad->words.address, ticket->word_bytes, stream);
    return result == CUDA_SUCCESS
               ? REAL(cuMemsetD8Async)(pad->words.address, 0, ticket->word_bytes, stream)
               : result;
}

// --- Records -------------------------------------------------------------------------------------

enum {
    MOST_RUNS = (EVENT_MOST_BYTES - sizeof(struct event_words)) / sizeof(struct event_run),
    FEW_RUNS = 1024, // so that a record fits into what is left of most rings
};
_Static_assert(FEW_RUNS <= MOST_RUNS, "they are in one record");

// Sends the runs of an array, in as many records as it takes.
static void put_array(struct event_words *record, const struct instrument_word *words,
                      uint32_t count, struct event_run *runs)
{
    uint32_t used = 0;
    record->first = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (used && runs[used - 1].loads == words[i].loads &&
            runs[used - 1].stores == words[i].stores) {
            runs[used - 1].words++;
            continue;
        }
        if (used == FEW_RUNS) {
            core_put(EVENT_WORDS, record, sizeof(*record), runs, used * sizeof(*runs));
            record->first = i;
            used = 0;
        }
        runs[used++] = (struct event_run){1, words[i].loads, words[i].stores};
    }
    if (used)
        core_put(EVENT_WORDS, record, sizeof(*record), runs, used * sizeof(*runs));
}

// What is known about the counts of a launch.
struct losses {
    uint64_t missed;
    bool complete; // but for these
    bool *limited; // by array
};

static uint32_t flags_of(const struct instrument_kernel *kernel, const struct losses *losses,
                         uint32_t array)
{
    const bool less = losses->missed && (kernel->racy || losses->limited[array]);
    return (losses->complete ? 0 : EVENT_SHARED_INCOMPLETE) | (less ? EVENT_SHARED_AT_LEAST : 0);
}

// Finds out what counters lost, and adds what the launch knows.
static void complete_words(const struct shadow_ticket *ticket, const uint64_t *tallies,
                           struct instrument_word *words, struct losses *losses)
{
    const struct instrument_kernel *kernel = ticket->kernel;
    bool excused = kernel->racy;
    losses->missed =
        instrument_lost_counts(kernel, tallies, ticket->dynamic_bytes, words, losses->limited);
    for (uint32_t i = 0; i < kernel->array_count; i++)
        excused |= losses->limited[i];
    losses->complete =
        !kernel->uncounted && losses->missed != UINT64_MAX && (!losses->missed || excused);
    if (losses->missed == UINT64_MAX)
        losses->missed = 0;
    const struct instrument_word_counts counts = {
        .block = {ticket->block[0], ticket->block[1], ticket->block[2]},
        .blocks = ticket->blocks,
        .dynamic_bytes = ticket->dynamic_bytes,
        .places = ticket->word_places,
        .tallies = tallies,
        .threads = (const void *)((const char *)words + counter_bytes(ticket)),
    };
    if (ticket->word_places)
        losses->complete &= instrument_add_words(kernel, &counts, words);
    losses->complete &= !words[0].loads && !words[0].stores;
}

void shadow_tell_words(const struct shadow_ticket *ticket, const uint64_t *tallies)
{
    const struct instrument_kernel *kernel = ticket->kernel;
    if (!ticket->word_bytes)
        return;
    struct instrument_word *words = (void *)((char *)ticket->result + ticket->words_at);
    const struct instrument_range *ranges =
        (const void *)((char *)words + counter_bytes(ticket) + thread_bytes(ticket));
    struct losses losses = {.limited = calloc(kernel->array_count, sizeof(bool))};
    struct event_run *runs = malloc(FEW_RUNS * sizeof(*runs));
    if (!runs || !losses.limited) {
        free(runs);
        free(losses.limited);
        core_no_memory();
        return;
    }
    complete_words(ticket, tallies, words, &losses);
    struct event_words record = {
        .call = ticket->call,
        .blocks = ticket->blocks,
        .lost = words[0].loads + words[0].stores,
        .missed = losses.missed,
        .node = ticket->node,
        .kernel = ticket->kernel_number,
    };
    for (uint32_t i = 0; i < kernel->array_count; i++) {
        record.array = i + 1;
        record.bytes = instrument_array_bytes(&kernel->arrays[i], ticket->dynamic_bytes);
        record.flags = flags_of(kernel, &losses, i);
        put_array(&record, &words[kernel->arrays[i].first],
                  (record.bytes + INSTRUMENT_WORD_BYTES - 1) / INSTRUMENT_WORD_BYTES, runs);
        if (ticket->traced && !(record.flags & EVENT_SHARED_INCOMPLETE))
            shadow_tell_ranges(ticket, ranges, i);
    }
    free(runs);
    free(losses.limited);
}
