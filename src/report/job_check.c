// SPDX-License-Identifier: Apache-2.0
// Decides which rules a job profile breaks. A check that passes although ranks are missing is worse
// than no check, so that is an error, as are rules that some rank cannot decide.
#include "job_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "findings.h"

// --- Rules that cannot be decided ----------------------------------------------------------------

static bool was_recorded(const struct report_job_profile *profile, enum analyze_pattern pattern)
{
    const struct analyze_description *described =
        pattern == ANALYZE_PATTERNS ? NULL : analyze_describe(pattern);
    return !described || described->needs_no_probes ||
           (profile->recorded &&
            report_is_in_list(profile->recorded, analyze_input_name(described->needs)));
}

static enum base_code refuse_rule(const struct report_job_check *check,
                                  const struct report_rule *rule, struct base_error *error)
{
    const struct report_check_request *request = check->request;
    const bool compares = rule->kind == REPORT_RULE_NEW || rule->kind == REPORT_RULE_WORSE;
    const char *first = check->job.profiles.count ? check->job.profiles.items[0].recorded : NULL;
    BASE_RETURN_IF((compares || rule->kind == REPORT_RULE_GROWTH) && !request->baseline, error,
                   BASE_INVALID, "the rule '%s' needs a baseline", rule->text);
    BASE_RETURN_IF(rule->has_limit && rule->unit == REPORT_NS && check->job.simulated, error,
                   BASE_INVALID,
                   "the rule '%s' cannot be decided: %s was recorded on the simulated GPU, whose "
                   "times are not real",
                   rule->text, request->name);
    for (unsigned which = 0; which < 2; which++) {
        const struct report_job *job = which ? &check->baseline : &check->job;
        for (size_t i = 0; i < job->profiles.count; i++) {
            const struct report_job_profile *profile = &job->profiles.items[i];
            struct base_buf name = {0};
            report_job_put_name(job, i, &name);
            enum base_code code = name.failed ? base_no_memory(error) : BASE_OK;
            if (code == BASE_OK && !which && rule->kind == REPORT_RULE_FINDING &&
                !was_recorded(profile, rule->pattern))
                code = base_fail(error, BASE_INVALID,
                                 "the rule '%s' cannot be decided: %s of %s was recorded without "
                                 "--analyses %s",
                                 rule->text, name.text, request->name,
                                 analyze_input_name(analyze_describe(rule->pattern)->needs));
            else if (code == BASE_OK && compares &&
                     strcmp(profile->recorded ? profile->recorded : "", first ? first : "") != 0)
                code =
                    base_fail(error, BASE_INVALID,
                              "the rule '%s' cannot be decided: %s of %s was recorded with other "
                              "--analyses than the first rank of %s",
                              rule->text, name.text, which ? request->baseline_name : request->name,
                              request->name);
            base_buf_fini(&name);
            if (code != BASE_OK)
                return code;
        }
    }
    return BASE_OK;
}

static enum base_code refuse(const struct report_job_check *check, struct base_error *error)
{
    const struct report_check_request *request = check->request;
    const struct report_job *job = &check->job;
    enum base_code code = BASE_OK;
    if (job->missing.count) {
        struct base_buf ranks = {0};
        report_job_put_ranks(job->missing.items, job->missing.count, &ranks);
        code = ranks.failed
                   ? base_no_memory(error)
                   : base_fail(error, BASE_INVALID, "%s cannot be checked: %s %s missing",
                               request->name, ranks.text, job->missing.count == 1 ? "is" : "are");
        base_buf_fini(&ranks);
        return code;
    }
    BASE_RETURN_IF(job->unmerged.count, error, BASE_INVALID,
                   "%s cannot be checked: %s was left out when it was merged (%s)", request->name,
                   job->unmerged.items[0].file, job->unmerged.items[0].reason);
    for (size_t i = 0; i < job->profiles.count; i++) {
        struct base_buf name = {0};
        if (!job->profiles.items[i].unsearched)
            continue;
        report_job_put_name(job, i, &name);
        code = name.failed ? base_no_memory(error)
                           : base_fail(error, BASE_INVALID,
                                       "%s cannot be checked: calls or objects of %s are missing, "
                                       "so most patterns were not searched for",
                                       request->name, name.text);
        base_buf_fini(&name);
        return code;
    }
    for (size_t i = 0; i < request->rules->rules.count && code == BASE_OK; i++)
        code = refuse_rule(check, &request->rules->rules.items[i], error);
    return code;
}

// --- Findings ------------------------------------------------------------------------------------

static bool is_above_share(uint64_t part, uint64_t whole, uint64_t millipercent)
{
    return (unsigned __int128)part * 100000 > (unsigned __int128)whole * millipercent;
}

struct rank_worth { // as in check.c
    uint64_t peak_bytes, ns, host_ns, waits;
};

