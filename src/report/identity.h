// SPDX-License-Identifier: Apache-2.0
// Identifies a finding across recordings of a program, also after changes to it; docs/guide/ci.md
// has the rules. Inner header of src/report.
#ifndef GLINT_REPORT_IDENTITY_H
#define GLINT_REPORT_IDENTITY_H

#include "data.h"

struct report_identity {
    uint64_t hash;    // of pattern, object, kernel and call path
    uint64_t ordinal; // among those of one hash, from 1, in the order of the source
};

// Returns the identities of all findings, by index; the caller frees them. NULL if memory ran out
// or there are no findings.
struct report_identity *report_identities(const struct report_data *data);

#endif
