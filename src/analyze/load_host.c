// SPDX-License-Identifier: Apache-2.0
// Reads what the host did beside its calls: when it made them and waited, what it copied between
// its memory and the GPU, and where it first used data from the GPU.
#include <stdlib.h>
#include <string.h>

#include "model.h"

// --- Functions, settings and notes ---------------------------------------------------------------

static bool take_function(void *user, const struct profile_function *function)
{
    // Functions are matched by how their names begin, or by a word in them, because suffixes for
    // versions and streams follow.
    static const struct {
        const char *word;
        uint16_t flags;
        bool within;
    } words[] = {{"cuEventElapsedTime", ANALYZE_TIMES, false},
                 {"cuMemcpyBatch", ANALYZE_BATCH, false},
                 {"cuMemcpy3DBatch", ANALYZE_BATCH, false},
                 {"cuIpc", ANALYZE_SHARES, false},
                 {"Export", ANALYZE_SHARES, true},
                 {"Import", ANALYZE_SHARES, true},
                 {"External", ANALYZE_SHARES, true},
                 {"cuMemGetHandleForAddressRange", ANALYZE_SHARES, false}};
    struct analyze_host_loading *loading = user;
    if (!function->name || function->number >= 1u << 16)
        return true;
    if (function->number >= loading->function_count) {
        uint32_t count = function->number * 2 + 64;
        uint16_t *grown = realloc(loading->functions, count * sizeof(*grown));
        loading->failed |= !grown;
        if (!grown)
            return false;
        memset(grown + loading->function_count, 0,
               (count - loading->function_count) * sizeof(*grown));
        loading->functions = grown;
        loading->function_count = count;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const char *at = strstr(function->name, words[i].word);
        if (at && (words[i].within || at == function->name))
            loading->functions[function->number] |= words[i].flags;
    }
    loading->model->host.knows_timing |=
        (loading->functions[function->number] & ANALYZE_TIMES) != 0;
    return true;
}

static bool take_setting(void *user, const struct profile_setting *setting)
{
    struct analyze_host_loading *loading = user;
    if (strcmp(setting->name, "sync_tracking") == 0)
        loading->model->host.tracked = strcmp(setting->value, "off") != 0;
    return true;
}

// Data that was not watched has no first uses and would look unused, so a note about it turns the
// analysis of waits off.
static bool take_note(void *user, const struct profile_note *note)
{
    static const char given_up[] = "first uses ";
    struct analyze_host_loading *loading = user;
    if (note->severity >= PROFILE_WARNING && note->text &&
        strncmp(note->text, given_up, sizeof(given_up) - 1) == 0) {
        loading->model->host.given_up |= loading->model->host.tracked;
        loading->model->host.tracked = false;
    }
    return true;
}

struct ending {
    int32_t tid;
    uint32_t number;
};

static bool take_thread(void *user, const struct profile_thread *thread)
{
    struct ending *ending = user;
    if (thread->tid == ending->tid)
        ending->number = thread->number;
    return true;
}

enum base_code analyze_load_host(struct analyze_host_loading *loading, struct profile *profile,
                                 struct base_error *error)
{
    const struct profile_program *program = profile_program(profile);
    struct analyze_host *host = &loading->model->host;
    struct ending ending = {.tid = program->pid};
    host->has_gpu_times = program->timestamps && !program->simulated;
    host->end_ns = program->has_end ? program->end_ns : 0;
    enum base_code code = profile_each_function(profile, take_function, loading, error);
    if (code == BASE_OK)
        code = profile_each_setting(profile, take_setting, loading, error);
    if (code == BASE_OK)
        code = profile_each_note(profile, take_note, loading, error);
    if (code == BASE_OK)
        code = profile_each_thread(profile, take_thread, &ending, error);
    host->end_thread = ending.number;
    return code;
}

// --- Graphs and calls ----------------------------------------------------------------------------

void analyze_load_host_graph(struct analyze_host_loading *loading, uint32_t graph,
                             const struct profile_graph *row)
{
    struct analyze_host *host = &loading->model->host;
    bool *grown = realloc(host->host_graphs, (graph + 1) * sizeof(*grown));
    loading->failed |= !grown;
    if (!grown)
        return;
    host->host_graphs = grown;
    grown[graph] = false;
    for (uint32_t i = 0; i < row->node_count; i++) {
        const struct profile_node *node = &row->nodes[i];
        grown[graph] |=
            node->kind == PROFILE_NODE_HOST || node->kind == PROFILE_NODE_OTHER ||
            (node->kind == PROFILE_NODE_COPY && node->copy.direction == PROFILE_HOST_TO_DEVICE);
    }
}

static void add_copy(struct analyze_host_loading *loading, const struct profile_copy *copy)
{
    const struct analyze_model *model = loading->model;
    const bool to_host = copy->direction == PROFILE_DEVICE_TO_HOST;
    if (!to_host && copy->direction != PROFILE_HOST_TO_DEVICE)
        return;
    struct analyze_copy *row = base_array_push(&loading->model->host.copies);
    loading->failed |= !row;
    if (!row)
        return;
    *row = (struct analyze_copy){
        .call = (uint32_t)model->calls.count - 1,
        .object = analyze_find_object(model, to_host ? copy->from_object : copy->to_object),
        .host_address = to_host ? copy->to : copy->from,
        .device_address = to_host ? copy->from : copy->to,
        .bytes = copy->bytes,
        .shape = {copy->width_bytes, copy->height * (copy->depth ? copy->depth : 1),
                  to_host ? copy->from_pitch : copy->to_pitch,
                  to_host ? copy->to_pitch : copy->from_pitch},
        .to_host = to_host,
        .host = (uint8_t)copy->host,
        .memory = (uint8_t)(to_host ? copy->to_memory : copy->from_memory),
        .block = copy->block};
}

