// SPDX-License-Identifier: Apache-2.0
// Reports a wrong order of locks, in builds with assertions.
#include "ranks.h"

#ifndef NDEBUG

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__thread uint32_t util_ranks_held __attribute__((tls_model("initial-exec")));

static const char *name_of(unsigned rank)
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
void util_rank_fail(enum util_rank rank)
{
    unsigned highest = RANK_COUNT - 1;
    while (highest && !(util_ranks_held >> highest & 1))
        highest--;
    write_text("glint: wrong order of locks: \"");
    write_text(name_of(rank));
    write_text("\" is taken while \"");
    write_text(name_of(highest));
    write_text("\" is held\n");
    abort();
}

#endif
