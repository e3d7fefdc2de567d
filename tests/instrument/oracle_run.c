// SPDX-License-Identifier: Apache-2.0
// Loads the module with probes, runs the kernel and its clone on the same memory with the same
// contents, and converts what the probes left in device memory into what they report about each
// object.
#include <stdlib.h>
#include <string.h>

#include "cudaabi/cudaabi.h"
#include "oracle.h"

// Device memory of one launch, all that a context points to.
struct context {
    unsigned char bytes[4096]; // struct instrument_context and the slots
    CUdeviceptr flags, tallies, accessed, table, touched, moved, strayed, strays, words, ranges;
};

struct run {
    const struct oracle_case *test;
    const struct oracle_level *level;
    struct oracle_shared *shared;
    struct oracle_told *told;
    struct instrument_module *instrumented;
    const struct instrument_kernel *kernel;
    CUmodule module;
    CUfunction original, clone, light;
    CUdeviceptr buffers[ORACLE_BUFFERS];
    unsigned char params[ORACLE_PARAMS];
    unsigned char *initial[ORACLE_OBJECTS], *result[ORACLE_OBJECTS]; // of buffers, of variables
    struct context context;
    unsigned roots[64];                 // objects of the slots; ORACLE_OBJECTS: none
    enum instrument_counted counted[2]; // how whole warps are counted
    struct instrument_cost *costs;
    struct instrument_site_place *site_places; // NULL: the launch is not regular
    CUdeviceptr masks, threads;
    struct instrument_word_place *places;
    uint32_t known;        // of the context
    uint32_t shared_bytes; // dynamic, of the clone
};

#define CALL(call) check((call), #call)

static void check(CUresult result, const char *call)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "%s: %d\n", call, (int)result);
        exit(1);
    }
}

void *oracle_take(struct oracle_shared *shared, size_t bytes)
{
    const size_t at = shared->used;
    shared->used += (bytes + 15) & ~(size_t)15;
    if (shared->used > shared->bytes) {
        fprintf(stderr, "the oracle's memory is too small\n");
        exit(1);
    }
    return shared->memory + at;
}

// --- Memory --------------------------------------------------------------------------------------

static CUdeviceptr zeros(uint64_t bytes)
{
    CUdeviceptr memory;
    CALL(cuMemAlloc_v2(&memory, bytes ? bytes : 1));
    CALL(cuMemsetD8_v2(memory, 0, bytes ? bytes : 1));
    return memory;
}

static uint64_t threads_of_block(const struct oracle_case *test)
{
    return (uint64_t)test->block[0] * test->block[1] * test->block[2];
}

static void *read_back(struct run *run, CUdeviceptr from, uint64_t bytes)
{
    void *to = oracle_take(run->shared, bytes);
    if (bytes)
        CALL(cuMemcpyDtoH_v2(to, from, bytes));
    return to;
}

static void make_buffers(struct run *run)
{
    const struct oracle_case *test = run->test;
    for (unsigned i = 0; i < test->buffer_count; i++) {
        struct oracle_object *object = &run->told->objects[run->told->object_count++];
        snprintf(object->name, sizeof(object->name), "buffer %u", i);
        run->buffers[i] = zeros(test->buffer_bytes[i]);
        object->address = run->buffers[i];
        object->bytes = test->buffer_bytes[i];
        run->initial[i] = oracle_take(run->shared, object->bytes);
        if (test->buffers[i])
            memcpy(run->initial[i], test->buffers[i], object->bytes);
    }
    memcpy(run->params, test->params, sizeof(run->params));
    for (unsigned i = 0; i < test->pointer_count; i++) {
        const struct oracle_pointer *pointer = &test->pointers[i];
        const uint64_t value = oracle_pointer_value(test, run->buffers, i);
        unsigned char *in =
            pointer->in == ORACLE_IN_PARAMS ? run->params : run->initial[pointer->in];
        memcpy(in + pointer->at, &value, sizeof(value));
    }
}

static void find_variables(struct run *run)
{
    for (unsigned i = 0; i < run->test->variable_count; i++) {
        const unsigned number = run->told->object_count++;
        struct oracle_object *object = &run->told->objects[number];
        CUdeviceptr address;
        size_t bytes;
        snprintf(object->name, sizeof(object->name), "variable %s", run->test->variables[i]);
        CALL(cuModuleGetGlobal_v2(&address, &bytes, run->module, run->test->variables[i]));
        object->address = address;
        object->bytes = bytes;
        run->initial[number] = read_back(run, address, bytes);
    }
}

static void reset_memory(struct run *run)
{
    for (unsigned i = 0; i < run->told->object_count; i++) {
        const struct oracle_object *object = &run->told->objects[i];
        CALL(cuMemcpyHtoD_v2(object->address, run->initial[i], object->bytes));
    }
}

static void launch(struct run *run, CUfunction function, uint32_t shared_bytes, void **params)
{
    const struct oracle_case *test = run->test;
    CALL(cuLaunchKernel(function, test->grid[0], test->grid[1], test->grid[2], test->block[0],
                        test->block[1], test->block[2], shared_bytes, NULL, params, NULL));
    CALL(cuCtxSynchronize());
}

// The offset of each parameter, as the driver reports it for the function.
static void place_params(CUfunction function, unsigned char *bytes, unsigned count, void **params)
{
    for (unsigned i = 0; i < count; i++) {
        size_t offset, size;
        CALL(cuFuncGetParamInfo(function, i, &offset, &size));
        params[i] = bytes + offset;
    }
}

