// SPDX-License-Identifier: Apache-2.0
// Writes what probes measured as the integers of its tables: kernels, what each launch did to each
// object, and how often it touched elements. write_maps.c writes maps.
#include <math.h>

#include "writer.h"

enum base_code profile_add_probe(struct profile_writer *writer, const struct profile_probe *probe,
                                 struct base_error *error)
{
    int64_t values[] = {probe->kernel, probe->facts, 0};
    return PROFILE_PUT(writer, PROBES, values, error, {2, probe->reason});
}

enum base_code profile_add_kernel_site(struct profile_writer *writer,
                                       const struct profile_kernel_site *site,
                                       struct base_error *error)
{
    int64_t values[] = {site->kernel,
                        site->number,
                        0,
                        0,
                        0,
                        site->type_count,
                        site->bytes,
                        site->access,
                        site->generic,
                        site->instruction,
                        site->ptx_line,
                        0,
                        site->line,
                        site->column,
                        0,
                        0,
                        site->at_line,
                        site->at_column};
    return PROFILE_PUT(writer, KERNEL_SITES, values, error, {2, site->function}, {3, site->opcode},
                       {4, site->type}, {11, site->file}, {14, site->inlined_function},
                       {15, site->at_file});
}

enum base_code profile_add_access(struct profile_writer *writer,
                                  const struct profile_access *access, struct base_error *error)
{
    // PROFILE_UNKNOWN becomes -1.
    int64_t shape[] = {0,
                       access->read | access->written << 1 | access->named << 2 |
                           access->passed << 3 | access->sampled << 4,
                       (int64_t)access->bytes_read,
                       (int64_t)access->bytes_written,
                       (int64_t)access->elements,
                       (int64_t)access->new_elements,
                       (int64_t)access->shared_elements,
                       access->element_bytes};
    bool is_new;
    enum base_code code = profile_recall_row(writer, &writer->shapes, shape,
                                             sizeof(shape) / sizeof(shape[0]), &is_new, error);
    if (code == BASE_OK && is_new)
        code = profile_put(writer, PROFILE_TABLE_ACCESS_SHAPES, shape, error);
    if (code != BASE_OK)
        return code;
    // Both rows of call 0 that an object may have are kept: the last row of a key replaces others.
    const uint32_t node = access->call == 0 && access->passed ? 1 : access->node;
    return profile_put_first(
        writer, PROFILE_TABLE_ACCESSES,
        (int64_t[]){(int64_t)access->call, node, (int64_t)access->object, shape[0]}, error);
}

// --- Counts --------------------------------------------------------------------------------------

uint64_t profile_bin_least(unsigned bin)
{
    return bin % 2 ? (((uint64_t)3 << bin / 2) + 1) / 2 : (uint64_t)1 << bin / 2;
}

uint64_t profile_counts_elements(const struct profile_counts *counts)
{
    uint64_t elements = 0;
    for (unsigned i = 0; i < PROFILE_COUNT_BINS; i++)
        elements += counts->bins[i];
    return elements;
}

double profile_counts_mean(const struct profile_counts *counts)
{
    uint64_t elements = profile_counts_elements(counts);
    return elements ? (double)counts->sum / (double)elements : 0;
}

double profile_counts_variation(const struct profile_counts *counts)
{
    uint64_t elements = profile_counts_elements(counts);
    unsigned __int128 squares = (unsigned __int128)counts->squares_high << 64 | counts->squares_low;
    unsigned __int128 sum_squared = (unsigned __int128)counts->sum * counts->sum;
    unsigned __int128 scaled;
    if (elements == 0 || counts->sum == 0)
        return 0;
    // The variance is (squares - sum * sum / elements) / elements. If all counts are the same, the
    // difference is 0, which floating-point numbers would miss.
    if (__builtin_mul_overflow(squares, (unsigned __int128)elements, &scaled)) {
        double ratio = (double)squares * (double)elements / (double)sum_squared;
        return ratio > 1 ? sqrt(ratio - 1) : 0;
    }
    return scaled > sum_squared ? sqrt((double)(scaled - sum_squared)) / (double)counts->sum : 0;
}

// The values of a distribution for profile_recall_row: its row, its bins, its ranges.
enum {
    ROW_VALUES = 8,
    RANGE_VALUES = 3,
    DISTRIBUTION_VALUES = ROW_VALUES + PROFILE_COUNT_BINS + RANGE_VALUES * PROFILE_HOT_RANGES
};

static enum base_code put_distribution(struct profile_writer *writer, const int64_t *values,
                                       struct base_error *error)
{
    const int64_t *bins = values + ROW_VALUES, *ranges = bins + PROFILE_COUNT_BINS;
    enum base_code code = profile_put(writer, PROFILE_TABLE_DISTRIBUTIONS, values, error);
    for (unsigned i = 0; i < PROFILE_COUNT_BINS && code == BASE_OK; i++) {
        if (bins[i])
            code = profile_put(writer, PROFILE_TABLE_DISTRIBUTION_BINS,
                               (int64_t[]){values[0], i, bins[i]}, error);
    }
    for (unsigned i = 0; i < PROFILE_HOT_RANGES && code == BASE_OK; i++, ranges += RANGE_VALUES) {
        if (ranges[1])
            code =
                profile_put(writer, PROFILE_TABLE_DISTRIBUTION_RANGES,
                            (int64_t[]){values[0], i + 1, ranges[0], ranges[1], ranges[2]}, error);
    }
    return code;
}

enum base_code profile_add_counts(struct profile_writer *writer,
                                  const struct profile_counts *counts, struct base_error *error)
{
    int64_t values[DISTRIBUTION_VALUES] = {0,
                                           (int64_t)profile_counts_elements(counts),
                                           (int64_t)counts->sum,
                                           (int64_t)counts->squares_low,
                                           (int64_t)counts->squares_high,
                                           counts->most,
                                           (int64_t)counts->most_at};
    // At most the square root of the number of elements, unless the sums are wrong.
    double variation = profile_counts_variation(counts) * 1e12;
    values[ROW_VALUES - 1] = variation < 9e18 ? (int64_t)(variation + 0.5) : INT64_MAX;
    int64_t *next = values + ROW_VALUES;
    for (unsigned i = 0; i < PROFILE_COUNT_BINS; i++)
        *next++ = (int64_t)counts->bins[i];
    for (unsigned i = 0; i < PROFILE_HOT_RANGES; i++) {
        *next++ = (int64_t)counts->hottest[i].first;
        *next++ = (int64_t)counts->hottest[i].elements;
        *next++ = (int64_t)counts->hottest[i].sum;
    }
    bool is_new;
    enum base_code code = profile_recall_row(writer, &writer->distributions, values,
                                             DISTRIBUTION_VALUES, &is_new, error);
    if (code == BASE_OK && is_new)
        code = put_distribution(writer, values, error);
    if (code != BASE_OK)
        return code;
    return profile_put_first(
        writer, PROFILE_TABLE_ACCESS_COUNTS,
        (int64_t[]){(int64_t)counts->call, counts->node, (int64_t)counts->object, values[0]},
        error);
}