void analyze_load_host_call(struct analyze_host_loading *loading, const struct profile_call *call)
{
    struct analyze_model *model = loading->model;
    struct analyze_time *time = base_array_push(&model->host.times);
    loading->failed |= !time;
    if (!time)
        return;
    int64_t end_ns = call->end_ns > call->start_ns ? call->end_ns : call->start_ns;
    uint64_t took_ns = (uint64_t)(end_ns - call->start_ns);
    *time = (struct analyze_time){call->start_ns, end_ns,
                                  call->waited_ns < took_ns ? call->waited_ns : took_ns, 0};
    struct analyze_call *row = &model->calls.items[model->calls.count - 1];
    if (call->function < loading->function_count && row->flags & ANALYZE_WORKS)
        row->flags |= loading->functions[call->function];
    if (call->kind == PROFILE_CALL_COPY && row->flags & ANALYZE_WORKS)
        add_copy(loading, &call->copy);
}

// --- First uses ----------------------------------------------------------------------------------

static bool take_use(void *user, const struct profile_use *use)
{
    struct analyze_host_loading *loading = user;
    struct analyze_model *model = loading->model;
    struct analyze_first_use *row = base_array_push(&model->host.first_uses);
    loading->failed |= !row;
    if (!row)
        return false;
    *row = (struct analyze_first_use){.sync = analyze_find_call(model, use->sync),
                                      .copy = analyze_find_call(model, use->copy),
                                      .kind = (uint8_t)use->kind,
                                      .thread = use->thread,
                                      .path = use->path,
                                      .time_ns = use->time_ns,
                                      .is_partial = use->unwatched_bytes > 0};
    if (row->sync == ANALYZE_NONE)
        model->host.first_uses.count--;
    return true;
}

// --- Transfers -----------------------------------------------------------------------------------

// Hashes are stored in the order of copies, so both lists are walked together.
struct hashes {
    struct analyze_host_loading *loading;
    size_t next;
};

static bool take_hash(void *user, const struct profile_hash *hash)
{
    struct hashes *hashes = user;
    struct analyze_model *model = hashes->loading->model;
    uint32_t call = analyze_find_call(model, hash->copy), at = analyze_find_call(model, hash->at);
    if (at != ANALYZE_NONE)
        model->host.times.items[at].recorder_ns += hash->took_ns;
    while (hashes->next < model->host.copies.count &&
           model->host.copies.items[hashes->next].call < call)
        hashes->next++;
    if (call == ANALYZE_NONE || hashes->next == model->host.copies.count ||
        model->host.copies.items[hashes->next].call != call)
        return true;
    struct analyze_copy *copy = &model->host.copies.items[hashes->next];
    copy->hashed = true;
    copy->hash[0] = hash->high;
    copy->hash[1] = hash->low;
    copy->same_before = hash->same == PROFILE_SAME_YES;
    return true;
}

static bool take_block(void *user, const struct profile_block *block)
{
    struct analyze_host_loading *loading = user;
    struct analyze_host_block *row = base_array_push(&loading->model->host.blocks);
    loading->failed |= !row;
    if (row)
        *row = (struct analyze_host_block){
            .number = block->number, .bytes = block->bytes, .allocated = block->allocated_path};
    return row != NULL;
}

const struct analyze_host_block *analyze_find_block(const struct analyze_host *host,
                                                    uint64_t number)
{
    const struct analyze_host_block *blocks = host->blocks.items;
    const size_t at = base_search(0, host->blocks.count, i, blocks[i].number < number);
    return at < host->blocks.count && blocks[at].number == number ? &blocks[at] : NULL;
}

static bool take_block_end(void *user, const struct profile_block_end *end)
{
    const struct analyze_host_loading *loading = user;
    const struct analyze_host *host = &loading->model->host;
    const struct analyze_host_block *block = analyze_find_block(host, end->number);
    if (block)
        host->blocks.items[block - host->blocks.items].freed = end->freed_path;
    return true;
}

enum base_code analyze_load_host_end(struct analyze_host_loading *loading, struct profile *profile,
                                     struct base_error *error)
{
    struct analyze_host *host = &loading->model->host;
    for (size_t i = 0; i < host->times.count; i++) {
        if (host->times.items[i].end_ns > host->end_ns)
            host->end_ns = host->times.items[i].end_ns;
    }
    struct hashes hashes = {.loading = loading};
    enum base_code code = profile_each_use(profile, take_use, loading, error);
    if (code == BASE_OK)
        code = profile_each_hash(profile, take_hash, &hashes, error);
    if (code == BASE_OK)
        code = profile_each_block(profile, take_block, loading, error);
    if (code == BASE_OK)
        code = profile_each_block_end(profile, take_block_end, loading, error);
    return code;
}

void analyze_host_fini(struct analyze_host *host)
{
    base_array_fini(&host->times);
    base_array_fini(&host->copies);
    base_array_fini(&host->first_uses);
    base_array_fini(&host->blocks);
    free(host->host_graphs);
    host->host_graphs = NULL;
}
