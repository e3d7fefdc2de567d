// SPDX-License-Identifier: Apache-2.0
// Threads that share jobs.
#ifndef GLINT_CACHE_TEAM_H
#define GLINT_CACHE_TEAM_H

#include <stddef.h>

// Calls `function` for each job from 0 on, in any order, on up to so many threads, including the
// calling one; `member` is a number of the thread, less than `threads`. Returns when all are done.
// If threads cannot be created, there are fewer.
void cache_team_run(unsigned threads, size_t jobs,
                    void (*function)(void *, size_t job, unsigned member), void *context);

#endif
