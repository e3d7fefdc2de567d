// SPDX-License-Identifier: Apache-2.0
// Requests of warps in both stories: reads those of the profile, sums up those of the log, and
// finds the instruction of the kernel for each one of its clone.
//
// A clone has the kernel's instructions in their order, with code of probes between them. Those
// that made requests are therefore the same sequence in the profile and in the log, but for
// instructions that are not counted: those that docs/reference/profile.md (v_requests) names have
// no rows. Whether the space of a generic address is known, and whether a copy has a variable size,
// is not seen in the log: such an instruction may lack rows, but if it has some, they must be
// right.
#include "requests.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// --- The profile ---------------------------------------------------------------------------------

void requests_see_site(struct requests_sites *sites, const struct profile_kernel_site *site)
{
    PUSH(struct requests_site, sites) = (struct requests_site){
        site->kernel, site->number, site->instruction, strdup(site->opcode), site->generic};
}

void requests_sites_fini(struct requests_sites *sites)
{
    for (size_t i = 0; i < sites->count; i++)
        free(sites->items[i].text);
    base_array_fini(sites);
}

bool requests_tell(const struct requests_sites *sites, const struct profile_requests *row,
                   struct launch *launch)
{
    for (size_t i = 0; i < sites->count; i++) {
        const struct requests_site *site = &sites->items[i];
        if (site->kernel != row->kernel || site->number != row->site)
            continue;
        PUSH(struct requested, &launch->requests) =
            (struct requested){.index = site->index,
                               .text = must(strdup(site->text)),
                               .space = row->shared  ? GPUSIM_LOG_SHARED
                                        : row->local ? GPUSIM_LOG_LOCAL
                                                     : GPUSIM_LOG_GLOBAL,
                               .may_lack = site->generic,
                               .sums = {row->requests, row->taken, row->needed, row->lines}};
        return true;
    }
    return false;
}

// --- The log -------------------------------------------------------------------------------------

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

// Bulk copies, matrices and memory of other blocks are not counted; of a copy to shared memory,
// only what it loads is.
static bool is_counted(const struct logged_request *request)
{
    static const char *const counted[] = {"ld.", "ldu.", "st.", "atom.", "red."};
    const char *text = request->site->text;
    if (strcmp(request->site->function, request->launch->kernel) != 0 ||
        strstr(text, ".shared::cluster"))
        return false;
    if (has_prefix(text, "cp.async.c"))
        return request->space == GPUSIM_LOG_GLOBAL;
    for (size_t i = 0; i < sizeof(counted) / sizeof(*counted); i++) {
        if (has_prefix(text, counted[i]))
            return !strstr(text, ".async") && !strstr(text, ".bulk");
    }
    return false;
}

// Begins the next request.
static void end_request(struct requests_log *log, struct story *story)
{
    const struct logged_request request = log->request;
    log->request = (struct logged_request){0};
    if (!request.site || !log->launch)
        return;
    if (!is_counted(&request)) {
        story->uncounted++;
        return;
    }
    struct requested *found = NULL;
    for (size_t i = 0; i < log->launch->requests.count && !found; i++) {
        struct requested *row = &log->launch->requests.items[i];
        if (row->index == request.site->index && row->space == request.space)
            found = row;
    }
    if (!found) {
        found = must(base_array_push(&log->launch->requests));
        *found = (struct requested){.index = request.site->index,
                                    .text = must(strdup(request.site->text)),
                                    .space = request.space,
                                    .may_lack = request.generic ||
                                                has_prefix(request.site->text, "cp.async.")};
    }
    logged_request_sum(&request, found->sums);
}

void requests_see(struct requests_log *log, struct story *story, struct launch *launch,
                  const struct gpusim_log_access *access)
{
    if (!access->continued || access->space != log->request.space)
        end_request(log, story);
    log->launch = launch;
    logged_request_add(&log->request, access);
}

void requests_end(struct requests_log *log, struct story *story)
{
    end_request(log, story);
}

// --- Both ----------------------------------------------------------------------------------------

static int by_index(const void *a, const void *b)
{
    const struct requested *one = a, *other = b;
    if (one->index != other->index)
        return one->index < other->index ? -1 : 1;
    return (int)one->space - (int)other->space;
}

// Returns the requests of all launches of a kernel by instruction, in the order of these. The texts
// are those of the launches.
static struct requests total_of(const struct story *story, const char *kernel)
{
    struct requests total = {0};
    for (size_t i = 0; i < story->launches.count; i++) {
        const struct launch *launch = &story->launches.items[i];
        for (size_t k = 0; strcmp(launch->kernel, kernel) == 0 && k < launch->requests.count; k++) {
            const struct requested *row = &launch->requests.items[k];
            struct requested *sum = NULL;
            for (size_t n = 0; n < total.count && !sum; n++)
                sum = by_index(&total.items[n], row) == 0 ? &total.items[n] : NULL;
            if (!sum) {
                sum = must(base_array_push(&total));
                *sum = *row;
                continue;
            }
            for (unsigned n = 0; n < INSTRUMENT_REQUEST_TALLIES; n++)
                sum->sums[n] += row->sums[n];
        }
    }
    if (total.count)
        qsort(total.items, total.count, sizeof(*total.items), by_index);
    return total;
}

