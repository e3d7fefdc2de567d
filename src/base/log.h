// SPDX-License-Identifier: Apache-2.0
// The log: what a part wants to tell while it works, to a sink that the owner of the log chose. The
// log filters by level and formats; it holds nothing and decides nothing about files. Not for
// errors that a caller handles: those are returned (error.h).
#ifndef GLINT_BASE_LOG_H
#define GLINT_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum base_log_level {
    BASE_LOG_NOTHING = 0, // as a log's level only: lets nothing through
    BASE_LOG_ERROR,       // something asked for will not be done
    BASE_LOG_WARNING,     // it will be done, but not quite as asked
    BASE_LOG_INFO,        // what a user may like to know
    BASE_LOG_DEBUG,       // what helps a developer of glint
};

// A longer message is cut, at a character's border, and ends in "...".
enum { BASE_LOG_TEXT = 1024 };

// Takes one message: text without a newline at its end, NUL-terminated; length without the NUL. The
// text is only lent. Called on the thread that logs; where threads share a log, it must bear that.
typedef void base_log_write(void *user, enum base_log_level level, const char *text, size_t length);

// Set once by its owner, then passed by const pointer. {0} logs nothing, and so does a NULL
// pointer.
struct base_log {
    enum base_log_level level; // the most talkative level let through
    base_log_write *write;
    void *user;
};

// True where a message of the level would be written: for messages that are costly to prepare.
static inline bool base_log_wants(const struct base_log *log, enum base_log_level level)
{
    return log && log->write && level != BASE_LOG_NOTHING && level <= log->level;
}

// "error", "warning", "info", "debug"; "nothing".
const char *base_log_level_name(enum base_log_level level);

// Reads such a name; false, leaving *level alone, where it is none of them.
bool base_log_level_read(const char *name, enum base_log_level *level);

// Formats and hands on one message. Takes no memory, keeps errno. The macros below are shorter, and
// leave the arguments unevaluated where nobody listens.
void base_log_print(const struct base_log *log, enum base_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define BASE_LOG_AT(log, at, ...) \
    (base_log_wants((log), (at)) ? base_log_print((log), (at), __VA_ARGS__) : (void)0)
#define base_log_error(log, ...)   BASE_LOG_AT(log, BASE_LOG_ERROR, __VA_ARGS__)
#define base_log_warning(log, ...) BASE_LOG_AT(log, BASE_LOG_WARNING, __VA_ARGS__)
#define base_log_info(log, ...)    BASE_LOG_AT(log, BASE_LOG_INFO, __VA_ARGS__)
#define base_log_debug(log, ...)   BASE_LOG_AT(log, BASE_LOG_DEBUG, __VA_ARGS__)

// A log whose sink writes lines such as "glint: warning: text" to a file descriptor, which it
// neither owns nor closes. A line is one write(), so that those of several threads and processes
// stay whole.
struct base_log base_log_to_fd(enum base_log_level level, int fd);

#endif
