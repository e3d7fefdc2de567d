// SPDX-License-Identifier: Apache-2.0
// devices SEED STEPS: a random program over all devices that there are. It allocates and frees
// memory, in pools, too, copies within and between devices, launches kernels that access memory of
// peers, enables and disables access, and orders streams by events across devices. Beside each
// operation it computes on the host what the memory must contain, and compares. It prints what a
// profile of it must say, in the order of allocations and copies:
//   object KIND DEVICE BYTES FREED   of an allocation; the device from 0, - of pinned memory
//   peer FROM TO BYTES               a copy between devices; allocations from 1
//   launches DEVICE COUNT
//   peak DEVICE BYTES                the most that was allocated at once
// and how many words it compared. It exits with 3 if a word differs.
//
// An operation waits for the stream that used its objects last. So the order of the program is an
// order of the operations, whatever the streams do.
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "program.h"

enum { DEVICES = 4, LINES = 3, OBJECTS = 400, LIVE = 24, WORDS = 4096, PEERS = 4000 };

static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    // out[i] = out[i] * factor + in[i] + i
    ".visible .entry mix(.param .u64 out, .param .u64 in, .param .u32 n, .param .u32 factor)\n{\n"
    "    .reg .b32 %r<9>;\n    .reg .b64 %rd<6>;\n    .reg .pred %p<2>;\n"
    "    ld.param.u64 %rd1, [out];\n    ld.param.u64 %rd2, [in];\n"
    "    ld.param.u32 %r1, [n];\n    ld.param.u32 %r2, [factor];\n"
    "    mov.u32 %r3, %ctaid.x;\n    mov.u32 %r4, %ntid.x;\n    mov.u32 %r5, %tid.x;\n"
    "    mad.lo.u32 %r3, %r3, %r4, %r5;\n    setp.ge.u32 %p1, %r3, %r1;\n    @%p1 ret;\n"
    "    mul.wide.u32 %rd3, %r3, 4;\n    add.u64 %rd4, %rd1, %rd3;\n"
    "    add.u64 %rd5, %rd2, %rd3;\n    ld.global.u32 %r6, [%rd4];\n"
    "    ld.global.u32 %r7, [%rd5];\n    mad.lo.u32 %r6, %r6, %r2, %r7;\n"
    "    add.u32 %r6, %r6, %r3;\n    st.global.u32 [%rd4], %r6;\n    ret;\n}\n";

struct line { // a stream; the first of each device is its default stream
    CUstream handle;
    int device;
};

enum kind { PLAIN, POOL, PINNED };
static const char *const kinds[] = {[PLAIN] = "device", [POOL] = "pool", [PINNED] = "pinned"};

struct object {
    enum kind kind;
    int device;
    CUdeviceptr address;
    uint32_t words;
    uint32_t *contents;      // that it must have
    const struct line *last; // that used it; NULL: the host, or it has been waited for
    bool freed;
};

static struct {
    unsigned seed;
    int devices;
    CUcontext contexts[DEVICES];
    CUfunction mix[DEVICES];
    CUmemoryPool pools[DEVICES];
    struct line lines[DEVICES][LINES];
    bool may[DEVICES][DEVICES];      // kernels of the first may access plain memory of the second
    bool may_pool[DEVICES][DEVICES]; // and that of its pool
    struct object objects[OBJECTS];
    uint32_t made, live[LIVE], live_count;
    uint64_t used[DEVICES], peak[DEVICES], launches[DEVICES], compared;
    struct peer {
        uint32_t from, to, bytes;
    } peers[PEERS];
    uint32_t peer_count;
    uint32_t host[WORDS];
} all;

static uint32_t below(uint32_t limit)
{
    return random_next(&all.seed) % limit;
}

static void enter(int device)
{
    CHECK(cuCtxSetCurrent(all.contexts[device]));
}

static struct line *random_line(int device)
{
    return &all.lines[device][below(LINES)];
}

static struct object *random_object(void)
{
    return all.live_count ? &all.objects[all.live[below(all.live_count)]] : NULL;
}

// --- Order ---------------------------------------------------------------------------------------

