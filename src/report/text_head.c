// SPDX-License-Identifier: Apache-2.0
// Writes the head of the text report: the program, what there is to gain, how the program ended and
// where it ran.
#include <signal.h>
#include <string.h>

#include "failures.h"
#include "findings.h"
#include "text.h"
#include "units.h"

void report_put_argument(struct base_buf *out, const char *argument)
{
    bool plain = argument[0] && !argument[strcspn(argument, " \t\n\"'\\$`*?<>|&;()[]{}!#~")];
    base_buf_puts(out, plain ? "" : "'");
    report_put_text(out, argument);
    base_buf_puts(out, plain ? "" : "'");
}

static void put_ending(struct base_buf *out, const struct profile_meta *meta, bool left)
{
    const char *signal_name;
    switch (meta->ending) {
    case PROFILE_EXITED: base_buf_printf(out, "exited with status %d", meta->code); break;
    case PROFILE_SIGNALLED:
        signal_name = sigdescr_np(meta->code);
        base_buf_printf(out, "was ended by signal %d (%s)", meta->code,
                        signal_name ? signal_name : "unknown");
        break;
    case PROFILE_REPLACED: base_buf_puts(out, "became another program"); break;
    case PROFILE_ENDED:
        base_buf_puts(out,
                      left ? "called exit, with an unknown status" : "ended in an unknown way");
        break;
    default: base_buf_puts(out, "ended in an unknown way"); break;
    }
}

static void put_counted(struct base_buf *out, uint64_t count, const char *what)
{
    base_buf_printf(out, "%llu %s%s", (unsigned long long)count, what, count == 1 ? "" : "s");
}

void report_text_arguments(const struct report_text *text, struct base_buf *out)
{
    const struct profile_program *program = profile_program(text->data->profile);
    for (uint32_t i = 0; i < program->argument_count; i++) {
        base_buf_putc(out, ' ');
        report_put_argument(out, program->arguments[i]);
    }
}

static void put_name(struct report_text *text)
{
    const struct profile_program *program = profile_program(text->data->profile);
    struct base_buf line = {0};
    const size_t width = text->style->width;
    for (uint32_t i = 0; i < program->argument_count; i++) {
        base_buf_puts(&line, i ? " " : "");
        report_put_argument(&line, program->arguments[i]);
    }
    if (program->argument_count == 0)
        report_put_text(&line, program->executable);
    if (!text->choice->verbose && text->style->wrap && line.length > width && width > 3) {
        line.length = width - 3;
        while (line.length && ((unsigned char)line.text[line.length] & 0xc0) == 0x80)
            line.length--;
        base_buf_puts(&line, "...");
    }
    report_put_heading(text->style, line.length ? line.text : "(unknown program)", &text->out);
    text->failed |= line.failed;
    base_buf_fini(&line);
}

static void put_failures(struct report_text *text)
{
    struct base_buf words = {0};
    if (report_put_failures(text->data, &words)) {
        if (text->style->colour)
            base_buf_puts(&text->out, "\033[1;31m");
        report_text_few(text, "  error: ", &words, text->choice->verbose ? SIZE_MAX : 2);
        if (text->style->colour)
            base_buf_puts(&text->out, "\033[0m");
    }
    text->failed |= words.failed;
    base_buf_fini(&words);
}

// Says what of the peak is on which device, if several were used: " (48.0 KiB on device 0, 32.0 KiB
// on device 1)".
static void put_devices(const struct report_data *data, struct base_buf *out)
{
    bool any = false;
    for (size_t i = 0; i < data->peak_count; i++) {
        if (data->peaks[i].rank != 1 || !data->peaks[i].device)
            continue;
        base_buf_puts(out, any ? ", " : " (");
        report_put_bytes(out, data->peaks[i].bytes);
        base_buf_printf(out, " on device %u", data->peaks[i].device - 1);
        any = true;
    }
    base_buf_puts(out, any ? ")" : "");
}

// Writes "peak 80.0 KiB, 48.0 KiB would do; 215.0 ms, 45.0 ms less is possible". Times of a
// simulated GPU, and of the CPU that simulates it, are not worth mentioning.
static void put_gain(struct report_text *text)
{
    const struct report_data *data = text->data;
    const struct profile_program *program = profile_program(data->profile);
    const struct analyze_run_time *time = analyze_run_time(data->analysis);
    struct base_buf words = {0};
    const uint64_t least = analyze_achievable_peak(data->analysis);
    const uint64_t run_ns = time->recorded_ns  ? time->recorded_ns
                            : program->has_end ? (uint64_t)program->end_ns
                                               : 0;
    if (data->peak_count) {
        base_buf_puts(&words, "peak ");
        report_put_bytes(&words, data->peak_bytes);
        put_devices(data, &words);
        if (report_lowers_peak(data)) {
            base_buf_puts(&words, ", ");
            report_put_bytes(&words, least);
            base_buf_puts(&words, " would do");
        }
    } else {
        base_buf_puts(&words, "no device memory was allocated");
    }
    if (run_ns && !program->simulated) {
        base_buf_puts(&words, "; ");
        report_put_ns(&words, run_ns);
        if (report_shortens_run(data)) {
            base_buf_puts(&words, ", ");
            report_put_ns(&words, time->recorded_ns - time->after_ns);
            base_buf_puts(&words, " less is possible");
        }
    }
    report_text_lines(text, "  ", &words);
    base_buf_fini(&words);
}

