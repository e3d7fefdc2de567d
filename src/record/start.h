// SPDX-License-Identifier: Apache-2.0
// Starts the program: the recorder's signal handlers, the socket, and the program's process. Inner
// header of src/record.
#ifndef GLINT_RECORD_START_H
#define GLINT_RECORD_START_H

#include <signal.h>

#include "recorder.h"

// Handlers for signals that the recorder gets while the program runs. It leaves those that a
// terminal sends to both to the program, and forwards those that ask it to end.
enum { RECORD_SIGNALS = 6 };
void record_signals_set(struct sigaction old[RECORD_SIGNALS]);
void record_signals_put_back(const struct sigaction old[RECORD_SIGNALS]);
// Returns how often a signal asked the recorder to end since the last call of the second.
int record_signals_asked_to_end(void);
void record_signals_forget(void);
// Stops forwarding, because the program has ended.
void record_signals_keep(void);

// Makes the socket at which processes offer their rings.
enum base_code record_open_socket(struct recorder *recorder, struct base_error *error);
// Starts the program, with the handlers that were there before. Fails if it cannot be executed.
enum base_code record_start_program(struct recorder *recorder,
                                    const struct sigaction old[RECORD_SIGNALS],
                                    struct base_error *error);

#endif