static void wait_on_host(const struct line *line)
{
    enter(line->device);
    if (below(4))
        CHECK(cuStreamSynchronize(line->handle));
    else
        CHECK(cuCtxSynchronize());
}

// Lets the work that follows on `line` begin after that on `before`.
static void wait_for(const struct line *line, const struct line *before)
{
    CUevent event;
    if (below(4) == 0) {
        wait_on_host(before);
        return;
    }
    enter(before->device);
    CHECK(cuEventCreate(&event, below(2) ? CU_EVENT_DISABLE_TIMING : CU_EVENT_DEFAULT));
    CHECK(cuEventRecord(event, before->handle));
    enter(line->device);
    CHECK(cuStreamWaitEvent(line->handle, event, 0));
    CHECK(cuEventDestroy_v2(event));
}

static void use(struct object *object, const struct line *line)
{
    if (object->last && object->last != line)
        wait_for(line, object->last);
    object->last = line;
}

static void settle(struct object *object)
{
    if (object->last)
        wait_on_host(object->last);
    object->last = NULL;
}

static void settle_all(void)
{
    for (int i = 0; i < all.devices; i++) {
        enter(i);
        CHECK(cuCtxSynchronize());
    }
    for (uint32_t i = 0; i < all.live_count; i++)
        all.objects[all.live[i]].last = NULL;
}

// --- Memory --------------------------------------------------------------------------------------

static void allocate(int device, enum kind kind)
{
    if (all.made == OBJECTS || all.live_count == LIVE)
        return;
    struct object *object = &all.objects[all.made];
    *object = (struct object){.kind = kind, .device = device, .words = 64 + below(WORDS - 64)};
    object->contents = calloc(object->words, sizeof(uint32_t));
    const size_t bytes = object->words * sizeof(uint32_t);
    enter(device);
    if (kind == PLAIN) {
        CHECK(cuMemAlloc_v2(&object->address, bytes));
        object->last = &all.lines[device][0];
    } else if (kind == POOL) {
        object->last = random_line(device);
        CHECK(cuMemAllocAsync(&object->address, bytes, object->last->handle));
    } else {
        void *memory;
        CHECK(cuMemAllocHost_v2(&memory, bytes));
        object->address = (CUdeviceptr)(uintptr_t)memory;
        memset(memory, 0, bytes);
    }
    if (kind != PINNED) {
        CHECK(cuMemsetD32Async(object->address, 0, object->words, object->last->handle));
        all.used[device] += bytes;
        if (all.used[device] > all.peak[device])
            all.peak[device] = all.used[device];
    }
    all.live[all.live_count++] = all.made++;
}

static void release(uint32_t at)
{
    struct object *object = &all.objects[all.live[at]];
    if (object->kind == POOL) {
        const struct line *line = random_line(object->device);
        use(object, line);
        enter(object->device);
        CHECK(cuMemFreeAsync(object->address, line->handle));
    } else {
        settle(object);
        enter(below(2) ? object->device : (int)below((unsigned)all.devices));
        if (object->kind == PLAIN)
            CHECK(cuMemFree_v2(object->address));
        else
            CHECK(cuMemFreeHost((void *)(uintptr_t)object->address));
    }
    if (object->kind != PINNED)
        all.used[object->device] -= object->words * sizeof(uint32_t);
    object->freed = true;
    free(object->contents);
    object->contents = NULL;
    all.live[at] = all.live[--all.live_count];
}

static void compare(struct object *object)
{
    const size_t bytes = object->words * sizeof(uint32_t);
    if (object->kind == PINNED) {
        settle(object);
        memcpy(all.host, (void *)(uintptr_t)object->address, bytes);
    } else {
        const struct line *line = random_line(object->device);
        use(object, line);
        enter(object->device);
        CHECK(cuMemcpyDtoHAsync_v2(all.host, object->address, bytes, line->handle));
        CHECK(cuStreamSynchronize(line->handle));
    }
    for (uint32_t i = 0; i < object->words; i++) {
        if (all.host[i] != object->contents[i]) {
            fprintf(stderr, "object %u, word %u: %u, not %u\n",
                    (unsigned)(object - all.objects) + 1, i, all.host[i], object->contents[i]);
            exit(3);
        }
    }
    all.compared += object->words;
}

