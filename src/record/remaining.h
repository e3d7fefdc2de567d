// SPDX-License-Identifier: Apache-2.0
// Finds processes that outlive the recorded program. Internal.
#ifndef GLINT_RECORD_REMAINING_H
#define GLINT_RECORD_REMAINING_H

// Returns the number of other running processes of this user that have the recorder's socket in
// their environment.
unsigned record_remaining_processes(const char *socket);

#endif
