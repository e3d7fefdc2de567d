// SPDX-License-Identifier: Apache-2.0
// What has to be known about a profile before its numbers are believed: what is missing in it, and
// what was not watched.
#include "data.h"

enum { MOST_NOTES = 10, NATURAL_BYTES = 16 }; // no access moves a larger scalar

// Adds a note and frees the text; false when memory ran out.
static bool add_note(struct report_data *data, enum profile_severity severity,
                     struct base_buf *text)
{
    struct report_note *row = base_array_push(&data->notes);
    char *kept =
        row && !text->failed ? base_alloc_text(&data->arena, text->text, text->length) : NULL;
    if (kept)
        *row = (struct report_note){severity, kept};
    else if (row)
        data->notes.count--;
    base_buf_fini(text);
    *text = (struct base_buf){0};
    return kept != NULL;
}

static bool add_kernel_notes(struct report_data *data)
{
    struct base_buf text = {0};
    uint64_t more = 0;
    unsigned count = 0;
    bool good = true;
    for (size_t i = 0; i < data->kernel_rows.count && good; i++) {
        const struct report_kernel *kernel = &data->kernel_rows.items[i];
        if (!kernel->probed || kernel->sum.count == 0 || (kernel->facts && !kernel->reason))
            continue;
        if (count++ == MOST_NOTES) {
            count--;
            more++;
            continue;
        }
        base_buf_printf(&text,
                        kernel->facts ? "not all of what kernel %s does is seen"
                                      : "kernel %s was not watched",
                        kernel->name);
        if (kernel->reason)
            base_buf_printf(&text, ": %s", kernel->reason);
        good &= add_note(data, PROFILE_WARNING, &text);
    }
    if (more && good) {
        base_buf_printf(&text, "%llu more kernels were not watched, or not all of them",
                        (unsigned long long)more);
        good &= add_note(data, PROFILE_WARNING, &text);
    }
    return good;
}

static bool add_use_notes(struct report_data *data)
{
    struct base_buf text = {0};
    bool good = add_kernel_notes(data);
    if (data->sample > 1) {
        base_buf_printf(&text,
                        "of each kernel one launch in %llu was watched: sums of what kernels did "
                        "are of those launches",
                        (unsigned long long)data->sample);
        good &= add_note(data, PROFILE_INFO, &text);
    }
    if (data->kernels_wanted) {
        base_buf_printf(&text, "only kernels that match '%s' were watched", data->kernels_wanted);
        good &= add_note(data, PROFILE_INFO, &text);
    }
    uint64_t coarse = 0, coarsest = 0;
    for (size_t i = 0; i < data->objects.count; i++) {
        const struct report_use *use = &data->objects.items[i].use;
        coarse += use->element_bytes > NATURAL_BYTES;
        if (use->element_bytes > coarsest)
            coarsest = use->element_bytes;
    }
    if (coarse) {
        base_buf_printf(&text,
                        "what was touched of %llu object%s is told in pieces of up to %llu bytes, "
                        "not element by element",
                        (unsigned long long)coarse, coarse == 1 ? "" : "s",
                        (unsigned long long)coarsest);
        good &= add_note(data, PROFILE_INFO, &text);
    }
    return good;
}

bool report_add_notes(struct report_data *data)
{
    const struct profile_program *program = profile_program(data->profile);
    struct base_buf text = {0};
    bool good = true;
    if (!profile_meta(data->profile)->complete) {
        base_buf_puts(&text, "this profile is not complete: its recorder was killed or could not "
                             "write on, or is still writing");
        good &= add_note(data, PROFILE_WARNING, &text);
    }
    for (size_t i = 0; i < data->dropped.count; i++) {
        const struct report_dropped *dropped = &data->dropped.items[i];
        if (dropped->count == 0)
            continue;
        base_buf_printf(&text, "lost on the way to the recorder: %llu records of kind %s",
                        (unsigned long long)dropped->count, dropped->kind);
        good &= add_note(data, PROFILE_WARNING, &text);
    }
    if (program->has_end && program->calls_made > data->calls) {
        base_buf_printf(&text, "the program made %llu calls, of which %llu are not in the profile",
                        (unsigned long long)program->calls_made,
                        (unsigned long long)(program->calls_made - data->calls));
        good &= add_note(data, PROFILE_WARNING, &text);
    }
    if (program->argument_count && !program->timestamps) {
        base_buf_puts(&text, "GPU times were not taken");
        good &= add_note(data, PROFILE_INFO, &text);
    }
    return good && add_use_notes(data);
}
