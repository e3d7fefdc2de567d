// SPDX-License-Identifier: Apache-2.0
// The findings of the last model that a test analyzed. `forget` is the teardown of such tests.
#ifndef GLINT_TESTS_ANALYZE_LAST_H
#define GLINT_TESTS_ANALYZE_LAST_H

#include "models.h"

static struct analysis *last;

static inline int forget(void **state)
{
    (void)state;
    analyze_free(last);
    last = NULL;
    return 0;
}

static inline void run(struct analyze_model *model)
{
    forget(NULL);
    last = analyze(model, analyze_default_thresholds());
}

#endif
