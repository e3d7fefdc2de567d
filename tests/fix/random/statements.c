// SPDX-License-Identifier: Apache-2.0
// Implements the statements. Each makes a few driver calls and uses their results on the host.
#include "random.h"

#include <string.h>

// A part of a piece with at most `most` words, or the whole piece.
struct part {
    unsigned offset, words;
};

static struct part some_part(struct world *world, unsigned most)
{
    if (below(world, 3) == 0)
        return (struct part){0, most};
    struct part part = {.words = 1 + below(world, most)};
    part.offset = below(world, most - part.words + 1);
    return part;
}

static unsigned least(unsigned left, unsigned right)
{
    return left < right ? left : right;
}

// Reads copied words now, later or never.
static void use(struct world *world, const struct statement *statement, unsigned host,
                struct part part)
{
    switch (statement->use[world->round > 1]) {
    case USE_NEVER: break;
    case USE_LATER: look_later(world, host, part.offset, part.words); break;
    case USE_NOW: look(world, &world->hosts[host], part.offset, part.words); break;
    }
}

// --- Copies --------------------------------------------------------------------------------------

static void upload(struct world *world, const struct statement *statement)
{
    struct device_piece *to = device_piece(world, statement->device[0], true, statement->stream);
    struct host_piece *from = &world->hosts[statement->host];
    struct part part = some_part(world, least(from->words, to->words));
    unsigned at = below(world, to->words - part.words + 1);
    write_host(world, from, part.offset, part.words);
    order_after(world, &to->last, 0);
    CHECK(cuMemcpyHtoD_v2(to->address + 4 * at, from->data + part.offset, 4 * (size_t)part.words));
    issued(world, &to->last, 0);
    memcpy(to->model + at, from->model + part.offset, 4 * (size_t)part.words);
    if (statement->choice % 2) // must not change the data that was copied
        write_host(world, from, part.offset, part.words);
}

static void upload_async(struct world *world, const struct statement *statement)
{
    struct device_piece *to = device_piece(world, statement->device[0], true, statement->stream);
    struct host_piece *from = &world->hosts[statement->host];
    struct part part = some_part(world, least(from->words, to->words));
    unsigned at = below(world, to->words - part.words + 1);
    write_host(world, from, part.offset, part.words);
    order_after(world, &to->last, statement->stream);
    CHECK(cuMemcpyHtoDAsync_v2(to->address + 4 * at, from->data + part.offset,
                               4 * (size_t)part.words, handle_of(world, statement->stream)));
    issued(world, &to->last, statement->stream);
    if (is_pinned(from))
        from->last = to->last;
    memcpy(to->model + at, from->model + part.offset, 4 * (size_t)part.words);
    if (statement->choice % 2)
        write_host(world, from, part.offset, part.words);
}

static void download(struct world *world, const struct statement *statement)
{
    struct device_piece *from = device_piece(world, statement->device[0], true, statement->stream);
    struct host_piece *to = &world->hosts[statement->host];
    struct part part = some_part(world, least(from->words, to->words));
    unsigned at = below(world, from->words - part.words + 1);
    wait_for(world, &to->last);
    order_after(world, &from->last, 0);
    CHECK(cuMemcpyDtoH_v2(to->data + part.offset, from->address + 4 * at, 4 * (size_t)part.words));
    issued(world, &from->last, 0);
    memcpy(to->model + part.offset, from->model + at, 4 * (size_t)part.words);
    if (statement->choice % 4 == 0) { // reads or writes another part
        struct part other = some_part(world, to->words);
        if (statement->choice % 8)
            write_host(world, to, other.offset, other.words);
        else
            look(world, to, other.offset, other.words);
    }
    use(world, statement, statement->host, part);
}

static void download_async(struct world *world, const struct statement *statement)
{
    struct device_piece *from = device_piece(world, statement->device[0], true, statement->stream);
    struct host_piece *to = &world->hosts[statement->host];
    struct part part = some_part(world, least(from->words, to->words));
    unsigned at = below(world, from->words - part.words + 1);
    wait_for(world, &to->last);
    order_after(world, &from->last, statement->stream);
    CHECK(cuMemcpyDtoHAsync_v2(to->data + part.offset, from->address + 4 * at,
                               4 * (size_t)part.words, handle_of(world, statement->stream)));
    issued(world, &from->last, statement->stream);
    to->last =
        from->last; // already done if the memory is pageable, but the program does not rely on it
    memcpy(to->model + part.offset, from->model + at, 4 * (size_t)part.words);
    use(world, statement, statement->host, part);
}

