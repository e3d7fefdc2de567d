// SPDX-License-Identifier: Apache-2.0
// Writes the profile of a program whose caches were modelled: write_caches FILE; or were not,
// although that was asked for: write_caches FILE nothing. Each remedy of low-hit-rate helps one
// kernel; of others one takes too little time to be shown, one has no reuse distances and many
// objects, and one lost records.
#include "writing.h"

enum { US = 1000, BYTES = 256 << 20, SHARE = 4096 };

// Places of distances: what L1 and L2 of an h200 hold, what twice as much holds, and more.
enum { IN_L1 = 8, TWICE_L1 = 12, IN_L2 = 14, TWICE_L2 = 20, FAR = 22 };

static struct profile_writer *writer;
static uint64_t last_call, last_object;
static int64_t now_ns = 1000;

static uint64_t add_call(struct profile_call call)
{
    call.number = ++last_call;
    call.start_ns = now_ns;
    call.end_ns = now_ns += 1000;
    call.context = call.stream = call.thread = 1;
    check(profile_add_call(writer, &call, &error));
    return call.number;
}

static uint64_t allocate(const char *name)
{
    const uint64_t object = ++last_object, address = object << 32;
    const uint64_t call = add_call(
        (struct profile_call){.kind = PROFILE_CALL_ALLOC, .range = {address, BYTES, object}});
    check(profile_add_object(writer,
                             &(struct profile_object){.number = object,
                                                      .kind = PROFILE_OBJECT_DEVICE,
                                                      .address = address,
                                                      .bytes = BYTES,
                                                      .context = 1,
                                                      .device = 1,
                                                      .call = call},
                             &error));
    check(profile_name_object(writer, object, name, PROFILE_NAME_SOURCE, &error));
    return object;
}

static void kernel(uint32_t number, const char *name)
{
    check(profile_add_kernel(
        writer, &(struct profile_kernel){.number = number, .name = name, .module = 1}, &error));
    for (uint32_t site = 1; site <= 2; site++)
        check(profile_add_kernel_site(
            writer,
            &(struct profile_kernel_site){.kernel = number,
                                          .number = site,
                                          .opcode = site == 1 ? "ld.global.f32" : "st.global.f32",
                                          .type = "f32",
                                          .type_count = 1,
                                          .bytes = 4,
                                          .access =
                                              site == 1 ? PROFILE_SITE_LOAD : PROFILE_SITE_STORE,
                                          .file = "caches.cu",
                                          .line = 10 * number + site},
            &error));
    check(profile_add_probe(writer,
                            &(struct profile_probe){.kernel = number,
                                                    .facts = PROFILE_PROBE_OBJECTS |
                                                             PROFILE_PROBE_REQUESTS |
                                                             PROFILE_PROBE_CACHE},
                            &error));
}

// Launches the kernel for so long, with so many lost records.
static uint64_t launch(uint32_t number, int64_t gpu_ns, uint64_t lost)
{
    const uint64_t call = add_call(
        (struct profile_call){.kind = PROFILE_CALL_LAUNCH,
                              .launch = {number, .grid = {1024, 1, 1}, .block = {256, 1, 1},
                                         .flags = PROFILE_LAUNCH_WATCHED}});
    check(profile_add_time(
        writer,
        &(struct profile_time){.call = call, .start_ns = now_ns, .end_ns = now_ns += gpu_ns},
        &error));
    check(profile_add_cache_launch(writer,
                                   &(struct profile_cache_launch){.call = call,
                                                                  .kernel = number,
                                                                  .preset = "h200",
                                                                  .share = SHARE,
                                                                  .resident = 8,
                                                                  .shared_bytes = 32768,
                                                                  .l1_bytes = 229376,
                                                                  .l2_bytes = 62914560,
                                                                  .records = 100000,
                                                                  .lost = lost},
                                   &error));
    return call;
}

static void access(uint64_t call, uint64_t object, uint32_t number, struct profile_cache row)
{
    row.call = call;
    row.object = object;
    row.kernel = number;
    check(profile_add_cache(writer, &row, &error));
    if (object)
        check(profile_add_access(writer,
                                 &(struct profile_access){.call = call,
                                                          .object = object,
                                                          .read = row.site == 1,
                                                          .written = row.site == 2,
                                                          .bytes_read = PROFILE_UNKNOWN,
                                                          .bytes_written = PROFILE_UNKNOWN,
                                                          .elements = PROFILE_UNKNOWN,
                                                          .new_elements = PROFILE_UNKNOWN,
                                                          .shared_elements = PROFILE_UNKNOWN},
                                 &error));
}

// Loads of 160,000 sampled sectors, of which each cache has so many.
static void loads(uint64_t call, uint64_t object, uint32_t number, uint64_t l1_hits,
                  uint64_t l2_hits)
{
    const uint64_t all = 160000, missed = all - l1_hits;
    access(call, object, number,
           (struct profile_cache){.site = 1,
                                  .l1 = {{all, l1_hits}},
                                  .l2 = {{missed, l2_hits}},
                                  .read = missed - l2_hits,
                                  .l1_error = 40,
                                  .l2_error = 150});
}

