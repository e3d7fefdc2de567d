// SPDX-License-Identifier: Apache-2.0
// Writes worthwhile findings for a GitHub Actions step: the first as annotations, by workflow
// commands in the step's output, and the others as a Markdown table for the step's summary. GitHub
// sets the limits: it shows ten annotations of a kind per step, and refuses summaries of more than
// 1 MiB.
#include <string.h>

#include "failures.h"
#include "findings.h"
#include "github.h"
#include "source.h"
#include "suppress.h"
#include "units.h"

enum { ROOM_FOR_THE_END = 200 };

// --- Annotations ---------------------------------------------------------------------------------

// A line break ends a workflow command, and commas and colons end its properties, so they are
// escaped.
void report_github_put_escaped(struct github *github, bool is_property)
{
    for (const char *next = github->text.text; next && *next; next++) {
        const bool special = *next == '%' || *next == '\r' || *next == '\n' ||
                             (is_property && (*next == ':' || *next == ','));
        if (special) {
            base_buf_putc(&github->out, '%');
            base_buf_hex(&github->out, (unsigned char)*next, 2);
        } else {
            base_buf_putc(&github->out, *next);
        }
    }
    base_buf_clear(&github->text);
}

static void put_file(struct github *github, const struct profile_frame *frame)
{
    struct base_buf file = {0};
    report_put_file(&file, frame->file, github->root);
    report_put_text(&github->text, file.text);
    github->text.failed |= file.failed;
    base_buf_fini(&file);
}

static void put_annotation(struct github *github, const struct analyze_finding *finding)
{
    struct base_buf *out = &github->out;
    struct profile_frame frame;
    const bool has_frame = report_finding_frame(github->data, finding, github->root, &frame);
    base_buf_puts(out, "::warning ");
    if (has_frame) {
        base_buf_puts(out, "file=");
        put_file(github, &frame);
        report_github_put_escaped(github, true);
        if (frame.line)
            base_buf_printf(out, ",line=%u", frame.line);
        base_buf_putc(out, ',');
    }
    base_buf_printf(out, "title=glint %s::", analyze_pattern_word(finding->pattern));
    report_put_advice(github->data, finding, &github->text);
    report_github_put_escaped(github, false);
    base_buf_putc(out, '\n');
}

// Annotates the step with what failed in the program.
static void put_failure(struct github *github)
{
    if (!report_put_failures(github->data, &github->text))
        return;
    base_buf_puts(&github->out, "::error title=glint::");
    report_github_put_escaped(github, false);
    base_buf_putc(&github->out, '\n');
}

// --- The summary ---------------------------------------------------------------------------------

// All special characters are escaped, except that text between backquotes becomes code.
void report_github_put_markdown(struct github *github, struct base_buf *out)
{
    bool in_code = false;
    for (const char *next = github->text.text; next && *next; next++) {
        if (*next == '`') {
            base_buf_puts(out, in_code ? "</code>" : "<code>");
            in_code = !in_code;
        } else if (strchr("&<>|*_~[]\\#@!\"'\r\n", *next)) {
            base_buf_printf(out, "&#%u;", (unsigned)(unsigned char)*next);
        } else {
            base_buf_putc(out, *next);
        }
    }
    if (in_code)
        base_buf_puts(out, "</code>");
    base_buf_clear(&github->text);
}

static void put_cell(struct github *github, struct base_buf *row)
{
    base_buf_putc(row, ' ');
    report_github_put_markdown(github, row);
    base_buf_puts(row, " |");
}

static void put_row(struct github *github, const struct analyze_finding *finding, size_t number,
                    struct base_buf *row)
{
    struct base_buf *text = &github->text;
    struct profile_frame frame;
    const bool has_frame = report_finding_frame(github->data, finding, github->root, &frame);
    base_buf_printf(row, "| %zu | %s |", number, analyze_pattern_word(finding->pattern));
    report_put_advice(github->data, finding, text);
    put_cell(github, row);
    if (has_frame) {
        put_file(github, &frame);
        if (frame.line)
            base_buf_printf(text, ":%u", frame.line);
    } else {
        report_put_place(github->data, report_finding_path(github->data, finding), text);
    }
    put_cell(github, row);
    if (finding->peak_bytes)
        report_put_bytes(text, finding->peak_bytes);
    put_cell(github, row);
    if (finding->traffic_bytes && finding->traffic_is_bound)
        base_buf_puts(text, "up to ");
    if (finding->traffic_bytes)
        report_put_bytes(text, finding->traffic_bytes);
    put_cell(github, row);
    if (finding->waits) {
        report_put_count(finding->waits, text);
        base_buf_puts(text, finding->waits_are_pins ? " times that memory is pinned"
                            : finding->waits == 1   ? " wait"
                                                    : " waits");
    } else if (report_saved_ns(finding)) {
        if (finding->traffic_is_bound && !finding->host_ns)
            base_buf_puts(text, "up to ");
        report_put_ns(text, report_saved_ns(finding));
    }
    if (finding->host_ns)
        base_buf_puts(text, " of the run");
    put_cell(github, row);
    base_buf_putc(row, '\n');
}

