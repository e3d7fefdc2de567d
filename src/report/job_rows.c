// SPDX-License-Identifier: Apache-2.0
// Reads kernels, waits, objects, copies, collectives and ranges of a job profile and compares the
// profiles in each. What differs by chance is left out: times of less than a hundredth of the
// longest GPU, waiting or run time of a profile, implicit waits if times are not real, and objects
// that are not at the highest peak.
#include "job_rows.h"

#include <stdlib.h>
#include <string.h>

#include "units.h"

enum { LEAST_PART = 100 };

// --- Spreads -------------------------------------------------------------------------------------

bool report_job_values_init(struct report_job_values *values, size_t count)
{
    values->numbers = calloc(count + 1, sizeof(*values->numbers));
    values->sorted = calloc(count + 1, sizeof(*values->sorted));
    values->profiles = calloc(count + 1, sizeof(*values->profiles));
    if (values->numbers && values->sorted && values->profiles) {
        for (size_t i = 0; i < count; i++)
            values->profiles[i] = i;
        return true;
    }
    report_job_values_fini(values);
    return false;
}

void report_job_values_fini(struct report_job_values *values)
{
    free(values->numbers);
    free(values->sorted);
    free(values->profiles);
    *values = (struct report_job_values){0};
}

static int compare_numbers(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

struct report_job_spread report_job_spread(const struct report_job_values *values, size_t count)
{
    struct report_job_spread spread = {.profiles = count};
    for (size_t i = 0; i < count; i++) {
        const uint64_t value = values->numbers[i];
        if (i == 0 || value < spread.least) {
            spread.least = value;
            spread.least_at = values->profiles[i];
        }
        if (i == 0 || value > spread.most) {
            spread.most = value;
            spread.most_at = values->profiles[i];
        }
        spread.sum += value;
        values->sorted[i] = value;
    }
    if (count)
        qsort(values->sorted, count, sizeof(*values->sorted), compare_numbers);
    spread.median = count ? values->sorted[(count - 1) / 2] : 0;
    return spread;
}

uint64_t report_job_mean(const struct report_job_spread *spread)
{
    return spread->profiles ? spread->sum / spread->profiles : 0;
}

// Returns whether they differ by more than the share of the larger one.
static bool are_apart(uint64_t one, uint64_t other)
{
    const uint64_t more = one > other ? one : other,
                   apart = one > other ? one - other : other - one;
    return (unsigned __int128)apart * 100 > (unsigned __int128)more * REPORT_JOB_DIFFERENCE_PERCENT;
}

// --- Tables --------------------------------------------------------------------------------------

// Of each kind: the key's columns, which are name, path, kind and a number; and the measures.
static const struct table {
    const char *sql;
    unsigned measures;
} tables[REPORT_JOB_KINDS] = {
    [REPORT_JOB_KERNEL] = {"SELECT kernel, 0, 0, 0, profile, launches, gpu_ns, 0, 0, timed,"
                           " launches FROM kernels ORDER BY kernel, profile",
                           .measures = 2},
    [REPORT_JOB_WAIT] = {"SELECT function, path, 0, explicit, profile, count, waited_ns, 0, 0,"
                         " timed, count FROM waits ORDER BY path, function, explicit, profile",
                         .measures = 2},
    [REPORT_JOB_OBJECT] = {"SELECT name, path, kind, 0, profile, count, bytes, peak_bytes, 0, 0, 0"
                           " FROM objects ORDER BY path, name, kind, profile",
                           .measures = 3},
    [REPORT_JOB_COPY] = {"SELECT direction, 0, 0, 0, profile, count, bytes, gpu_ns, 0, timed,"
                         " count FROM copies ORDER BY direction, profile",
                         .measures = 3},
    [REPORT_JOB_COLLECTIVE] = {"SELECT function, path, type, communicator_ranks, profile, count,"
                               " sent_bytes, received_bytes, host_ns, 0, 0 FROM collectives"
                               " ORDER BY path, function, type, communicator_ranks, profile",
                               .measures = 4},
    [REPORT_JOB_RANGE] = {"SELECT name, 0, domain, 0, profile, count, total_ns, 0, 0, 0, 0"
                          " FROM ranges ORDER BY domain, name, profile",
                          .measures = 2},
};
enum { NAME, PATH, KIND, NUMBER, PROFILE, FIRST_MEASURE };
enum { TIMED = FIRST_MEASURE + REPORT_JOB_MEASURES, TIMES };

struct rows_reading {
    enum report_job_kind kind;
    struct report_job_values values[REPORT_JOB_MEASURES];
    struct report_job_row row;
    bool open; // a row is being summed up
    uint64_t timed, times, longest_run_ns;
};

// Chooses the measure by which profiles are compared.
static void choose_main(const struct report_job *job, const struct rows_reading *of,
                        struct report_job_row *row)
{
    const bool times = !job->simulated && row->is_timed;
    switch (of->kind) {
    case REPORT_JOB_KERNEL:
        row->main = times ? 1 : 0;
        row->compared = true;
        break;
    case REPORT_JOB_WAIT:
        row->main = times ? 1 : 0;
        row->compared = times || row->is_explicit;
        break;
    case REPORT_JOB_OBJECT:
        row->main = 2;
        row->compared = row->measures[2].most > 0;
        break;
    case REPORT_JOB_COLLECTIVE: // how long a call takes says less than how much it moves
        row->main = row->measures[1].most ? 1 : row->measures[2].most ? 2 : 0;
        row->compared = true;
        break;
    case REPORT_JOB_RANGE: // those that did not end have no time
        row->main = times && row->measures[1].most ? 1 : 0;
        row->compared = true;
        break;
    default:
        row->main = 1;
        row->compared = true;
        break;
    }
}

static bool matters(const struct report_job *job, const struct rows_reading *of,
                    const struct report_job_row *row)
{
    const uint64_t most = row->measures[row->main].most;
    if (of->kind == REPORT_JOB_OBJECT)
        return most >= job->peak.most / LEAST_PART;
    if (row->main == 0 || of->kind == REPORT_JOB_COPY || of->kind == REPORT_JOB_COLLECTIVE)
        return true;
    const uint64_t whole = of->kind == REPORT_JOB_KERNEL ? job->kernel_ns.most
                           : of->kind == REPORT_JOB_WAIT ? job->waited_ns.most
                                                         : of->longest_run_ns;
    return most >= whole / LEAST_PART;
}

static uint64_t distance(uint64_t one, uint64_t other)
{
    return one > other ? one - other : other - one;
}

// Keeps the profiles that are farthest from the median, in the order of the distance.
static void find_outliers(const struct report_job_values *values, size_t count,
                          struct report_job_row *row)
{
    const uint64_t median = row->measures[row->main].median;
    for (size_t i = 0; i < count; i++) {
        const uint64_t value = values->numbers[i];
        if (!are_apart(value, median))
            continue;
        size_t at =
            row->outlier_count < REPORT_JOB_OUTLIERS ? row->outlier_count : REPORT_JOB_OUTLIERS;
        row->outlier_count++;
        for (; at && distance(value, median) > distance(row->outliers[at - 1].value, median); at--)
            if (at < REPORT_JOB_OUTLIERS)
                row->outliers[at] = row->outliers[at - 1];
        if (at < REPORT_JOB_OUTLIERS)
            row->outliers[at] = (struct report_job_outlier){i, value};
    }
}

static void end_row(struct report_job_reading *reading)
{
    struct report_job *job = reading->job;
    struct rows_reading *of = reading->user;
    const size_t count = job->profiles.count;
    if (!of->open)
        return;
    struct report_job_row *row = &of->row;
    row->is_timed = of->timed == of->times;
    for (unsigned m = 0; m < tables[of->kind].measures; m++)
        row->measures[m] = report_job_spread(&of->values[m], count);
    choose_main(job, of, row);
    row->differs = row->compared && count > 1 && matters(job, of, row) &&
                   are_apart(row->measures[row->main].least, row->measures[row->main].most);
    if (row->differs)
        find_outliers(&of->values[row->main], count, row);
    struct report_job_row *kept = base_array_push(&job->rows[of->kind]);
    reading->no_memory |= !kept;
    if (kept)
        *kept = *row;
    for (unsigned m = 0; m < REPORT_JOB_MEASURES; m++)
        memset(of->values[m].numbers, 0, count * sizeof(*of->values[m].numbers));
    of->open = false;
}

static bool same_text(const char *one, const char *other)
{
    return strcmp(one ? one : "", other ? other : "") == 0;
}

bool report_job_same_row(const struct report_job_row *one, const struct report_job_row *other)
{
    return same_text(one->name, other->name) && same_text(one->kind, other->kind) &&
           one->place == other->place && one->is_explicit == other->is_explicit &&
           one->communicator_ranks == other->communicator_ranks;
}

// Reads what tells a row from others, and of which profile it is.
static struct report_job_row read_key(struct report_job_reading *reading, enum report_job_kind kind,
                                      unsigned count, const struct profile_cell *cells,
                                      size_t *profile)
{
    const char *name = report_job_text_at(reading, &cells[NAME]);
    const struct report_job_row row = {
        .name = name ? name : "",
        .kind = report_job_text_at(reading, &cells[KIND]),
        .place = report_job_place_at(reading, &cells[PATH]),
        .is_explicit = kind == REPORT_JOB_WAIT && cells[NUMBER].integer,
        .communicator_ranks = kind == REPORT_JOB_COLLECTIVE ? (uint64_t)cells[NUMBER].integer : 0};
    *profile = report_job_profile_at(reading, &cells[PROFILE]);
    for (unsigned i = 0; i < count; i++)
        reading->damaged |= cells[i].kind != PROFILE_CELL_INTEGER;
    return row;
}

static bool take_row(void *user, unsigned count, const struct profile_cell *cells)
{
    struct report_job_reading *reading = user;
    struct rows_reading *of = reading->user;
    size_t profile;
    const struct report_job_row row = read_key(reading, of->kind, count, cells, &profile);
    if (reading->damaged)
        return false;
    if (of->open && !report_job_same_row(&row, &of->row))
        end_row(reading);
    if (!of->open) {
        of->row = row;
        of->open = true;
        of->timed = of->times = 0;
    }
    of->row.profiles++;
    of->timed += (uint64_t)cells[TIMED].integer;
    of->times += (uint64_t)cells[TIMES].integer;
    for (unsigned m = 0; m < tables[of->kind].measures; m++)
        of->values[m].numbers[profile] = (uint64_t)cells[FIRST_MEASURE + m].integer;
    return !reading->no_memory;
}

// Those that cost most come first: the time or the bytes by which the worst profile exceeds the
// mean.
static uint64_t excess(const struct report_job_row *row)
{
    const struct report_job_spread *spread = &row->measures[row->main];
    return row->differs ? spread->most - report_job_mean(spread) : 0;
}

static int compare_rows(const void *one, const void *other)
{
    const struct report_job_row *a = one, *b = other;
    if (a->differs != b->differs)
        return a->differs ? -1 : 1;
    if (excess(a) != excess(b))
        return excess(a) > excess(b) ? -1 : 1;
    const uint64_t first = a->measures[a->main].sum, second = b->measures[b->main].sum;
    if (first != second)
        return first > second ? -1 : 1;
    const int order = strcmp(a->name, b->name);
    if (order || a->place != b->place)
        return order ? order : a->place > b->place ? 1 : -1; // by number
    const int kind = strcmp(a->kind ? a->kind : "", b->kind ? b->kind : "");
    return kind ? kind
                : (a->communicator_ranks > b->communicator_ranks) -
                      (a->communicator_ranks < b->communicator_ranks);
}

enum base_code report_job_read_rows(struct report_job *job, enum report_job_kind kind,
                                    struct base_error *error)
{
    struct rows_reading of = {.kind = kind};
    for (size_t i = 0; i < job->profiles.count; i++) {
        const struct report_job_profile *profile = &job->profiles.items[i];
        if (profile->has_run && profile->run_ns > of.longest_run_ns)
            of.longest_run_ns = profile->run_ns;
    }
    struct report_job_reading reading = {.job = job, .error = error, .user = &of};
    enum base_code code = BASE_OK;
    for (unsigned m = 0; m < REPORT_JOB_MEASURES && code == BASE_OK; m++) {
        if (!report_job_values_init(&of.values[m], job->profiles.count))
            code = base_no_memory(error);
    }
    if (code == BASE_OK)
        code = report_job_query(&reading, tables[kind].sql, take_row);
    if (code == BASE_OK) {
        end_row(&reading);
        code = reading.no_memory ? base_no_memory(error) : BASE_OK;
    }
    for (unsigned m = 0; m < REPORT_JOB_MEASURES; m++)
        report_job_values_fini(&of.values[m]);
    if (job->rows[kind].count)
        qsort(job->rows[kind].items, job->rows[kind].count, sizeof(*job->rows[kind].items),
              compare_rows);
    return code;
}

// --- Rows of single profiles ---------------------------------------------------------------------

struct each_use {
    enum report_job_kind kind;
    bool (*each)(void *user, const struct report_job_use *use);
    void *user;
};

static bool take_use(void *user, unsigned count, const struct profile_cell *cells)
{
    struct report_job_reading *reading = user;
    const struct each_use *to = reading->user;
    struct report_job_use use = {.count = (uint64_t)cells[FIRST_MEASURE].integer,
                                 .amount = (uint64_t)cells[FIRST_MEASURE + 1].integer};
    use.row = read_key(reading, to->kind, count, cells, &use.profile);
    if (to->kind == REPORT_JOB_COLLECTIVE)
        use.amount += (uint64_t)cells[FIRST_MEASURE + 2].integer;
    return !reading->damaged && to->each(to->user, &use);
}

enum base_code report_job_each_use(struct report_job *job, enum report_job_kind kind,
                                   bool (*each)(void *user, const struct report_job_use *use),
                                   void *user, struct base_error *error)
{
    struct each_use to = {kind, each, user};
    struct report_job_reading reading = {.job = job, .error = error, .user = &to};
    return report_job_query(&reading, tables[kind].sql, take_use);
}
