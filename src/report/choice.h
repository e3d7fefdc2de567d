// SPDX-License-Identifier: Apache-2.0
// Checks the names that a user chose findings by.
#ifndef GLINT_REPORT_CHOICE_H
#define GLINT_REPORT_CHOICE_H

#include "data.h"

// Returns BASE_NOT_FOUND if no kernel or no object of the profile has the chosen text in its name.
enum base_code report_check_choice(struct report_data *data, const struct report_choice *choice,
                                   struct base_error *error);

#endif
