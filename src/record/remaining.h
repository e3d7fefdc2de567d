// SPDX-License-Identifier: Apache-2.0
// Processes that the program has left behind. Internal.
#ifndef GLINT_RECORD_REMAINING_H
#define GLINT_RECORD_REMAINING_H

// How many living processes of this user, this one aside, were started with the socket.
unsigned record_remaining_processes(const char *socket);

#endif
