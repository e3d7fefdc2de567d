// SPDX-License-Identifier: Apache-2.0
// A temporary folder for tests that write profiles, as cmocka's setup and teardown.
#ifndef GLINT_TESTS_PROFILE_FOLDER_H
#define GLINT_TESTS_PROFILE_FOLDER_H

#include <stdio.h>
#include <stdlib.h>

// The folder for a test program's files, and the path of the profile that most tests use.
static char test_folder[64];
static char test_path[96];

static inline int make_folder(void **state)
{
    (void)state;
    snprintf(test_folder, sizeof(test_folder), "/tmp/glint-test-XXXXXX");
    if (!mkdtemp(test_folder))
        return -1;
    snprintf(test_path, sizeof(test_path), "%s/a.glint", test_folder);
    return 0;
}

static inline int remove_folder(void **state)
{
    (void)state;
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", test_folder);
    return system(command);
}

#endif
