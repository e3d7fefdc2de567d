// SPDX-License-Identifier: Apache-2.0
// Searches for .glint.toml in the current folder and in its parents up to the root of the
// repository, and reads it.
#include "rules.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char cli_rules_usual_name[] = ".glint.toml";

// Finds the file as a relative path. Returns false if there is none.
static bool find_rules(struct base_buf *path)
{
    struct base_buf up = {0}, name = {0};
    char *here = getcwd(NULL, 0);
    bool found = false, at_root = false;
    path->length = 0;
    for (const char *slash = here; slash && !at_root; slash = strchr(slash + 1, '/')) {
        name.length = 0;
        base_buf_printf(&name, "%s%s", up.text ? up.text : "", cli_rules_usual_name);
        if (!found && !name.failed && access(name.text, F_OK) == 0) {
            base_buf_puts(path, name.text);
            found = true;
        }
        name.length = 0;
        base_buf_printf(&name, "%s.git", up.text ? up.text : "");
        at_root = !name.failed && access(name.text, F_OK) == 0;
        base_buf_puts(&up, "../");
    }
    free(here);
    base_buf_fini(&up);
    base_buf_fini(&name);
    if (found && !at_root && strchr(path->text, '/'))
        found = false; // outside of a repository, a parent folder may be another user's
    return found && !path->failed;
}

bool cli_rules_read(const char *name, struct report_rules *rules, struct base_buf *found,
                    const char **file)
{
    struct base_error error = {0};
    char *text = NULL;
    size_t length = 0;
    *file = name ? name : find_rules(found) ? found->text : NULL;
    if (!*file)
        return true;
    enum base_code code = base_file_read(*file, &text, &length, &error);
    if (code == BASE_OK) {
        code = report_rules_read(rules, (struct base_str){text, length}, &error);
        if (code != BASE_OK)
            base_fail_while(&error, "%s", *file);
    }
    free(text);
    if (code != BASE_OK)
        cli_error(&error);
    return code == BASE_OK;
}
