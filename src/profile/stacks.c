// SPDX-License-Identifier: Apache-2.0
// Stacks: all return addresses of call paths, of which `paths` has only those of the program.
// Profiles older than version 1.5 have none.
#include "reader.h"
#include "writer.h"

// clang-format off
const char profile_stacks_schema[] =
    "CREATE TABLE stacks(number INTEGER PRIMARY KEY, addresses);"

    "CREATE VIEW v_stacks AS SELECT s.number AS call_path, t.text AS addresses"
    " FROM stacks s LEFT JOIN strings t ON t.id = s.addresses;";
// clang-format on

enum base_code profile_add_stack(struct profile_writer *writer, const struct profile_stack *stack,
                                 struct base_error *error)
{
    int64_t values[] = {stack->number, 0};
    return PROFILE_PUT(writer, STACKS, values, error, {1, stack->addresses});
}

PROFILE_DEFINE_EACH(stack, stack, STACKS, "SELECT number, addresses FROM stacks ORDER BY number",
                    .number = KEY32(0), .addresses = TEXT(1))
