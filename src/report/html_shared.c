// SPDX-License-Identifier: Apache-2.0
// Writes how often the words of each array of shared memory were loaded and stored: of each kernel,
// in the launch that did so most often.
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "json_members.h"
#include "short_names.h"

struct shared_launch { // of a kernel
    uint64_t call, accesses;
    uint32_t kernel, node;
};

struct shared_name { // of an array
    uint64_t key;
    char *text;
};

struct shared_arrays {
    struct page *page;
    struct shared_launch now; // that rows belong to
    struct base_map index;    // number of a kernel to index + 1 in `best`
    BASE_ARRAY(struct shared_launch) best;
    struct base_map name_index; // kernel and array to index + 1 in `names`
    BASE_ARRAY(struct shared_name) names;
    struct page_section section;
    bool open;          // a row is not ended
    uint64_t shown, of; // arrays
};

static uint64_t key_of(uint32_t kernel, uint32_t array)
{
    return (uint64_t)kernel << 32 | array;
}

// --- Which launch --------------------------------------------------------------------------------

// Compares the launch whose rows have ended with the best one of its kernel so far.
static void end_launch(struct shared_arrays *arrays)
{
    const struct shared_launch *now = &arrays->now;
    if (!now->call)
        return;
    uint64_t *slot = base_map_put(&arrays->index, now->kernel, NULL);
    if (slot && *slot == 0) {
        struct shared_launch *made = base_array_push(&arrays->best);
        *slot = made ? arrays->best.count : 0;
        if (made)
            *made = *now;
    }
    arrays->page->failed |= !slot || *slot == 0;
    if (!arrays->page->failed && arrays->best.items[*slot - 1].accesses < now->accesses)
        arrays->best.items[*slot - 1] = *now;
}

static bool add_words(void *user, const struct profile_shared_words *words)
{
    struct shared_arrays *arrays = user;
    const struct profile_shared_sums sums = profile_shared_sum(words);
    if (arrays->now.call != words->call || arrays->now.node != words->node) {
        end_launch(arrays);
        arrays->now = (struct shared_launch){
            .call = words->call, .kernel = words->kernel, .node = words->node};
    }
    arrays->now.accesses += sums.loads + sums.stores;
    return !arrays->page->failed;
}

static bool is_chosen(const struct shared_arrays *arrays, const struct profile_shared_words *words)
{
    const uint64_t *slot = base_map_get(&arrays->index, words->kernel);
    const struct shared_launch *best = slot ? &arrays->best.items[*slot - 1] : NULL;
    return best && best->call == words->call && best->node == words->node;
}

// --- Names ---------------------------------------------------------------------------------------

static bool take_name(void *user, const struct profile_shared_array *array)
{
    struct shared_arrays *arrays = user;
    const uint64_t key = key_of(array->kernel, array->number);
    uint64_t *slot = base_map_put(&arrays->name_index, key, NULL);
    struct shared_name *name = slot ? base_array_push(&arrays->names) : NULL;
    if (name) {
        *slot = arrays->names.count;
        *name = (struct shared_name){key, array->name ? strdup(array->name) : NULL};
    }
    arrays->page->failed |= !name || (array->name && !name->text);
    return !arrays->page->failed;
}

static const char *name_of(const struct shared_arrays *arrays, uint32_t kernel, uint32_t array)
{
    const uint64_t *slot = base_map_get(&arrays->name_index, key_of(kernel, array));
    return slot ? arrays->names.items[*slot - 1].text : NULL;
}

// --- The section ---------------------------------------------------------------------------------

static void end_row(struct shared_arrays *arrays)
{
    if (!arrays->open)
        return;
    base_json_end_array(&arrays->section.json);
    base_json_end_object(&arrays->section.json);
    arrays->open = false;
}

static void begin_row(struct shared_arrays *arrays, const struct profile_shared_words *words)
{
    struct base_json *json = &arrays->section.json;
    base_json_begin_object(json);
    report_json_number(json, "call", words->call);
    report_json_number(json, "node", words->node);
    report_json_number(
        json, "kernel",
        page_text(arrays->page, report_short_kernel(arrays->page->data, words->kernel)));
    base_json_key(json, "name");
    page_put_text(json, name_of(arrays, words->kernel, words->array));
    report_json_number(json, "bytes", words->bytes);
    report_json_number(json, "blocks", words->blocks);
    report_json_number(json, "missed", words->missed);
    report_json_bool(json, "complete", words->flags == 0);
    report_json_bool(json, "untouched_is_known", !(words->flags & PROFILE_SHARED_INCOMPLETE));
    base_json_key(json, "runs"); // words, loads, stores
    base_json_begin_array(json);
    arrays->open = true;
}

// The rows of an array follow one another; those behind the first have a first word that is not 0.
static bool put_words(void *user, const struct profile_shared_words *words)
{
    struct shared_arrays *arrays = user;
    struct base_json *json = &arrays->section.json;
    if (!is_chosen(arrays, words))
        return true;
    if (words->first == 0) {
        end_row(arrays);
        arrays->of++;
        if (page_section_bytes(&arrays->section) > PAGE_SHARED_BYTES)
            return true;
        arrays->shown++;
        begin_row(arrays, words);
    }
    for (uint32_t i = 0; i < words->run_count && arrays->open; i++) {
        if (page_section_bytes(&arrays->section) > PAGE_SHARED_BYTES)
            break; // the page sees that words are missing
        base_json_u64(json, words->runs[i].words);
        base_json_u64(json, words->runs[i].loads);
        base_json_u64(json, words->runs[i].stores);
    }
    return !arrays->page->failed;
}

static enum base_code put(struct shared_arrays *arrays, struct base_error *error)
{
    struct page *page = arrays->page;
    enum base_code code = profile_each_shared_words(page->profile, add_words, arrays, error);
    if (code == BASE_OK)
        end_launch(arrays);
    if (code == BASE_OK && !page->failed)
        code = profile_each_shared_array(page->profile, take_name, arrays, error);
    page_begin(&arrays->section, false);
    if (code == BASE_OK && !page->failed)
        code = profile_each_shared_words(page->profile, put_words, arrays, error);
    end_row(arrays);
    return code;
}

enum base_code page_put_shared(struct page *page, struct base_error *error)
{
    struct shared_arrays arrays = {.page = page};
    const enum base_code code = put(&arrays, error);
    page->failed |= !page_end(page, &arrays.section, "shared", PAGE_SHARED_BYTES + PAGE_ROW_BYTES);
    page_omit(page, "arrays of shared memory", arrays.shown, arrays.of,
              "those of the kernels that were launched first");
    for (size_t i = 0; i < arrays.names.count; i++)
        free(arrays.names.items[i].text);
    base_map_fini(&arrays.index);
    base_map_fini(&arrays.name_index);
    base_array_fini(&arrays.best);
    base_array_fini(&arrays.names);
    return code;
}
