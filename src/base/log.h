// SPDX-License-Identifier: Apache-2.0
// The log: messages that a part emits while it works, to a sink that the owner of the log chose.
// The log filters by level and formats; it stores nothing and opens no files. Errors that a caller
// handles are not logged but returned (error.h).
#ifndef GLINT_BASE_LOG_H
#define GLINT_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum base_log_level {
    BASE_LOG_NOTHING = 0, // only as the level of a log: suppresses all messages
    BASE_LOG_ERROR,       // a request failed
    BASE_LOG_WARNING,     // a request was carried out, but not exactly as asked
    BASE_LOG_INFO,        // of interest to a user
    BASE_LOG_DEBUG,       // of interest to a developer of glint
};

// Longer messages are cut between characters and end in "...".
enum { BASE_LOG_TEXT = 1024 };

// Receives one message, NUL-terminated and without a newline at its end. The text is valid only
// during the call. It is called on the thread that logs, so it must be thread-safe if threads share
// the log.
typedef void base_log_write(void *user, enum base_log_level level, const char *text, size_t length);

// Set once by its owner, then passed by const pointer. {0} and a NULL pointer log nothing.
struct base_log {
    enum base_log_level level; // the most verbose level that passes
    base_log_write *write;
    void *user;
};

// Returns true if a message of this level would be written. For messages that are costly to
// prepare.
static inline bool base_log_wants(const struct base_log *log, enum base_log_level level)
{
    return log && log->write && level != BASE_LOG_NOTHING && level <= log->level;
}

// "error", "warning", "info", "debug"; "nothing".
const char *base_log_level_name(enum base_log_level level);

// Parses such a name. Returns false, and leaves *level unchanged, if it is not one of them.
bool base_log_level_read(const char *name, enum base_log_level *level);

// Formats a message and passes it on. Does not allocate and preserves errno. The macros below are
// shorter and do not evaluate their arguments if the message is suppressed.
void base_log_print(const struct base_log *log, enum base_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define BASE_LOG_AT(log, at, ...) \
    (base_log_wants((log), (at)) ? base_log_print((log), (at), __VA_ARGS__) : (void)0)
#define base_log_error(log, ...)   BASE_LOG_AT(log, BASE_LOG_ERROR, __VA_ARGS__)
#define base_log_warning(log, ...) BASE_LOG_AT(log, BASE_LOG_WARNING, __VA_ARGS__)
#define base_log_info(log, ...)    BASE_LOG_AT(log, BASE_LOG_INFO, __VA_ARGS__)
#define base_log_debug(log, ...)   BASE_LOG_AT(log, BASE_LOG_DEBUG, __VA_ARGS__)

// Returns a log that writes lines such as "glint: warning: text" to a file descriptor, which it
// does not close. Each line is one write(), so that lines of several threads and processes do not
// mix.
struct base_log base_log_to_fd(enum base_log_level level, int fd);

#endif
