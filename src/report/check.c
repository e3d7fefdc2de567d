// SPDX-License-Identifier: Apache-2.0
// Decides which rules a profile breaks. A check that passes although nothing was searched for is
// worse than no check, so rules that the profile cannot decide are errors.
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "suppress.h"
#include "units.h"

// --- Suppressions --------------------------------------------------------------------------------

// The first matching suppression suppresses the finding, but all matching ones count as used.
static bool suppress(struct report_check *check)
{
    const struct report_rules *rules = check->request->rules;
    const size_t count = analyze_finding_count(check->data->analysis);
    check->suppressed_by = calloc(count + 1, sizeof(*check->suppressed_by));
    check->uses = calloc(rules->suppressions.count + 1, sizeof(*check->uses));
    for (size_t i = 0; check->suppressed_by && check->uses && i < count; i++) {
        const struct analyze_finding *finding = analyze_finding(check->data->analysis, i);
        for (size_t s = 0; s < rules->suppressions.count; s++) {
            if (!report_is_suppressed_by(check->data, &rules->suppressions.items[s], finding))
                continue;
            check->uses[s]++;
            if (!check->suppressed_by[i])
                check->suppressed_by[i] = (uint32_t)s + 1;
        }
        check->suppressed += check->suppressed_by[i] != 0;
    }
    return check->suppressed_by && check->uses;
}

static bool is_suppressed(const struct report_check *check, const struct analyze_finding *finding)
{
    for (size_t s = 0; s < check->request->rules->suppressions.count; s++) {
        if (report_is_suppressed_by(check->data, &check->request->rules->suppressions.items[s],
                                    finding))
            return true;
    }
    return false;
}

// --- Rules ---------------------------------------------------------------------------------------

// Returns whether the part exceeds the limit, a share of the whole.
static bool is_above_share(uint64_t part, uint64_t whole, uint64_t millipercent)
{
    return (unsigned __int128)part * 100000 > (unsigned __int128)whole * millipercent;
}

// What a finding is worth, or by how much more than in the baseline.
struct worth {
    uint64_t peak_bytes, ns; // ns: of the CPU and the GPU
    uint64_t host_ns, waits; // off the run time, or off the waits if times are not real
};

// A percentage is that of the report: of the peak, of the run time, or of the number of waits.
static bool is_above(const struct report_check *check, const struct report_rule *rule,
                     const struct worth *worth)
{
    const struct analyze_run_time *run = analyze_run_time(check->data->analysis);
    if (!rule->has_limit)
        return true;
    if (rule->unit == REPORT_MILLIPERCENT)
        return is_above_share(worth->peak_bytes, check->peak_bytes, rule->limit) ||
               is_above_share(worth->host_ns, run->recorded_ns, rule->limit) ||
               is_above_share(worth->waits, run->waits, rule->limit);
    return (rule->unit == REPORT_NS ? worth->ns : worth->peak_bytes) > rule->limit;
}

static uint64_t increase(uint64_t old, uint64_t new)
{
    return new > old ? new - old : 0;
}

// Findings that gain only together with others are worth what they gain together, as in the report.
static struct worth worth_of(const struct analyze_finding *finding)
{
    if (!finding)
        return (struct worth){0};
    if (finding->only_together)
        return (struct worth){.peak_bytes = finding->together_ns ? 0 : finding->together_bytes,
                              .ns = finding->together_ns,
                              .host_ns = finding->together_ns};
    return (struct worth){finding->peak_bytes, report_saved_ns(finding),
                          finding->waits ? 0 : finding->host_ns, finding->waits};
}

static bool add_finding(struct report_verdict *verdict, const struct analyze_finding *finding)
{
    const struct analyze_finding **row = base_array_push(&verdict->findings);
    if (row)
        *row = finding;
    verdict->broken = true;
    return row != NULL;
}

static bool judge_findings(const struct report_check *check, const struct report_rule *rule,
                           struct report_verdict *verdict)
{
    bool good = true;
    for (size_t i = 0; i < analyze_finding_count(check->data->analysis) && good; i++) {
        const struct analyze_finding *finding = analyze_finding(check->data->analysis, i);
        const struct worth worth = worth_of(finding);
        const bool breaks =
            rule->kind == REPORT_RULE_TRAFFIC
                ? finding->traffic_bytes > rule->limit
                : (rule->pattern == ANALYZE_PATTERNS ? rule->has_limit || finding->worthwhile
                                                     : rule->pattern == finding->pattern) &&
                      is_above(check, rule, &worth);
        if (breaks && !check->suppressed_by[i])
            good = add_finding(verdict, finding);
    }
    return good;
}

