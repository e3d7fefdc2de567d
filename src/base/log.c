// SPDX-License-Identifier: Apache-2.0
// Formats log messages, and writes them to file descriptors. Uses only the stack: logging must work
// when memory has run out.
#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {
    [BASE_LOG_NOTHING] = "nothing", [BASE_LOG_ERROR] = "error", [BASE_LOG_WARNING] = "warning",
    [BASE_LOG_INFO] = "info",       [BASE_LOG_DEBUG] = "debug",
};

const char *base_log_level_name(enum base_log_level level)
{
    return (size_t)level < sizeof(level_names) / sizeof(level_names[0]) ? level_names[level]
                                                                        : "unknown";
}

bool base_log_level_read(const char *name, enum base_log_level *level)
{
    for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *level = (enum base_log_level)i;
            return true;
        }
    }
    return false;
}

// Returns where to cut the text: at most `limit` bytes remain, and no UTF-8 character is split.
static size_t cut_place(const char *text, size_t limit)
{
    size_t place = limit;
    while (place > 0 && ((unsigned char)text[place] & 0xC0) == 0x80)
        place--;
    return place;
}

void base_log_print(const struct base_log *log, enum base_log_level level, const char *format, ...)
{
    static const char dots[] = "...";
    if (!base_log_wants(log, level))
        return;
    int saved = errno;
    char text[BASE_LOG_TEXT];
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    size_t length = wanted > 0 ? (size_t)wanted : 0;
    if (wanted < 0) {
        // The arguments cannot be formatted: log the format instead of nothing.
        length = strnlen(format, sizeof(text) - 1);
        memcpy(text, format, length);
    } else if (length >= sizeof(text)) {
        length = cut_place(text, sizeof(text) - sizeof(dots));
        memcpy(text + length, dots, sizeof(dots) - 1);
        length += sizeof(dots) - 1;
    }
    while (length > 0 && text[length - 1] == '\n')
        length--;
    text[length] = '\0';
    log->write(log->user, level, text, length);
    errno = saved;
}

static void write_line(void *user, enum base_log_level level, const char *text, size_t length)
{
    char line[BASE_LOG_TEXT + 32];
    int wanted = snprintf(line, sizeof(line), "glint: %s: %.*s\n", base_log_level_name(level),
                          (int)length, text);
    size_t left = wanted > 0 ? (size_t)wanted : 0;
    const char *next = line;
    while (left > 0) {
        ssize_t written = write((int)(intptr_t)user, next, left);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return; // a failure of the log cannot be reported
        next += written;
        left -= (size_t)written;
    }
}

struct base_log base_log_to_fd(enum base_log_level level, int fd)
{
    return (struct base_log){.level = level, .write = write_line, .user = (void *)(intptr_t)fd};
}
