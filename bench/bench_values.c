// SPDX-License-Identifier: Apache-2.0
// Measures the scan of contents on a GPU: bench_values [MiB [libcuda.so.1 [layout]]]. Each row is
// a kind of contents; for float, int and double, it gives the share of the bandwidth of a kernel
// that only reads the same memory, and the microseconds that a scan of one piece takes. Then it
// gives the time of scans that look at a part of the pieces, of small objects, and of structures
// and small types. With a name, there are only the structures and types whose names contain it;
// with `arrays`, only the kinds of contents. Times are the best of the
// rounds, between events. Results for the first bytes of all contents are compared with the
// reference of the tests. Without a GPU, it says so and measures nothing.
//
// It needs nothing but the driver, so that it can be compiled on the machine with the GPU:
//   cc -O2 -D_GNU_SOURCE -Isrc -Ibuild/device bench/bench_values.c
//       tests/device/values_reference.c src/device/device.c -ldl -lm -lpthread
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../tests/device/values_reference.h"
#include "cudaabi/cudaabi.h"
#include "device/device.h"

enum {
    ROUNDS = 7,
    PIECE_BYTES = 1 << DEVICE_PIECE_SHIFT,
    TILE_BYTES = 64 << 20,
    CHECKED_BYTES = 2 << 20,
};

// Reads 16 bytes at a time, 4 times before it waits, and writes only if a sum is one that no
// contents here have.
static const char read_ptx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry read_only(.param .u64 from, .param .u64 vectors)\n"
    "{\n"
    ".reg .pred %p<3>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<10>;\n"
    "ld.param.u64 %rd1, [from];\nld.param.u64 %rd2, [vectors];\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ntid.x;\nmov.u32 %r3, %tid.x;\n"
    "mad.lo.u32 %r4, %r1, %r2, %r3;\nmov.u32 %r5, %nctaid.x;\nmul.lo.u32 %r6, %r5, %r2;\n"
    "cvt.u64.u32 %rd3, %r4;\ncvt.u64.u32 %rd4, %r6;\nmov.u32 %r7, 0;\n"
    "shl.b64 %rd5, %rd4, 4;\nshl.b64 %rd6, %rd4, 2;\n"
    "LOOP:\n"
    "setp.ge.u64 %p1, %rd3, %rd2;\n@%p1 bra DONE;\n"
    "shl.b64 %rd7, %rd3, 4;\nadd.u64 %rd7, %rd1, %rd7;\n"
    "ld.global.cg.v4.u32 {%r8, %r9, %r10, %r11}, [%rd7];\nadd.u64 %rd7, %rd7, %rd5;\n"
    "ld.global.cg.v4.u32 {%r12, %r13, %r14, %r15}, [%rd7];\nadd.u64 %rd7, %rd7, %rd5;\n"
    "ld.global.cg.v4.u32 {%r16, %r17, %r18, %r19}, [%rd7];\nadd.u64 %rd7, %rd7, %rd5;\n"
    "ld.global.cg.v4.u32 {%r20, %r21, %r22, %r23}, [%rd7];\n"
    "xor.b32 %r7, %r7, %r8;\nxor.b32 %r7, %r7, %r9;\nxor.b32 %r7, %r7, %r10;\n"
    "xor.b32 %r7, %r7, %r11;\nxor.b32 %r7, %r7, %r12;\nxor.b32 %r7, %r7, %r13;\n"
    "xor.b32 %r7, %r7, %r14;\nxor.b32 %r7, %r7, %r15;\nxor.b32 %r7, %r7, %r16;\n"
    "xor.b32 %r7, %r7, %r17;\nxor.b32 %r7, %r7, %r18;\nxor.b32 %r7, %r7, %r19;\n"
    "xor.b32 %r7, %r7, %r20;\nxor.b32 %r7, %r7, %r21;\nxor.b32 %r7, %r7, %r22;\n"
    "xor.b32 %r7, %r7, %r23;\n"
    "add.u64 %rd3, %rd3, %rd6;\nbra LOOP;\n"
    "DONE:\n"
    "setp.ne.u32 %p2, %r7, 0x12345679;\n@%p2 ret;\nst.global.u32 [%rd1], %r7;\nret;\n"
    "}\n";