static struct rank_worth worth_of(const uint64_t worth[REPORT_JOB_WORTHS], bool only_together)
{
    const uint64_t run = worth[REPORT_JOB_RUN], gpu = worth[REPORT_JOB_GPU],
                   together = worth[REPORT_JOB_TOGETHER_RUN];
    if (only_together)
        return (struct rank_worth){together ? 0 : worth[REPORT_JOB_TOGETHER_PEAK], together,
                                   together, 0};
    return (struct rank_worth){worth[REPORT_JOB_PEAK], run > gpu ? run : gpu,
                               worth[REPORT_JOB_WAITS] ? 0 : run, worth[REPORT_JOB_WAITS]};
}

static bool is_above(const struct report_rule *rule, const struct report_job_profile *profile,
                     const struct rank_worth *worth)
{
    if (!rule->has_limit)
        return true;
    if (rule->unit == REPORT_MILLIPERCENT)
        return is_above_share(worth->peak_bytes, profile->peak_bytes, rule->limit) ||
               is_above_share(worth->host_ns, profile->run_ns, rule->limit) ||
               is_above_share(worth->waits, profile->all_waits, rule->limit);
    return (rule->unit == REPORT_NS ? worth->ns : worth->peak_bytes) > rule->limit;
}

// The key of a finding in a map, in an arena.
static struct base_str key_of(struct base_arena *arena, const struct report_job_finding_row *row)
{
    struct base_buf key = {0};
    base_buf_printf(&key, "%s:%llx:%llu", row->pattern, (unsigned long long)row->identity,
                    (unsigned long long)row->ordinal);
    const char *kept = key.failed ? NULL : base_alloc_text(arena, key.text, key.length);
    const struct base_str result = {kept, kept ? key.length : 0};
    base_buf_fini(&key);
    return result;
}

static bool know_baseline(struct report_job_check *check)
{
    struct report_job *baseline = &check->baseline;
    for (size_t i = 0; i < baseline->findings.count; i++) {
        const struct base_str key = key_of(&baseline->arena, &baseline->findings.items[i].worst);
        uint64_t *slot = key.text ? base_map_put_str(&check->known, key, NULL) : NULL;
        if (!slot)
            return false;
        *slot = i + 1;
    }
    return true;
}

static const struct report_job_finding *in_baseline(struct report_job_check *check,
                                                    const struct report_job_finding_row *row)
{
    struct base_buf key = {0};
    base_buf_printf(&key, "%s:%llx:%llu", row->pattern, (unsigned long long)row->identity,
                    (unsigned long long)row->ordinal);
    const uint64_t *slot =
        key.failed ? NULL
                   : base_map_get_str(&check->known, (struct base_str){key.text, key.length});
    check->no_memory |= key.failed;
    base_buf_fini(&key);
    return slot ? &check->baseline.findings.items[*slot - 1] : NULL;
}

static uint64_t increase(uint64_t old, uint64_t new)
{
    return new > old ? new - old : 0;
}

// Compares with the rank of the baseline on which it is worth most.
static bool is_worse(struct report_job_check *check, const struct report_rule *rule,
                     const struct report_job_finding_row *row, const struct report_job_finding *old)
{
    uint64_t before[REPORT_JOB_WORTHS];
    for (unsigned i = 0; i < REPORT_JOB_WORTHS; i++)
        before[i] = old->worth[i].most;
    const struct rank_worth was = worth_of(before, old->worst.only_together),
                            is = worth_of(row->worth, row->only_together);
    const struct rank_worth more = {increase(was.peak_bytes, is.peak_bytes),
                                    increase(was.ns, is.ns), increase(was.host_ns, is.host_ns),
                                    increase(was.waits, is.waits)};
    const bool real = !check->job.simulated && !check->baseline.simulated;
    const bool slower =
        real && is.ns > was.ns &&
        report_diff_times_differ(was.ns, is.ns, REPORT_USUAL_TOLERANCE, REPORT_DIFF_LEAST_NS);
    return (more.peak_bytes || more.waits || slower ||
            row->worth[REPORT_JOB_TRAFFIC] > before[REPORT_JOB_TRAFFIC]) &&
           is_above(rule, &check->job.profiles.items[row->profile], &more);
}

static bool breaks(struct report_job_check *check, const struct report_rule *rule,
                   const struct report_job_finding_row *row)
{
    const struct report_job_profile *profile = &check->job.profiles.items[row->profile];
    const struct rank_worth worth = worth_of(row->worth, row->only_together);
    const struct report_job_finding *old;
    switch (rule->kind) {
    case REPORT_RULE_TRAFFIC: return row->worth[REPORT_JOB_TRAFFIC] > rule->limit;
    case REPORT_RULE_FINDING:
        return (rule->pattern == ANALYZE_PATTERNS
                    ? rule->has_limit || row->worthwhile
                    : strcmp(analyze_pattern_word(rule->pattern), row->pattern) == 0) &&
               is_above(rule, profile, &worth);
    case REPORT_RULE_NEW: return !in_baseline(check, row) && is_above(rule, profile, &worth);
    case REPORT_RULE_WORSE:
        old = in_baseline(check, row);
        return old && is_worse(check, rule, row, old);
    default: return false;
    }
}

