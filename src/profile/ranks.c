// SPDX-License-Identifier: Apache-2.0
// The program's place in a job: table, writer and reader. Profiles older than version 1.18 have
// none. Numbers are stored plus one, so that 0 means unknown. v_program in schema.c shows the
// table.
#include "reader.h"
#include "writer.h"

// clang-format off
const char profile_ranks_schema[] =
    "CREATE TABLE ranks(id INTEGER PRIMARY KEY, host, launcher, job, rank, count, local);";
// clang-format on

enum base_code profile_put_rank(struct profile_writer *writer, const struct profile_rank *rank,
                                struct base_error *error)
{
    if (!rank->host && !rank->launcher)
        return BASE_OK;
    int64_t values[] = {1,
                        0,
                        0,
                        0,
                        rank->has_number ? (int64_t)rank->number + 1 : 0,
                        rank->has_count ? (int64_t)rank->count + 1 : 0,
                        rank->has_local ? (int64_t)rank->local + 1 : 0};
    return PROFILE_PUT(writer, RANKS, values, error, {1, rank->host}, {2, rank->launcher},
                       {3, rank->job});
}

static enum base_code take_rank(struct profile *profile, sqlite3_stmt *at, void *state,
                                struct base_error *error)
{
    (void)state;
    (void)error;
    uint64_t numbers[3];
    for (int i = 0; i < 3; i++)
        numbers[i] = profile_number_at(profile, at, 3 + i, (uint64_t)UINT32_MAX + 1);
    profile->program.rank = (struct profile_rank){.host = profile_text_at(profile, at, 0),
                                                  .launcher = profile_text_at(profile, at, 1),
                                                  .job = profile_text_at(profile, at, 2),
                                                  .has_number = numbers[0] > 0,
                                                  .number = (uint32_t)(numbers[0] - 1),
                                                  .has_count = numbers[1] > 0,
                                                  .count = (uint32_t)(numbers[1] - 1),
                                                  .has_local = numbers[2] > 0,
                                                  .local = (uint32_t)(numbers[2] - 1)};
    if (profile_skips_row(profile)) // a negative number
        profile->row_damaged = true;
    return BASE_OK;
}

enum base_code profile_load_rank(struct profile *profile, struct base_error *error)
{
    if (!profile_has(profile, PROFILE_TABLE_RANKS))
        return BASE_OK;
    return profile_walk(profile,
                        "SELECT host, launcher, job, rank, count, local FROM ranks WHERE id=1",
                        take_rank, NULL, error);
}