// --- The context ---------------------------------------------------------------------------------

static void make_pieces(const struct oracle_level *level, struct oracle_object *object,
                        unsigned number)
{
    const enum oracle_watch watch = number % 2 ? level->watch : ORACLE_LOADS;
    struct instrument_pieces *pieces = &object->pieces;
    pieces->base = object->address & ~(uint64_t)15;
    pieces->bytes = object->address - pieces->base + object->bytes;
    const uint64_t count =
        ((pieces->bytes - 1) >> INSTRUMENT_PIECE_SHIFT) + 1 + number; // more than there are
    while (pieces->mask + 1 < count)
        pieces->mask = pieces->mask * 2 + 1;
    pieces->marks = zeros((uint64_t)pieces->mask + 1);
    pieces->loads = watch == ORACLE_LOADS;
    if (watch == ORACLE_UNWATCHED)
        pieces->bytes = 0;
}

static void make_slot(const struct oracle_level *level, struct oracle_object *object,
                      unsigned number)
{
    const uint64_t around = ((uint64_t)128 << level->shift) - 1;
    struct instrument_slot *slot = &object->slot;
    *slot = (struct instrument_slot){
        .base = object->address & ~around,
        .bytes = (object->address & around) + object->bytes,
        .shift = level->shift,
        .lead = (uint32_t)(object->address & around),
        .looks = object->address >> 9 & 1, // both values must give the same result
    };
    if (level->facts & INSTRUMENT_VALUES)
        make_pieces(level, object, number);
    if (!(level->facts & INSTRUMENT_ELEMENTS))
        return;
    const uint64_t elements = (slot->bytes + (1u << level->shift) - 1) >> level->shift;
    slot->bits = zeros(((elements + 31) / 32 + INSTRUMENT_BEHIND) * 4);
    if (level->facts & INSTRUMENT_COUNTS)
        slot->counts = zeros(elements * 4);
}

// The object that the root points into.
static uint64_t address_of(const struct run *run, const struct instrument_root *root)
{
    uint64_t address;
    if (root->kind == INSTRUMENT_ROOT_PARAM) {
        memcpy(&address, run->params + root->offset, sizeof(address));
    } else {
        CUdeviceptr variable;
        CALL(cuModuleGetGlobal_v2(&variable, NULL, run->module, root->variable));
        address = variable;
    }
    return address;
}

static unsigned object_at(const struct run *run, uint64_t address)
{
    for (unsigned i = 0; i < run->told->object_count; i++) {
        const struct oracle_object *object = &run->told->objects[i];
        if (address >= object->address && address - object->address < object->bytes &&
            !(run->level->spoil == ORACLE_WITHOUT_OBJECT && i == 0))
            return i;
    }
    return ORACLE_OBJECTS;
}

static bool find_extent(void *user, uint64_t address, struct instrument_extent *found)
{
    const struct run *run = user;
    const unsigned index = object_at(run, address);
    if (index == ORACLE_OBJECTS)
        return false;
    const struct oracle_object *object = &run->told->objects[index];
    *found = (struct instrument_extent){object->address, object->bytes};
    return true;
}

enum { MOST_ROOTS = 64 };

// Describes the launch, and finds where its roots point.
static struct instrument_launch launch_of(const struct run *run, uint64_t roots[MOST_ROOTS])
{
    const uint32_t *grid = run->test->grid, *block = run->test->block;
    for (unsigned i = 0; i < run->kernel->root_count; i++)
        roots[i] = address_of(run, &run->kernel->roots[i]);
    return (struct instrument_launch){.grid = {grid[0], grid[1], grid[2]},
                                      .block = {block[0], block[1], block[2]},
                                      .params = run->params,
                                      .roots = roots};
}

// Finds the objects that accesses of the roots are expected in, or that the roots point into.
static void find_roots(struct run *run)
{
    const struct instrument_kernel *kernel = run->kernel;
    uint64_t roots[MOST_ROOTS];
    const struct instrument_launch launch = launch_of(run, roots);
    for (unsigned i = 0; i < kernel->root_count; i++)
        run->roots[i] = object_at(
            run, run->test->aims ? instrument_aim(kernel, i, &launch, find_extent, run) : roots[i]);
}

static void make_table(struct run *run)
{
    const struct oracle_told *told = run->told;
    struct instrument_slot entries[ORACLE_OBJECTS];
    struct instrument_pieces pieces[ORACLE_OBJECTS];
    struct context *context = &run->context;
    uint64_t after = 0, count = 0;
    // Objects by address.
    for (;;) {
        const struct oracle_object *next = NULL;
        for (unsigned i = 0; i < told->object_count; i++) {
            const struct oracle_object *object = &told->objects[i];
            if (object->address > after && (!next || object->address < next->address))
                next = object;
        }
        if (!next)
            break;
        after = next->address;
        if (run->level->spoil != ORACLE_WITHOUT_OBJECT || next != told->objects) {
            pieces[count] = next->pieces;
            entries[count++] = next->slot;
        }
    }
    context->touched = zeros(count * 2);
    context->moved = zeros(count * 16);
    context->strayed = zeros((uint64_t)run->kernel->root_count * 16);
    context->strays = zeros(sizeof(struct instrument_strays));
    struct instrument_table table = {.count = count,
                                     .entries = zeros(sizeof(entries)),
                                     .touched = context->touched,
                                     .moved = context->moved,
                                     .strayed = context->strayed,
                                     .strays = context->strays};
    CALL(cuMemcpyHtoD_v2(table.entries, entries, count * sizeof(entries[0])));
    if (run->level->facts & INSTRUMENT_VALUES) {
        table.pieces = zeros(sizeof(pieces));
        table.stored = zeros(count * 16);
        CALL(cuMemcpyHtoD_v2(table.pieces, pieces, count * sizeof(pieces[0])));
    }
    context->table = zeros(sizeof(table));
    CALL(cuMemcpyHtoD_v2(context->table, &table, sizeof(table)));
}

