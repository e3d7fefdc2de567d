// SPDX-License-Identifier: Apache-2.0
// Threads that share jobs. See team.h.
#include "team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { MOST_THREADS = 64 };

struct team {
    void (*function)(void *, size_t, unsigned);
    void *context;
    size_t jobs;
    atomic_size_t next; // the first job that no thread has taken yet
};

struct member {
    struct team *team;
    unsigned number;
    pthread_t thread;
    bool runs;
};

static void *work(void *argument)
{
    const struct member *member = argument;
    struct team *team = member->team;
    for (;;) {
        const size_t job = atomic_fetch_add_explicit(&team->next, 1, memory_order_relaxed);
        if (job >= team->jobs)
            return NULL;
        team->function(team->context, job, member->number);
    }
}

void cache_team_run(unsigned threads, size_t jobs, void (*function)(void *, size_t, unsigned),
                    void *context)
{
    struct team team = {.function = function, .context = context, .jobs = jobs};
    struct member members[MOST_THREADS];
    unsigned count = threads < MOST_THREADS ? threads : MOST_THREADS;
    if (count > jobs)
        count = (unsigned)jobs;
    for (unsigned i = 1; i < count; i++) {
        members[i] = (struct member){.team = &team, .number = i};
        members[i].runs = pthread_create(&members[i].thread, NULL, work, &members[i]) == 0;
    }
    work(&(struct member){.team = &team});
    for (unsigned i = 1; i < count; i++) {
        if (members[i].runs)
            pthread_join(members[i].thread, NULL);
    }
}