// At each level, so many sectors are used first, and the others again at two distances.
static void reuse(uint64_t call, uint64_t object, uint32_t number, uint32_t level,
                  const uint64_t parts[3], const unsigned places[2])
{
    struct profile_cache_reuse row = {
        .call = call, .object = object, .kernel = number, .level = level, .first = parts[0]};
    row.sectors[places[0]] += parts[1];
    row.sectors[places[1]] += parts[2];
    check(profile_add_cache_reuse(writer, &row, &error));
}
#define REUSE(call, object, number, level, first, near, near_at, far, far_at) \
    reuse(call, object, number, level, (const uint64_t[]){first, near, far},  \
          (const unsigned[]){near_at, far_at})

static void stores(uint64_t call, uint64_t object, uint32_t number)
{
    access(call, object, number,
           (struct profile_cache){.site = 2,
                                  .l1 = {[PROFILE_SITE_STORE] = {20000, 2000}},
                                  .l2 = {[PROFILE_SITE_STORE] = {20000, 20000}},
                                  .written = 20000,
                                  .l1_error = 110,
                                  .l2_error = 10});
    REUSE(call, object, number, 1, 18000, 2000, IN_L1, 0, FAR);
    REUSE(call, object, number, 2, 20000, 0, IN_L2, 0, FAR);
}

static void launch_all(void)
{
    const uint64_t a = allocate("A"), b = allocate("B"), c = allocate("C");

    // All blocks read B once more when L2 has lost it.
    uint64_t call = launch(1, 1000 * US, 0);
    loads(call, a, 1, 152000, 6000);
    loads(call, b, 1, 80000, 20000);
    stores(call, c, 1);
    REUSE(call, a, 1, 1, 8000, 152000, IN_L1, 0, FAR);
    REUSE(call, a, 1, 2, 2000, 6000, IN_L2, 0, FAR);
    REUSE(call, b, 1, 1, 80000, 80000, IN_L1, 0, FAR);
    REUSE(call, b, 1, 2, 10000, 20000, IN_L2, 50000, FAR);

    // Warps take eight times the sectors that they need.
    call = launch(2, 700 * US, 0);
    loads(call, a, 2, 0, 16000);
    stores(call, c, 2);
    REUSE(call, a, 2, 1, 160000, 0, IN_L1, 0, FAR);
    REUSE(call, a, 2, 2, 20000, 16000, IN_L2, 124000, FAR);
    check(profile_add_requests(writer,
                               &(struct profile_requests){.call = call,
                                                          .object = a,
                                                          .requests = 80000,
                                                          .taken = 16 * 160000,
                                                          .needed = 16 * 20000,
                                                          .lines = 16 * 160000,
                                                          .stride = 4096,
                                                          .has_stride = true,
                                                          .kernel = 2,
                                                          .site = 1},
                               &error));

    // L1 is a little too small.
    call = launch(3, 500 * US, 0);
    loads(call, b, 3, 40000, 10000);
    REUSE(call, b, 3, 1, 20000, 40000, IN_L1, 100000, TWICE_L1);
    REUSE(call, b, 3, 2, 10000, 10000, IN_L2, 100000, FAR);

    call = launch(4, 20 * US, 0);
    loads(call, a, 4, 0, 0);
    REUSE(call, a, 4, 1, 160000, 0, IN_L1, 0, FAR);
    REUSE(call, a, 4, 2, 160000, 0, IN_L2, 0, FAR);

    call = launch(5, 250 * US, 0);
    for (unsigned i = 0; i < 12; i++)
        loads(call, allocate("(part)\n"), 5, 10000 * i, 1000);
    loads(call, 0, 5, 0, 0);

    call = launch(6, 250 * US, 5000);
    loads(call, a, 6, 0, 20000);
    REUSE(call, a, 6, 1, 160000, 0, IN_L1, 0, FAR);
    REUSE(call, a, 6, 2, 10000, 20000, IN_L2, 130000, TWICE_L2);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    check(profile_create(argv[1], true, &writer, &error));
    check(profile_set_program(
        writer,
        &(struct profile_program){.executable = "/home/me/caches",
                                  .folder = "/home/me",
                                  .arguments = (const char *const[]){"./caches"},
                                  .argument_count = 1,
                                  .pid = 1,
                                  .driver_version = 13000,
                                  .timestamps = true},
        &error));
    check(profile_add_device(
        writer,
        &(struct profile_device){
            .number = 1, .name = "NVIDIA H200", .major = 9, .multiprocessors = 132},
        &error));
    check(profile_set_setting(writer, &(struct profile_setting){"analyses", "objects,cache"},
                              &error));
    kernel(1, "product(float*, float const*, float const*)");
    kernel(2, "transpose(float*, float const*)");
    kernel(3, "stencil(float*, float const*)");
    kernel(4, "tiny(float*)");
    kernel(5, "many(float**)");
    kernel(6, "lossy(float*)");
    if (argc == 2)
        launch_all();
    else
        add_call((struct profile_call){.kind = PROFILE_CALL_LAUNCH, .launch = {1}});
    check(profile_finish(writer, PROFILE_EXITED, 0, &error));
    return 0;
}
