// SPDX-License-Identifier: Apache-2.0
// Compares texts by lines. The two native texts become a pattern: lines that both have, single
// lines that match anything, and gaps of any length where the native texts differ in their number
// of lines. The third text must match the pattern, as a file name matches a shell pattern.
#include "lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

// Differing sections with more pairs of lines than this become one gap.
enum { MOST_PAIRS = 4 << 20 };

struct line {
    const char *text;
    size_t bytes;
};

typedef BASE_ARRAY(struct line) line_array;

enum item_kind { ITEM_LINE, ITEM_ANY, ITEM_GAP };

struct item {
    enum item_kind kind;
    struct line line;
    size_t number; // of a line, in the first native text, counted from 0
};

struct pattern {
    const struct line *first; // of the first native text
    BASE_ARRAY(struct item) items;
    size_t ignored;
    bool failed;
};

static bool split(const char *text, size_t bytes, line_array *lines)
{
    for (size_t at = 0; at < bytes;) {
        const char *end = memchr(text + at, '\n', bytes - at);
        const size_t length = end ? (size_t)(end - (text + at)) + 1 : bytes - at;
        struct line *line = base_array_push(lines);
        if (!line)
            return false;
        *line = (struct line){text + at, length};
        at += length;
    }
    return true;
}

static bool is_same(const struct line *one, const struct line *other)
{
    return one->bytes == other->bytes && memcmp(one->text, other->text, one->bytes) == 0;
}

// --- The pattern ---------------------------------------------------------------------------------

static void add_item(struct pattern *pattern, enum item_kind kind, const struct line *line)
{
    struct item *item = base_array_push(&pattern->items);
    pattern->failed |= !item;
    if (item)
        *item = (struct item){kind, line ? *line : (struct line){0},
                              line ? (size_t)(line - pattern->first) : 0};
}

// Adds a section in which the native texts have `count` and `others` lines, and none in common.
static void add_gap(struct pattern *pattern, size_t count, size_t others)
{
    pattern->ignored += count > others ? count : others;
    if (count != others)
        add_item(pattern, ITEM_GAP, NULL);
    for (size_t i = 0; i < count && count == others; i++)
        add_item(pattern, ITEM_ANY, NULL);
}

// Compares each line with its counterpart, in sections with the same number of lines.
static void add_in_place(struct pattern *pattern, const struct line *one, const struct line *other,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const bool same = is_same(&one[i], &other[i]);
        add_item(pattern, same ? ITEM_LINE : ITEM_ANY, &one[i]);
        pattern->ignored += !same;
    }
}

// Adds the longest common subsequence of lines, with gaps between them.
static void add_common(struct pattern *pattern, const struct line *one, size_t count,
                       const struct line *other, size_t others)
{
    const size_t width = others + 1;
    uint32_t *longest =
        calloc((count + 1) * width, sizeof(*longest)); // common subsequence of the remaining lines
    if (!longest) {
        pattern->failed = true;
        return;
    }
    for (size_t i = count; i-- > 0;) {
        for (size_t k = others; k-- > 0;) {
            const uint32_t down = longest[(i + 1) * width + k], right = longest[i * width + k + 1];
            longest[i * width + k] = is_same(&one[i], &other[k])
                                         ? longest[(i + 1) * width + k + 1] + 1
                                     : down > right ? down
                                                    : right;
        }
    }
    size_t i = 0, k = 0, from = 0, others_from = 0;
    while (i < count && k < others) {
        if (is_same(&one[i], &other[k])) {
            if (i > from || k > others_from)
                add_gap(pattern, i - from, k - others_from);
            add_item(pattern, ITEM_LINE, &one[i]);
            from = ++i;
            others_from = ++k;
        } else if (longest[(i + 1) * width + k] >= longest[i * width + k + 1]) {
            i++;
        } else {
            k++;
        }
    }
    if (count > from || others > others_from)
        add_gap(pattern, count - from, others - others_from);
    free(longest);
}

static void make_pattern(struct pattern *pattern, const line_array *one, const line_array *other)
{
    const size_t least = one->count < other->count ? one->count : other->count;
    size_t head = 0, tail = 0;
    while (head < least && is_same(&one->items[head], &other->items[head]))
        head++;
    while (tail < least - head &&
           is_same(&one->items[one->count - 1 - tail], &other->items[other->count - 1 - tail]))
        tail++;
    const size_t count = one->count - head - tail, others = other->count - head - tail;
    for (size_t i = 0; i < head; i++)
        add_item(pattern, ITEM_LINE, &one->items[i]);
    if (count == others && count)
        add_in_place(pattern, one->items + head, other->items + head, count);
    else if (count && others && count <= MOST_PAIRS / others)
        add_common(pattern, one->items + head, count, other->items + head, others);
    else if (count || others)
        add_gap(pattern, count, others);
    for (size_t i = 0; i < tail; i++)
        add_item(pattern, ITEM_LINE, &one->items[one->count - tail + i]);
}

// --- Matching ------------------------------------------------------------------------------------

// If the text does not match, *item is the first item of the pattern that cannot be matched, or
// their number if only lines of the text remain.
static bool matches(const struct pattern *pattern, const line_array *lines, size_t *item)
{
    const struct item *items = pattern->items.items;
    const size_t count = pattern->items.count;
    size_t at = 0, i = 0, gap = SIZE_MAX, gap_line = 0;
    *item = 0;
    while (at < lines->count || i < count) {
        if (i < count && items[i].kind == ITEM_GAP) {
            gap = ++i;
            gap_line = at;
            continue;
        }
        if (at < lines->count && i < count &&
            (items[i].kind == ITEM_ANY || is_same(&items[i].line, &lines->items[at]))) {
            at++;
            i++;
            continue;
        }
        if (i > *item)
            *item = i;
        if (gap == SIZE_MAX || gap_line == lines->count)
            return false;
        at = ++gap_line; // the gap takes one more line
        i = gap;
    }
    return true;
}

bool cli_lines_compare(const char *native, size_t native_bytes, const char *again,
                       size_t again_bytes, const char *other, size_t other_bytes,
                       struct cli_lines_outcome *outcome)
{
    line_array one = {0}, two = {0}, third = {0};
    struct pattern pattern = {0};
    size_t item = 0;
    *outcome = (struct cli_lines_outcome){0};
    bool good = split(native, native_bytes, &one) && split(again, again_bytes, &two) &&
                split(other, other_bytes, &third);
    pattern.first = one.items;
    if (good)
        make_pattern(&pattern, &one, &two);
    good = good && !pattern.failed;
    if (good) {
        outcome->same = matches(&pattern, &third, &item);
        outcome->ignored = pattern.ignored;
        if (!outcome->same)
            outcome->line =
                1 + (item < pattern.items.count ? pattern.items.items[item].number : one.count);
    }
    base_array_fini(&pattern.items);
    base_array_fini(&one);
    base_array_fini(&two);
    base_array_fini(&third);
    return good;
}
