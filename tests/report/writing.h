// SPDX-License-Identifier: Apache-2.0
// For programs that write profiles for tests: they exit with a message at the first error.
#ifndef GLINT_TESTS_REPORT_WRITING_H
#define GLINT_TESTS_REPORT_WRITING_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "profile/profile.h"

static struct base_error error;

static void check(enum base_code code)
{
    if (code == BASE_OK)
        return;
    char text[1024];
    base_error_text(&error, text, sizeof(text));
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
    exit(1);
}

#endif