static bool judge_changes(const struct report_check *check, const struct report_rule *rule,
                          struct report_verdict *verdict)
{
    const enum report_diff_change wanted =
        rule->kind == REPORT_RULE_NEW ? REPORT_DIFF_NEW : REPORT_DIFF_WORSE;
    bool good = true;
    for (size_t i = 0; i < check->diff.items.count && good; i++) {
        const struct report_diff_item *item = &check->diff.items.items[i];
        const struct report_diff_side *old = &item->sides[0], *new = &item->sides[1];
        const struct worth before = worth_of(old->finding), after = worth_of(new->finding);
        const struct worth more = {
            increase(old->peak_bytes, new->peak_bytes), increase(old->ns, new->ns),
            increase(before.host_ns, after.host_ns), increase(before.waits, after.waits)};
        if (item->kind != REPORT_DIFF_FINDING || item->change != wanted ||
            !is_above(check, rule, &more))
            continue;
        if (!is_suppressed(check, new->finding))
            good = add_finding(verdict, new->finding);
    }
    return good;
}

static bool has_grown(const struct report_check *check, const struct report_rule *rule)
{
    if (check->peak_bytes <= check->baseline_peak_bytes)
        return false;
    const uint64_t more = check->peak_bytes - check->baseline_peak_bytes;
    if (!rule->has_limit)
        return true;
    return rule->unit == REPORT_MILLIPERCENT
               ? is_above_share(more, check->baseline_peak_bytes, rule->limit)
               : more > rule->limit;
}

static bool has_unused(const struct report_check *check)
{
    for (size_t i = 0; i < check->request->rules->suppressions.count; i++) {
        if (check->uses[i] == 0)
            return true;
    }
    return false;
}

// Returns false when memory ran out.
static bool judge(struct report_check *check)
{
    const struct report_rules *rules = check->request->rules;
    bool good = true;
    check->verdicts = calloc(rules->rules.count + 1, sizeof(*check->verdicts));
    check->verdict_count = check->verdicts ? rules->rules.count : 0;
    for (size_t i = 0; i < check->verdict_count && good; i++) {
        const struct report_rule *rule = &rules->rules.items[i];
        struct report_verdict *verdict = &check->verdicts[i];
        switch (rule->kind) {
        case REPORT_RULE_FINDING:
        case REPORT_RULE_TRAFFIC: good = judge_findings(check, rule, verdict); break;
        case REPORT_RULE_NEW:
        case REPORT_RULE_WORSE: good = judge_changes(check, rule, verdict); break;
        case REPORT_RULE_PEAK: verdict->broken = check->peak_bytes > rule->limit; break;
        case REPORT_RULE_GROWTH: verdict->broken = has_grown(check, rule); break;
        case REPORT_RULE_UNUSED: verdict->broken = has_unused(check); break;
        }
        check->broken += verdict->broken;
    }
    return good && check->verdicts;
}

// --- Rules that cannot be decided ----------------------------------------------------------------

// Returns whether the profile says which analyses were recorded, as profiles of glint record do.
static bool says_analyses(const struct report_data *data)
{
    for (size_t i = 0; i < data->settings.count; i++) {
        if (strcmp(data->settings.items[i].name, "analyses") == 0)
            return true;
    }
    return false;
}

// Returns whether findings of the pattern are possible because the input that it needs was
// recorded.
static bool can_be_found(const struct report_data *data, enum analyze_pattern pattern)
{
    if (pattern == ANALYZE_PATTERNS || analyze_is_incomplete(data->analysis)) // reported separately
        return true;
    const struct analyze_description *described = analyze_describe(pattern);
    const bool assumed = described->needs != ANALYZE_INPUT_SYNC && !says_analyses(data);
    return assumed || described->needs_no_probes || report_was_recorded(data, described->needs);
}

// Findings cannot be compared if only one of the profiles was recorded with the analysis that finds
// them: all would be new, or all gone.
static enum base_code refuse_comparison(const struct report_check *check, const char *rule,
                                        struct base_error *error)
{
    const struct report_check_request *request = check->request;
    const struct report_data *old = &check->diff.data[0], *new = &check->diff.data[1];
    if (!says_analyses(old) || !says_analyses(new))
        return BASE_OK;
    for (unsigned i = 0; i < ANALYZE_INPUTS; i++) {
        const bool was = report_was_recorded(old, (enum analyze_input)i),
                   is = report_was_recorded(new, (enum analyze_input)i);
        BASE_RETURN_IF(was != is, error, BASE_INVALID,
                       "the rule '%s' cannot be decided: %s was recorded without --analyses %s, "
                       "and %s with it",
                       rule, was ? request->name : request->baseline_name,
                       analyze_input_name((enum analyze_input)i),
                       was ? request->baseline_name : request->name);
    }
    return BASE_OK;
}