// Copies to a local variable, which ends with the function.
static void download_to_stack(struct world *world, const struct statement *statement)
{
    uint32_t words[3000];
    const unsigned most = statement->choice % 2 ? 3000 : 12;
    struct device_piece *from = device_piece(world, statement->device[0], true, statement->stream);
    struct part part = some_part(world, least(from->words, most));
    order_after(world, &from->last, 0);
    CHECK(cuMemcpyDtoH_v2(words, from->address + 4 * part.offset, 4 * (size_t)part.words));
    issued(world, &from->last, 0);
    if (statement->use[world->round > 1] != USE_NEVER)
        look_at(world, words, from->model + part.offset, part.words);
}

// Copies the same words again and again, from constant memory.
static void upload_again(struct world *world, const struct statement *statement)
{
    static const uint32_t table[512] = {1, 2, 3};
    struct device_piece *to = device_piece(world, statement->device[0], true, statement->stream);
    unsigned words = least(to->words, 512);
    order_after(world, &to->last, 0);
    CHECK(cuMemcpyHtoD_v2(to->address, table, 4 * (size_t)words));
    issued(world, &to->last, 0);
    memcpy(to->model, table, 4 * (size_t)words);
}

// Copies the first 48 words of each row of 64.
static void download_rows(struct world *world, const struct statement *statement)
{
    struct device_piece *from = device_piece(world, statement->device[0], true, statement->stream);
    struct host_piece *to = &world->hosts[statement->host];
    unsigned rows = least(from->words, to->words) / 64;
    if (rows == 0)
        return;
    wait_for(world, &to->last);
    order_after(world, &from->last, 0);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = from->address,
                          .srcPitch = 256,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = to->data,
                          .dstPitch = 256,
                          .WidthInBytes = 192,
                          .Height = rows};
    CHECK(cuMemcpy2D_v2(&copy));
    issued(world, &from->last, 0);
    for (unsigned i = 0; i < rows; i++)
        memcpy(to->model + 64 * (size_t)i, from->model + 64 * (size_t)i, 192);
    use(world, statement, statement->host, (struct part){0, 64 * rows});
}

static void between_devices(struct world *world, const struct statement *statement)
{
    struct device_piece *from = device_piece(world, statement->device[0], true, statement->stream);
    struct device_piece *to = device_piece(world, statement->device[1], true, statement->stream);
    unsigned words = least(from->words, to->words),
             stream = statement->choice % 2 ? statement->stream : 0;
    if (from == to)
        return;
    order_after(world, &from->last, stream);
    order_after(world, &to->last, stream);
    if (statement->choice % 2)
        CHECK(cuMemcpyDtoDAsync_v2(to->address, from->address, 4 * (size_t)words,
                                   handle_of(world, stream)));
    else
        CHECK(cuMemcpyDtoD_v2(to->address, from->address, 4 * (size_t)words));
    issued(world, &from->last, stream);
    issued(world, &to->last, stream);
    memcpy(to->model, from->model, 4 * (size_t)words);
}

// --- Kernels and fills ---------------------------------------------------------------------------

static void compute(struct world *world, const struct statement *statement)
{
    struct device_piece *from = device_piece(world, statement->device[0], true, statement->stream);
    struct device_piece *to = device_piece(world, statement->device[1], true, statement->stream);
    launch_mix(world, from, to, statement->stream);
}

// The kernel gets addresses in a form in which they cannot be recognized.
static void compute_hidden(struct world *world, const struct statement *statement)
{
    // A large piece, which can be backed late, and in most cases its first use.
    const unsigned large = DEVICE_LARGE + 2 * (statement->device[1] % 3);
    struct device_piece *from = device_piece(world, statement->device[0], true, statement->stream);
    struct device_piece *to = &world->devices[large];
    if (from != to && statement->choice / FORMS % 4)
        free_device(world, to);
    to = device_piece(world, large, from == to, statement->stream);
    if (world->hides)
        launch_hidden(world, statement->choice % FORMS, from, to, statement->stream);
    else
        launch_mix(world, from, to, statement->stream);
}

