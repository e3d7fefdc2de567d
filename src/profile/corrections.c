// SPDX-License-Identifier: Apache-2.0
// Corrections: what the rows of a plan have done. Table, view, writer and reader. Profiles older
// than version 1.5 have none.
#include "reader.h"
#include "writer.h"

// clang-format off
const char profile_corrections_schema[] =
    "CREATE TABLE corrections(row INTEGER PRIMARY KEY, remedy, path, applied, unsafe, bytes, paid, peak, native_peak);"

    "CREATE VIEW v_corrections AS SELECT NULLIF(c.row, 0) AS row, r.word AS remedy, NULLIF(c.path, 0) AS call_path,"
    " c.applied, c.unsafe AS left_alone, c.bytes, c.paid, c.peak AS peak_bytes, c.native_peak AS native_peak_bytes"
    " FROM corrections c LEFT JOIN remedies r ON r.value = c.remedy;";
// clang-format on

enum base_code profile_add_correction(struct profile_writer *writer,
                                      const struct profile_correction *correction,
                                      struct base_error *error)
{
    return profile_put_first(
        writer, PROFILE_TABLE_CORRECTIONS,
        (int64_t[]){correction->row, correction->remedy, correction->path,
                    (int64_t)correction->applied, (int64_t)correction->left_alone,
                    (int64_t)correction->bytes, (int64_t)correction->paid,
                    (int64_t)correction->peak_bytes, (int64_t)correction->native_peak_bytes},
        error);
}

PROFILE_DEFINE_EACH(correction, correction, CORRECTIONS,
                    "SELECT row, remedy, path, applied, unsafe, bytes, paid, peak, native_peak"
                    " FROM corrections ORDER BY row",
                    .row = U32(0),
                    .remedy = (enum profile_remedy)profile_known(at, 1, PROFILE_REMEDY_NONE,
                                                                 PROFILE_REMEDIES,
                                                                 PROFILE_REMEDY_NONE),
                    .path = U32(2), .applied = U64(3), .left_alone = U64(4), .bytes = U64(5),
                    .paid = U64(6), .peak_bytes = U64(7), .native_peak_bytes = U64(8))
