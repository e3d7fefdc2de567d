// SPDX-License-Identifier: Apache-2.0
// What makes a finding the same finding in another recording, of the same program or of a changed
// one: docs/ci.md has the rules. Inner header of src/report.
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