// --- The driver ----------------------------------------------------------------------------------

static void *driver;

static void *find(const char *name)
{
    void *found = dlsym(driver, name);
    if (!found) {
        fprintf(stderr, "bench_values: no %s\n", name);
        exit(1);
    }
    return found;
}
#define DRIVER(symbol) ((__typeof__(&(symbol)))find(#symbol))

static void must(CUresult result, const char *what)
{
    if (result != CUDA_SUCCESS) {
        fprintf(stderr, "bench_values: %s: error %d\n", what, (int)result);
        exit(1);
    }
}
#define MUST(call) must((call), #call)

static struct {
    CUmodule read_module, modules[2]; // those of the scan: of everything, of arrays of words
    CUfunction read, scans[2];
    CUevent began, ended;
    unsigned processors;
    double load_ms[2]; // of the modules; compiled, unless the driver has them in its cache
} gpu;

static double now_ms(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static bool start(const char *library)
{
    CUdevice device;
    CUcontext context;
    int processors;
    driver = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    if (!driver || DRIVER(cuInit)(0) || DRIVER(cuDeviceGet)(&device, 0))
        return false;
    MUST(DRIVER(cuDevicePrimaryCtxRetain)(&context, device));
    MUST(DRIVER(cuCtxSetCurrent)(context));
    MUST(DRIVER(cuDeviceGetAttribute)(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                                      device));
    gpu.processors = (unsigned)processors;
    MUST(DRIVER(cuModuleLoadData)(&gpu.read_module, read_ptx));
    MUST(DRIVER(cuModuleGetFunction)(&gpu.read, gpu.read_module, "read_only"));
    const char *const modules[] = {device_values_others_ptx, device_values_ptx};
    for (int i = 0; i < 2; i++) {
        const double start_ms = now_ms();
        MUST(DRIVER(cuModuleLoadData)(&gpu.modules[i], modules[i]));
        gpu.load_ms[i] = now_ms() - start_ms;
        MUST(DRIVER(cuModuleGetFunction)(&gpu.scans[i], gpu.modules[i], DEVICE_VALUES_SCAN));
        MUST(DRIVER(cuFuncSetAttribute)(
            gpu.scans[i], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, DEVICE_VALUES_SHARED));
    }
    MUST(DRIVER(cuEventCreate)(&gpu.began, 0));
    MUST(DRIVER(cuEventCreate)(&gpu.ended, 0));
    return true;
}

static uint64_t zeroed(size_t bytes)
{
    CUdeviceptr memory;
    MUST(DRIVER(cuMemAlloc_v2)(&memory, bytes));
    MUST(DRIVER(cuMemsetD8_v2)(memory, 0, bytes));
    return memory;
}

// Returns the microseconds that a launch takes.
static double launch(CUfunction function, unsigned blocks, unsigned threads, unsigned shared,
                     void **params)
{
    float ms;
    MUST(DRIVER(cuEventRecord)(gpu.began, NULL));
    MUST(DRIVER(cuLaunchKernel)(function, blocks, 1, 1, threads, 1, 1, shared, NULL, params, NULL));
    MUST(DRIVER(cuEventRecord)(gpu.ended, NULL));
    MUST(DRIVER(cuEventSynchronize)(gpu.ended));
    MUST(DRIVER(cuEventElapsedTime)(&ms, gpu.began, gpu.ended));
    return ms * 1e3;
}

// --- Scans ---------------------------------------------------------------------------------------

static struct {
    uint64_t bytes, memory, flush;
    unsigned char *host; // contents
    struct device_values about;
    struct device_values_job job;
    struct device_values_result *result;
} scan;

static void prepare(uint64_t bytes)
{
    const uint32_t pieces = (uint32_t)(bytes / PIECE_BYTES);
    uint32_t room = 1;
    void *pinned;
    while (room < pieces)
        room *= 2;
    scan.bytes = bytes;
    scan.memory = zeroed(bytes);
    scan.flush = zeroed(bytes);
    scan.host = malloc(bytes);
    MUST(DRIVER(cuMemHostAlloc)(&pinned, sizeof(*scan.result) + 64, 0));
    scan.result = pinned;
    scan.about.done = zeroed(64);
    scan.about.sequence = (uint64_t)(uintptr_t)(scan.result + 1);
    scan.about.job_count = 1;
    scan.job = (struct device_values_job){
        .base = scan.memory,
        .first = scan.memory,
        .end = scan.memory + bytes,
        .from = scan.memory,
        .to = scan.memory + bytes,
        .marks = zeroed(room),
        .states = zeroed(pieces + 16),
        .hashes = zeroed(pieces * 16ul),
        .kept = zeroed(sizeof(struct device_kept)),
        .work = zeroed(DEVICE_VALUES_WORK),
        .result = (uint64_t)(uintptr_t)scan.result,
        .mask = room - 1,
        .pieces = pieces,
        .which = DEVICE_RANGE,
        .describes = 1,
    };
    if (!scan.host) {
        fprintf(stderr, "bench_values: no memory\n");
        exit(1);
    }
}

// Runs the scan as the job says. `marks`, if not NULL, is what is marked before each round. Returns
// microseconds.
static double measure(const unsigned char *marks)
{
    double best = 1e30;
    for (int i = 0; i < ROUNDS; i++) {
        void *params[] = {&scan.about};
        MUST(DRIVER(cuMemsetD8_v2)(scan.flush, 0, scan.bytes)); // nothing stays in the cache
        if (marks)
            MUST(DRIVER(cuMemcpyHtoD_v2)(scan.job.marks, marks, (uint64_t)scan.job.mask + 1));
        scan.about.jobs[0] = scan.job;
        const unsigned blocks = device_values_grid(&scan.about, gpu.processors);
        *(volatile uint32_t *)(uintptr_t)scan.about.sequence = 0;
        const double time = launch(gpu.scans[device_values_is_words(&scan.job)], blocks,
                                   DEVICE_VALUES_THREADS, DEVICE_VALUES_SHARED, params);
        if (*(volatile uint32_t *)(uintptr_t)scan.about.sequence != 1) {
            fprintf(stderr, "bench_values: the scan did not end\n");
            exit(1);
        }
        best = time < best ? time : best;
    }
    return best;
}

// Returns the microseconds that a scan of one piece takes.
static double measure_piece(void)
{
    const struct device_values_job job = scan.job;
    scan.job.end = scan.job.to = scan.memory + PIECE_BYTES;
    scan.job.pieces = 1;
    const double time = measure(NULL);
    scan.job = job;
    return time;
}

// Scans the first bytes of what was filled in, and compares the result with the reference.
static void check(void)
{
    const struct device_values_job job = scan.job;
    const uint64_t bytes = scan.bytes < CHECKED_BYTES ? scan.bytes : CHECKED_BYTES;
    unsigned char looked_at[CHECKED_BYTES / PIECE_BYTES];
    char why[200];
    memset(looked_at, 1, sizeof(looked_at));
    scan.job.end = scan.job.to = scan.memory + bytes;
    scan.job.pieces = (uint32_t)(bytes / PIECE_BYTES);
    measure(NULL);
    if (!values_reference_check(&scan.job, scan.host, looked_at, scan.result, why, sizeof(why))) {
        printf("\nWRONG: %s\n", why);
        exit(1);
    }
    scan.job = job;
}

static double measure_read(uint64_t bytes)
{
    double best = 1e30;
    uint64_t vectors = bytes / 16;
    for (int i = 0; i < ROUNDS; i++) {
        // Four vectors for each thread: the grid divides the number of vectors.
        unsigned blocks = gpu.processors * 8;
        while (vectors % (blocks * 256ul * 4))
            blocks--;
        void *params[] = {&scan.memory, &vectors};
        MUST(DRIVER(cuMemsetD8_v2)(scan.flush, 0, scan.bytes));
        const double time = launch(gpu.read, blocks, 256, 0, params);
        best = time < best ? time : best;
    }
    return best;
}

// --- Contents ------------------------------------------------------------------------------------

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33 ^ *state;
}

