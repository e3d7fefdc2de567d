// SPDX-License-Identifier: Apache-2.0
// Writes and reads plans. Apart from blanks at the ends of lines, the reader accepts only what the
// writer writes: a plan that was truncated or changed must not apply in part.
#include "plan.h"

#include <string.h>

static const char *const names[PLAN_REMEDIES] = {FACTS_REMEDIES(FACTS_WORD, PLAN_)};

static const unsigned char number_counts[PLAN_REMEDIES] = {[PLAN_BACK] = PLAN_NUMBERS};

static const char head[] = "glint plan 1";
static const char end[] = "end"; // the last line: the plan is complete

const char *plan_remedy_name(enum plan_remedy remedy)
{
    return remedy > PLAN_NONE && remedy < PLAN_REMEDIES ? names[remedy] : "none";
}

void plan_fini(struct plan *plan)
{
    base_array_fini(&plan->images);
    base_array_fini(&plan->frames);
    base_array_fini(&plan->rows);
    base_array_fini(&plan->kernels);
    base_arena_fini(&plan->texts);
}

bool plan_is_below(const char *path, size_t length)
{
    static const char *const below[] = {"libcudart.so", "libcuda.so", "libglint"};
    const char *slash = memrchr(path, '/', length);
    const char *name = slash ? slash + 1 : path;
    const size_t rest = length - (size_t)(name - path);
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        if (rest >= strlen(below[i]) && memcmp(name, below[i], strlen(below[i])) == 0)
            return true;
    }
    return false;
}

// --- Making a plan -------------------------------------------------------------------------------

static bool is_id(struct base_str text)
{
    for (size_t i = 0; i < text.length; i++)
        if (!strchr("0123456789abcdef", text.text[i]) || !text.text[i])
            return false;
    return text.length && text.length % 2 == 0;
}

static enum base_code add_image(struct plan *plan, struct base_str id, struct base_str path,
                                struct base_error *error)
{
    BASE_RETURN_IF(!is_id(id), error, BASE_INVALID, "'%.*s' is not a build id", BASE_STR_ARG(id));
    BASE_RETURN_IF(!path.length || memchr(path.text, '\n', path.length), error, BASE_INVALID,
                   "the path of image %.*s cannot be written into a plan", BASE_STR_ARG(id));
    struct plan_image *image = base_array_push(&plan->images);
    BASE_RETURN_IF_NO_MEMORY(!image, error);
    image->build_id = base_alloc_text(&plan->texts, id.text, id.length);
    image->path = base_alloc_text(&plan->texts, path.text, path.length);
    BASE_RETURN_IF_NO_MEMORY(!image->build_id || !image->path, error);
    return BASE_OK;
}

enum base_code plan_add_image(struct plan *plan, const char *build_id, const char *path,
                              uint32_t *index, struct base_error *error)
{
    for (size_t i = 0; i < plan->images.count; i++) {
        if (strcmp(plan->images.items[i].build_id, build_id) == 0) {
            *index = (uint32_t)i;
            return BASE_OK;
        }
    }
    *index = (uint32_t)plan->images.count;
    return add_image(plan, base_str(build_id), base_str(path), error);
}

enum base_code plan_add_row(struct plan *plan, struct plan_row row, const struct plan_frame *frames,
                            size_t *number, struct base_error *error)
{
    BASE_RETURN_IF(row.remedy <= PLAN_NONE || row.remedy >= PLAN_REMEDIES || !row.frame_count ||
                       row.frame_count > PLAN_MOST_FRAMES,
                   error, BASE_INVALID, "this row cannot be part of a plan");
    row.first = plan->frames.count;
    for (size_t i = 0; i < row.frame_count; i++) {
        struct plan_frame *frame = base_array_push(&plan->frames);
        BASE_RETURN_IF_NO_MEMORY(!frame, error);
        *frame = frames[i];
        BASE_RETURN_IF(frame->image >= plan->images.count, error, BASE_INVALID,
                       "a frame refers to an image that is not in the plan");
    }
    struct plan_row *place = base_array_push(&plan->rows);
    BASE_RETURN_IF_NO_MEMORY(!place, error);
    *place = row;
    *number = plan->rows.count;
    return BASE_OK;
}

