// SPDX-License-Identifier: Apache-2.0
// Calls of NCCL, summed up by function, communicator and call path. Inner header of src/report;
// text.h has what writes them as text.
#ifndef GLINT_REPORT_COLLECTIVES_H
#define GLINT_REPORT_COLLECTIVES_H

#include "data.h"

// Reads data->collectives, and requests their call paths.
enum base_code report_collectives_load(struct report_data *data, struct base_error *error);

// Writes them as a member of the report in JSON.
void report_json_collectives(struct base_json *json, const struct report_data *data);

#endif
