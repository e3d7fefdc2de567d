// SPDX-License-Identifier: Apache-2.0
// A range has two records, for its begin and its end, so that ranges are known which the program
// never ends. What a thread has begun and not ended is its own, so there are no locks.
#include "nvtx_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inject/core/names.h"
#include "inject/core/state.h"
#include "inject/probe/range.h"
#include "nvtx_names.h"

enum {
    MOST_DEPTH = 64,       // of ranges that a thread has begun and not ended
    MOST_RANGES = 1 << 20, // of a process
    MOST_TEXT = 512,       // of a name, with its NUL; longer ones are cut off
};

// Initial-exec: a thread's first use must not make the loader allocate.
static __thread struct {
    uint32_t depth, deeper; // deeper: ranges inside of these, which are not recorded
    struct {
        const struct hooks_nvtx_name *domain;
        uint64_t number; // 0: it is not recorded
    } open[MOST_DEPTH];
} pushed __attribute__((tls_model("initial-exec")));

static struct {
    _Atomic uint64_t count; // of ranges that were to be recorded. Any thread
} recorded;

// Returns whether one more range is to be recorded.
static bool takes(const char *name)
{
    char note[100];
    if (!core_is_on() || !*name)
        return false;
    const uint64_t before = atomic_fetch_add_explicit(&recorded.count, 1, memory_order_relaxed);
    if (before == MOST_RANGES) {
        snprintf(note, sizeof(note), "only the first %d NVTX ranges are recorded", MOST_RANGES);
        core_note(EVENT_INFO, note);
    }
    return before < MOST_RANGES;
}

static void begin(const struct hooks_nvtx_name *domain, const char *name, uint64_t number,
                  bool is_pushed)
{
    const char *domain_name = domain ? domain->text : "";
    const size_t name_bytes = strnlen(name, MOST_TEXT - 1),
                 domain_bytes = strnlen(domain_name, MOST_TEXT - 1);
    char texts[2 * MOST_TEXT];
    const struct event_nvtx_range record = {.number = number,
                                            .start_ns = core_now_ns(),
                                            .thread = core_thread_number(),
                                            .pushed = is_pushed};
    memcpy(texts, name, name_bytes);
    texts[name_bytes] = '\0';
    memcpy(texts + name_bytes + 1, domain_name, domain_bytes);
    texts[name_bytes + 1 + domain_bytes] = '\0';
    core_put(EVENT_NVTX_RANGE, &record, sizeof(record), texts, name_bytes + domain_bytes + 2);
}

static void end(uint64_t number)
{
    const struct event_nvtx_range_end record = {
        .number = number, .end_ns = core_now_ns(), .thread = core_thread_number()};
    core_put(EVENT_NVTX_RANGE_END, &record, sizeof(record), NULL, 0);
}

void hooks_nvtx_record_push(const struct hooks_nvtx_name *domain, const char *name)
{
    const int error = errno;
    if (pushed.depth == MOST_DEPTH) {
        pushed.deeper++;
        return;
    }
    const uint64_t number = takes(name) ? probe_range_number(probe_range_new()) : 0;
    pushed.open[pushed.depth].domain = domain;
    pushed.open[pushed.depth++].number = number;
    if (number)
        begin(domain, name, number, true);
    errno = error;
}

void hooks_nvtx_record_pop(const struct hooks_nvtx_name *domain)
{
    const int error = errno;
    if (pushed.deeper) {
        pushed.deeper--;
        return;
    }
    uint32_t at = pushed.depth;
    while (at && pushed.open[at - 1].domain != domain)
        at--;
    if (!at)
        return;
    const uint64_t number = pushed.open[at - 1].number;
    pushed.depth--;
    memmove(&pushed.open[at - 1], &pushed.open[at],
            (pushed.depth - (at - 1)) * sizeof(pushed.open[0]));
    if (number && core_is_on())
        end(number);
    errno = error;
}

void hooks_nvtx_record_start(const struct hooks_nvtx_name *domain, const char *name,
                             uint64_t identifier)
{
    const int error = errno;
    if (takes(name))
        begin(domain, name, probe_range_number(identifier), false);
    errno = error;
}

void hooks_nvtx_record_end(uint64_t identifier)
{
    const int error = errno;
    if (core_is_on())
        end(probe_range_number(identifier));
    errno = error;
}