// Finds out whether whole warps need only be counted, and of which words the counts are known.
static void find_costs(struct run *run, struct instrument_context *head)
{
    const struct instrument_kernel *kernel = run->kernel;
    const uint32_t *block = run->test->block;
    uint64_t roots[MOST_ROOTS];
    const struct instrument_launch launch = launch_of(run, roots);
    const size_t count = kernel->site_count + kernel->shared_count;
    run->places = oracle_take(run->shared, kernel->word_site_count * sizeof(*run->places));
    run->known = instrument_word_places(kernel, &launch, run->test->shared_bytes, run->places);
    head->known = run->known;
    run->costs = oracle_take(run->shared, count * sizeof(*run->costs));
    run->site_places = oracle_take(run->shared, count * sizeof(*run->site_places));
    bool whole[2];
    instrument_find_places(kernel, &launch, run->site_places);
    instrument_whole_costs(kernel, block, run->site_places, run->costs, whole);
    instrument_set_whole(block, whole, head);
    if (run->level->counted < INSTRUMENT_WHOLE)
        head->whole[0] = head->whole[1] = 0;
    if (run->level->counted < INSTRUMENT_DENSE)
        head->dense = 0;
    for (unsigned i = 0; i < 2; i++)
        run->counted[i] = instrument_counted_by(head, i);
    const bool light = run->level->light && kernel->light &&
                       (kernel->by_masks ? instrument_is_regular(kernel, block, run->site_places)
                                         : run->known || !kernel->word_site_count);
    if (light) {
        run->clone = run->light;
        snprintf(run->told->clone, sizeof(run->told->clone), "%s", kernel->light);
    }
    run->told->regular = light && kernel->by_masks;
    if (run->told->regular)
        head->masks = run->masks = zeros((1 + INSTRUMENT_MASKS) * sizeof(struct instrument_mask));
    else
        run->site_places = NULL;
}

// Gives blocks spare shared memory for counters, and for tags.
static void find_spare(struct run *run, struct instrument_context *head)
{
    const struct instrument_kernel *kernel = run->kernel;
    const uint32_t dynamic = run->test->shared_bytes, word = run->level->spare_word;
    const uint32_t at = instrument_spare_at(dynamic),
                   tags = run->level->without_tags || run->level->light
                              ? 0
                              : instrument_tag_bytes(kernel, dynamic),
                   bytes = word && (word == kernel->spare_word || word == kernel->spare_small)
                               ? instrument_spare_bytes(kernel, dynamic, word)
                               : 0;
    if (bytes)
        instrument_set_spare(kernel, dynamic, word, head);
    if (tags) {
        run->context.ranges =
            zeros(instrument_range_count(kernel, dynamic) * sizeof(struct instrument_range));
        instrument_place_tags(kernel, at + bytes, run->context.ranges, head);
    }
    run->told->traces = tags != 0;
    run->shared_bytes = bytes || tags ? at + bytes + tags : dynamic;
}

static void make_context(struct run *run)
{
    const struct instrument_kernel *kernel = run->kernel;
    const struct oracle_case *test = run->test;
    struct context *context = &run->context;
    for (unsigned i = 0; i < run->told->object_count; i++)
        make_slot(run->level, &run->told->objects[i], i);
    find_roots(run);
    if (run->level->spoil == ORACLE_OTHER_SLOT && kernel->root_count)
        run->roots[0] = test->buffer_count - 1;
    make_table(run);
    context->flags = zeros((uint64_t)INSTRUMENT_FLAG_ROWS * kernel->flag_row_bytes);
    context->tallies = zeros((uint64_t)INSTRUMENT_TALLY_ROWS * kernel->tally_row_bytes);
    context->accessed = zeros((uint64_t)INSTRUMENT_TALLY_ROWS * kernel->accessed_row_bytes);
    if (run->level->facts & INSTRUMENT_SHARED)
        context->words = zeros((1 + instrument_word_count(kernel, test->shared_bytes)) *
                               sizeof(struct instrument_word));
    struct instrument_context head = {
        .flags = context->flags,
        .tallies = context->tallies,
        .table = kernel->needs_table ? context->table : 0,
        .options = test->block[0] % 32 == 0 || (test->block[1] == 1 && test->block[2] == 1)
                       ? INSTRUMENT_ROWS
                       : 0,
        .accessed = context->accessed,
        .words = context->words,
        .dynamic_bytes = test->shared_bytes,
    };
    find_costs(run, &head);
    if (head.known)
        head.threads = run->threads =
            zeros((uint64_t)kernel->thread_tallies * threads_of_block(test) * sizeof(uint64_t));
    find_spare(run, &head);
    if (run->level->facts & INSTRUMENT_SHARED && !run->level->no_reuse && !run->level->light)
        head.reuse = oracle_reuse_make(test, run->level, kernel, run->roots, run->told);
    if (run->level->facts & INSTRUMENT_CACHE && run->clone != run->light) {
        run->told->trace.complete = !kernel->untraced;
        oracle_trace_make(test, run->level, kernel, run->told, &head);
    }
    memcpy(context->bytes, &head, sizeof(head));
    for (unsigned i = 0; (run->level->facts & INSTRUMENT_ELEMENTS) && i < kernel->root_count; i++) {
        const struct instrument_slot none = {.shift = run->level->shift};
        const struct instrument_view view = instrument_view_of(
            run->roots[i] < ORACLE_OBJECTS ? &run->told->objects[run->roots[i]].slot : &none,
            kernel->roots[i].element_bytes);
        memcpy(context->bytes + sizeof(head) + i * sizeof(view), &view, sizeof(view));
    }
    for (unsigned i = 0; !(run->level->facts & INSTRUMENT_ELEMENTS) && i < kernel->root_count;
         i++) {
        const struct oracle_object none = {.bytes = 0};
        const struct oracle_object *object =
            run->roots[i] < ORACLE_OBJECTS ? &run->told->objects[run->roots[i]] : &none;
        const struct instrument_bounds bounds =
            instrument_bounds_of(object->address, object->bytes, kernel->roots[i].reach);
        memcpy(context->bytes + sizeof(head) + i * sizeof(bounds), &bounds, sizeof(bounds));
    }
    unsigned char *after = context->bytes + kernel->context_bytes -
                           kernel->root_count * sizeof(struct instrument_pieces);
    for (unsigned i = 0; (run->level->facts & INSTRUMENT_VALUES) && i < kernel->root_count; i++) {
        if (run->roots[i] < ORACLE_OBJECTS)
            memcpy(after + i * sizeof(struct instrument_pieces),
                   &run->told->objects[run->roots[i]].pieces, sizeof(struct instrument_pieces));
    }
}

