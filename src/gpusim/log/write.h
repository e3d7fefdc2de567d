// SPDX-License-Identifier: Apache-2.0
// Writes the simulated GPU's log. docs/reference/sim-log.md describes its format, and gpusim.h
// declares its reader. The driver opens the log and writes calls, the machine writes the rest.
// Every function may be called from any thread.
#ifndef GLINT_GPUSIM_LOG_WRITE_H
#define GLINT_GPUSIM_LOG_WRITE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/base.h"
#include "gpusim/gpusim.h"

struct log_file;

// --- The file ------------------------------------------------------------------------------------

// Creates or truncates the file. The caller closes the log after destroying the device that writes
// to it. BASE_IO, BASE_NO_MEMORY.
enum base_code log_open(const char *path, struct log_file **log, struct base_error *error);
void log_close(struct log_file *log); // NULL does nothing
// Marks the log as complete; later records are dropped. Returns 0, or the errno of the first write
// that failed.
int log_end(struct log_file *log);
// Drops all later records, because `error` (an errno) happened while one was made.
void log_fail(struct log_file *log, int error);

// --- Records -------------------------------------------------------------------------------------

// Writes the entry into an API function and returns the call's number, from 1. inside is the number
// of the call that makes this one, or 0.
uint64_t log_call(struct log_file *log, uint64_t inside, uint64_t thread, const char *name,
                  const char *arguments);
void log_return(struct log_file *log, uint64_t number, int64_t result, const char *outputs);

// In the next seven, a log of NULL does nothing.
void log_object(struct log_file *log, const struct gpusim_object *object);
void log_object_end(struct log_file *log, uint64_t id);
void log_launch(struct log_file *log, const struct gpusim_log_launch *launch);
void log_launch_end(struct log_file *log, const struct gpusim_log_launch_end *end);
// Writes a copy that has been executed. copy->bytes is ignored: if the destination has objects, the
// bytes are read from there.
void log_copy(struct log_file *log, const struct gpusim_log_copy *copy);
void log_fill(struct log_file *log, const struct gpusim_log_fill *fill);
// Writes what the object holds now: `bytes` are all of its bytes.
void log_contents(struct log_file *log, uint64_t object, const unsigned char *bytes, size_t count);

// Reserves `count` consecutive site numbers and returns the first.
uint32_t log_reserve_sites(struct log_file *log, uint32_t count);
// Writes the site unless *announced is set already, then sets it. A site must be written before the
// first access that names it.
void log_site(struct log_file *log, const struct gpusim_log_site *site, atomic_bool *announced);

// --- Frames, for accesses ------------------------------------------------------------------------

// A frame is a buffer that starts with log_begin() and continues with numbers, texts and bytes.
// log_write_frame() writes it to the file in one write. Its owner frees the buffer.
void log_begin(struct base_buf *frame, unsigned type); // enum log_frame; drops the old contents
void log_put_number(struct base_buf *to, uint64_t value);
void log_put_text(struct base_buf *to, const char *text);
void log_write_frame(struct log_file *log, struct base_buf *frame);

#endif
