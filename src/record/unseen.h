// SPDX-License-Identifier: Apache-2.0
// Finds out why nothing of a program was recorded: whether libglint.so was loaded into it, and
// which programs it started ran without the library. Inner header of src/record.
#ifndef GLINT_RECORD_UNSEEN_H
#define GLINT_RECORD_UNSEEN_H

#include <sys/types.h>

#include "event/event.h"
#include "record.h"

enum { UNSEEN_MOST = 64 }; // programs that are followed

struct record_unseen_program {
    pid_t pid;
    uint64_t device, inode;
    char *path;
    bool lacks_environment;
    uint32_t times; // how often it was found without the library
};

struct record_unseen {
    struct event_presence *presence; // NULL: nothing can be told
    pid_t root;                      // 0: the program has not been started
    int64_t looked_ns;
    struct record_unseen_program programs[UNSEEN_MOST];
    uint32_t count;
    char name[EVENT_PRESENT_NAME]; // of the root's first thread when it was last looked at
    bool same;                     // and then it was the program that has the library
};

// Called before the program is started.
void record_unseen_begin(struct record_unseen *unseen, const char *socket_path);
// Called in the child, before it becomes the program.
void record_unseen_become(const struct record_unseen *unseen);
// Called now and then while the program runs and nothing is recorded.
void record_unseen_look(struct record_unseen *unseen, int64_t now_ns);
// Called when the program has ended and has not been waited for yet.
void record_unseen_ended(struct record_unseen *unseen, struct record_why *why);
// Stores what was found.
void record_unseen_tell(const struct record_unseen *unseen, struct record_why *why);
void record_unseen_tell_captured(const struct record_unseen *unseen,
                                 struct record_captured *captured);
void record_unseen_fini(struct record_unseen *unseen);

#endif