// --- Work ----------------------------------------------------------------------------------------

static bool may_access(int device, const struct object *object)
{
    return object->kind == PINNED || object->device == device ||
           (object->kind == POOL ? all.may_pool : all.may)[device][object->device];
}

static void launch(void)
{
    struct object *out = random_object(), *in = random_object();
    const int device = (int)below((unsigned)all.devices);
    if (!out || !may_access(device, out) || !may_access(device, in))
        return;
    const struct line *line = random_line(device);
    uint32_t n = out->words < in->words ? out->words : in->words, factor = 1 + below(5);
    use(out, line);
    use(in, line);
    enter(device);
    void *params[] = {&out->address, &in->address, &n, &factor};
    CHECK(cuLaunchKernel(all.mix[device], (n + 127) / 128, 1, 1, 128, 1, 1, 0, line->handle, params,
                         NULL));
    for (uint32_t i = 0; i < n; i++)
        out->contents[i] = out->contents[i] * factor + in->contents[i] + i;
    all.launches[device]++;
}

static void set(void)
{
    struct object *object = random_object();
    if (!object || object->kind == PINNED)
        return;
    const struct line *line = random_line(object->device);
    const uint32_t value = below(1000);
    use(object, line);
    enter(object->device);
    CHECK(cuMemsetD32Async(object->address, value, object->words, line->handle));
    for (uint32_t i = 0; i < object->words; i++)
        object->contents[i] = value;
}

static void write_from_host(void)
{
    struct object *object = random_object();
    if (!object || object->kind == PINNED)
        return;
    const struct line *line = random_line(object->device);
    for (uint32_t i = 0; i < object->words; i++)
        all.host[i] = object->contents[i] = below(1 << 20);
    use(object, line);
    enter(object->device);
    CHECK(cuMemcpyHtoDAsync_v2(object->address, all.host, object->words * sizeof(uint32_t),
                               line->handle));
    CHECK(cuStreamSynchronize(line->handle)); // the host's buffer is used again
}

static void copy(void)
{
    struct object *from = random_object(), *to = random_object();
    if (!from || from == to || all.peer_count == PEERS)
        return;
    const uint32_t most = from->words < to->words ? from->words : to->words,
                   words = 1 + below(most), at = below(from->words - words + 1),
                   onto = below(to->words - words + 1);
    const CUdeviceptr source = from->address + at * sizeof(uint32_t),
                      target = to->address + onto * sizeof(uint32_t);
    const size_t bytes = words * sizeof(uint32_t);
    const int device = below(2) ? from->device : to->device;
    const bool peers = from->kind != PINNED && to->kind != PINNED && from->device != to->device;
    const struct line *line = random_line(device);
    switch (below(4)) {
    case 0: // in order with the default stream, and between devices with all work of both
        line = &all.lines[device][0];
        use(from, line);
        use(to, line);
        enter(device);
        if (peers)
            CHECK(cuMemcpyPeer(target, all.contexts[to->device], source, all.contexts[from->device],
                               bytes));
        else
            CHECK(cuMemcpy(target, source, bytes));
        break;
    case 1:
        use(from, line);
        use(to, line);
        enter(device);
        if (peers)
            CHECK(cuMemcpyPeerAsync(target, all.contexts[to->device], source,
                                    all.contexts[from->device], bytes, line->handle));
        else
            CHECK(cuMemcpyAsync(target, source, bytes, line->handle));
        break;
    default:
        use(from, line);
        use(to, line);
        enter(device);
        CHECK(cuMemcpyAsync(target, source, bytes, line->handle));
        break;
    }
    memcpy(to->contents + onto, from->contents + at, bytes);
    if (peers)
        all.peers[all.peer_count++] = (struct peer){
            (uint32_t)(from - all.objects) + 1, (uint32_t)(to - all.objects) + 1, (uint32_t)bytes};
}

