// SPDX-License-Identifier: Apache-2.0
// Compares --kernels with the kernels of the profiles that were recorded.
#include "kernels.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile.h"

struct kernels {
    const regex_t *wanted;
    bool matched, failed;
    BASE_ARRAY(char *) names; // without return type, namespaces, template arguments and parameters
};

// Keeps the plain name of a kernel: "add" of "void ns::add<float>(float*)".
static void keep_name(struct kernels *kernels, const char *name)
{
    const size_t end = strcspn(name, "<(");
    size_t start = end;
    while (start > 0 && name[start - 1] != ' ' && name[start - 1] != ':')
        start--;
    char *copy = strndup(name + start, end - start);
    char **row = copy ? base_array_push(&kernels->names) : NULL;
    if (row)
        *row = copy;
    else
        free(copy);
    kernels->failed |= !row;
}

static bool take_kernel(void *user, const struct profile_kernel *kernel)
{
    struct kernels *kernels = user;
    const char *const names[] = {kernel->name, kernel->mangled};
    for (unsigned i = 0; i < 2; i++)
        kernels->matched |= names[i] && regexec(kernels->wanted, names[i], 0, NULL, 0) == 0;
    if (kernel->name && !kernels->matched)
        keep_name(kernels, kernel->name);
    return !kernels->matched && !kernels->failed;
}

void cli_kernels_report(const char *regex, const struct record_outcome *outcome)
{
    regex_t wanted;
    struct kernels kernels = {.wanted = &wanted};
    struct base_error error = {0};
    if (!regex || regcomp(&wanted, regex, REG_EXTENDED | REG_NOSUB) != 0)
        return;
    for (uint32_t i = 0; i < outcome->profile_count && !kernels.failed; i++) {
        struct profile *profile = NULL;
        if (outcome->profiles[i].made &&
            profile_open(outcome->profiles[i].path, &profile, &error) == BASE_OK)
            kernels.failed |=
                profile_each_kernel(profile, take_kernel, &kernels, &error) != BASE_OK;
        profile_close(profile);
    }
    regfree(&wanted);
    if (kernels.names.count && !kernels.matched && !kernels.failed)
        cli_message(
            "no kernel was watched: no name matches --kernels '%s'%s", regex,
            cli_nearest(regex, (const char *const *)kernels.names.items, kernels.names.count).text);
    for (size_t i = 0; i < kernels.names.count; i++)
        free(kernels.names.items[i]);
    base_array_fini(&kernels.names);
}