static enum base_code add_kernel(struct plan *plan, struct base_str name, struct base_error *error)
{
    if (!name.length || memchr(name.text, '\n', name.length))
        return BASE_OK;
    const char **place = base_array_push(&plan->kernels);
    BASE_RETURN_IF_NO_MEMORY(!place, error);
    *place = base_alloc_text(&plan->texts, name.text, name.length);
    BASE_RETURN_IF_NO_MEMORY(!*place, error);
    return BASE_OK;
}

enum base_code plan_add_kernel(struct plan *plan, const char *name, struct base_error *error)
{
    return add_kernel(plan, base_str(name), error);
}

void plan_write(const struct plan *plan, struct base_buf *out)
{
    base_buf_printf(out, "%s\n", head);
    for (size_t i = 0; i < plan->images.count; i++)
        base_buf_printf(out, "image %s %s\n", plan->images.items[i].build_id,
                        plan->images.items[i].path);
    for (size_t i = 0; i < plan->rows.count; i++) {
        const struct plan_row *row = &plan->rows.items[i];
        base_buf_puts(out, names[row->remedy]);
        for (unsigned k = 0; k < number_counts[row->remedy]; k++)
            base_buf_printf(out, " =%llu", (unsigned long long)row->numbers[k]);
        for (size_t k = 0; k < row->frame_count; k++) {
            const struct plan_frame *frame = &plan->frames.items[row->first + k];
            base_buf_printf(out, " %u:%llx", frame->image, (unsigned long long)frame->offset);
        }
        base_buf_puts(out, row->truncated ? " ...\n" : "\n");
    }
    for (size_t i = 0; i < plan->kernels.count; i++)
        base_buf_printf(out, "kernel %s\n", plan->kernels.items[i]);
    base_buf_printf(out, "%s\n", end);
}

// --- Reading -------------------------------------------------------------------------------------

// Returns the next word of the line, whose words are separated by single blanks; empty at its end.
static struct base_str take_word(struct base_str *line)
{
    const char *blank = line->length ? memchr(line->text, ' ', line->length) : NULL;
    struct base_str word = {line->text, blank ? (size_t)(blank - line->text) : line->length};
    const size_t taken = word.length + (blank != NULL);
    line->text += taken;
    line->length -= taken;
    return word;
}

// Removes a number in base 10 or 16 from the front. Returns false if there is none or it is too
// large.
static bool take_number(struct base_str *text, unsigned base, uint64_t *value)
{
    static const char figures[] = "0123456789abcdef";
    size_t taken = 0;
    *value = 0;
    for (; taken < text->length; taken++) {
        const char *figure = memchr(figures, text->text[taken], base);
        if (!figure)
            break;
        const uint64_t more = (uint64_t)(figure - figures);
        if (*value > (UINT64_MAX - more) / base)
            return false;
        *value = *value * base + more;
    }
    text->text += taken;
    text->length -= taken;
    return taken;
}

static bool take_sign(struct base_str *text, char sign)
{
    if (!text->length || *text->text != sign)
        return false;
    text->text++;
    text->length--;
    return true;
}

static bool read_frame(struct base_str word, const struct plan *plan, struct plan_frame *frame)
{
    uint64_t image;
    if (!take_number(&word, 10, &image) || image >= plan->images.count || !take_sign(&word, ':') ||
        !take_number(&word, 16, &frame->offset) || word.length)
        return false;
    frame->image = (uint32_t)image;
    return true;
}