static void add_breach(struct report_job_check *check, struct report_job_verdict *verdict,
                       const struct report_job_finding_row *row)
{
    struct report_job_breach *last =
        verdict->findings.count ? &verdict->findings.items[verdict->findings.count - 1] : NULL;
    if (!last || last->row.identity != row->identity || last->row.ordinal != row->ordinal ||
        strcmp(last->row.pattern, row->pattern) != 0) {
        last = base_array_push(&verdict->findings);
        if (last)
            *last = (struct report_job_breach){.row = *row};
    }
    size_t *slot = last ? base_array_push(&last->profiles) : NULL;
    check->no_memory |= !slot;
    if (slot)
        *slot = row->profile;
    verdict->broken = true;
}

static bool judge_finding(void *user, const struct report_job_finding_row *row)
{
    struct report_job_check *check = user;
    const struct report_rules *rules = check->request->rules;
    bool suppressed = false;
    for (size_t i = 0; i < rules->suppressions.count; i++) {
        const bool is = report_job_is_suppressed_by(&rules->suppressions.items[i], row);
        check->uses[i] += is;
        suppressed |= is;
    }
    check->suppressed += suppressed;
    for (size_t i = 0; i < check->verdict_count && !suppressed; i++) {
        if (breaks(check, &rules->rules.items[i], row))
            add_breach(check, &check->verdicts[i], row);
    }
    return !check->no_memory;
}

// --- Peaks and suppressions ----------------------------------------------------------------------

static bool is_too_high(const struct report_job_check *check, const struct report_rule *rule,
                        uint64_t peak)
{
    const uint64_t old = check->baseline.peak.most;
    if (rule->kind == REPORT_RULE_PEAK)
        return peak > rule->limit;
    if (peak <= old)
        return false;
    return !rule->has_limit ||
           (rule->unit == REPORT_MILLIPERCENT ? is_above_share(peak - old, old, rule->limit)
                                              : peak - old > rule->limit);
}

static void judge_rest(struct report_job_check *check)
{
    const struct report_rules *rules = check->request->rules;
    for (size_t r = 0; r < check->verdict_count; r++) {
        const struct report_rule *rule = &rules->rules.items[r];
        struct report_job_verdict *verdict = &check->verdicts[r];
        const bool is_peak = rule->kind == REPORT_RULE_PEAK || rule->kind == REPORT_RULE_GROWTH;
        for (size_t i = 0; is_peak && i < check->job.profiles.count; i++) {
            if (!is_too_high(check, rule, check->job.profiles.items[i].peak_bytes))
                continue;
            size_t *slot = base_array_push(&verdict->profiles);
            check->no_memory |= !slot;
            if (slot)
                *slot = i;
            verdict->broken = true;
        }
        for (size_t i = 0; rule->kind == REPORT_RULE_UNUSED && i < rules->suppressions.count; i++)
            verdict->broken |= check->uses[i] == 0;
        check->broken += verdict->broken;
    }
}

enum base_code report_job_check_load(struct report_job_check *check,
                                     const struct report_check_request *request,
                                     struct base_error *error)
{
    const struct report_rules *rules = request->rules;
    check->request = request;
    BASE_RETURN_IF(rules->rules.count == 0, error, BASE_INVALID, "there are no rules");
    enum base_code code = report_job_load(&check->job, request->profile, rules, error);
    if (code == BASE_OK && request->baseline) {
        code = report_job_load(&check->baseline, request->baseline, NULL, error);
        if (code == BASE_OK && !know_baseline(check))
            code = base_no_memory(error);
    }
    if (code == BASE_OK)
        code = refuse(check, error);
    check->verdicts = calloc(rules->rules.count + 1, sizeof(*check->verdicts));
    check->uses = calloc(rules->suppressions.count + 1, sizeof(*check->uses));
    if (code == BASE_OK && (!check->verdicts || !check->uses))
        code = base_no_memory(error);
    if (code != BASE_OK)
        return code;
    check->verdict_count = rules->rules.count;
    code = report_job_each_finding(&check->job, judge_finding, check, error);
    if (code == BASE_OK)
        judge_rest(check);
    return code == BASE_OK && check->no_memory ? base_no_memory(error) : code;
}

void report_job_check_fini(struct report_job_check *check)
{
    for (size_t r = 0; r < check->verdict_count; r++) {
        for (size_t i = 0; i < check->verdicts[r].findings.count; i++)
            base_array_fini(&check->verdicts[r].findings.items[i].profiles);
        base_array_fini(&check->verdicts[r].findings);
        base_array_fini(&check->verdicts[r].profiles);
    }
    free(check->verdicts);
    free(check->uses);
    base_map_fini(&check->known);
    report_job_fini(&check->job);
    report_job_fini(&check->baseline);
}
