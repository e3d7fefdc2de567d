// SPDX-License-Identifier: Apache-2.0
// Error codes and chains of causes.
#include "error.h"

#include <stdio.h>
#include <string.h>

const char *base_code_name(enum base_code code)
{
    static const char *const names[] = {
        [BASE_OK] = "ok",
        [BASE_NO_MEMORY] = "no-memory",
        [BASE_IO] = "io",
        [BASE_SYNTAX] = "syntax",
        [BASE_UNSUPPORTED] = "unsupported",
        [BASE_INVALID] = "invalid",
        [BASE_NOT_FOUND] = "not-found",
        [BASE_CORRUPT] = "corrupt",
        [BASE_CONFLICT] = "conflict",
    };
    return (size_t)code < sizeof(names) / sizeof(names[0]) ? names[code] : "unknown";
}

// Formats into a buffer first, because arguments may be texts of the same error.
static void set_text(struct base_error *error, unsigned place, const char *format,
                     va_list arguments)
{
    char text[BASE_ERROR_TEXT];
    if (vsnprintf(text, sizeof(text), format, arguments) < 0)
        text[0] = '\0';
    memcpy(error->text[place], text, strlen(text) + 1);
}

enum base_code base_fail(struct base_error *error, enum base_code code, const char *format, ...)
{
    if (!error)
        return code;
    va_list arguments;
    va_start(arguments, format);
    set_text(error, 0, format, arguments);
    va_end(arguments);
    error->code = code;
    error->causes = 1;
    return code;
}

enum base_code base_fail_while(struct base_error *error, const char *format, ...)
{
    if (!error)
        return BASE_INVALID;
    unsigned place = error->causes < BASE_ERROR_CAUSES ? error->causes++ : BASE_ERROR_CAUSES - 1;
    va_list arguments;
    va_start(arguments, format);
    set_text(error, place, format, arguments);
    va_end(arguments);
    // A callee that failed without setting a code must not look like success to its callers.
    if (error->code == BASE_OK)
        error->code = BASE_INVALID;
    return error->code;
}

enum base_code base_no_memory(struct base_error *error)
{
    return base_fail(error, BASE_NO_MEMORY, "out of memory");
}

enum base_code base_no_memory_while(struct base_error *error, const char *format, ...)
{
    char doing[BASE_ERROR_TEXT];
    va_list arguments;
    va_start(arguments, format);
    if (vsnprintf(doing, sizeof(doing), format, arguments) < 0)
        doing[0] = '\0';
    va_end(arguments);
    return base_fail(error, BASE_NO_MEMORY, "out of memory %s", doing);
}

size_t base_error_text(const struct base_error *error, char *out, size_t out_bytes)
{
    size_t length = 0;
    if (out_bytes)
        out[0] = '\0';
    for (unsigned i = error->causes; i-- > 0;) {
        char *place = length < out_bytes ? out + length : NULL;
        int written =
            snprintf(place, place ? out_bytes - length : 0, "%s%s", error->text[i], i ? ": " : "");
        length += written > 0 ? (size_t)written : 0;
    }
    return length;
}
