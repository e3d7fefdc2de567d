// SPDX-License-Identifier: Apache-2.0
// Uses any bytes as a file of rules, and their first line as rules of a command line. They are
// accepted, or rejected with a line number, and accepted rules must be valid.
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "report/report.h"

static void check_rules(const struct report_rules *rules)
{
    for (size_t i = 0; i < rules->rules.count; i++) {
        if (!rules->rules.items[i].text[0] || rules->rules.items[i].pattern > ANALYZE_PATTERNS)
            abort();
    }
    for (size_t i = 0; i < rules->suppressions.count; i++) {
        const struct report_suppression *row = &rules->suppressions.items[i];
        if (!row->reason || !row->reason[0] ||
            (row->pattern == ANALYZE_PATTERNS && !row->object && !row->path))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    struct report_rules rules;
    struct base_error error = {0};
    report_rules_init(&rules);
    enum base_code code =
        report_rules_read(&rules, (struct base_str){(const char *)data, size_bytes}, &error);
    if (code == BASE_OK)
        check_rules(&rules);
    else if (code != BASE_SYNTAX || strncmp(error.text[0], "line ", 5) != 0)
        abort();
    report_rules_fini(&rules);

    const uint8_t *end = size_bytes ? memchr(data, '\n', size_bytes) : NULL;
    char *line =
        strndup(size_bytes ? (const char *)data : "", end ? (size_t)(end - data) : size_bytes);
    report_rules_init(&rules);
    code = report_rules_add(&rules, line, &error);
    if (code == BASE_OK)
        check_rules(&rules);
    else if (code != BASE_SYNTAX)
        abort();
    report_rules_fini(&rules);
    free(line);
    return 0;
}
