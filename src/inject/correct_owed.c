// SPDX-License-Identifier: Apache-2.0
// What is owed.
#include "correct.h"

bool correct_owe(struct stream *stream)
{
    (void)stream;
    return false;
}

void correct_settle(void) {}

void correct_before_slowly(struct call *call)
{
    (void)call;
}

void correct_after_slowly(struct call *call)
{
    (void)call;
}
