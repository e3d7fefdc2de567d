// SPDX-License-Identifier: Apache-2.0
// Sums up the collectives and the ranges of NVTX of a profile for a job profile. Of ranges it keeps
// the names that take most time, because names may have numbers in them: PyTorch's can be as many
// as there are calls.
#include "job_parting.h"

// --- Collectives ---------------------------------------------------------------------------------

static const char collectives[] =
    "SELECT name, type, ranks, call_path, count(*), sum(status NOT IN (0, 7)), count(sent_bytes),"
    " coalesce(sum(sent_bytes), 0), count(received_bytes), coalesce(sum(received_bytes), 0),"
    " coalesce(sum(max(end_ns - start_ns, 0)), 0), coalesce(max(max(end_ns - start_ns, 0)), 0)"
    " FROM v_collectives GROUP BY name, type, ranks, call_path";

enum { NAME, TYPE, RANKS, PATH, FIRST_SUM, SUMS = 8 };

static bool take_columns(void *user, unsigned count, const char *const *names)
{
    (void)user;
    (void)names;
    return count == FIRST_SUM + SUMS;
}

static uint64_t number_of(const struct profile_cell *cell)
{
    return cell->kind == PROFILE_CELL_INTEGER ? (uint64_t)cell->integer : 0;
}

static bool put_text(const struct profile_cell *cell, struct base_buf *out)
{
    if (cell->kind == PROFILE_CELL_TEXT)
        base_buf_add(out, cell->bytes.text, cell->bytes.length);
    return !out->failed;
}

static bool take_collective(void *user, unsigned count, const struct profile_cell *cells)
{
    struct report_parting *of = user;
    struct base_buf name = {0}, type = {0};
    uint64_t sums[SUMS];
    (void)count;
    of->failed |= !put_text(&cells[NAME], &name) || !put_text(&cells[TYPE], &type);
    for (unsigned i = 0; i < SUMS; i++)
        sums[i] = number_of(&cells[FIRST_SUM + i]);
    report_parting_put(
        of, JOB_COLLECTIVES,
        (struct job_cell[JOB_COLLECTIVES_COUNT]){
            [JOB_COLLECTIVES_path] =
                job_path(report_parting_place(of, (uint32_t)number_of(&cells[PATH]))),
            [JOB_COLLECTIVES_function] = job_text(name.text),
            [JOB_COLLECTIVES_type] = job_text(type.text),
            [JOB_COLLECTIVES_communicator_ranks] = job_number(number_of(&cells[RANKS])),
            [JOB_COLLECTIVES_count] = job_number(sums[0]),
            [JOB_COLLECTIVES_failed] = job_number(sums[1]),
            [JOB_COLLECTIVES_sent_count] = job_number(sums[2]),
            [JOB_COLLECTIVES_sent_bytes] = job_number(sums[3]),
            [JOB_COLLECTIVES_received_count] = job_number(sums[4]),
            [JOB_COLLECTIVES_received_bytes] = job_number(sums[5]),
            [JOB_COLLECTIVES_host_ns] = job_number(sums[6]),
            [JOB_COLLECTIVES_longest_ns] = job_number(sums[7])});
    base_buf_fini(&name);
    base_buf_fini(&type);
    return !of->failed;
}

static enum base_code put_collectives(struct report_parting *of, struct base_error *error)
{
    const struct profile_sink sink = {take_columns, take_collective, of};
    return of->data.collectives.count // has them, and requested their call paths
               ? profile_query(of->data.profile, collectives, &sink, error)
               : BASE_OK;
}

// --- Ranges --------------------------------------------------------------------------------------

struct ranges {
    struct report_parting *of;
    size_t count;
    struct profile_nvtx_sum others;
};

static void put_range(struct report_parting *of, const struct profile_nvtx_sum *sum)
{
    report_parting_put(
        of, JOB_RANGES,
        (struct job_cell[JOB_RANGES_COUNT]){[JOB_RANGES_domain] = job_text(sum->domain),
                                            [JOB_RANGES_name] = job_text(sum->name),
                                            [JOB_RANGES_count] = job_number(sum->count),
                                            [JOB_RANGES_timed] = job_number(sum->ended),
                                            [JOB_RANGES_total_ns] = job_number(sum->total_ns),
                                            [JOB_RANGES_longest_ns] = job_number(sum->longest_ns)});
}

static bool take_range(void *user, const struct profile_nvtx_sum *sum)
{
    enum { MOST_NAMES = 1000 };
    struct ranges *ranges = user;
    if (ranges->count++ < MOST_NAMES) {
        put_range(ranges->of, sum);
        return !ranges->of->failed;
    }
    ranges->others.count += sum->count;
    ranges->others.ended += sum->ended;
    ranges->others.total_ns += sum->total_ns;
    if (sum->longest_ns > ranges->others.longest_ns)
        ranges->others.longest_ns = sum->longest_ns;
    return true;
}

static enum base_code put_ranges(struct report_parting *of, struct base_error *error)
{
    struct ranges ranges = {.of = of, .others = {.name = JOB_OTHER_RANGES}};
    const enum base_code code = profile_each_nvtx_sum(of->data.profile, take_range, &ranges, error);
    if (code == BASE_OK && ranges.others.count)
        put_range(of, &ranges.others);
    return code;
}

enum base_code report_parting_put_communication(struct report_parting *of, struct base_error *error)
{
    const enum base_code code = put_collectives(of, error);
    return code == BASE_OK && !of->failed ? put_ranges(of, error) : code;
}