// --- What the probes told ------------------------------------------------------------------------

static bool is_set(const struct instrument_kernel *kernel, const unsigned char *flags,
                   uint32_t flag)
{
    bool set = false;
    for (unsigned row = 0; !set && row < INSTRUMENT_FLAG_ROWS; row++)
        set = flags[(size_t)row * kernel->flag_row_bytes + flag];
    return set;
}

static uint64_t threads_of(const struct run *run)
{
    const uint32_t *grid = run->test->grid;
    return (uint64_t)grid[0] * grid[1] * grid[2] * threads_of_block(run->test);
}

// Returns the sum of a tally over its rows.
static uint64_t sum_of(const struct instrument_kernel *kernel, const uint64_t *rows, uint32_t tally)
{
    uint64_t sum = 0;
    for (unsigned row = 0; row < INSTRUMENT_TALLY_ROWS; row++)
        sum += rows[row * (kernel->tally_row_bytes / 8) + tally];
    return sum;
}

static uint64_t *tallies_of(struct run *run)
{
    return read_back(run, run->context.tallies,
                     (uint64_t)INSTRUMENT_TALLY_ROWS * run->kernel->tally_row_bytes);
}

static void told_by_flags(struct run *run)
{
    const struct instrument_kernel *kernel = run->kernel;
    const uint64_t *rows = tallies_of(run);
    unsigned char *flags =
        read_back(run, run->context.flags, (uint64_t)INSTRUMENT_FLAG_ROWS * kernel->flag_row_bytes);
    run->told->unknown =
        (kernel->left_flag != INSTRUMENT_NONE && is_set(kernel, flags, kernel->left_flag)) ||
        (kernel->left_counted && sum_of(kernel, rows, kernel->left_counted - 1));
    for (unsigned i = 0; i < kernel->use_count; i++) {
        const struct instrument_use *use = &kernel->uses[i];
        bool set = use->flag == INSTRUMENT_NONE || is_set(kernel, flags, use->flag);
        if (use->counted)
            set = (use->from_one ? threads_of(run) : 0) + sum_of(kernel, rows, use->counted - 1);
        run->told->unknown |= set && run->roots[use->root] == ORACLE_OBJECTS;
        set ^= run->level->spoil == ORACLE_ONE_FLAG && (use->flag == 0 || use->counted);
        if (set && run->roots[use->root] < ORACLE_OBJECTS) {
            run->told->objects[run->roots[use->root]].read |= use->read;
            run->told->objects[run->roots[use->root]].written |= use->written;
        }
    }
}

// Sums up what a site of kernel->light counted by masks.
static void sum_masked(struct run *run, const struct instrument_site *site, bool shared,
                       const struct instrument_site_place *place, const uint64_t *rows,
                       uint64_t *sums)
{
    const uint32_t *grid = run->test->grid;
    uint64_t tallies[64][INSTRUMENT_PLACES] = {{0}};
    struct instrument_mask masks[1 + INSTRUMENT_MASKS];
    CALL(cuMemcpyDtoH_v2(masks, run->masks, sizeof(masks)));
    for (unsigned row = 0; row < INSTRUMENT_TALLY_ROWS && site->masked <= 64; row++)
        tallies[site->masked - 1][row % INSTRUMENT_PLACES] +=
            rows[row * (run->kernel->tally_row_bytes / 8) + site->masked - 1];
    if (site->masked > 64 || masks[INSTRUMENT_MASKS].count)
        snprintf(run->told->problem, sizeof(run->told->problem), "there are too many masks");
    else
        instrument_sum_masked(
            site, shared, place, run->test->block, (uint64_t)grid[0] * grid[1] * grid[2],
            (const uint64_t(*)[INSTRUMENT_PLACES])tallies, masks, INSTRUMENT_MASKS, sums);
}