static enum base_code refuse(const struct report_check *check, struct base_error *error)
{
    const struct report_check_request *request = check->request;
    for (size_t i = 0; i < request->rules->rules.count; i++) {
        const struct report_rule *rule = &request->rules->rules.items[i];
        const bool compares = rule->kind == REPORT_RULE_NEW || rule->kind == REPORT_RULE_WORSE ||
                              rule->kind == REPORT_RULE_GROWTH;
        BASE_RETURN_IF(compares && !request->baseline, error, BASE_INVALID,
                       "the rule '%s' needs a baseline", rule->text);
        if (rule->kind == REPORT_RULE_NEW || rule->kind == REPORT_RULE_WORSE) {
            const enum base_code code = refuse_comparison(check, rule->text, error);
            if (code != BASE_OK)
                return code;
        }
        BASE_RETURN_IF(
            rule->has_limit && rule->unit == REPORT_NS &&
                analyze_is_simulated(check->data->analysis),
            error, BASE_INVALID,
            "the rule '%s' cannot be decided: %s was recorded on the simulated GPU, whose "
            "times are not real",
            rule->text, request->name);
        BASE_RETURN_IF(
            rule->kind == REPORT_RULE_FINDING && !can_be_found(check->data, rule->pattern), error,
            BASE_INVALID, "the rule '%s' cannot be decided: %s was recorded without --analyses %s",
            rule->text, request->name, analyze_input_name(analyze_describe(rule->pattern)->needs));
    }
    BASE_RETURN_IF(analyze_is_incomplete(check->data->analysis), error, BASE_INVALID,
                   "%s cannot be checked: calls or objects are missing in it ('glint report' says "
                   "why), so most patterns were not searched for",
                   request->name);
    return BASE_OK;
}

// --- The check -----------------------------------------------------------------------------------

static uint64_t peak_of(const struct report_data *data)
{
    return data->peak_bytes;
}

enum base_code report_check_load(struct report_check *check,
                                 const struct report_check_request *request,
                                 struct base_error *error)
{
    enum base_code code;
    check->request = request;
    BASE_RETURN_IF(request->rules->rules.count == 0, error, BASE_INVALID, "there are no rules");
    if (request->baseline) {
        const struct report_diff_request both = {.profiles = {request->baseline, request->profile},
                                                 .names = {request->baseline_name, request->name},
                                                 .thresholds = &request->rules->thresholds,
                                                 .tolerance_percent = REPORT_USUAL_TOLERANCE};
        code = report_diff_load(&check->diff, &both, error);
        check->data = &check->diff.data[1];
        check->baseline_peak_bytes = peak_of(&check->diff.data[0]);
    } else {
        code = report_data_load(&check->own, request->profile, &request->rules->thresholds, error);
        check->data = &check->own;
    }
    check->peak_bytes = peak_of(check->data);
    if (code == BASE_OK)
        code = refuse(check, error);
    if (code == BASE_OK && (!suppress(check) || !judge(check)))
        code = base_no_memory(error);
    return code;
}

void report_check_fini(struct report_check *check)
{
    for (size_t i = 0; i < check->verdict_count; i++)
        base_array_fini(&check->verdicts[i].findings);
    free(check->verdicts);
    free(check->suppressed_by);
    free(check->uses);
    report_diff_fini(&check->diff);
    report_data_fini(&check->own);
}

void report_check_put_why(const struct report_check *check, size_t rule, struct base_buf *out)
{
    const struct report_rule *row = &check->request->rules->rules.items[rule];
    const size_t count = check->verdicts[rule].findings.count;
    uint64_t unused = 0;
    switch (row->kind) {
    case REPORT_RULE_PEAK:
        base_buf_puts(out, "the peak is ");
        report_put_bytes(out, check->peak_bytes);
        break;
    case REPORT_RULE_GROWTH:
        base_buf_puts(out, "the peak is ");
        report_put_bytes(out, check->peak_bytes);
        base_buf_puts(out, ", and ");
        report_put_bytes(out, check->baseline_peak_bytes);
        base_buf_puts(out, " in ");
        report_put_text(out, check->request->baseline_name);
        break;
    case REPORT_RULE_UNUSED:
        for (size_t i = 0; i < check->request->rules->suppressions.count; i++)
            unused += check->uses[i] == 0;
        base_buf_printf(out, "%llu suppression%s nothing", (unsigned long long)unused,
                        unused == 1 ? " suppresses" : "s suppress");
        break;
    default: base_buf_printf(out, "%zu finding%s", count, count == 1 ? "" : "s"); break;
    }
}

void report_check_put_suppression(const struct report_suppression *row, struct base_buf *out)
{
    const char *before = "";
    if (row->pattern != ANALYZE_PATTERNS) {
        base_buf_puts(out, analyze_pattern_word(row->pattern));
        before = ", ";
    }
    if (row->object) {
        base_buf_printf(out, "%sobject ", before);
        report_put_text(out, row->object);
        before = ", ";
    }
    if (row->path) {
        base_buf_printf(out, "%spath ", before);
        report_put_text(out, row->path);
    }
}
