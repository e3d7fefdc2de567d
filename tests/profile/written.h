// SPDX-License-Identifier: Apache-2.0
// The sample profile, written to the test's file and opened.
#ifndef GLINT_TESTS_PROFILE_WRITTEN_H
#define GLINT_TESTS_PROFILE_WRITTEN_H

#include "testing.h"

#include "sample.h"

static inline struct profile *open_written(void)
{
    struct base_error error = {0};
    struct profile *profile;
    check_good(profile_open(test_path, &profile, &error), &error);
    return profile;
}

static inline struct profile *write_sample(void)
{
    struct base_error error = {0};
    check_good(sample_write(test_path, &error), &error);
    return open_written();
}

#endif