static void describe(struct run *run, const struct instrument_site *from, bool shared,
                     const uint64_t *tallies, const uint64_t *rows, uint32_t number,
                     struct oracle_site *site)
{
    const struct instrument_cost *cost = &run->costs[number];
    site->index = from->index;
    snprintf(site->function, sizeof(site->function), "%s", from->function);
    snprintf(site->opcode, sizeof(site->opcode), "%s", from->opcode);
    site->requested = from->requests != INSTRUMENT_NONE;
    site->local = from->local;
    if (from->masked && run->site_places)
        sum_masked(run, from, shared, &run->site_places[number], rows, site->requests);
    else
        instrument_sum_requests(from, shared, tallies, threads_of(run), run->counted[shared], cost,
                                site->requests);
    for (uint32_t i = 0; site->requested && i < INSTRUMENT_SHARED_TALLIES; i++)
        site->requests[i] += run->level->spoil == ORACLE_ONE_REQUEST;
}

static void told_by_requests(struct run *run, const uint64_t *rows)
{
    const struct instrument_kernel *kernel = run->kernel;
    uint64_t *tallies = oracle_take(run->shared, kernel->tally_count * sizeof(*tallies));
    for (uint32_t i = 0; i < kernel->tally_count; i++)
        tallies[i] = sum_of(kernel, rows, i);
    struct oracle_site *shared = oracle_take(run->shared, kernel->shared_count * sizeof(*shared));
    run->told->shared = shared;
    run->told->shared_count = kernel->shared_count;
    for (unsigned i = 0; i < kernel->site_count; i++)
        describe(run, &kernel->sites[i], false, tallies, rows, i, &run->told->sites[i]);
    for (unsigned i = 0; i < kernel->shared_count; i++)
        describe(run, &kernel->shared[i], true, tallies, rows, kernel->site_count + i, &shared[i]);
}

static void told_by_tallies(struct run *run)
{
    const struct instrument_kernel *kernel = run->kernel;
    const uint64_t threads = threads_of(run);
    uint64_t *rows = tallies_of(run);
    const bool values = run->level->facts & INSTRUMENT_VALUES;
    if (run->level->spoil == ORACLE_ONE_TALLY && kernel->tally_count)
        rows[0]++;
    struct oracle_site *sites = oracle_take(run->shared, kernel->site_count * sizeof(*sites));
    run->told->sites = sites;
    run->told->site_count = kernel->site_count;
    told_by_requests(run, rows);
    for (unsigned i = 0; i < kernel->site_count; i++) {
        const struct instrument_site *site = &kernel->sites[i];
        sites[i].rooted = site->root != INSTRUMENT_NONE;
        sites[i].root = site->root;
        sites[i].access = site->access;
        sites[i].observed = site->observed;
        sites[i].object = sites[i].rooted ? run->roots[site->root] : ORACLE_OBJECTS;
        sites[i].examined = values && site->silent != INSTRUMENT_NONE;
        sites[i].counted =
            sites[i].rooted && (run->level->facts & INSTRUMENT_ELEMENTS || sites[i].examined);
        if (!sites[i].counted)
            continue;
        sites[i].times = site->tally == INSTRUMENT_NONE || site->tally_from_one ? threads : 0;
        if (site->tally != INSTRUMENT_NONE)
            sites[i].times += sum_of(kernel, rows, site->tally);
        if (sites[i].examined)
            sites[i].silent += sum_of(kernel, rows, site->silent);
        sites[i].stilled = sites[i].examined && site->still != INSTRUMENT_NONE;
        if (sites[i].stilled)
            sites[i].still =
                sum_of(kernel, rows, site->still) + (run->level->spoil == ORACLE_ONE_STILL);
        sites[i].silent += sites[i].examined && run->level->spoil == ORACLE_ONE_SILENT;
        if (run->roots[site->root] >= ORACLE_OBJECTS)
            continue;
        struct oracle_object *object = &run->told->objects[run->roots[site->root]];
        object->read_bytes += site->access != 1 ? sites[i].times * site->bytes : 0;
        object->written_bytes += site->access != 0 ? sites[i].times * site->bytes : 0;
    }
    const uint64_t *strayed =
        read_back(run, run->context.strayed, (uint64_t)kernel->root_count * 16);
    for (unsigned i = 0; i < kernel->root_count; i++) {
        if (run->roots[i] < ORACLE_OBJECTS) {
            run->told->objects[run->roots[i]].read_bytes -= strayed[2 * i];
            run->told->objects[run->roots[i]].written_bytes -= strayed[2 * i + 1];
        }
    }
}