static void set(struct world *world, const struct statement *statement)
{
    struct device_piece *to = device_piece(world, statement->device[0], false, statement->stream);
    unsigned stream = statement->choice % 2 ? statement->stream : 0;
    uint32_t key = next_random(world);
    order_after(world, &to->last, stream);
    if (statement->choice % 2)
        CHECK(cuMemsetD32Async(to->address, key, to->words, handle_of(world, stream)));
    else
        CHECK(cuMemsetD32_v2(to->address, key, to->words));
    issued(world, &to->last, stream);
    for (unsigned i = 0; i < to->words; i++)
        to->model[i] = key;
    to->defined = true;
}

// The kernel reads the addresses of its data from memory.
static void indirect(struct world *world, const struct statement *statement)
{
    struct device_piece *from = device_piece(world, statement->device[0], true, statement->stream);
    struct device_piece *to = device_piece(world, statement->device[1], true, statement->stream);
    unsigned words = least(from->words, to->words);
    uint32_t key = next_random(world);
    CUdeviceptr table, pointers[2] = {from->address, to->address};
    CHECK(cuMemAlloc_v2(&table, sizeof(pointers)));
    CHECK(cuMemcpyHtoD_v2(table, pointers, sizeof(pointers)));
    order_after(world, &from->last, statement->stream);
    order_after(world, &to->last, statement->stream);
    if (statement->stream == STREAM_COUNT - 1)
        CHECK(cuStreamSynchronize(NULL)); // this stream does not order with the legacy stream
    follow_words(world, table, words, key, handle_of(world, statement->stream));
    issued(world, &from->last, statement->stream);
    issued(world, &to->last, statement->stream);
    for (unsigned i = 0; i < words; i++)
        to->model[i] = mixed(from->model[i], i, key);
    CHECK(cuMemFree_v2(table));
    world->streams[statement->stream].done = world->streams[statement->stream].issued;
}

// Two temporary pieces of device memory, freed while kernels may still use them.
static void temporary(struct world *world, const struct statement *statement)
{
    struct device_piece *from = device_piece(world, statement->device[0], true, statement->stream);
    uint32_t keys[2] = {next_random(world), next_random(world)};
    unsigned words = from->words;
    size_t bytes = 4 * (size_t)words;
    CUdeviceptr first, second;
    CUstream stream = handle_of(world, statement->stream);
    CHECK(cuMemAlloc_v2(&first, bytes));
    CHECK(cuMemAlloc_v2(&second, bytes));
    order_after(world, &from->last, statement->stream);
    mix_words(world, from->address, first, words, keys[0], stream);
    mix_words(world, first, second, words, keys[1], stream);
    mix_words(world, second, from->address, words, keys[0], stream);
    issued(world, &from->last, statement->stream);
    for (unsigned i = 0; i < words; i++)
        from->model[i] = mixed(mixed(mixed(from->model[i], i, keys[0]), i, keys[1]), i, keys[0]);
    CHECK(cuMemFree_v2(statement->choice % 2 ? first : second));
    CHECK(cuMemFree_v2(statement->choice % 2 ? second : first));
    if (statement->choice % 4 == 0) // the program may rely on the wait in cuMemFree
        world->streams[statement->stream].done = world->streams[statement->stream].issued;
}

// Two temporary pieces, one after the other on two streams; the second may reuse the same memory.
static void temporaries(struct world *world, const struct statement *statement)
{
    for (unsigned i = 0; i < 2; i++) {
        unsigned stream = (statement->stream + i) % STREAM_COUNT;
        struct device_piece *to = device_piece(world, statement->device[i], true, stream);
        uint32_t key = next_random(world);
        CUdeviceptr once;
        CHECK(cuMemAlloc_v2(&once, 8192));
        fill_words(world, once, 2048, key, handle_of(world, stream));
        order_after(world, &to->last, stream);
        unsigned words = least(to->words, 2048);
        CHECK(cuMemcpyDtoDAsync_v2(to->address, once, 4 * (size_t)words, handle_of(world, stream)));
        issued(world, &to->last, stream);
        for (unsigned j = 0; j < words; j++)
            to->model[j] = filled(j, key);
        CHECK(cuMemFree_v2(once));
    }
}

