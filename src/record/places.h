// SPDX-License-Identifier: Apache-2.0
// The files of profiles: their names, and who may write them. Inner header of src/record.
#ifndef GLINT_RECORD_PLACES_H
#define GLINT_RECORD_PLACES_H

#include "pattern.h"
#include "recorder.h"

// Reserves the program's profile. If another recorder has the name, as when several ranks of a job
// use the same, it takes FILE-PID with the recorder's process id, as the program does not run yet.
enum base_code record_reserve_output(struct recorder *recorder, struct base_error *error);
// Reserves an unused name for the profile of a process: FILE for the program itself, and for the
// first process of a rank; FILE-PID for other processes, with a number if a process has several;
// without FILE, NAME-PID.glint. Returns NULL if there is none; path is then the first name that was
// tried.
struct profile_place *record_find_place(struct recorder *recorder,
                                        const struct record_process *process, unsigned again,
                                        struct base_buf *path);

#endif