static enum base_code read_row(struct base_str line, struct plan *plan, enum plan_remedy remedy,
                               unsigned at, struct base_error *error)
{
    struct plan_row *row = base_array_push(&plan->rows);
    BASE_RETURN_IF_NO_MEMORY(!row, error);
    row->remedy = remedy;
    row->first = plan->frames.count;
    for (unsigned i = 0; i < number_counts[remedy]; i++) {
        struct base_str word = take_word(&line);
        BASE_RETURN_IF(!take_sign(&word, '=') || !take_number(&word, 10, &row->numbers[i]) ||
                           word.length,
                       error, BASE_SYNTAX, "line %u of the plan: a number is missing", at);
    }
    while (line.length) {
        const struct base_str word = take_word(&line);
        if (base_str_is(word, "...") && !line.length) {
            row->truncated = true;
            break;
        }
        struct plan_frame frame;
        BASE_RETURN_IF(!read_frame(word, plan, &frame), error, BASE_SYNTAX,
                       "line %u of the plan: '%.*s' is not a frame", at, BASE_STR_ARG(word));
        struct plan_frame *place = base_array_push(&plan->frames);
        BASE_RETURN_IF_NO_MEMORY(!place, error);
        *place = frame;
        row->frame_count++;
    }
    BASE_RETURN_IF(!row->frame_count || row->frame_count > PLAN_MOST_FRAMES, error, BASE_SYNTAX,
                   "line %u of the plan has no call path", at);
    return BASE_OK;
}

static enum base_code read_line(struct base_str line, struct plan *plan, unsigned at,
                                struct base_error *error)
{
    const struct base_str word = take_word(&line);
    if (base_str_is(word, "image")) {
        const struct base_str id = take_word(&line);
        BASE_RETURN_IF(plan->rows.count, error, BASE_SYNTAX,
                       "line %u of the plan: images must precede rows", at);
        const enum base_code code = add_image(plan, id, line, error);
        BASE_RETURN_IF(code == BASE_INVALID, error, BASE_SYNTAX,
                       "line %u of the plan is not an image", at);
        return code;
    }
    if (base_str_is(word, "kernel"))
        return add_kernel(plan, line, error);
    for (int i = PLAN_NONE + 1; i < PLAN_REMEDIES; i++)
        if (base_str_is(word, names[i]))
            return read_row(line, plan, (enum plan_remedy)i, at, error);
    return base_fail(error, BASE_SYNTAX, "line %u of the plan: unknown remedy '%.*s'", at,
                     BASE_STR_ARG(word));
}

static bool rows_refer(const struct plan *plan)
{
    for (size_t i = 0; i < plan->rows.count; i++) {
        const struct plan_row *row = &plan->rows.items[i];
        const uint64_t last = row->numbers[0];
        if (row->remedy == PLAN_BACK && last &&
            (last > plan->rows.count || plan->rows.items[last - 1].remedy != PLAN_LAST_USE))
            return false;
    }
    return true;
}

static enum base_code read_all(const char *text, size_t length, struct plan *plan,
                               struct base_error *error)
{
    unsigned at = 0;
    for (const char *next = text, *stop = text + length; next < stop;) {
        const char *newline = memchr(next, '\n', (size_t)(stop - next));
        BASE_RETURN_IF(!newline, error, BASE_SYNTAX, "the plan is truncated");
        struct base_str line = {next, (size_t)(newline - next)};
        next = newline + 1;
        if (++at == 1) {
            BASE_RETURN_IF(!base_str_is(line, head), error, BASE_SYNTAX,
                           "this is not a plan of this version of glint");
            continue;
        }
        if (base_str_is(line, end)) {
            BASE_RETURN_IF(next < stop, error, BASE_SYNTAX,
                           "the plan continues after its last line, 'end'");
            BASE_RETURN_IF(!rows_refer(plan), error, BASE_SYNTAX,
                           "a 'back' row of the plan does not refer to a 'last-use' row");
            return BASE_OK;
        }
        const enum base_code code = read_line(line, plan, at, error);
        if (code != BASE_OK)
            return code;
    }
    return base_fail(error, BASE_SYNTAX, "the plan is truncated");
}

enum base_code plan_read(const char *text, size_t length, struct plan *plan,
                         struct base_error *error)
{
    const enum base_code code = read_all(text, length, plan, error);
    if (code != BASE_OK)
        plan_fini(plan);
    return code;
}