static void put_head(struct github *github, struct base_buf *out)
{
    const struct report_data *data = github->data;
    const size_t count = analyze_worthwhile_count(data->analysis);
    struct report_hidden hidden = {0};
    if (count)
        base_buf_printf(out, "\n## glint: %zu finding%s\n", count, count == 1 ? "" : "s");
    else
        base_buf_printf(out, "\n## glint: nothing %sworth fixing was found\n",
                        data->failures.count ? "else " : "");
    if (report_put_failures(data, &github->text)) {
        base_buf_puts(out, "\n**error**: ");
        report_github_put_markdown(github, out);
        base_buf_putc(out, '\n');
    }
    base_buf_puts(out, "\nThe peak of device memory is ");
    report_put_bytes(out, data->peak_bytes);
    if (report_lowers_peak(data)) {
        base_buf_puts(out, "; with everything fixed it could be ");
        report_put_bytes(out, analyze_achievable_peak(data->analysis));
    }
    base_buf_puts(out, ".\n");
    if (analyze_is_simulated(data->analysis))
        base_buf_puts(out, "\nThe GPU is simulated: its times are not real.\n");
    for (size_t i = 0; i < analyze_finding_count(data->analysis); i++)
        report_count_hidden(&hidden, analyze_finding(data->analysis, i));
    if (hidden.small || hidden.unknown) {
        base_buf_putc(out, '\n');
        report_put_hidden(&hidden, out);
        base_buf_puts(out, ": <code>glint report --verbose</code> lists them.\n");
    }
    for (size_t i = 0; i < data->notes.count; i++) {
        if (data->notes.items[i].severity == PROFILE_INFO)
            continue;
        base_buf_printf(out, "\n**%s**: ", profile_severity_word(data->notes.items[i].severity));
        report_put_text(&github->text, data->notes.items[i].text);
        report_github_put_markdown(github, out);
        base_buf_putc(out, '\n');
    }
    if (count > REPORT_GITHUB_ANNOTATIONS)
        base_buf_printf(
            out,
            "\nThe first %u are annotations of this step; the others:\n\n"
            "| | pattern | finding | where | off the peak | less traffic | less time or waits |\n"
            "|---:|---|---|---|---:|---:|---:|\n",
            REPORT_GITHUB_ANNOTATIONS);
    else if (count)
        base_buf_puts(out, "\nThe annotations of this step describe them.\n");
}

// Writes nothing if there is no room for the head of the table.
static void put_summary(struct github *github, size_t room_bytes, struct base_buf *out)
{
    const struct report_data *data = github->data;
    const size_t count = analyze_worthwhile_count(data->analysis);
    put_head(github, out);
    if (out->length + ROOM_FOR_THE_END > room_bytes) {
        base_buf_clear(out);
        return;
    }
    struct base_buf row = {0};
    for (size_t i = REPORT_GITHUB_ANNOTATIONS; i < count && !out->failed && !row.failed; i++) {
        base_buf_clear(&row);
        put_row(github, analyze_finding(data->analysis, i), i + 1, &row);
        if (out->length + row.length + ROOM_FOR_THE_END > room_bytes) {
            base_buf_printf(out,
                            "\n%zu more findings, worth the least, do not fit into this summary.\n",
                            count - i);
            break;
        }
        base_buf_add(out, row.text, row.length);
    }
    out->failed |= row.failed;
    base_buf_fini(&row);
}

enum base_code report_github(struct profile *profile, const struct report_rules *rules,
                             const char *source_root, report_write *write, void *user,
                             const struct report_summary *summary, struct base_error *error)
{
    struct report_data data = {0};
    struct base_buf text = {0};
    struct github github = {.data = &data, .root = source_root};
    enum base_code code = report_data_load_by(&data, profile, rules, error);
    if (code == BASE_OK) {
        put_failure(&github);
        for (size_t i = 0;
             i < REPORT_GITHUB_ANNOTATIONS && i < analyze_worthwhile_count(data.analysis); i++)
            put_annotation(&github, analyze_finding(data.analysis, i));
        put_summary(&github, summary->room_bytes, &text);
        if (text.length == 0)
            base_buf_puts(&github.out, "::notice title=glint::the summary of this step is full: "
                                       "findings beyond these are not shown\n");
        if (github.out.failed || github.text.failed || text.failed)
            code = base_no_memory(error);
        else if (!write(user, github.out.text ? github.out.text : "", github.out.length) ||
                 !summary->write(summary->user, text.text, text.length))
            code = base_fail(error, BASE_IO, "the output could not be written");
    }
    base_buf_fini(&github.out);
    base_buf_fini(&github.text);
    base_buf_fini(&text);
    report_data_fini(&data);
    return code;
}