enum contents {
    HASH_ONLY,
    RANDOM,
    FOUR,
    EIGHT,
    ZEROS,
    FEW,
    INTEGRAL,
    LINE,
    NOISE,
    CONTENTS,
};

static const char *const names[CONTENTS] = {
    [HASH_ONLY] = "only hashes",
    [RANDOM] = "random",
    [FOUR] = "4 values of 20 %, else random",
    [EIGHT] = "8 values of 11 %, else random",
    [ZEROS] = "zeros",
    [FEW] = "200 different values",
    [INTEGRAL] = "integers as floats",
    [LINE] = "a line",
    [NOISE] = "everything: 8 values, near a line",
};

static double number_of(enum contents contents, uint64_t i, uint64_t *state)
{
    const double random = 1 + (double)(random_next(state) >> 11) * 0x1p-53;
    const unsigned place = (unsigned)(random_next(state) >> 20) % 100;
    switch (contents) {
    case FOUR: return place < 80 ? 1.3 + place / 20 : random;
    case EIGHT: return place < 88 ? 1.3 + place / 11 : random;
    case ZEROS: return 0;
    case FEW: return 1.3 + (double)(random_next(state) >> 20 & 127) + (double)(i % 73);
    case INTEGRAL: return (double)(random_next(state) >> 44);
    case LINE: return 0.37 * (double)i + 100;
    case NOISE:
        return place < 44 ? 1.3 + place / 6 : (0.37 * (double)i + 100) * (1 + random / 4096);
    default: return random;
    }
}

