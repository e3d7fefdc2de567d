// SPDX-License-Identifier: Apache-2.0
// Facts that are stated in PTX: comments `//! fact; fact` state all that an analysis finds in that
// line. A comment alone in a line belongs to the next line with code. Stated and computed facts
// must be equal: missing facts and additional facts both fail.
#ifndef GLINT_TESTS_PTX_STATED_H
#define GLINT_TESTS_PTX_STATED_H

#include "testing.h"

#include <dirent.h>

struct fact {
    unsigned line;
    char *text;
};

struct fact_list {
    struct fact *items;
    size_t count;
    size_t capacity;
};

static inline void add_fact(struct fact_list *list, unsigned line, const char *text, size_t length)
{
    while (length && (*text == ' ' || *text == '\t')) {
        text++;
        length--;
    }
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\r'))
        length--;
    if (!length)
        return;
    struct fact *fact = base_array_push(list);
    assert_non_null(fact);
    fact->line = line;
    fact->text = strndup(text, length);
    assert_non_null(fact->text);
}

// Adds the buffer's text as one fact and empties the buffer.
static inline void take_fact(struct fact_list *list, unsigned line, struct base_buf *text)
{
    assert_false(text->failed);
    add_fact(list, line, text->text ? text->text : "", text->length);
    text->length = 0;
}

static inline void free_facts(struct fact_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i].text);
    base_array_fini(list);
}

static inline int compare_facts(const void *a, const void *b)
{
    const struct fact *left = a, *right = b;
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    return strcmp(left->text, right->text);
}

static inline void sort_facts(struct fact_list *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), compare_facts);
}

static inline void read_stated(const char *text, struct fact_list *stated)
{
    unsigned line = 1;
    struct base_buf waiting = {0};
    for (const char *at = text; *at; line++) {
        const char *end = strchrnul(at, '\n');
        const char *mark = memmem(at, (size_t)(end - at), "//!", 3);
        size_t blank = strspn(at, " \t\r");
        bool code = at + blank < end && strncmp(at + blank, "//", 2) != 0;
        if (mark) {
            base_buf_add(&waiting, mark + 3, (size_t)(end - mark - 3));
            base_buf_putc(&waiting, ';');
        }
        if (code && waiting.length) {
            for (const char *fact = waiting.text; *fact;) {
                const char *stop = strchrnul(fact, ';');
                add_fact(stated, line, fact, (size_t)(stop - fact));
                fact = *stop ? stop + 1 : stop;
            }
            waiting.length = 0;
            waiting.text[0] = '\0';
        }
        at = *end ? end + 1 : end;
    }
    base_buf_fini(&waiting);
}

static inline int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// The form with its terms in alphabetical order, so that the order of discovery does not matter.
static inline void put_form(struct base_buf *out, const struct ptx_affine *affine,
                            const struct ptx_linear *form)
{
    char *terms[PTX_FORM_TERMS];
    for (uint16_t i = 0; i < form->term_count; i++) {
        struct ptx_term term = form->terms[i];
        int64_t coefficient = term.coefficient;
        char *symbols[PTX_TERM_SYMBOLS];
        for (uint8_t k = 0; k < term.symbol_count; k++) {
            struct ptx_term one = {1, {form->terms[i].symbols[k]}, 1};
            struct ptx_linear alone = {.terms = &one, .term_count = 1};
            struct base_buf name = {0};
            ptx_form_print(affine, &alone, NULL, &name);
            symbols[k] = name.text;
        }
        qsort(symbols, term.symbol_count, sizeof(symbols[0]), compare_texts);
        struct base_buf text = {0};
        for (uint8_t k = 0; k < term.symbol_count; k++) {
            base_buf_printf(&text, "%s%s", k ? "*" : "", symbols[k]);
            free(symbols[k]);
        }
        if (coefficient != 1)
            base_buf_printf(&text, "*%lld", (long long)coefficient);
        terms[i] = text.text;
    }
    qsort(terms, form->term_count, sizeof(terms[0]), compare_texts);
    for (uint16_t i = 0; i < form->term_count; i++) {
        base_buf_printf(out, "%s%s", i ? " + " : "", terms[i]);
        free(terms[i]);
    }
    if (form->constant || !form->term_count)
        base_buf_printf(out, "%s%lld", form->term_count ? " + " : "", (long long)form->constant);
    if (form->assumes_no_wrap)
        base_buf_puts(out, " if no wrap");
}

static inline struct ptx_site *list_sites(struct ptx_facts *facts, uint32_t *count)
{
    struct ptx_site *sites;
    struct base_error error = {0};
    assert_int_equal(ptx_sites_find(facts, &sites, count, &error), BASE_OK);
    return sites;
}

typedef void (*finder)(struct ptx_facts *facts, struct fact_list *found, struct base_buf *text);

static inline unsigned report_differences(const char *path, struct fact_list *stated,
                                          struct fact_list *found)
{
    unsigned wrong = 0;
    sort_facts(stated);
    sort_facts(found);
    size_t s = 0, f = 0;
    while (s < stated->count || f < found->count) {
        int order = s == stated->count  ? 1
                    : f == found->count ? -1
                                        : compare_facts(&stated->items[s], &found->items[f]);
        if (order == 0) {
            s++;
            f++;
            continue;
        }
        const struct fact *fact = order < 0 ? &stated->items[s++] : &found->items[f++];
        print_error("%s:%u: %s: %s\n", path, fact->line, order < 0 ? "not found" : "not stated",
                    fact->text);
        wrong++;
    }
    return wrong;
}

static inline unsigned check_file(const char *path, finder find)
{
    char *text;
    size_t length;
    struct base_error error = {0};
    if (base_file_read(path, &text, &length, &error) != BASE_OK)
        fail_msg("%s", error.text[0]);
    struct ptx_module *module;
    if (ptx_parse(text, length, path, &module, &error) != BASE_OK)
        fail_msg("%s", error.text[0]);
    struct fact_list stated = {0}, found = {0};
    struct base_buf line = {0};
    read_stated(text, &stated);
    for (const struct ptx_item *item = module->first; item; item = item->next) {
        struct ptx_facts *facts;
        if (item->kind != PTX_ITEM_FUNCTION || !item->function->has_body)
            continue;
        assert_int_equal(ptx_facts_create(item->function, 0, &facts, &error), BASE_OK);
        find(facts, &found, &line);
        ptx_facts_destroy(facts);
    }
    assert_true(stated.count > 0);
    unsigned wrong = report_differences(path, &stated, &found);
    base_buf_fini(&line);
    free_facts(&stated);
    free_facts(&found);
    ptx_module_destroy(module);
    free(text);
    return wrong;
}

static inline void check_folder(const char *folder, finder find)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    unsigned files = 0, wrong = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 4, ".ptx") != 0)
            continue;
        char path[512];
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        wrong += check_file(path, find);
        files++;
    }
    closedir(dir);
    assert_true(files > 0);
    if (wrong)
        fail_msg("%u facts of %s differ", wrong, folder);
}

#endif
