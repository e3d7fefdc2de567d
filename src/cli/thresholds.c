// SPDX-License-Identifier: Apache-2.0
// Parses thresholds of findings from options.
#include "thresholds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static void refuse_name(const char *name)
{
    const char *known[ANALYZE_MOST_THRESHOLDS];
    size_t count = 0;
    for (const struct analyze_threshold *row; (row = analyze_threshold_at(count));)
        known[count++] = row->name;
    cli_message(
        "--threshold takes NAME=N: unknown name '%s'%s; 'glint help report' lists the names", name,
        cli_nearest(name, known, count).text);
}

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
    else if (!equals)
        cli_message("--threshold takes NAME=N, not '%s'", argument);
    else
        refuse_name(name);
    free(name);
    return good;
}

// "  early-apis 1 GPU APIs: at least this many ...".
void cli_thresholds_put(struct base_buf *out)
{
    enum { NAME_COLUMNS = 24, VALUE_COLUMNS = 18 };
    base_buf_puts(out, "Thresholds and their defaults (docs/reference/patterns.md):\n");
    const struct analyze_threshold *row;
    for (size_t i = 0; (row = analyze_threshold_at(i)); i++) {
        char value[64];
        snprintf(value, sizeof(value), "%u %s", row->value, row->unit);
        base_buf_printf(out, "  %-*s%-*s%s\n", NAME_COLUMNS, row->name, VALUE_COLUMNS, value,
                        row->meaning);
    }
}