// A clone reduces where the kernel ignores the result of an atomic operation.
static bool is_same_text(const char *said, const char *done)
{
    return strcmp(said, done) == 0 || (has_prefix(said, "atom.") && has_prefix(done, "red.") &&
                                       strcmp(said + strlen("atom"), done + strlen("red")) == 0);
}

static bool is_same(const struct requested *said, const struct requested *done)
{
    return said->space == done->space && is_same_text(said->text, done->text) &&
           (!done->may_lack || memcmp(said->sums, done->sums, sizeof(said->sums)) == 0);
}

// Gives the requests of a clone's instruction the number of the kernel's, or takes them out.
static void rename_in(struct launch *launch, const struct requested *from,
                      const struct requested *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < launch->requests.count; i++) {
        struct requested row = launch->requests.items[i];
        const bool own = !row.renamed && by_index(&row, from) == 0;
        if (own && !to) {
            free(row.text);
            continue;
        }
        if (own) {
            free(row.text);
            row.text = must(strdup(to->text));
            row.index = to->index;
            row.renamed = true;
        }
        launch->requests.items[kept++] = row;
    }
    launch->requests.count = kept;
}

static void match_kernel(const struct story *profile, struct story *log, const char *kernel)
{
    struct requests said = total_of(profile, kernel), done = total_of(log, kernel);
    size_t at = 0;
    for (size_t i = 0; i < done.count; i++) {
        const struct requested *row = &done.items[i];
        const struct requested *to =
            at < said.count && is_same(&said.items[at], row) ? &said.items[at++] : NULL;
        if (!to && !row->may_lack)
            continue; // a row is missing: the launches will differ
        log->compared += to != NULL;
        log->uncounted += to ? 0 : row->sums[INSTRUMENT_REQUEST_COUNT];
        for (size_t k = 0; k < log->launches.count; k++) {
            if (strcmp(log->launches.items[k].kernel, kernel) == 0)
                rename_in(&log->launches.items[k], row, to);
        }
    }
    base_array_fini(&said);
    base_array_fini(&done);
}

void requests_match(const struct story *profile, struct story *log)
{
    for (size_t i = 0; i < log->launches.count; i++) {
        if (log->launches.items[i].nth == 0)
            match_kernel(profile, log, log->launches.items[i].kernel);
    }
}

void print_requests(struct base_buf *out, const struct launch *launch)
{
    struct requests sorted = {0};
    for (size_t i = 0; i < launch->requests.count; i++)
        PUSH(struct requested, &sorted) = launch->requests.items[i];
    if (sorted.count)
        qsort(sorted.items, sorted.count, sizeof(*sorted.items), by_index);
    for (size_t i = 0; i < sorted.count; i++) {
        const struct requested *row = &sorted.items[i];
        base_buf_printf(out,
                        "  instruction %u, %s, %s memory: %" PRIu64 " requests, %" PRIu64
                        " taken, %" PRIu64 " needed, %" PRIu64 " lines\n",
                        row->index, row->text, gpusim_log_space_name(row->space), row->sums[0],
                        row->sums[1], row->sums[2], row->sums[3]);
    }
    base_array_fini(&sorted);
}

bool requests_spoil(const char *what, struct story *story)
{
    static const char *const names[] = {"count", "taken", "needed", "lines"};
    const enum gpusim_log_space space = has_prefix(what, "shared_")  ? GPUSIM_LOG_SHARED
                                        : has_prefix(what, "local_") ? GPUSIM_LOG_LOCAL
                                                                     : GPUSIM_LOG_GLOBAL;
    struct requests *rows = NULL;
    struct requested *row = NULL;
    for (size_t i = 0; i < story->launches.count && !row; i++) {
        rows = &story->launches.items[i].requests;
        for (size_t k = 0; k < rows->count && !row; k++) {
            if (!rows->items[k].may_lack && rows->items[k].space == space)
                row = &rows->items[k];
        }
    }
    if (!row)
        return false;
    what += strcspn(what, "_") + 1;
    if (strcmp(what, "row") == 0) {
        free(row->text);
        *row = rows->items[--rows->count];
        return true;
    }
    for (unsigned k = 0; k < INSTRUMENT_REQUEST_TALLIES; k++) {
        if (strcmp(what, names[k]) != 0)
            continue;
        row->sums[k]++;
        return true;
    }
    return false;
}