// --- Access and streams --------------------------------------------------------------------------

static void change_access(void)
{
    const int device = (int)below((unsigned)all.devices), peer = (int)below((unsigned)all.devices);
    if (device == peer)
        return;
    settle_all(); // kernels may still use the access
    if (below(2)) {
        bool *may = &all.may[device][peer];
        enter(device);
        CHECK(*may ? cuCtxDisablePeerAccess(all.contexts[peer])
                   : cuCtxEnablePeerAccess(all.contexts[peer], 0));
        *may = !*may;
    } else {
        bool *may = &all.may_pool[device][peer];
        const CUmemAccessDesc access = {
            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
            .flags = *may ? CU_MEM_ACCESS_FLAGS_PROT_NONE : CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        CHECK(cuMemPoolSetAccess(all.pools[peer], &access, 1));
        *may = !*may;
    }
}

static void make_line(struct line *line)
{
    enter(line->device);
    CHECK(cuStreamCreate(&line->handle, below(2) ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT));
}

static void replace_line(void)
{
    struct line *line = &all.lines[below((unsigned)all.devices)][1 + below(LINES - 1)];
    enter(line->device);
    CHECK(cuStreamSynchronize(line->handle));
    for (uint32_t i = 0; i < all.live_count; i++)
        if (all.objects[all.live[i]].last == line)
            all.objects[all.live[i]].last = NULL;
    CHECK(cuStreamDestroy_v2(line->handle));
    make_line(line);
}

// --- The program ---------------------------------------------------------------------------------

static void start(void)
{
    CHECK(cuInit(0));
    CHECK(cuDeviceGetCount(&all.devices));
    all.devices = all.devices > DEVICES ? DEVICES : all.devices;
    for (int i = 0; i < all.devices; i++) {
        CUmodule module;
        CHECK(cuDevicePrimaryCtxRetain(&all.contexts[i], i));
        enter(i);
        CHECK(cuModuleLoadData(&module, ptx));
        CHECK(cuModuleGetFunction(&all.mix[i], module, "mix"));
        CHECK(cuDeviceGetDefaultMemPool(&all.pools[i], i));
        for (int k = 0; k < LINES; k++) {
            all.lines[i][k].device = i;
            if (k)
                make_line(&all.lines[i][k]);
        }
        allocate(i, PLAIN);
    }
}

static void step(void)
{
    const uint32_t what = below(100);
    if (what < 15)
        allocate((int)below((unsigned)all.devices), (enum kind)(below(5) / 2));
    else if (what < 25 && all.live_count > 4)
        release(below(all.live_count));
    else if (what < 35)
        write_from_host();
    else if (what < 40)
        set();
    else if (what < 60)
        copy();
    else if (what < 85)
        launch();
    else if (what < 92)
        compare(random_object());
    else if (what < 97)
        change_access();
    else
        replace_line();
}

static void print(void)
{
    for (uint32_t i = 0; i < all.made; i++) {
        const struct object *object = &all.objects[i];
        printf("object %s ", kinds[object->kind]);
        if (object->kind == PINNED)
            printf("-");
        else
            printf("%d", object->device);
        printf(" %u %d\n", (unsigned)(object->words * sizeof(uint32_t)), object->freed);
    }
    for (uint32_t i = 0; i < all.peer_count; i++)
        printf("peer %u %u %u\n", all.peers[i].from, all.peers[i].to, all.peers[i].bytes);
    for (int i = 0; i < all.devices; i++)
        printf("launches %d %llu\n", i, (unsigned long long)all.launches[i]);
    for (int i = 0; i < all.devices; i++)
        printf("peak %d %llu\n", i, (unsigned long long)all.peak[i]);
    printf("%llu words are as expected\n", (unsigned long long)all.compared);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    all.seed = (unsigned)strtoul(argv[1], NULL, 10);
    start();
    for (unsigned long steps = strtoul(argv[2], NULL, 10); steps; steps--)
        step();
    for (uint32_t i = 0; i < all.live_count; i++)
        compare(&all.objects[all.live[i]]);
    settle_all();
    print();
    return 0;
}
