// SPDX-License-Identifier: Apache-2.0
// Writes the page of a job profile: its ranks, findings and differences, and for each rank what it
// has of every kernel, wait and finding. web/src/job_data.ts describes the data. Of very large
// jobs, the page has the first ranks, and as many details as there is room for.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "findings.h"
#include "html.h"
#include "job_data.h"
#include "json_members.h"
#include "units.h"

enum {
    MOST_PROFILES = 20000,
    MOST_FINDINGS = 1000,
    PROFILE_BYTES = 2500000,
    FINDING_BYTES = 1000000,
    DETAIL_BYTES = 1200000,       // for each of kernels, waits and findings
    COMMUNICATION_BYTES = 300000, // for each of collectives and ranges
};

struct job_page {
    struct page page;
    struct report_job *job;
    const char *folder; // of the page; NULL: unknown
    size_t profiles;    // shown
};

#define COLUMN(json, key, value)                                                \
    do {                                                                        \
        base_json_key((json), (key));                                           \
        base_json_begin_array(json);                                            \
        for (size_t i = 0; i < of->profiles; i++) {                             \
            const struct report_job_profile *row = &of->job->profiles.items[i]; \
            base_json_u64((json), (value));                                     \
        }                                                                       \
        base_json_end_array(json);                                              \
    } while (0)

// --- The job and its ranks -----------------------------------------------------------------------

static void put_member(struct job_page *of, struct page_section *section, const char *key,
                       size_t most)
{
    if (!page_end(&of->page, section, key, most))
        page_omit(&of->page, key, 0, 1, "there is no room for them");
}

static void put_job(struct job_page *of)
{
    const struct report_job *job = of->job;
    struct page_section section;
    struct base_json *json = &section.json;
    struct base_buf text = {0};
    page_begin(&section, true);
    report_json_string(json, "glint", GLINT_VERSION);
    report_json_string(json, "program",
                       job->profiles.count ? job->profiles.items[0].arguments : NULL);
    report_json_number(json, "ranks", job->ranks);
    report_json_number(json, "missing", job->missing.count);
    report_json_number(json, "profiles", job->profiles.count);
    report_json_number(json, "hosts", job->hosts);
    report_json_bool(json, "simulated", job->simulated);
    base_json_key(json, "warnings");
    base_json_begin_array(json);
    report_job_put_problems(job, &text, "\n");
    for (const char *at = text.length ? text.text : ""; *at;) {
        const size_t length = strcspn(at, "\n");
        base_json_str(json, (struct base_str){at, length});
        at += length + (at[length] == '\n');
    }
    base_json_end_array(json);
    of->page.failed |= text.failed;
    base_buf_fini(&text);
    put_member(of, &section, "job", FINDING_BYTES);
}

// Returns the name of the rank's own page, if there is one beside this page: that of its profile
// with the extension html. NULL: there is none.
static const char *link_of(struct job_page *of, const struct report_job_profile *profile)
{
    const char *dot = profile->file ? strrchr(profile->file, '.') : NULL;
    struct base_buf name = {0}, path = {0};
    const char *kept = NULL;
    if (!of->folder || !profile->file || !profile->file[0])
        return NULL;
    base_buf_printf(&name, "%.*s.html", dot ? (int)(dot - profile->file) : -1, profile->file);
    base_buf_printf(&path, "%s/%s", of->folder, name.text ? name.text : "");
    if (!name.failed && !path.failed && access(path.text, R_OK) == 0)
        kept = base_alloc_text(&of->page.arena, name.text, name.length);
    base_buf_fini(&name);
    base_buf_fini(&path);
    return kept;
}

static void put_profiles(struct job_page *of)
{
    struct page_section section;
    struct base_json *json = &section.json;
    struct base_buf name = {0};
    page_begin(&section, true);
    base_json_key(json, "names");
    base_json_begin_array(json);
    for (size_t i = 0; i < of->profiles; i++) {
        base_buf_clear(&name);
        report_job_put_name(of->job, i, &name);
        page_put_text(json, name.text ? name.text : "");
    }
    base_json_end_array(json);
    base_json_key(json, "hosts");
    base_json_begin_array(json);
    for (size_t i = 0; i < of->profiles; i++)
        page_put_text(json, of->job->profiles.items[i].host);
    base_json_end_array(json);
    COLUMN(json, "peak", row->peak_bytes);
    COLUMN(json, "gpu", row->kernel_ns);
    COLUMN(json, "waited", row->waited_ns);
    COLUMN(json, "findings", row->worthwhile);
    COLUMN(json, "launches", row->launches);
    COLUMN(json, "calls", row->calls);
    COLUMN(json, "objects", row->objects);
    COLUMN(json, "incomplete", !row->complete);
    base_json_key(json, "links"); // pairs: index, name
    base_json_begin_array(json);
    for (size_t i = 0; i < of->profiles; i++) {
        const char *link = link_of(of, &of->job->profiles.items[i]);
        if (!link)
            continue;
        base_json_u64(json, i);
        base_json_string(json, link);
    }
    base_json_end_array(json);
    of->page.failed |= name.failed;
    base_buf_fini(&name);
    page_omit(&of->page, "ranks", of->profiles, of->job->profiles.count, "the first are shown");
    put_member(of, &section, "profiles", PROFILE_BYTES);
}

