// SPDX-License-Identifier: Apache-2.0
// Reads which part of the program's run is to be watched. The recorder checks what the user asked
// for with it, and libglint.so reads the same text again.
#include <string.h>

#include "event.h"

// Copies `length` bytes without the backslashes that precede an "@". Returns false if the text is
// empty or does not fit.
static bool take(char out[EVENT_CAPTURE_TEXT], const char *text, size_t length)
{
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\\' && i + 1 < length && text[i + 1] == '@')
            continue;
        if (used == EVENT_CAPTURE_TEXT - 1)
            return false;
        out[used++] = text[i];
    }
    out[used] = '\0';
    return used > 0;
}

// Returns the last "@" that no backslash precedes; NULL: there is none.
static const char *separator(const char *text)
{
    const char *found = NULL;
    for (const char *at = strchr(text, '@'); at; at = strchr(at + 1, '@')) {
        if (at == text || at[-1] != '\\')
            found = at;
    }
    return found;
}

bool event_capture_parse(const char *text, struct event_capture *capture)
{
    static const char nvtx[] = "nvtx:";
    *capture = (struct event_capture){.kind = EVENT_CAPTURE_ALL};
    if (strcmp(text, "profiler") == 0) {
        capture->kind = EVENT_CAPTURE_PROFILER;
        return true;
    }
    if (strncmp(text, nvtx, strlen(nvtx)) != 0)
        return false;
    const char *name = text + strlen(nvtx), *at = separator(name);
    if (!take(capture->name, name, at ? (size_t)(at - name) : strlen(name)) ||
        (at && !take(capture->domain, at + 1, strlen(at + 1))))
        return false;
    capture->kind = EVENT_CAPTURE_NVTX;
    return true;
}