// Elements that one thread of the host makes.
struct filling {
    enum contents contents;
    uint32_t type;
    uint64_t from, to;
    pthread_t thread;
};

static void *fill_range(void *argument)
{
    const struct filling *filling = argument;
    uint64_t state = filling->from + 1;
    for (uint64_t i = filling->from; i < filling->to; i++) {
        const double number = number_of(filling->contents, i, &state);
        if (filling->type == DEVICE_F64)
            ((double *)scan.host)[i] = number;
        else if (filling->type == DEVICE_F32)
            ((float *)scan.host)[i] = (float)number;
        else
            ((uint32_t *)scan.host)[i] = filling->contents == LINE ? (uint32_t)(3 * i + 1)
                                         : filling->contents == RANDOM
                                             ? (uint32_t)random_next(&state)
                                             : (uint32_t)(int64_t)(number * 1e6);
    }
    return NULL;
}

static void fill(enum contents contents, uint32_t type)
{
    enum { FILLERS = 16 };
    // What does not depend on the place is repeated: making it takes longer than all else.
    const uint64_t tile =
        contents == LINE || contents == NOISE || scan.bytes < TILE_BYTES ? scan.bytes : TILE_BYTES;
    const uint64_t count = tile / (type == DEVICE_F64 ? 8 : 4);
    struct filling fillings[FILLERS];
    for (unsigned i = 0; i < FILLERS; i++) {
        fillings[i] =
            (struct filling){contents, type, count * i / FILLERS, count * (i + 1) / FILLERS, 0};
        if (pthread_create(&fillings[i].thread, NULL, fill_range, &fillings[i])) {
            fprintf(stderr, "bench_values: no thread\n");
            exit(1);
        }
    }
    for (unsigned i = 0; i < FILLERS; i++)
        pthread_join(fillings[i].thread, NULL);
    for (uint64_t at = 0; at < scan.bytes; at += tile)
        MUST(DRIVER(cuMemcpyHtoD_v2)(scan.memory + at, scan.host,
                                     tile < scan.bytes - at ? tile : scan.bytes - at));
}

