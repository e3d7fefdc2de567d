// SPDX-License-Identifier: Apache-2.0
// Reads back a module that save.c wrote: see saved.h. Caches may hold anything, so everything is
// checked: whoever uses a module relies on its numbers.
#include <stdlib.h>
#include <string.h>

#include "saved.h"

struct reader {
    const unsigned char *at, *end;
    struct base_arena *arena;
    jmp_buf bad; // taken if the bytes are not valid
};

static const unsigned char *take(struct reader *reader, uint64_t bytes)
{
    if ((uint64_t)(reader->end - reader->at) < bytes)
        longjmp(reader->bad, 1);
    const unsigned char *at = reader->at;
    reader->at += bytes;
    return at;
}

static uint32_t get_u32(struct reader *reader)
{
    const unsigned char *at = take(reader, 4);
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t get_u64(struct reader *reader)
{
    uint64_t low = get_u32(reader);
    return low | (uint64_t)get_u32(reader) << 32;
}

static void check(struct reader *reader, bool good)
{
    if (!good)
        longjmp(reader->bad, 1);
}

static char *get_text(struct reader *reader, size_t *length)
{
    uint64_t bytes = get_u64(reader);
    *length = 0;
    if (!bytes)
        return NULL;
    const unsigned char *at = take(reader, bytes);
    check(reader, at[bytes - 1] == 0);
    *length = bytes - 1;
    return base_alloc_text(reader->arena, (const char *)at, *length);
}

// Reads a text, which contains no NUL.
static const char *get_name(struct reader *reader)
{
    size_t length;
    const char *text = get_text(reader, &length);
    check(reader, !text || strlen(text) == length);
    return text;
}

static const char *get_real_name(struct reader *reader)
{
    const char *name = get_name(reader);
    check(reader, name != NULL);
    return name;
}

// Reads a number of items, each of which takes at least so many bytes.
static uint32_t get_count(struct reader *reader, uint32_t least_bytes)
{
    uint32_t count = get_u32(reader);
    check(reader, count <= (uint64_t)(reader->end - reader->at) / least_bytes);
    return count;
}

// Reads an index below the limit, or INSTRUMENT_NONE.
static uint32_t get_index(struct reader *reader, uint32_t count)
{
    uint32_t index = get_u32(reader);
    check(reader, index < count || index == INSTRUMENT_NONE);
    return index;
}

static struct instrument_factor get_factor(struct reader *reader,
                                           const struct instrument_kernel *kernel)
{
    const uint32_t kind = get_u32(reader), component = get_u32(reader), bytes = get_u32(reader);
    const uint32_t offset = get_u32(reader);
    check(reader, kind <= INSTRUMENT_FACTOR_ROOT && component < 3);
    check(reader, kind != INSTRUMENT_FACTOR_PARAM ||
                      ((bytes == 4 || bytes == 8) && offset <= kernel->context_offset &&
                       bytes <= kernel->context_offset - offset));
    return (struct instrument_factor){.kind = (uint8_t)kind,
                                      .component = (uint8_t)component,
                                      .bytes = (uint8_t)bytes,
                                      .offset = offset};
}

static struct instrument_form *get_form_of(struct reader *reader,
                                           const struct instrument_kernel *kernel, uint32_t root,
                                           enum instrument_term_of most)
{
    enum { LEAST_TERM = 16 };
    const uint32_t exists = get_u32(reader);
    check(reader, exists <= 1);
    if (!exists)
        return NULL;
    struct instrument_form *form = base_new(reader->arena, struct instrument_form);
    form->constant = (int64_t)get_u64(reader);
    const uint32_t rows = get_u32(reader);
    check(reader, rows <= 1);
    form->rows = rows;
    form->term_count = get_count(reader, LEAST_TERM);
    form->terms = base_new_array(reader->arena, struct instrument_form_term, form->term_count);
    for (uint32_t i = 0; i < form->term_count; i++) {
        struct instrument_form_term *term = &form->terms[i];
        term->coefficient = (int64_t)get_u64(reader);
        const uint32_t of = get_u32(reader), count = get_u32(reader);
        check(reader, of <= most && count <= INSTRUMENT_TERM_FACTORS);
        term->of = (uint8_t)of;
        term->factor_count = (uint8_t)count;
        for (uint32_t k = 0; k < count; k++) {
            term->factors[k] = get_factor(reader, kernel);
            check(reader,
                  term->factors[k].kind != INSTRUMENT_FACTOR_ROOT || root != INSTRUMENT_NONE);
        }
    }
    return form;
}

static struct instrument_form *get_form(struct reader *reader,
                                        const struct instrument_kernel *kernel, uint32_t root)
{
    return get_form_of(reader, kernel, root, INSTRUMENT_TERM_VARIES);
}

static void get_site(struct reader *reader, const struct instrument_kernel *kernel,
                     uint32_t tallies, struct instrument_site *site)
{
    site->index = get_u32(reader);
    site->ptx_line = get_u32(reader);
    site->function = get_real_name(reader);
    site->opcode = get_real_name(reader);
    site->type = get_real_name(reader);
    site->type_count = (uint8_t)get_u32(reader);
    uint32_t access = get_u32(reader), bits = get_u32(reader);
    check(reader, access <= 2 && bits <= 31);
    site->access = (uint8_t)access;
    site->generic = bits & 1;
    site->tally_from_one = bits >> 1 & 1;
    site->observed = bits >> 2 & 1;
    site->local = bits >> 3 & 1;
    site->whole_from_one = bits >> 4;
    site->masked = get_u32(reader);
    check(reader, site->masked <= kernel->tally_count);
    tallies = site->local ? INSTRUMENT_REQUEST_TALLIES : tallies;
    site->bytes = get_u32(reader);
    site->root = get_index(reader, kernel->root_count);
    site->tally = get_index(reader, kernel->tally_count);
    site->silent = get_index(reader, kernel->tally_count);
    site->still = get_index(reader, kernel->tally_count);
    site->requests = get_index(reader, kernel->tally_count);
    check(reader,
          site->requests == INSTRUMENT_NONE || kernel->tally_count - site->requests >= tallies);
    site->whole = get_index(reader, kernel->tally_count);
    site->form = get_form(reader, kernel, site->root);
    check(reader, (site->whole == INSTRUMENT_NONE) == !site->form);
    check(reader, !site->masked || (site->form && !site->local));
    site->excess = get_index(reader, kernel->tally_count);
    site->span = get_u32(reader);
    check(reader, site->excess == INSTRUMENT_NONE || site->whole != INSTRUMENT_NONE);
    site->file = get_name(reader);
    site->line = get_u32(reader);
    site->column = get_u32(reader);
    site->inlined_function = get_name(reader);
    site->array = get_name(reader);
    site->at_file = get_name(reader);
    site->at_line = get_u32(reader);
    site->at_column = get_u32(reader);
}

static void get_layout(struct reader *reader, struct instrument_layout *layout)
{
    layout->stride = get_u32(reader);
    layout->field_count = get_u32(reader);
    check(reader, layout->field_count <= INSTRUMENT_LAYOUT_FIELDS);
    for (uint32_t i = 0; i < layout->field_count; i++) {
        layout->fields[i].offset = get_u32(reader);
        layout->fields[i].type = get_u32(reader);
        check(reader, layout->fields[i].offset < layout->stride &&
                          layout->fields[i].type <= INSTRUMENT_TYPE_F64);
    }
}

static void get_paths(struct reader *reader, const struct instrument_kernel *kernel,
                      struct instrument_root *root)
{
    enum { LEAST_PATH = 36 };
    root->path_count = get_count(reader, LEAST_PATH);
    root->paths = base_new_array(reader->arena, struct instrument_path, root->path_count);
    for (uint32_t i = 0; i < root->path_count; i++) {
        const struct instrument_form *form =
            get_form_of(reader, kernel, 0, INSTRUMENT_TERM_BLOCK_Z);
        if (!form)
            longjmp(reader->bad, 1);
        root->paths[i].form = *form;
        root->paths[i].low = (int64_t)get_u64(reader);
        root->paths[i].high = (int64_t)get_u64(reader);
    }
}

static void get_root(struct reader *reader, const struct instrument_kernel *kernel,
                     struct instrument_root *root)
{
    const uint32_t kind = get_u32(reader);
    check(reader, kind <= INSTRUMENT_ROOT_VARIABLE);
    root->kind = (uint8_t)kind;
    root->offset = get_u32(reader);
    root->variable = get_name(reader);
    root->element_bytes = get_u32(reader);
    root->reach = get_u32(reader);
    get_paths(reader, kernel, root);
    get_layout(reader, &root->layout);
    const uint32_t unobserved = get_u32(reader);
    root->unobserved[0] = unobserved & 1;
    root->unobserved[1] = unobserved >> 1 & 1;
    check(reader, (kind == INSTRUMENT_ROOT_VARIABLE) == (root->variable != NULL));
}

static void get_accessed(struct reader *reader, struct instrument_kernel *kernel)
{
    kernel->accessed_count = get_count(reader, 12);
    kernel->accessed_row_bytes = get_u32(reader);
    check(reader, kernel->accessed_row_bytes / sizeof(struct instrument_accessed_words) >=
                      kernel->accessed_count);
    kernel->accessed =
        base_new_array(reader->arena, struct instrument_accessed, kernel->accessed_count);
    for (uint32_t i = 0; i < kernel->accessed_count; i++) {
        struct instrument_accessed *accessed = &kernel->accessed[i];
        accessed->root = get_u32(reader);
        accessed->field = get_u32(reader);
        check(reader, accessed->root < kernel->root_count &&
                          accessed->field < kernel->roots[accessed->root].layout.field_count);
        accessed->written = get_u32(reader) & 1;
    }
}

// Counters of arrays follow one another, each from a multiple of INSTRUMENT_QUAD on.
static void get_arrays(struct reader *reader, struct instrument_kernel *kernel)
{
    uint64_t first = INSTRUMENT_QUAD;
    kernel->uncounted = get_name(reader);
    const uint32_t looks = get_u32(reader);
    check(reader, looks <= 3);
    kernel->looks = looks & 1;
    kernel->loads_ordered = looks >> 1;
    kernel->unlooked = get_name(reader);
    const uint32_t traces = get_u32(reader);
    check(reader, traces <= 1);
    kernel->traces = traces;
    kernel->untraced = get_name(reader);
    kernel->array_count = get_count(reader, 16);
    kernel->arrays = base_new_array(reader->arena, struct instrument_array, kernel->array_count);
    for (uint32_t i = 0; i < kernel->array_count; i++) {
        struct instrument_array *array = &kernel->arrays[i];
        array->name = get_real_name(reader);
        array->bytes = get_u32(reader);
        array->first = get_u32(reader);
        check(reader, array->first == first && (array->bytes || i + 1 == kernel->array_count));
        first += ((uint64_t)array->bytes + INSTRUMENT_QUAD * INSTRUMENT_WORD_BYTES - 1) /
                 (INSTRUMENT_QUAD * INSTRUMENT_WORD_BYTES) * INSTRUMENT_QUAD;
    }
}

static void get_ranges(struct reader *reader, struct instrument_kernel *kernel)
{
    kernel->ranges_base = get_u32(reader);
    kernel->ranges_times = get_u32(reader);
    kernel->range_site_count = get_count(reader, 24);
    kernel->range_sites =
        base_new_array(reader->arena, struct instrument_range_site, kernel->range_site_count);
    for (uint32_t i = 0; i < kernel->range_site_count; i++) {
        struct instrument_range_site *site = &kernel->range_sites[i];
        site->array = get_index(reader, kernel->array_count);
        const uint32_t ways = get_u32(reader);
        site->fills = ways & 1;
        site->listed = ways >> 1 & 1;
        site->site = get_u32(reader);
        site->first = get_u32(reader);
        site->base = get_u32(reader);
        site->times = get_u32(reader);
        const uint64_t words =
            site->array == INSTRUMENT_NONE
                ? 1 + instrument_word_count(kernel, 0)
                : (kernel->arrays[site->array].bytes + (uint64_t)INSTRUMENT_WORD_BYTES - 1) /
                      INSTRUMENT_WORD_BYTES;
        check(reader, ways <= 3 &&
                          site->site < (site->listed ? kernel->shared_count : kernel->site_count) &&
                          site->times <= kernel->ranges_times &&
                          (uint64_t)site->base + site->first + words <= kernel->ranges_base);
    }
}

static void get_word_sites(struct reader *reader, struct instrument_kernel *kernel)
{
    enum { MOST_BYTES = 16 };
    kernel->thread_tallies = get_u32(reader);
    check(reader, kernel->thread_tallies <= kernel->tally_count);
    kernel->word_site_count = get_count(reader, 24);
    kernel->word_sites =
        base_new_array(reader->arena, struct instrument_word_site, kernel->word_site_count);
    for (uint32_t i = 0; i < kernel->word_site_count; i++) {
        struct instrument_word_site *site = &kernel->word_sites[i];
        site->array = get_u32(reader);
        site->bytes = get_u32(reader);
        const uint32_t ways = get_u32(reader);
        site->loads = ways & 1;
        site->stores = ways >> 1 & 1;
        site->from_one = ways >> 2 & 1;
        site->inclusive = ways >> 3 & 1;
        site->tested = ways >> 4 & 1;
        site->tally = get_index(reader, kernel->tally_count);
        site->by_thread = get_u32(reader);
        site->form = get_form(reader, kernel, INSTRUMENT_NONE);
        check(reader, site->array < kernel->array_count && site->bytes &&
                          site->bytes <= MOST_BYTES && ways <= 63 && site->form &&
                          site->by_thread <= kernel->thread_tallies);
        if (!(ways >> 5))
            continue;
        site->rounds = get_form(reader, kernel, INSTRUMENT_NONE);
        site->step = (int64_t)get_u64(reader);
        site->stride = (int64_t)get_u64(reader);
        check(reader, site->rounds && site->stride > 0);
    }
}

// They lie in order before the context.
static void get_params(struct reader *reader, struct instrument_kernel *kernel)
{
    kernel->param_count = get_count(reader, 8);
    struct instrument_param *params =
        base_new_array(reader->arena, struct instrument_param, kernel->param_count);
    uint32_t end = 0;
    for (uint32_t i = 0; i < kernel->param_count; i++) {
        params[i].offset = get_u32(reader);
        params[i].bytes = get_u32(reader);
        check(reader, params[i].offset >= end && params[i].offset <= kernel->context_offset &&
                          params[i].bytes <= kernel->context_offset - params[i].offset);
        end = params[i].offset + params[i].bytes;
    }
    kernel->params = params;
}

static void get_kernel(struct reader *reader, uint32_t parts, struct instrument_kernel *kernel)
{
    kernel->name = get_real_name(reader);
    kernel->clone = get_name(reader);
    kernel->light = get_name(reader);
    check(reader, kernel->clone || !kernel->light);
    kernel->reason = get_name(reader);
    kernel->unmarked = get_name(reader);
    kernel->context_offset = get_u32(reader);
    kernel->context_bytes = get_u32(reader);
    get_params(reader, kernel);
    kernel->flag_count = get_u32(reader);
    kernel->flag_row_bytes = get_u32(reader);
    kernel->left_flag = get_index(reader, kernel->flag_count);
    kernel->tally_count = get_u32(reader);
    kernel->tally_row_bytes = get_u32(reader);
    kernel->left_counted = get_u32(reader);
    const uint32_t kinds = get_u32(reader);
    kernel->needs_table = kinds & 1;
    kernel->allocates = kinds >> 1 & 1;
    kernel->heap = kinds >> 2 & 1;
    kernel->outside = kinds >> 3 & 1;
    kernel->textures = kinds >> 4 & 1;
    kernel->may_wait = kinds >> 5 & 1;
    kernel->other_effects = kinds >> 6 & 1;
    kernel->may_spare = kinds >> 7 & 1;
    kernel->counts_rest = kinds >> 8 & 1;
    kernel->racy = kinds >> 9 & 1;
    kernel->pairs = kinds >> 10 & 1;
    kernel->quads = kinds >> 11 & 1;
    kernel->by_masks = kinds >> 12 & 1;
    kernel->tensors = kinds >> 13 & 1;
    kernel->repeats = kinds >> 14 & 1;
    check(reader, kernel->flag_row_bytes >= kernel->flag_count &&
                      kernel->tally_row_bytes / 8 >= kernel->tally_count &&
                      kernel->left_counted <= kernel->tally_count);
    kernel->root_count = get_count(reader, 32);
    kernel->roots = base_new_array(reader->arena, struct instrument_root, kernel->root_count);
    for (uint32_t i = 0; i < kernel->root_count; i++)
        get_root(reader, kernel, &kernel->roots[i]);
    get_accessed(reader, kernel);
    kernel->use_count = get_count(reader, 16);
    kernel->uses = base_new_array(reader->arena, struct instrument_use, kernel->use_count);
    for (uint32_t i = 0; i < kernel->use_count; i++) {
        struct instrument_use *use = &kernel->uses[i];
        use->root = get_u32(reader);
        check(reader, use->root < kernel->root_count);
        use->flag = get_index(reader, kernel->flag_count);
        use->counted = get_u32(reader);
        check(reader, use->counted <= kernel->tally_count);
        const uint32_t ways = get_u32(reader);
        use->read = ways & 1;
        use->from_one = ways >> 2 & 1;
        use->written = ways >> 1 & 1;
    }
    kernel->site_count = get_count(reader, 60);
    kernel->sites = base_new_array(reader->arena, struct instrument_site, kernel->site_count);
    for (uint32_t i = 0; i < kernel->site_count; i++)
        get_site(reader, kernel, INSTRUMENT_REQUEST_TALLIES, &kernel->sites[i]);
    kernel->shared_count = get_count(reader, 60);
    kernel->shared = base_new_array(reader->arena, struct instrument_site, kernel->shared_count);
    for (uint32_t i = 0; i < kernel->shared_count; i++)
        get_site(reader, kernel, INSTRUMENT_SHARED_TALLIES, &kernel->shared[i]);
    get_arrays(reader, kernel);
    get_ranges(reader, kernel);
    get_word_sites(reader, kernel);
    kernel->spare_head = get_u32(reader);
    kernel->spare_word = get_u32(reader);
    kernel->spare_small = get_u32(reader);
    kernel->made = get_u32(reader);
    check(reader, kernel->made <= kernel->tally_count);
    kernel->part = get_index(reader, parts);
}

static void get_module(struct reader *reader, struct instrument_module *module)
{
    check(reader, memcmp(take(reader, SAVE_MAGIC_BYTES), SAVE_MAGIC, SAVE_MAGIC_BYTES) == 0);
    check(reader, get_u32(reader) == SAVE_VERSION);
    check(reader, strcmp(get_real_name(reader), GLINT_VERSION) == 0);
    module->ptx = get_text(reader, &module->ptx_bytes);
    check(reader, module->ptx != NULL);
    module->part_count = get_count(reader, 9);
    module->parts = base_new_array(reader->arena, struct instrument_part, module->part_count);
    for (uint32_t i = 0; i < module->part_count; i++) {
        module->parts[i].ptx = get_text(reader, &module->parts[i].ptx_bytes);
        check(reader, module->parts[i].ptx != NULL);
    }
    module->kernel_count = get_count(reader, 60);
    module->kernels = base_new_array(reader->arena, struct instrument_kernel, module->kernel_count);
    for (uint32_t i = 0; i < module->kernel_count; i++)
        get_kernel(reader, module->part_count, &module->kernels[i]);
    module->allocator_count = get_count(reader, 9);
    module->allocators = base_new_array(reader->arena, const char *, module->allocator_count);
    for (uint32_t i = 0; i < module->allocator_count; i++)
        module->allocators[i] = get_real_name(reader);
    check(reader, reader->at == reader->end);
}

static enum base_code read_module(struct reader *reader, struct instrument_module *module)
{
    jmp_buf escape;
    if (setjmp(reader->bad))
        return BASE_INVALID;
    if (setjmp(escape))
        return BASE_NO_MEMORY;
    reader->arena->escape = &escape;
    get_module(reader, module);
    return BASE_OK;
}

enum base_code instrument_load(const void *bytes, size_t length, struct instrument_module **module,
                               struct base_error *error)
{
    *module = NULL;
    BASE_RETURN_IF(length < SAVE_MAGIC_BYTES + 8, error, BASE_INVALID,
                   "the saved module is truncated");
    struct reader reader = {.at = bytes, .end = (const unsigned char *)bytes + length};
    reader.at = reader.end - 8;
    BASE_RETURN_IF(get_u64(&reader) != base_hash(bytes, length - 8), error, BASE_INVALID,
                   "the saved module is corrupt");
    struct instrument_module *made = calloc(1, sizeof(*made));
    if (!made)
        return base_no_memory_while(error, "reading a module");
    base_arena_init(&made->arena, 0);
    reader.at = bytes;
    reader.end -= 8;
    reader.arena = &made->arena;
    enum base_code code = read_module(&reader, made);
    made->arena.escape = NULL;
    if (code == BASE_OK) {
        *module = made;
        return BASE_OK;
    }
    instrument_destroy(made);
    if (code == BASE_NO_MEMORY)
        return base_no_memory_while(error, "reading a module");
    return base_fail(error, code, "another version of glint wrote the saved module");
}