// Says what each level of changes gives, where there are several: "by moving only allocations and
// frees: 96.0 KiB; idle objects on the host, too: 64.0 KiB (60.0% less), 32.0 KiB more to copy".
static void put_levels(struct report_text *text)
{
    const struct report_data *data = text->data;
    const struct analyze_levels *levels = analyze_peak_levels(data->analysis);
    const uint64_t peak = data->peak_bytes;
    struct base_buf words = {0};
    if (report_lowers_peak(data) && levels->achievable < peak && levels->allocations >= peak) {
        base_buf_puts(&words, "moving allocations and frees alone gains nothing: move "
                              "initializations, too");
    } else if (report_lowers_peak(data) && levels->allocations != levels->achievable) {
        base_buf_puts(&words, "by moving only allocations and frees: ");
        report_put_bytes(&words, levels->allocations);
    }
    if (levels->swapped < levels->achievable) {
        base_buf_puts(&words, words.length ? "; " : "");
        base_buf_printf(&words, "idle objects %s%s: ",
                        levels->copied_bytes ? "on the host" : "freed in the meantime",
                        levels->achievable < peak ? ", too" : "");
        report_put_bytes(&words, levels->swapped);
        base_buf_puts(&words, " (");
        report_put_share(&words, peak - levels->swapped, peak);
        base_buf_puts(&words, " less)");
        if (levels->copied_bytes) {
            base_buf_puts(&words, ", ");
            report_put_bytes(&words, levels->copied_bytes);
            base_buf_puts(&words, " more to copy");
        }
        if (levels->copy_ns) {
            base_buf_puts(&words, " in ");
            report_put_ns(&words, levels->copy_ns);
        }
    }
    if (words.length)
        report_text_lines(text, "  ", &words);
    base_buf_fini(&words);
}

// Says how much of the peak is tensors of PyTorch, and what its allocator held for them.
static void put_tensors(struct report_text *text)
{
    const struct report_data *data = text->data;
    uint64_t used = 0, held = 0;
    bool any = false;
    for (size_t i = 0; i < data->peak_count; i++) {
        if (data->peaks[i].rank > 1)
            continue;
        const struct report_tensors tensors = report_tensors(data, &data->peaks[i]);
        any |= tensors.any;
        used += tensors.blocks.bytes;
        held += tensors.segments.bytes;
    }
    struct base_buf words = {0};
    if (!any)
        return;
    base_buf_puts(&words, "tensors are ");
    report_put_bytes(&words, used);
    base_buf_puts(&words, " of the peak");
    if (held) { // else it is unknown where they are
        base_buf_puts(&words, "; PyTorch's allocator held ");
        report_put_bytes(&words, held);
        base_buf_puts(&words, " for them");
    }
    report_text_lines(text, "  ", &words);
    base_buf_fini(&words);
}

static void put_waits(struct report_text *text)
{
    struct base_buf words = {0};
    report_put_waits(text->data, &words);
    if (words.length)
        report_text_lines(text, "  ", &words);
    base_buf_fini(&words);
}

static void put_where(struct report_text *text)
{
    const struct report_data *data = text->data;
    const struct profile_program *program = profile_program(data->profile);
    struct base_buf words = {0}, *out = &words;
    put_ending(out, profile_meta(data->profile), program->has_end);
    int64_t end = program->has_end ? program->end_ns : data->last_ns;
    if (end > 0 && text->choice->verbose) {
        base_buf_puts(out, program->has_end ? ", ran for " : ", last call returned after ");
        report_put_ns(out, (uint64_t)end);
    }
    for (size_t i = 0; i < data->devices.count; i++) {
        base_buf_puts(out, i ? ", " : " on ");
        report_put_text(out, data->devices.items[i].name);
    }
    if (data->devices.count == 0)
        base_buf_puts(out, data->calls || !profile_meta(data->profile)->complete
                               ? " on an unknown GPU"
                               : ", no GPU was used");
    if (program->simulated)
        base_buf_puts(out, " (simulated: its times are not real)");
    if (program->driver_version && text->choice->verbose)
        base_buf_printf(out, ", CUDA %u.%u", program->driver_version / 1000,
                        program->driver_version % 1000 / 10);
    // A failure takes up to two lines of the first screen, and this as many if there is none.
    report_text_few(text, "  ", &words,
                    text->choice->verbose  ? SIZE_MAX
                    : data->failures.count ? 1
                                           : 2);
    base_buf_fini(&words);
}

static void put_counts(struct report_text *text)
{
    const struct report_data *data = text->data;
    struct base_buf *out = &text->out;
    base_buf_puts(out, "  ");
    put_counted(out, data->calls, "call");
    if (data->failures.count)
        base_buf_printf(out, " (%llu failed)", (unsigned long long)data->failures.count);
    base_buf_puts(out, ", ");
    put_counted(out, data->launches, "kernel run");
    base_buf_puts(out, ", ");
    put_counted(out, data->objects.count, "object");
    base_buf_putc(out, '\n');
}

void report_text_head(struct report_text *text)
{
    put_name(text);
    put_failures(text);
    put_gain(text);
    put_tensors(text);
    put_levels(text);
    // Without first uses, this is all that is known about waits. Times of the simulated GPU are not
    // real.
    if (text->choice->verbose ||
        (report_lacks_first_uses(text->data) && !profile_program(text->data->profile)->simulated))
        put_waits(text);
    put_where(text);
    if (text->choice->verbose)
        put_counts(text);
}
