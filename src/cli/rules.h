// SPDX-License-Identifier: Apache-2.0
// Finds and reads the file of rules and suppressions, .glint.toml.
#ifndef GLINT_CLI_RULES_H
#define GLINT_CLI_RULES_H

#include "cli.h"
#include "report/report.h"

extern const char cli_rules_usual_name[]; // ".glint.toml"

// Reads the file `name`; if that is NULL, the nearest .glint.toml between the current folder and
// the root of the repository. Outside of a repository, only the current folder is searched. Sets
// *file to the name of the file, which `found` may hold, or to NULL if there is none. Returns false
// after a message.
bool cli_rules_read(const char *name, struct report_rules *rules, struct base_buf *found,
                    const char **file);

#endif