// --- Findings and differences --------------------------------------------------------------------

static size_t count_findings(const struct job_page *of)
{
    const size_t count = of->job->findings.count;
    return count < MOST_FINDINGS ? count : MOST_FINDINGS;
}

static void put_findings(struct job_page *of)
{
    const struct report_job *job = of->job;
    struct page_section section;
    struct base_json *json = &section.json;
    size_t shown = 0;
    page_begin(&section, false);
    for (; shown < count_findings(of) && page_section_bytes(&section) < FINDING_BYTES / 2;
         shown++) {
        const struct report_job_finding *finding = &job->findings.items[shown];
        const enum report_job_worth worth = report_job_main_worth(finding);
        struct base_buf text = {0};
        if (worth != REPORT_JOB_WORTHS)
            report_job_put_worth(job, finding, worth, &text);
        base_json_begin_object(json);
        report_json_string(json, "pattern", finding->worst.pattern);
        base_json_key(json, "place");
        page_put_text(json, report_base_name(finding->worst.at));
        base_json_key(json, "message");
        page_put_text(json, finding->worst.message);
        base_json_key(json, "suggestion");
        page_put_text(json, finding->worst.suggestion);
        report_json_string(json, "worth", text.length ? text.text : "");
        report_json_number(json, "profiles", finding->profiles);
        report_json_bool(json, "worthwhile", finding->worthwhile);
        report_json_number(json, "worst", finding->worst.profile);
        base_json_end_object(json);
        of->page.failed |= text.failed;
        base_buf_fini(&text);
    }
    page_omit(&of->page, "findings", shown, job->findings.count, "the most valuable are shown");
    put_member(of, &section, "findings", FINDING_BYTES);
}

static void put_differences(struct job_page *of)
{
    enum { MOST = 200 };
    const struct report_job *job = of->job;
    struct page_section section;
    struct base_json *json = &section.json;
    page_begin(&section, false);
    for (unsigned kind = 0; kind < REPORT_JOB_KINDS; kind++) {
        for (size_t i = 0; i < job->rows[kind].count && i < MOST; i++) {
            const struct report_job_row *row = &job->rows[kind].items[i];
            struct base_buf name = {0}, words = {0};
            if (!row->differs)
                break; // they come first
            report_job_put_row((enum report_job_kind)kind, row, &name);
            report_job_put_difference(job, (enum report_job_kind)kind, row, REPORT_JOB_OUTLIERS,
                                      &words);
            base_json_begin_object(json);
            base_json_key(json, "name");
            page_put_text(json, name.text ? name.text : "");
            base_json_key(json, "words");
            page_put_text(json, words.text ? words.text : "");
            base_json_key(json, "outliers");
            base_json_begin_array(json);
            for (size_t o = 0; o < row->outlier_count && o < REPORT_JOB_OUTLIERS; o++)
                base_json_u64(json, row->outliers[o].profile);
            base_json_end_array(json);
            base_json_end_object(json);
            of->page.failed |= name.failed || words.failed;
            base_buf_fini(&name);
            base_buf_fini(&words);
        }
    }
    put_member(of, &section, "differences", FINDING_BYTES);
}

// --- Details of ranks ----------------------------------------------------------------------------

struct uses {
    struct job_page *of;
    struct page_section section;
    enum report_job_kind kind;
    struct report_job_row row; // the last one
    size_t most_bytes;
    bool open, full;
};

// A row is [index, number, amount, index, ...] behind its name.
static bool take_use(void *user, const struct report_job_use *use)
{
    struct uses *uses = user;
    struct base_json *json = &uses->section.json;
    if (uses->open && !report_job_same_row(&uses->row, &use->row)) {
        base_json_end_array(json);
        uses->open = false;
    }
    if (!uses->open) {
        struct base_buf name = {0};
        uses->full =
            page_section_bytes(&uses->section) > uses->most_bytes - 2 * (size_t)PAGE_ROW_BYTES;
        if (uses->full)
            return false;
        report_job_put_row(uses->kind, &use->row, &name);
        base_json_begin_array(json);
        page_put_text(json, name.text ? name.text : "");
        uses->of->page.failed |= name.failed;
        base_buf_fini(&name);
        uses->open = true;
        uses->row = use->row;
    }
    if (use->profile >= uses->of->profiles ||
        page_section_bytes(&uses->section) > uses->most_bytes - PAGE_ROW_BYTES) {
        uses->full |= use->profile < uses->of->profiles;
        return true;
    }
    base_json_u64(json, use->profile);
    base_json_u64(json, use->count);
    base_json_u64(json, use->amount);
    return true;
}