static void told_by_accesses(struct run *run)
{
    const struct instrument_kernel *kernel = run->kernel;
    struct oracle_told *told = run->told;
    const unsigned char *rows = read_back(
        run, run->context.accessed, (uint64_t)INSTRUMENT_TALLY_ROWS * kernel->accessed_row_bytes);
    told->root_count = kernel->root_count;
    told->roots = oracle_take(run->shared, kernel->root_count * sizeof(*told->roots));
    for (unsigned i = 0; i < kernel->root_count; i++) {
        const struct instrument_root *root = &kernel->roots[i];
        memcpy(told->roots[i].unobserved, root->unobserved, sizeof(root->unobserved));
        told->roots[i].layout = root->layout;
        if (root->kind == INSTRUMENT_ROOT_PARAM)
            memcpy(&told->roots[i].address, run->params + root->offset, sizeof(uint64_t));
        else if (run->roots[i] < ORACLE_OBJECTS)
            told->roots[i].address = told->objects[run->roots[i]].address;
    }
    told->accessed_count = kernel->accessed_count;
    told->accessed = oracle_take(run->shared, kernel->accessed_count * sizeof(*told->accessed));
    for (unsigned i = 0; i < kernel->accessed_count; i++) {
        struct instrument_accessed_words *to = &told->accessed[i].words;
        told->accessed[i].about = kernel->accessed[i];
        for (size_t row = 0; row < INSTRUMENT_TALLY_ROWS; row++) {
            const struct instrument_accessed_words *from =
                (const void *)(rows + row * kernel->accessed_row_bytes + i * sizeof(*from));
            to->any |= from->any;
            to->none |= from->none;
            to->any_high |= from->any_high;
            to->none_high |= from->none_high;
            to->most = from->most > to->most ? from->most : to->most;
        }
    }
    if (run->level->spoil == ORACLE_ONE_BIT_ACCESSED && told->accessed_count)
        told->accessed[0].words.any ^= 1;
}

static void told_by_words(struct run *run)
{
    const struct instrument_kernel *kernel = run->kernel;
    struct oracle_told *told = run->told;
    told->counts_words = !kernel->uncounted;
    told->array_count = kernel->array_count;
    told->arrays = oracle_take(run->shared, kernel->array_count * sizeof(*told->arrays));
    for (unsigned i = 0; i < kernel->array_count; i++) {
        const struct instrument_array *array = &kernel->arrays[i];
        snprintf(told->arrays[i].name, sizeof(told->arrays[i].name), "%s", array->name);
        told->arrays[i].bytes = instrument_array_bytes(array, run->test->shared_bytes);
        told->arrays[i].first = array->first;
        told->arrays[i].dynamic = !array->bytes;
    }
    told->word_count = instrument_word_count(kernel, run->test->shared_bytes);
    told->words = read_back(run, run->context.words, (1 + told->word_count) * sizeof(*told->words));
    uint64_t *rows = tallies_of(run);
    uint64_t *tallies = oracle_take(run->shared, kernel->tally_count * sizeof(*tallies));
    for (uint32_t i = 0; i < kernel->tally_count; i++)
        tallies[i] = sum_of(kernel, rows, i) + (run->level->spoil == ORACLE_ONE_TALLY);
    const uint32_t *grid = run->test->grid;
    told->racy = run->level->word_ways & INSTRUMENT_WORDS_RACY;
    told->limited = oracle_take(run->shared, kernel->array_count);
    told->lost_counts = instrument_lost_counts(kernel, tallies, run->test->shared_bytes,
                                               told->words, told->limited);
    if (run->level->spoil == ORACLE_ALL_COUNTS) {
        memset(told->limited, 0, kernel->array_count);
        told->racy = false;
    }
    told->knows_words = run->known;
    const struct instrument_word_counts counts = {
        .block = {run->test->block[0], run->test->block[1], run->test->block[2]},
        .blocks = (uint64_t)grid[0] * grid[1] * grid[2],
        .dynamic_bytes = run->test->shared_bytes,
        .places = run->places,
        .tallies = tallies,
        .threads = run->known ? read_back(run, run->threads,
                                          (uint64_t)kernel->thread_tallies *
                                              threads_of_block(run->test) * sizeof(uint64_t))
                              : NULL,
    };
    if (run->known && !instrument_add_words(kernel, &counts, told->words))
        snprintf(told->differs, sizeof(told->differs), "threads of a block differ in a tally");
    told->words[told->word_count].stores += run->level->spoil == ORACLE_ONE_WORD;
}

static void told_by_ranges(struct run *run)
{
    const struct instrument_kernel *kernel = run->kernel;
    const uint32_t dynamic = run->test->shared_bytes;
    struct oracle_told *told = run->told;
    told->range_site_count = kernel->range_site_count;
    told->range_sites =
        oracle_take(run->shared, kernel->range_site_count * sizeof(*told->range_sites));
    for (uint32_t i = 0; i < kernel->range_site_count; i++) {
        const struct instrument_range_site *from = &kernel->range_sites[i];
        const struct instrument_array *array =
            from->array == INSTRUMENT_NONE ? NULL : &kernel->arrays[from->array];
        const struct instrument_site *site =
            &(from->listed ? kernel->shared : kernel->sites)[from->site];
        told->range_sites[i] = (struct oracle_range_site){
            .index = site->index,
            .bytes = site->bytes,
            .row = instrument_range_row(kernel, i, dynamic),
            .first = from->first,
            .end = array ? array->first + (instrument_array_bytes(array, dynamic) + 3) / 4
                         : 1 + told->word_count,
        };
    }
    told->range_count = instrument_range_count(kernel, dynamic);
    told->ranges = read_back(run, run->context.ranges, told->range_count * sizeof(*told->ranges));
    if (run->level->spoil == ORACLE_ONE_RANGE && told->range_count)
        told->ranges[told->range_count - 1].ranges++;
}