// The kernel writes to host memory directly.
static void write_pinned(struct world *world, const struct statement *statement)
{
    unsigned index = statement->host;
    struct host_piece *to = &world->hosts[index];
    if (!is_pinned(to))
        return;
    uint32_t key = next_random(world);
    CUdeviceptr address;
    CHECK(cuMemHostGetDevicePointer_v2(&address, to->data, 0));
    order_after(world, &to->last, statement->stream);
    fill_words(world, address, to->words, key, handle_of(world, statement->stream));
    issued(world, &to->last, statement->stream);
    for (unsigned i = 0; i < to->words; i++)
        to->model[i] = filled(i, key);
    use(world, statement, index, (struct part){0, to->words});
}

static void touch_managed(struct world *world, const struct statement *statement)
{
    struct device_piece *piece = &world->devices[DEVICE_MANAGED];
    if (piece->kind != DEVICE_MANAGED)
        return;
    device_piece(world, DEVICE_MANAGED, true, statement->stream);
    if (statement->choice % 2)
        launch_mix(world, piece, piece, statement->stream);
    if (statement->use[world->round > 1] == USE_NEVER)
        return;
    wait_for_all(world);
    uint32_t *words = (uint32_t *)(uintptr_t)piece->address; // NOLINT(performance-no-int-to-ptr)
    look_at(world, words, piece->model, piece->words);
    words[0] = piece->model[0] = next_random(world);
}

// --- Waiting, and other calls --------------------------------------------------------------------

// Synchronizes without a specific reason.
static void synchronise(struct world *world, const struct statement *statement)
{
    struct work all = {statement->stream, world->streams[statement->stream].issued};
    switch (statement->choice % 3) {
    case 0: wait_for_all(world); break;
    case 1: CHECK(cuStreamSynchronize(handle_of(world, statement->stream))); break;
    default: wait_for(world, &all);
    }
}

// Uses the results of the kernel only after a synchronization.
static void compute_and_wait(struct world *world, const struct statement *statement)
{
    compute(world, statement);
    CHECK(cuCtxSynchronize());
    download_async(world, statement);
}

static void call_host(void *argument)
{
    ++*(uint32_t *)argument;
}

static void host_function(struct world *world, const struct statement *statement)
{
    uint32_t *count = calloc(1, sizeof(*count));
    struct work behind;
    CHECK(cuLaunchHostFunc(handle_of(world, statement->stream), call_host, count));
    issued(world, &behind, statement->stream);
    wait_for(world, &behind);
    if (!count || *count != 1)
        wrong(world, "a host function was not called");
    free(count);
}

static void timing(struct world *world, const struct statement *statement)
{
    CUstream stream = handle_of(world, statement->stream);
    struct device_piece *to = device_piece(world, statement->device[0], false, statement->stream);
    CUevent events[2];
    float ms = -1;
    CHECK(cuEventCreate(&events[0], CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&events[1], CU_EVENT_DEFAULT));
    CHECK(cuEventRecord(events[0], stream));
    launch_fill(world, to, statement->stream);
    CHECK(cuEventRecord(events[1], stream));
    CHECK(cuEventSynchronize(events[1]));
    CHECK(cuEventElapsedTime(&ms, events[0], events[1]));
    if (!(ms >= 0))
        wrong(world, "time runs backwards");
    CHECK(cuEventDestroy_v2(events[0]));
    CHECK(cuEventDestroy_v2(events[1]));
}

