// SPDX-License-Identifier: Apache-2.0
// What SARIF of a profile and of a job have in common. Inner header of src/report.
#ifndef GLINT_REPORT_SARIF_H
#define GLINT_REPORT_SARIF_H

#include "data.h"

enum { REPORT_SARIF_RESULTS = 5000 }; // the most that hosts keep of a run

#define REPORT_SARIF_ROOT "%SRCROOT%" // the usual name of the source root

struct sarif {
    struct base_json json;
    const struct report_data *data; // NULL: of a job
    const char *root;
    struct base_buf text; // a buffer for the next text
};

// Write `text` of the sarif as a message, and clear it; or another text.
void report_sarif_put_message(struct sarif *sarif, const char *key);
void report_sarif_put_plain(struct sarif *sarif, const char *key, const char *text);
// Writes the member physicalLocation. Line 0: unknown.
void report_sarif_put_physical(struct sarif *sarif, const char *file, uint32_t line);
// Writes the member "tool", with a rule for each pattern; and the member originalUriBaseIds.
void report_sarif_put_tool(struct sarif *sarif);
void report_sarif_put_root(struct sarif *sarif);
// Writes `text` of the sarif as a notification, and clears it.
void report_sarif_put_note(struct sarif *sarif, enum profile_severity severity);

#endif