static void set_type(uint32_t type)
{
    scan.job.stride = type == DEVICE_F64 ? 8 : 4;
    scan.job.field_count = 1;
    scan.job.fields[0].offset = 0;
    scan.job.fields[0].type = type;
}

static void measure_contents(void)
{
    static const uint32_t types[] = {DEVICE_F32, DEVICE_S32, DEVICE_F64};
    const double read = measure_read(scan.bytes);
    printf("read only: %.1f us, %.2f TB/s\n\n", read, (double)scan.bytes / read / 1e6);
    printf("%-36s %14s %14s %14s\n", "share of read-only bandwidth", "float", "int", "double");
    for (enum contents contents = 0; contents < CONTENTS; contents++) {
        printf("%-36s", names[contents]);
        for (int i = 0; i < 3; i++) {
            fill(contents, types[i]);
            set_type(types[i]);
            scan.job.describes = contents != HASH_ONLY;
            const double time = measure(NULL);
            printf("  %5.2f, %3.0f us ", read / time, measure_piece());
            fflush(stdout);
            check();
        }
        printf("\n");
    }
}

// --- Parts, sizes and layouts --------------------------------------------------------------------

static void measure_parts(void)
{
    static const unsigned shares[] = {0, 1, 10, 50, 100};
    uint64_t state = 1;
    unsigned char *marks = malloc((uint64_t)scan.job.mask + 1);
    if (!marks)
        return;
    fill(RANDOM, DEVICE_F32);
    set_type(DEVICE_F32);
    printf("\n%-36s %14s\n", "random floats, marked share", "scan");
    for (unsigned i = 0; i < sizeof(shares) / sizeof(*shares); i++) {
        for (uint64_t k = 0; k <= scan.job.mask; k++)
            marks[k] = (random_next(&state) >> 20) % 100 < shares[i];
        scan.job.which = DEVICE_MARKED;
        scan.job.describes = 1;
        printf("%34u %% %11.1f us\n", shares[i], measure(marks));
    }
    scan.job.which = DEVICE_RANGE;
    free(marks);
}

static void measure_sizes(void)
{
    static const uint64_t sizes[] = {4096, 1 << 20, 16 << 20, 256 << 20};
    const struct device_values_job job = scan.job;
    printf("\n%-36s %14s\n", "random floats, object's size", "scan");
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes) && sizes[i] <= scan.bytes; i++) {
        scan.job.end = scan.job.to = scan.memory + sizes[i];
        scan.job.pieces = (uint32_t)(sizes[i] / PIECE_BYTES);
        printf("%30.0f KiB %13.1f us\n", (double)sizes[i] / 1024, measure(NULL));
    }
    scan.job = job;
}

struct layout {
    const char *name;
    uint32_t stride, count, fields[4][2];
};

static void put_number(unsigned char *to, enum contents contents, uint64_t i, uint32_t type,
                       uint64_t *state)
{
    const double number = number_of(contents, i, state);
    const bool is_float = type == DEVICE_F16 || type == DEVICE_F32 || type == DEVICE_F64;
    const uint64_t bits = is_float             ? values_reference_convert(type, number)
                          : contents == RANDOM ? random_next(state)
                                               : (uint64_t)(int64_t)(number * 10);
    memcpy(to, &bits, values_reference_size(type));
}

