// SPDX-License-Identifier: Apache-2.0
// Checks the order of locks in builds with assertions. What a thread holds is kept in ascending
// order, because each lock ranks above all that were held when it was taken.
#include "ranks.h"

#ifndef NDEBUG

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static __thread struct {
    unsigned count;
    enum util_rank ranks[RANK_COUNT]; // ascending, so there is room for all
} held __attribute__((tls_model("initial-exec")));

static const char *name_of(enum util_rank rank)
{
    static const char *const names[] = {"none",
#define RANK(name, text) text,
                                        UTIL_RANKS(RANK)
#undef RANK
    };
    return names[rank];
}

static void write_text(const char *text)
{
    const ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

// Writes without stdio, which allocates.
static __attribute__((noinline, noreturn)) void fail(enum util_rank rank, enum util_rank above)
{
    write_text("glint: wrong order of locks: \"");
    write_text(name_of(rank));
    write_text("\" is taken while \"");
    write_text(name_of(above));
    write_text("\" is held\n");
    abort();
}

void util_rank_take(enum util_rank rank)
{
    const unsigned count = held.count;
    if (count && held.ranks[count - 1] >= rank)
        fail(rank, held.ranks[count - 1]);
    held.ranks[count] = rank;
    held.count = count + 1;
}

void util_rank_give(enum util_rank rank)
{
    unsigned at = held.count;
    while (at && held.ranks[at - 1] != rank)
        at--;
    if (!at) // taken before a fork
        return;
    for (unsigned i = at; i < held.count; i++)
        held.ranks[i - 1] = held.ranks[i];
    held.count--;
}

void util_ranks_forget(void)
{
    held.count = 0;
}

#endif