// A kernel and a copy to pinned memory, captured once and launched twice.
static void graph(struct world *world, const struct statement *statement)
{
    // During the capture of a blocking stream, no thread may use the legacy stream.
    unsigned stream = STREAM_COUNT - 1;
    struct device_piece *from = device_piece(world, statement->device[0], true, stream);
    struct host_piece *to = &world->hosts[statement->host];
    if (!is_pinned(to) || to->last.stream != stream)
        wait_for(world, &to->last);
    order_after(world, &from->last, stream);
    unsigned words = least(from->words, to->words);
    uint32_t key = next_random(world);
    CUgraph made;
    CUgraphExec exec;
    CHECK(cuStreamBeginCapture_v2(handle_of(world, stream), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    mix_words(world, from->address, from->address, from->words, key, handle_of(world, stream));
    if (is_pinned(to))
        CHECK(cuMemcpyDtoHAsync_v2(to->data, from->address, 4 * (size_t)words,
                                   handle_of(world, stream)));
    CHECK(cuStreamEndCapture(handle_of(world, stream), &made));
    CHECK(cuGraphInstantiateWithFlags(&exec, made, 0));
    for (unsigned i = 0; i < 2; i++) {
        CHECK(cuGraphLaunch(exec, handle_of(world, stream)));
        for (unsigned j = 0; j < from->words; j++)
            from->model[j] = mixed(from->model[j], j, key);
    }
    issued(world, &from->last, stream);
    if (is_pinned(to)) {
        memcpy(to->model, from->model, 4 * (size_t)words);
        to->last = from->last;
        use(world, statement, statement->host, (struct part){0, words});
    }
    wait_for(world, &from->last);
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(made));
}

// --- Memory --------------------------------------------------------------------------------------

static void drop_device(struct world *world, const struct statement *statement)
{
    free_device(world, &world->devices[statement->device[0]]);
}

// Replaces a piece by another, which may get the same address.
static void renew_host(struct world *world, const struct statement *statement)
{
    enum host_kind kind = world->hosts[statement->host].kind;
    if (kind == HOST_BLOCK && statement->choice % 2) {
        struct host_piece *piece = &world->hosts[statement->host];
        wait_for(world, &piece->last);
        uint32_t *moved = realloc(piece->data, 8 * (size_t)piece->words);
        if (!moved)
            exit(1);
        piece->data = moved;
        look_at(world, moved, piece->model, piece->words);
    }
    free_host(world, statement->host);
    allocate_host(world, statement->host, kind);
}

static void look_around(struct world *world, const struct statement *statement)
{
    struct host_piece *piece = &world->hosts[statement->host];
    struct part part = some_part(world, piece->words);
    look(world, piece, part.offset, part.words);
}

// Calls that the driver rejects natively must fail with glint, too.
static void mistake(struct world *world, const struct statement *statement)
{
    uint32_t word = 0;
    CUresult results[4] = {cuMemFree_v2(0x1000), cuMemcpyDtoH_v2(&word, 0x1000, 4),
                           cuMemcpyHtoD_v2(0x1000, &word, 4), cuMemAlloc_v2(&(CUdeviceptr){0}, 0)};
    CUdeviceptr twice;
    if (statement->choice % 2 && world->number == 0) {
        CHECK(cuMemAlloc_v2(&twice, 4096));
        CHECK(cuMemFree_v2(twice));
        results[3] = cuMemFree_v2(twice);
    }
    for (unsigned i = 0; i < 4; i++) {
        if (results[i] != CUDA_ERROR_INVALID_VALUE)
            wrong(world, "a mistake was not refused");
    }
}

const struct kind kinds[] = {
    {"upload", upload, false},
    {"download", download, false},
    {"temporary", temporary, false},
    {"upload_async", upload_async, false},
    {"download_async", download_async, false},
    {"synchronise", synchronise, false},
    {"compute", compute, false},
    {"download", download, false},
    {"compute_and_wait", compute_and_wait, false},
    {"temporaries", temporaries, false},
    {"download_to_stack", download_to_stack, false},
    {"set", set, false},
    {"write_pinned", write_pinned, false},
    {"touch_managed", touch_managed, false},
    {"between_devices", between_devices, false},
    {"indirect", indirect, false},
    {"graph", graph, true},
    {"host_function", host_function, false},
    {"timing", timing, false},
    {"drop_device", drop_device, false},
    {"renew_host", renew_host, false},
    {"look_around", look_around, false},
    {"download_rows", download_rows, false},
    {"upload_again", upload_again, false},
    {"mistake", mistake, true},
    {"compute_hidden", compute_hidden, false},
    {"compute_hidden", compute_hidden, false},
    {"compute_hidden", compute_hidden, false},
};
const unsigned kind_count = sizeof(kinds) / sizeof(kinds[0]);