// Repeats what it fills in. Where the stride does not divide that, all fields have one type.
static void fill_layout(enum contents contents, const struct layout *layout)
{
    const uint64_t tile = scan.bytes < CHECKED_BYTES ? scan.bytes : CHECKED_BYTES;
    uint64_t state = 1;
    scan.job.stride = layout->stride;
    scan.job.field_count = layout->count;
    for (unsigned k = 0; k < layout->count; k++) {
        const uint32_t offset = layout->fields[k][0], type = layout->fields[k][1];
        scan.job.fields[k].offset = offset;
        scan.job.fields[k].type = type;
        for (uint64_t i = 0; (i + 1) * layout->stride <= tile; i++)
            put_number(scan.host + i * layout->stride + offset, contents, i, type, &state);
    }
    for (uint64_t at = 0; at < scan.bytes; at += tile)
        MUST(DRIVER(cuMemcpyHtoD_v2)(scan.memory + at, scan.host, tile));
}

static void measure_layouts(const char *which)
{
    static const struct layout layouts[] = {
        {"float2", 8, 2, {{0, DEVICE_F32}, {4, DEVICE_F32}}},
        {"3 floats", 12, 3, {{0, DEVICE_F32}, {4, DEVICE_F32}, {8, DEVICE_F32}}},
        {"float4", 16, 4, {{0, DEVICE_F32}, {4, DEVICE_F32}, {8, DEVICE_F32}, {12, DEVICE_F32}}},
        {"int2", 8, 2, {{0, DEVICE_S32}, {4, DEVICE_S32}}},
        {"int, float", 8, 2, {{0, DEVICE_S32}, {4, DEVICE_F32}}},
        {"double2", 16, 2, {{0, DEVICE_F64}, {8, DEVICE_F64}}},
        {"float, int, double", 16, 3, {{0, DEVICE_F32}, {4, DEVICE_S32}, {8, DEVICE_F64}}},
        {"float of 64 bytes", 64, 1, {{0, DEVICE_F32}}},
        {"unsigned char", 1, 1, {{0, DEVICE_U8}}},
        {"uchar4", 4, 4, {{0, DEVICE_U8}, {1, DEVICE_U8}, {2, DEVICE_U8}, {3, DEVICE_U8}}},
        {"short", 2, 1, {{0, DEVICE_S16}}},
        {"half", 2, 1, {{0, DEVICE_F16}}},
        {"half2", 4, 2, {{0, DEVICE_F16}, {2, DEVICE_F16}}},
        {"raw", 4, 1, {{0, DEVICE_RAW}}},
    };
    static const enum contents kinds[] = {RANDOM, FOUR, ZEROS, INTEGRAL};
    const double read = measure_read(scan.bytes);
    printf("\n%-36s %14s %14s %14s %14s\n", "share of read-only bandwidth", "random", "4 of 20 %",
           "zeros", "integers");
    for (unsigned i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
        if (!strstr(layouts[i].name, which))
            continue;
        printf("%-36s", layouts[i].name);
        for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
            fill_layout(kinds[k], &layouts[i]);
            const double time = measure(NULL);
            printf("  %5.2f, %3.0f us ", read / time, measure_piece());
            fflush(stdout);
            check();
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    const uint64_t mib = argc > 1 ? strtoull(argv[1], NULL, 10) : 1024;
    char name[100] = "";
    if (!start(argc > 2 ? argv[2] : "libcuda.so.1")) {
        printf("SKIP: no GPU\n");
        return 0;
    }
    MUST(DRIVER(cuDeviceGetName)(name, sizeof(name), 0));
    prepare((mib ? mib : 1) << 20);
    printf("%s, %llu MiB, best of %d; modules loaded in %.0f and %.0f ms\n", name,
           (unsigned long long)(mib ? mib : 1), ROUNDS, gpu.load_ms[1], gpu.load_ms[0]);
    const char *which = argc > 3 ? argv[3] : "";
    if (!*which || strcmp(which, "arrays") == 0)
        measure_contents();
    if (!*which) {
        measure_parts();
        measure_sizes();
    }
    if (strcmp(which, "arrays") != 0)
        measure_layouts(which);
    return 0;
}
