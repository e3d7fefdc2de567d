// SPDX-License-Identifier: Apache-2.0
// Stores the text of the source files that call paths and kernels name, so that reports show the
// lines that ran, also after the file was edited and on another machine.
#ifndef GLINT_RECORD_SOURCES_H
#define GLINT_RECORD_SOURCES_H

#include "session.h"
#include "symbols.h"

// Notes that a site of a kernel names the line; a file of NULL is allowed.
void record_sources_want(struct record_session *session, const char *file, uint32_t line);
// Notes that a frame names its line.
void record_sources_want_frame(struct record_session *session,
                               const struct record_symbols_frame *frame);
// Writes the files that were found. Called once, when the session ends.
void record_sources_write(struct record_session *session);

#endif
