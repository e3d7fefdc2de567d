// SPDX-License-Identifier: Apache-2.0
// Decides whether two findings of different recordings, of the same program or of a changed one,
// are the same finding. docs/guide/ci.md has the rules. Inner header of src/report.
#ifndef GLINT_REPORT_IDENTITY_H
#define GLINT_REPORT_IDENTITY_H

#include "data.h"

struct report_identity {
    uint64_t hash;    // of pattern, object, kernel and call path
    uint64_t ordinal; // among those of one hash, from 1, in the order of the source
};

// Of all findings, by their index; the caller frees them. NULL: memory ran out, or there are none.
struct report_identity *report_identities(const struct report_data *data);

#endif