static void told_by_table(struct run *run)
{
    struct instrument_table table;
    CALL(cuMemcpyDtoH_v2(&table, run->context.table, sizeof(table)));
    const struct instrument_slot *entries =
        read_back(run, table.entries, table.count * sizeof(*entries));
    const uint8_t *touched = read_back(run, table.touched, table.count * 2);
    const uint64_t *moved = read_back(run, table.moved, table.count * 16);
    const struct instrument_strays *strays = read_back(run, table.strays, sizeof(*strays));
    const uint64_t *stored = read_back(run, table.stored, table.stored ? table.count * 16 : 0);
    run->told->strays = strays->count;
    for (uint64_t entry = 0; entry < table.count; entry++) {
        const uint64_t address = entries[entry].base + entries[entry].lead;
        for (unsigned i = 0; i < run->told->object_count; i++) {
            struct oracle_object *object = &run->told->objects[i];
            if (object->address != address)
                continue;
            object->read |= touched[2 * entry] != 0;
            object->written |= touched[2 * entry + 1] != 0;
            object->read_bytes += moved[2 * entry];
            object->written_bytes += moved[2 * entry + 1];
            object->stored = table.stored ? stored[2 * entry] : 0;
            object->silent = table.stored ? stored[2 * entry + 1] : 0;
        }
    }
}

static void told_by_marks(struct run *run)
{
    for (unsigned i = 0; i < run->told->object_count; i++) {
        struct oracle_object *object = &run->told->objects[i];
        object->marks = read_back(run, object->pieces.marks, (uint64_t)object->pieces.mask + 1);
    }
    if (run->level->spoil == ORACLE_ONE_MARK)
        run->told->objects[0].marks[0] ^= 1;
}

// Converts words of the bitmap and element counters to bits and counts of elements.
static void count_elements(struct oracle_object *object, uint64_t elements)
{
    for (uint64_t i = 0; i < elements; i++) {
        const uint32_t word = object->bits[i / 32];
        const bool stale = object->counts[i] && !(word >> 31); // no code would ever clear it
        object->counts[i] = stale ? UINT32_MAX : (word & 0x7fffffff) + object->counts[i];
    }
    for (uint64_t i = 0; i < elements; i += 32) {
        object->bits[i / 32] = 0;
        for (unsigned k = 0; k < 32 && i + k < elements; k++)
            object->bits[i / 32] |= (uint32_t)(object->counts[i + k] != 0) << k;
    }
}

static void told_by_maps(struct run *run)
{
    for (unsigned i = 0; i < run->told->object_count; i++) {
        struct oracle_object *object = &run->told->objects[i];
        const uint64_t elements =
            (object->slot.bytes + (1u << object->slot.shift) - 1) >> object->slot.shift;
        object->bits = read_back(run, object->slot.bits, (elements + 31) / 32 * 4);
        if (run->level->facts & INSTRUMENT_COUNTS) {
            object->counts = read_back(run, object->slot.counts, elements * 4);
            count_elements(object, elements);
        }
        // An accessed element implies that its object was accessed.
        object->read |= object->read_bytes != 0;
        object->written |= object->written_bytes != 0;
    }
    if (run->level->spoil == ORACLE_ONE_BIT)
        run->told->objects[0].bits[run->told->objects[0].slot.lead >> run->level->shift >> 5] ^= 1;
    if (run->level->spoil == ORACLE_ONE_COUNT)
        run->told->objects[0].counts[run->told->objects[0].slot.lead >> run->level->shift]++;
}

// --- One level -----------------------------------------------------------------------------------

// The text that holds the clone.
static char *text_of(const struct run *run)
{
    const uint32_t part = run->kernel->part;
    return part == INSTRUMENT_NONE ? run->instrumented->ptx
                                   : (char *)(uintptr_t)run->instrumented->parts[part].ptx;
}

// Finds the next store or reduction of probes in a text; NULL: there is none.
static char *find_probe(const char *text, bool spare)
{
    static const char *const names[] = {"st.global", "red.global", "red.shared",
                                        "@%glint$p0 atom.shared"};
    const char *first = NULL;
    for (unsigned i = 0; i < (spare ? 4 : 2); i++) {
        const char *at = strstr(text, names[i]);
        first = !first || (at && at < first) ? at : first;
    }
    return (char *)(uintptr_t)first; // NOLINT(performance-no-int-to-ptr)
}

// Removes one of them from the clone's text: number `which`.
static void leave_out(struct run *run)
{
    char *at = strstr(text_of(run), run->kernel->clone);
    for (unsigned n = 0; at; at++) {
        at = find_probe(at, run->level->spare_word);
        if (!at)
            break;
        if (n++ == run->level->which) {
            while (!strchr(";{}:\n", at[-1])) // with its guard
                at--;
            memset(at, ' ', strcspn(at, ";") + 1);
            return;
        }
    }
    snprintf(run->told->problem, sizeof(run->told->problem), "there is no probe %u",
             run->level->which);
}

