// SPDX-License-Identifier: Apache-2.0
// Stores the text of the source files that call paths and kernels name, so that reports show the
// lines that ran, also after the file was edited and on another machine.
#ifndef GLINT_RECORD_SOURCES_H
#define GLINT_RECORD_SOURCES_H

#include "session.h"

// Notes that a frame or site names the file; NULL is allowed.
void record_sources_want(struct record_session *session, const char *file);
// Writes the files that were found. Called once, when the session ends.
void record_sources_write(struct record_session *session);

#endif
