// SPDX-License-Identifier: Apache-2.0
// Parses thresholds of findings from options.
#include "thresholds.h"

#include <stdlib.h>
#include <string.h>

#include "cli.h"

bool cli_thresholds_take(struct analyze_thresholds *thresholds, const char *argument)
{
    const char *equals = strchr(argument, '=');
    char *name = equals ? strndup(argument, (size_t)(equals - argument)) : NULL;
    uint32_t *field = name ? analyze_threshold(thresholds, name) : NULL;
    char *end = NULL;
    unsigned long value = equals ? strtoul(equals + 1, &end, 10) : 0;
    bool good = field && equals[1] >= '0' && equals[1] <= '9' && *end == '\0' && value <= INT32_MAX;
    if (good)
        *field = (uint32_t)value;
    else if (equals && !name)
        cli_no_memory();
    else if (field)
        cli_message("--threshold: '%s' is not a number", equals + 1);
    else
        cli_message(
            "--threshold takes NAME=N: unknown name '%s'; 'glint help report' lists the names",
            name ? name : argument);
    free(name);
    return good;
}