static enum base_code put_uses(struct job_page *of, enum report_job_kind kind, const char *key,
                               size_t most_bytes, struct base_error *error)
{
    struct uses uses = {.of = of, .kind = kind, .most_bytes = most_bytes};
    page_begin(&uses.section, false);
    const enum base_code code = report_job_each_use(of->job, kind, take_use, &uses, error);
    if (uses.open)
        base_json_end_array(&uses.section.json);
    if (uses.full)
        page_omit(&of->page, key, 1, 2, "those of some ranks are left out");
    put_member(of, &uses.section, key, most_bytes);
    return code;
}

struct having {
    struct job_page *of;
    struct base_map indices;    // of findings by a hash of their identity: index + 1
    BASE_ARRAY(uint64_t) pairs; // finding << 32 | profile
    bool no_memory;
};

static uint64_t hash_of(const struct report_job_finding_row *row)
{
    const uint64_t key[] = {row->identity, row->ordinal,
                            base_hash(row->pattern, strlen(row->pattern))};
    return base_hash(key, sizeof(key));
}

static bool take_finding(void *user, const struct report_job_finding_row *row)
{
    struct having *having = user;
    const uint64_t *index = base_map_get(&having->indices, hash_of(row));
    if (!index || row->profile >= having->of->profiles)
        return true;
    uint64_t *pair = base_array_push(&having->pairs);
    having->no_memory |= !pair;
    if (pair)
        *pair = (*index - 1) << 32 | row->profile;
    return pair != NULL;
}

// Adds the pairs [finding, rank, ...]: which ranks have which findings.
static enum base_code put_having(struct job_page *of, struct base_error *error)
{
    struct having having = {.of = of};
    struct page_section section;
    enum base_code code = BASE_OK;
    size_t shown = 0;
    for (size_t i = 0; i < count_findings(of); i++) {
        uint64_t *slot =
            base_map_put(&having.indices, hash_of(&of->job->findings.items[i].worst), NULL);
        having.no_memory |= !slot;
        if (slot)
            *slot = i + 1;
    }
    if (!having.no_memory)
        code = report_job_each_finding(of->job, take_finding, &having, error);
    page_begin(&section, false);
    for (;
         shown < having.pairs.count && page_section_bytes(&section) < DETAIL_BYTES - PAGE_ROW_BYTES;
         shown++) {
        base_json_u64(&section.json, having.pairs.items[shown] >> 32);
        base_json_u64(&section.json, having.pairs.items[shown] & UINT32_MAX);
    }
    page_omit(&of->page, "findings of ranks", shown, having.pairs.count, "the others are left out");
    put_member(of, &section, "having", DETAIL_BYTES);
    base_map_fini(&having.indices);
    base_array_fini(&having.pairs);
    return code == BASE_OK && having.no_memory ? base_no_memory(error) : code;
}

static void put_omissions(struct job_page *of)
{
    struct page_section section;
    page_begin(&section, false);
    for (size_t i = 0; i < of->page.omissions.count; i++) {
        const struct page_omission *row = &of->page.omissions.items[i];
        struct base_buf words = {0};
        base_buf_printf(&words, "%s: %s", row->what, row->how);
        base_json_string(&section.json, words.text ? words.text : "");
        of->page.failed |= words.failed;
        base_buf_fini(&words);
    }
    if (!page_end(&of->page, &section, "omitted", of->page.left))
        of->page.failed = true; // cannot happen: the sections before leave room
}

enum base_code report_job_html(struct profile *profile, const struct report_rules *rules,
                               const char *folder, report_write *write, void *user,
                               struct base_error *error)
{
    struct report_job job = {0};
    struct job_page of = {.job = &job, .folder = folder};
    enum base_code code = page_check_script(page_job_script, error);
    if (code != BASE_OK)
        return code;
    base_arena_init(&of.page.arena, 0);
    code = report_job_load(&job, profile, rules, error);
    if (code == BASE_OK) {
        of.page.left = page_room(page_job_style, page_job_script);
        of.profiles = job.profiles.count < MOST_PROFILES ? job.profiles.count : MOST_PROFILES;
        put_job(&of);
        put_profiles(&of);
        put_findings(&of);
        put_differences(&of);
        code = put_uses(&of, REPORT_JOB_KERNEL, "kernels", DETAIL_BYTES, error);
    }
    if (code == BASE_OK)
        code = put_uses(&of, REPORT_JOB_WAIT, "waits", DETAIL_BYTES, error);
    if (code == BASE_OK)
        code = put_uses(&of, REPORT_JOB_COLLECTIVE, "collectives", COMMUNICATION_BYTES, error);
    if (code == BASE_OK)
        code = put_uses(&of, REPORT_JOB_RANGE, "ranges", COMMUNICATION_BYTES, error);
    if (code == BASE_OK)
        code = put_having(&of, error);
    if (code == BASE_OK)
        put_omissions(&of);
    if (code == BASE_OK && of.page.failed)
        code = base_no_memory(error);
    if (code == BASE_OK)
        code = page_write(page_job_style, page_job_script, &of.page.out, write, user, error);
    base_buf_fini(&of.page.out);
    base_array_fini(&of.page.omissions);
    base_arena_fini(&of.page.arena);
    report_job_fini(&job);
    return code;
}