static bool load(struct run *run)
{
    const struct instrument_request request = {.facts = run->level->facts,
                                               .word_ways = run->level->word_ways,
                                               .gpu = run->level->gpu,
                                               .parts = run->level->parts};
    struct base_error error = {0};
    char *problem = run->told->problem;
    const size_t room = sizeof(run->told->problem);
    if (instrument_ptx(run->test->ptx, run->test->ptx_bytes, &request, &run->instrumented,
                       &error) != BASE_OK) {
        base_error_text(&error, problem, room);
        return false;
    }
    for (unsigned i = 0; i < run->instrumented->kernel_count; i++) {
        if (strcmp(run->instrumented->kernels[i].name, run->test->kernel) == 0)
            run->kernel = &run->instrumented->kernels[i];
    }
    if (!run->kernel || !run->kernel->clone || run->kernel->reason || run->kernel->unmarked) {
        snprintf(problem, room, "%s",
                 !run->kernel            ? "no kernel"
                 : run->kernel->unmarked ? run->kernel->unmarked
                                         : run->kernel->reason);
        return false;
    }
    snprintf(run->told->clone, sizeof(run->told->clone), "%s", run->kernel->clone);
    if (run->level->spoil == ORACLE_WITHOUT_PROBE)
        leave_out(run);
    char log[400] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof(log)}; // NOLINT(performance-no-int-to-ptr)
    CUmodule apart = NULL;
    if (!*problem &&
        cuModuleLoadDataEx(&run->module, run->instrumented->ptx, 2, options, values) != 0)
        snprintf(problem, room, "the rewritten module is refused: %s", log);
    if (!*problem && run->kernel->part != INSTRUMENT_NONE &&
        cuModuleLoadDataEx(&apart, text_of(run), 2, options, values) != 0)
        snprintf(problem, room, "the clone's part is refused: %s", log);
    if (*problem)
        return false;
    CALL(cuModuleGetFunction(&run->original, run->module, run->kernel->name));
    CALL(cuModuleGetFunction(&run->clone, apart ? apart : run->module, run->kernel->clone));
    if (run->kernel->light)
        CALL(cuModuleGetFunction(&run->light, apart ? apart : run->module, run->kernel->light));
    return true;
}

// Compares the parameters in the kernel's table with those that the driver reports.
static bool check_params(struct run *run)
{
    const struct instrument_kernel *kernel = run->kernel;
    size_t offset = 0, bytes = 0;
    const bool slots = run->level->facts & INSTRUMENT_ELEMENTS;
    const uint64_t wanted =
        sizeof(struct instrument_context) +
        kernel->root_count *
            (uint64_t)((slots ? sizeof(struct instrument_view) : sizeof(struct instrument_bounds)) +
                       (run->level->facts & INSTRUMENT_VALUES ? sizeof(struct instrument_pieces)
                                                              : 0));
    const CUresult last = cuFuncGetParamInfo(run->clone, kernel->param_count, &offset, &bytes);
    if (last == CUDA_SUCCESS && offset == kernel->context_offset &&
        bytes == kernel->context_bytes && bytes == wanted && wanted <= sizeof(run->context.bytes) &&
        cuFuncGetParamInfo(run->clone, kernel->param_count + 1, &offset, &bytes) != CUDA_SUCCESS)
        return true;
    snprintf(run->told->problem, sizeof(run->told->problem),
             "the clone's last parameter: %zu bytes at %zu, told %u at %u, and %u slots", bytes,
             offset, kernel->context_bytes, kernel->context_offset, kernel->root_count);
    return false;
}

static void compare_results(struct run *run)
{
    for (unsigned i = 0; i < run->told->object_count && !*run->told->differs; i++) {
        const struct oracle_object *object = &run->told->objects[i];
        unsigned char *now = read_back(run, object->address, object->bytes);
        if (run->level->spoil == ORACLE_ONE_RESULT && i == 0)
            now[0] ^= 1;
        for (uint64_t at = 0; at < object->bytes; at++) {
            if (now[at] == run->result[i][at])
                continue;
            snprintf(run->told->differs, sizeof(run->told->differs),
                     "%s: byte %llu is 0x%02x, and 0x%02x without probes", object->name,
                     (unsigned long long)at, now[at], run->result[i][at]);
            break;
        }
    }
}

void oracle_launch(const struct oracle_case *test, const struct oracle_level *level,
                   struct oracle_shared *shared, struct oracle_told *told)
{
    struct run run = {.test = test, .level = level, .shared = shared, .told = told};
    void *params[ORACLE_PARAMS / 4 + 1];
    make_buffers(&run);
    if (!load(&run) || !check_params(&run))
        return;
    find_variables(&run);
    reset_memory(&run);
    place_params(run.original, run.params, run.kernel->param_count, params);
    launch(&run, run.original, test->shared_bytes, params);
    for (unsigned i = 0; i < told->object_count; i++)
        run.result[i] = read_back(&run, told->objects[i].address, told->objects[i].bytes);
    reset_memory(&run);
    make_context(&run);
    params[run.kernel->param_count] = run.context.bytes;
    CALL(cuFuncSetAttribute(run.clone, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                            (int)run.shared_bytes));
    launch(&run, run.clone, run.shared_bytes, params);
    compare_results(&run);
    if (level->facts & INSTRUMENT_OBJECTS)
        told_by_flags(&run);
    told_by_tallies(&run);
    told_by_table(&run);
    if (level->facts & INSTRUMENT_ELEMENTS)
        told_by_maps(&run);
    if (level->facts & INSTRUMENT_VALUES)
        told_by_marks(&run);
    if (level->facts & INSTRUMENT_ACCESSED)
        told_by_accesses(&run);
    if (level->facts & INSTRUMENT_SHARED) {
        told_by_words(&run);
        oracle_reuse_read(level, shared, told);
    }
    if (told->traces)
        told_by_ranges(&run);
    oracle_trace_read(test, level, shared, told);
    for (unsigned i = 0; i < told->object_count; i++)
        told->objects[i].initial = run.initial[i];
    told->done = true;
    instrument_destroy(run.instrumented);
}
