// SPDX-License-Identifier: Apache-2.0
// Measures how fast the simulated GPU runs kernels, on one and on two workers: naive sgemm, also
// compared with the same three loops in C, and kernels of other kinds: divergent ones (graph
// search, sparse product, Mandelbrot set, long loops), ones with shared memory and barriers (tiled
// sgemm, dot product), and one with small blocks (saxpy). Speeds are by CPU time, which other
// programs disturb least. Two workers are compared with one by elapsed time, in turn. Also measures
// the memory for these, and for launches that fill a device.
//
// With arguments, measures only the speed of the named kernels.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpusim/machine/sim.h"

// The speed of a kernel: the best of several runs.
struct speed {
    double instructions; // of threads
    double cpu, elapsed; // seconds
};

static double seconds_by(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double now_s(void)
{
    return seconds_by(CLOCK_MONOTONIC);
}

static void fail(const struct base_error *error)
{
    char text[1024];
    base_error_text(error, text, sizeof(text));
    fprintf(stderr, "bench_gpusim: %s\n", text);
    exit(1);
}

enum { RUNS = 5 };

static size_t allocated_bytes; // memory that a program would allocate

struct bench {
    struct sim_device *device;
    struct sim_module *module;
    struct sim_kernel *kernel;
};

static struct bench open_text(struct sim_ptx ptx, const char *preset, unsigned workers)
{
    struct bench bench = {0};
    struct base_error error = {0};
    if (sim_device_create(sim_preset_find(preset), workers, NULL, &bench.device, &error) ||
        sim_module_load(bench.device, &ptx, 1, &bench.module, &error))
        fail(&error);
    bench.kernel = sim_module_kernel_at(bench.module, 0);
    return bench;
}

static struct bench open_kernel(const char *path, unsigned workers)
{
    struct base_error error = {0};
    struct sim_ptx ptx = {.name = path};
    char *text;
    if (base_file_read(path, &text, &ptx.length, &error))
        fail(&error);
    ptx.text = text;
    struct bench bench = open_text(ptx, "h200", workers);
    free(text);
    return bench;
}

static void close_kernel(struct bench *bench)
{
    sim_module_unload(bench->module);
    sim_device_destroy(bench->device);
}

static void *add(struct bench *bench, size_t bytes)
{
    struct base_error error;
    void *memory = calloc(1, bytes);
    allocated_bytes += bytes;
    if (!memory || sim_object_add(bench->device, (uintptr_t)memory, bytes, GPUSIM_OBJECT_DEVICE,
                                  "bench", &error))
        exit(1);
    for (size_t i = 0; i < bytes; i += 4096) // makes all pages resident
        ((volatile char *)memory)[i] = 0;
    return memory;
}

// Runs the kernel with 8-byte parameters (4-byte ones in the low half).
static struct speed run_as(struct bench *bench, const uint64_t *values, unsigned grid_x,
                           unsigned grid_y, unsigned block_x, unsigned block_y, bool cooperative)
{
    const struct sim_kernel_info *info = sim_kernel_info(bench->kernel);
    unsigned char params[256] = {0};
    for (uint32_t i = 0; i < info->param_count; i++)
        memcpy(params + info->params[i].offset, &values[i], info->params[i].size_bytes);
    struct sim_launch launch = {.kernel = bench->kernel,
                                .grid = {grid_x, grid_y, 1},
                                .block = {block_x, block_y, 1},
                                .params = params,
                                .cooperative = cooperative,
                                .id = 1};
    struct sim_fault fault;
    struct sim_work work;
    double start = now_s(), start_cpu = seconds_by(CLOCK_PROCESS_CPUTIME_ID);
    sim_launch_run(bench->device, &launch, &work, &fault);
    double took_cpu = seconds_by(CLOCK_PROCESS_CPUTIME_ID) - start_cpu, took = now_s() - start;
    if (fault.kind != SIM_FAULT_NONE) {
        fprintf(stderr, "bench_gpusim: %s\n", fault.text);
        exit(1);
    }
    return (struct speed){(double)work.thread_instructions, took_cpu, took};
}

static struct speed better(struct speed a, struct speed b)
{
    return (struct speed){a.instructions, a.cpu < b.cpu ? a.cpu : b.cpu,
                          a.elapsed < b.elapsed ? a.elapsed : b.elapsed};
}

// Returns the best of several runs.
static struct speed speed_of(struct bench *bench, const uint64_t *values, unsigned grid_x,
                             unsigned grid_y, unsigned block_x, unsigned block_y)
{
    struct speed best = run_as(bench, values, grid_x, grid_y, block_x, block_y, false);
    for (int i = 1; i < RUNS; i++)
        best = better(best, run_as(bench, values, grid_x, grid_y, block_x, block_y, false));
    return best;
}

static double sgemm_in_c(int size, const float *a, const float *b, float *c)
{
    double start = seconds_by(CLOCK_PROCESS_CPUTIME_ID);
    for (int y = 0; y < size; y++) {
        for (int x = 0; x < size; x++) {
            float sum = 0;
            for (int k = 0; k < size; k++)
                sum += a[y * size + k] * b[k * size + x];
            c[y * size + x] = sum;
        }
    }
    return seconds_by(CLOCK_PROCESS_CPUTIME_ID) - start;
}

static double seconds_in_c; // for the loops of sgemm in C: the least

static struct speed sgemm(int size, unsigned workers)
{
    struct bench bench = open_kernel("examples/sgemm/sgemm.ptx", workers);
    size_t bytes = (size_t)size * (size_t)size * sizeof(float);
    float *a = add(&bench, bytes), *b = add(&bench, bytes), *c = add(&bench, bytes);
    float *expected = malloc(bytes);
    for (int i = 0; i < size * size; i++) {
        a[i] = (float)(i % 13 - 6);
        b[i] = (float)(i % 11 - 5);
    }
    uint64_t values[] = {(uint64_t)size, (uintptr_t)a, (uintptr_t)b, (uintptr_t)c};
    struct speed speed =
        run_as(&bench, values, (unsigned)(size + 31) / 32, (unsigned)(size + 7) / 8, 32, 8, false);
    const double in_c = sgemm_in_c(size, a, b, expected);
    seconds_in_c = seconds_in_c > 0 && seconds_in_c < in_c ? seconds_in_c : in_c;
    if (memcmp(c, expected, bytes) != 0) {
        fprintf(stderr, "bench_gpusim: sgemm is wrong\n");
        exit(1);
    }
    close_kernel(&bench);
    free(a);
    free(b);
    free(c);
    free(expected);
    return speed;
}

static struct speed tiled(int size, unsigned workers)
{
    struct bench bench = open_kernel("examples/sgemm_tiled/sgemm_tiled.ptx", workers);
    size_t bytes = (size_t)size * (size_t)size * sizeof(float);
    uint64_t values[5] = {(uint64_t)size};
    for (int i = 1; i < 5; i++)
        values[i] = (uintptr_t)add(&bench, bytes);
    struct speed speed = speed_of(&bench, values, (unsigned)size / 16, (unsigned)size / 16, 16, 16);
    close_kernel(&bench);
    for (int i = 1; i < 5; i++)
        free((void *)(uintptr_t)values[i]);
    return speed;
}

// A dot product: shuffles, shared memory, barriers, an atomic for each block.
static struct speed reduction(int pairs, unsigned workers)
{
    struct bench bench = open_kernel("examples/reduction/reduction.ptx", workers);
    uint32_t *a = add(&bench, (size_t)pairs * 4), *b = add(&bench, (size_t)pairs * 4);
    void *partial = add(&bench, 4096 * sizeof(float)), *result = add(&bench, sizeof(double));
    uint64_t values[] = {(uintptr_t)a, (uintptr_t)b, (uint64_t)pairs, (uintptr_t)partial,
                         (uintptr_t)result};
    struct speed speed = speed_of(&bench, values, (unsigned)pairs / 1024, 1, 256, 1);
    close_kernel(&bench);
    free(a);
    free(b);
    free(partial);
    free(result);
    return speed;
}

// Blocks of only a few instructions, to measure the cost of starting a block.
static struct speed saxpy(int count, unsigned workers)
{
    struct bench bench = open_kernel("examples/saxpy/saxpy.ptx", workers);
    float *x = add(&bench, (size_t)count * 4), *y = add(&bench, (size_t)count * 4);
    uint64_t values[] = {(uint64_t)count, 0, (uintptr_t)x, (uintptr_t)y};
    struct speed speed = speed_of(&bench, values, (unsigned)(count + 255) / 256, 1, 256, 1);
    close_kernel(&bench);
    free(x);
    free(y);
    return speed;
}

// One level of a graph search in which the degrees of nodes differ between lanes.
static struct speed search(int nodes, unsigned workers)
{
    struct bench bench = open_kernel("examples/bfs/bfs.ptx", workers);
    int *first = add(&bench, ((size_t)nodes + 1) * sizeof(int));
    int total = 0;
    for (int i = 0; i < nodes; i++) {
        first[i] = total;
        total += (int)((unsigned)i * 2654435761u >> 27);
    }
    first[nodes] = total;
    int *edges = add(&bench, ((size_t)total + 1) * sizeof(int));
    int *levels = add(&bench, (size_t)nodes * sizeof(int));
    for (int i = 0; i < total; i++)
        edges[i] = (int)((unsigned)i * 40503u % (unsigned)nodes);
    uint64_t values[] = {(uint64_t)nodes, (uintptr_t)first, (uintptr_t)edges, (uintptr_t)levels, 0};
    struct speed speed = speed_of(&bench, values, (unsigned)(nodes + 127) / 128, 1, 128, 1);
    close_kernel(&bench);
    free(first);
    free(edges);
    free(levels);
    return speed;
}

// A product of a sparse matrix and a vector, one thread for each row.
static struct speed sparse(int rows, unsigned workers)
{
    struct bench bench = open_kernel("examples/spmv/spmv.ptx", workers);
    int *first = add(&bench, ((size_t)rows + 1) * sizeof(int));
    for (int i = 0; i < rows; i++)
        first[i + 1] = first[i] + (int)((unsigned)i * 2654435761u >> 27);
    const int total = first[rows];
    int *columns = add(&bench, (size_t)total * sizeof(int));
    double *factors = add(&bench, (size_t)total * sizeof(double));
    double *x = add(&bench, (size_t)rows * sizeof(double));
    double *y = add(&bench, (size_t)rows * sizeof(double));
    for (int i = 0; i < total; i++) {
        columns[i] = (int)((unsigned)i * 40503u % (unsigned)rows);
        factors[i] = (double)(i % 7);
    }
    for (int i = 0; i < rows; i++)
        x[i] = (double)(i % 5);
    uint64_t values[] = {(uint64_t)rows,     (uintptr_t)first, (uintptr_t)columns,
                         (uintptr_t)factors, (uintptr_t)x,     (uintptr_t)y};
    struct speed speed = speed_of(&bench, values, (unsigned)(rows + 127) / 128, 1, 128, 1);
    close_kernel(&bench);
    for (int i = 0; i < rows; i++) { // sums of whole numbers are exact
        double expected = 0;
        for (int k = first[i]; k < first[i + 1]; k++)
            expected += factors[k] * x[columns[k]];
        if (y[i] != expected) {
            fprintf(stderr, "bench_gpusim: the sparse product is wrong\n");
            exit(1);
        }
    }
    free(first);
    free(columns);
    free(factors);
    free(x);
    free(y);
    return speed;
}

// The Mandelbrot set: each lane computes until its own end, without memory.
static struct speed mandelbrot(int width, unsigned workers)
{
    static const char text[] =
        ".version 8.0\n.target sm_75\n.address_size 64\n"
        ".visible .entry mandelbrot(.param .u64 out, .param .u32 width, .param .u32 rounds)\n{\n"
        ".reg .b32 %r<9>;\n.reg .f32 %f<12>;\n.reg .b64 %d<4>;\n.reg .pred %p<4>;\n"
        "ld.param.u64 %d1, [out];\nld.param.u32 %r1, [width];\nld.param.u32 %r2, [rounds];\n"
        "mov.u32 %r3, %tid.x;\nmov.u32 %r4, %ctaid.x;\nmov.u32 %r5, %ntid.x;\n"
        "mad.lo.u32 %r3, %r4, %r5, %r3;\nmul.lo.u32 %r4, %r1, %r1;\n"
        "setp.ge.u32 %p1, %r3, %r4;\n@%p1 bra DONE;\n"
        "div.u32 %r4, %r3, %r1;\nmul.lo.u32 %r5, %r4, %r1;\nsub.u32 %r5, %r3, %r5;\n"
        "cvt.rn.f32.u32 %f1, %r1;\ncvt.rn.f32.u32 %f2, %r4;\ncvt.rn.f32.u32 %f3, %r5;\n"
        "add.f32 %f2, %f2, %f2;\ndiv.rn.f32 %f2, %f2, %f1;\nadd.f32 %f2, %f2, 0fBF800000;\n"
        "mul.f32 %f3, %f3, 0f40400000;\ndiv.rn.f32 %f3, %f3, %f1;\n"
        "add.f32 %f3, %f3, 0fC0000000;\nmov.u32 %r6, 0;\nmov.f32 %f4, 0f00000000;\n"
        "mov.f32 %f5, %f4;\nmov.f32 %f6, %f4;\nmov.f32 %f7, %f4;\n"
        "ROUND:\nsub.f32 %f8, %f6, %f7;\nadd.f32 %f8, %f3, %f8;\nadd.f32 %f9, %f4, %f4;\n"
        "fma.rn.f32 %f5, %f9, %f5, %f2;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p1, %r6, %r2;\n"
        "mul.f32 %f6, %f8, %f8;\nmul.f32 %f7, %f5, %f5;\nadd.f32 %f10, %f6, %f7;\n"
        "setp.lt.f32 %p2, %f10, 0f40800000;\nand.pred %p3, %p1, %p2;\nmov.f32 %f4, %f8;\n"
        "@%p3 bra ROUND;\nmul.wide.u32 %d2, %r3, 4;\nadd.s64 %d3, %d1, %d2;\n"
        "st.global.u32 [%d3], %r6;\nDONE:\nret;\n}\n";
    const struct sim_ptx ptx = {.name = "mandelbrot", .text = text, .length = strlen(text)};
    struct bench bench = open_text(ptx, "h200", workers);
    const size_t points = (size_t)width * (size_t)width;
    uint32_t *out = add(&bench, points * sizeof(*out));
    const uint64_t values[] = {(uintptr_t)out, (uint64_t)width, 256};
    struct speed speed = speed_of(&bench, values, (unsigned)(points + 127) / 128, 1, 128, 1);
    close_kernel(&bench);
    free(out);
    return speed;
}

// Loops whose numbers of rounds differ between the lanes of a warp, and are many in all of them.
static struct speed divergent(int rounds, unsigned workers)
{
    static const char text[] =
        ".version 8.0\n.target sm_75\n.address_size 64\n"
        ".visible .entry divergent(.param .u64 out, .param .u32 rounds)\n{\n"
        ".reg .b32 %r<10>;\n.reg .b64 %d<4>;\n.reg .pred %p;\n"
        "ld.param.u64 %d1, [out];\nld.param.u32 %r1, [rounds];\nmov.u32 %r2, %tid.x;\n"
        "mov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmad.lo.u32 %r3, %r3, %r4, %r2;\n"
        "mul.lo.u32 %r4, %r3, 7;\nand.b32 %r4, %r4, 31;\nmad.lo.u32 %r4, %r4, 256, %r1;\n"
        "mov.u32 %r5, %r3;\nmov.u32 %r8, 0;\nAGAIN:\nmov.u32 %r6, 0;\n"
        "ROUND:\nmad.lo.u32 %r5, %r5, 1664525, 1013904223;\nshr.u32 %r7, %r5, 16;\n"
        "xor.b32 %r5, %r5, %r7;\nadd.u32 %r6, %r6, 1;\nsetp.lt.u32 %p, %r6, %r4;\n"
        "@%p bra ROUND;\nadd.u32 %r8, %r8, 1;\nsetp.lt.u32 %p, %r8, 4;\n@%p bra "
        "AGAIN;\nmul.wide.u32 %d2, %r3, 4;\nadd.s64 %d3, %d1, %d2;\n"
        "st.global.u32 [%d3], %r5;\nret;\n}\n";
    const unsigned threads = 1024;
    const struct sim_ptx ptx = {.name = "divergent", .text = text, .length = strlen(text)};
    struct bench bench = open_text(ptx, "h200", workers);
    uint32_t *out = add(&bench, threads * sizeof(*out));
    const uint64_t values[] = {(uintptr_t)out, (uint64_t)rounds};
    struct speed speed = speed_of(&bench, values, threads / 128, 1, 128, 1);
    close_kernel(&bench);
    for (uint32_t i = 0; i < threads; i++) {
        uint32_t expected = i;
        for (uint32_t k = 0; k < 4 * ((uint32_t)rounds + 256 * (i * 7 & 31)); k++) {
            expected = expected * 1664525 + 1013904223;
            expected ^= expected >> 16;
        }
        if (out[i] != expected) {
            fprintf(stderr, "bench_gpusim: the divergent loops are wrong\n");
            exit(1);
        }
    }
    free(out);
    return speed;
}

// --- Classes of instructions ---------------------------------------------------------------------

// A loop of instructions of one class. %a, %b and %c are words of the thread's own that begin as
// `words` says, %m is the address of 64 bytes of memory of its own, %n and %o are those of a byte
// and of 16 bytes that adjoin other threads', %s is that of 16 bytes of shared memory, %t that of a
// texture object, and %u and %v are places in it. The loop may use %x0 to %x7, %d0 to %d3, %h0 to
// %h3 and %p0 to %p3.
struct form {
    const char *name, *what, *body;
    enum {
        WHOLE,
        REAL,
        TINY
    } words; // small integers; f32 near 1; f32 of which all but %b are subnormal
};

static const struct form forms[] = {
    {"cvt", "  conversions of bytes, halfwords and f32",
     "cvt.rn.f32.s16 %x0, %h0;\ncvt.rzi.u32.f32 %x1, %x0;\ncvt.s32.s8 %x2, %b;\n"
     "cvt.u16.u32 %h0, %c;\ncvt.rn.f32.u64 %x4, %d0;\ncvt.rmi.f32.f32 %x5, %x4;\n"
     "cvt.u64.u32 %d0, %a;\ncvt.rn.f32.u16 %x6, %h0;\n",
     WHOLE},
    {"rsqrt", "  rsqrt.approx", "rsqrt.approx.f32 %x0, %a;\nrsqrt.approx.ftz.f32 %x1, %b;\n", REAL},
    {"divide", "  division of integers",
     "div.s32 %x0, %a, %b;\nrem.s32 %x1, %a, %c;\ndiv.u32 %x2, %a, %c;\nrem.u32 %x3, %a, %b;\n",
     WHOLE},
    {"tiny", "  f32 that are subnormal",
     "fma.rn.f32 %x0, %a, %b, %c;\nmul.rn.f32 %x1, %a, %b;\nadd.rn.f32 %x2, %a, %x1;\n"
     "sub.rn.f32 %x3, %c, %a;\n",
     TINY},
    {"ftz", "  f32 with .ftz",
     "fma.rn.ftz.f32 %x0, %a, %b, %c;\nmul.rn.ftz.f32 %x1, %a, %b;\n"
     "add.ftz.f32 %x2, %x0, %x1;\n",
     REAL},
    {"bytes", "  loads and stores of bytes and halfwords",
     "ld.global.u8 %h0, [%m];\nld.global.s8 %h1, [%n];\nld.global.s16 %h2, [%m+2];\n"
     "st.global.u8 [%m+4], %h0;\nst.global.u8 [%n], %h1;\nst.global.u16 [%m+6], %h2;\n",
     WHOLE},
    {"vectors", "  loads and stores of vectors",
     "ld.global.v4.u32 {%x0,%x1,%x2,%x3}, [%m];\nld.global.v4.u32 {%x4,%x5,%x6,%x7}, [%o];\n"
     "ld.global.v2.u32 {%x4,%x5}, [%m+16];\nst.global.v4.u32 [%m+32], {%x0,%x1,%x2,%x3};\n"
     "st.global.v4.u32 [%o], {%x4,%x5,%x6,%x7};\nst.global.v2.u32 [%m+48], {%x4,%x5};\n",
     WHOLE},
    {"local", "  local memory",
     "st.local.u32 [stack], %a;\nst.local.u32 [stack+4], %b;\nld.local.u32 %x0, [stack];\n"
     "ld.local.v2.u32 {%x1,%x2}, [stack];\n",
     WHOLE},
    {"async", "  asynchronous copies to shared memory",
     "cp.async.ca.shared.global [%s], [%m], 16;\ncp.async.commit_group;\n"
     "cp.async.wait_group 0;\n",
     WHOLE},
    {"mma", "  matrix products of bf16",
     "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%x0,%x1,%x2,%x3}, {%a,%b,%a,%b}, "
     "{%c,%a}, {%x0,%x1,%x2,%x3};\n",
     REAL},
    {"point", "  textures, nearest texel", "tex.2d.v4.f32.f32 {%x0,%x1,%x2,%x3}, [%t, {%u,%v}];\n",
     WHOLE},
    {"linear", "  textures, linear filter", "tex.2d.v4.f32.f32 {%x0,%x1,%x2,%x3}, [%t, {%u,%v}];\n",
     REAL},
};
enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static void write_form(struct base_buf *text, const struct form *form)
{
    base_buf_printf(
        text,
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry form(.param .u64 memory, "
        ".param .u32 rounds, .param .u64 texture)\n{\n.reg .b32 %%a, %%b, %%c, %%s, %%u, %%v, "
        "%%x<8>, %%r<5>;\n.reg .b64 %%m, %%n, %%o, %%t, %%d<4>;\n.reg .b16 %%h<4>;\n.reg .pred "
        "%%p<4>;\n"
        ".shared .align 16 .b8 tile[2048];\n.local .align 8 .b8 stack[64];\n"
        "ld.param.u64 %%m, [memory];\nld.param.u32 %%r1, [rounds];\n"
        "ld.param.u64 %%t, [texture];\nmov.u32 %%r2, %%tid.x;\nmov.u32 %%r3, %%ctaid.x;\n"
        "mad.lo.u32 %%r3, %%r3, 128, %%r2;\ncvt.u64.u32 %%n, %%r3;\nadd.u64 %%n, %%n, %%m;\n"
        "add.u64 %%n, %%n, 65536;\nmad.wide.u32 %%o, %%r3, 16, %%m;\nadd.u64 %%o, %%o, 67584;\n"
        "mad.wide.u32 %%m, %%r3, 64, %%m;\n"
        "mov.u32 %%s, tile;\nmad.lo.u32 %%s, %%r2, 16, %%s;\nld.global.u32 %%a, [%%m];\n"
        "ld.global.u32 %%b, [%%m+4];\nld.global.u32 %%c, [%%m+8];\n"
        "and.b32 %%r4, %%r2, 31;\ncvt.rn.f32.u32 %%u, %%r4;\nshr.u32 %%r4, %%r2, 5;\n"
        "cvt.rn.f32.u32 %%v, %%r4;\nmov.u32 %%r4, 0;\n");
    for (unsigned i = 0; i < 8; i++)
        base_buf_printf(text, "mov.u32 %%x%u, 0;\n", i);
    base_buf_puts(text, "mov.u64 %d0, 12345;\nmov.u16 %h0, 7;\nROUND:\n");
    for (unsigned i = 0; i < 4; i++) // so that the loop itself counts little
        base_buf_puts(text, form->body);
    base_buf_puts(text, "add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p0, %r4, %r1;\n@%p0 bra ROUND;\n"
                        "xor.b32 %x0, %x0, %x1;\nst.global.u32 [%m+60], %x0;\nret;\n}\n");
}

static struct speed run_form(int index, unsigned workers)
{
    enum { THREADS = 1024, SIDE = 64 };
    const struct form *form = &forms[index];
    struct base_buf text = {0};
    write_form(&text, form);
    const struct sim_ptx ptx = {.name = form->name, .text = text.text, .length = text.length};
    struct bench bench = open_text(ptx, "h200", workers);
    base_buf_fini(&text);
    uint32_t *memory = add(&bench, THREADS * 128);
    float *texels = add(&bench, sizeof(*texels) * SIDE * SIDE);
    for (unsigned i = 0; i < THREADS * 16; i++) {
        const uint32_t mixed = i * 2654435761u >> 8;
        memory[i] = form->words == WHOLE                 ? mixed % 50000 + 1
                    : form->words == REAL || i % 16 == 1 ? 0x3F000000 + mixed % 0x1000000
                                                         : mixed % 0x7FFFFF + 1;
    }
    for (int i = 0; i < SIDE * SIDE; i++)
        texels[i] = (float)(i % 7);
    struct sim_texture texture = {.data = texels,
                                  .width = SIDE,
                                  .height = SIDE,
                                  .pitch_bytes = SIDE * sizeof(*texels),
                                  .dimensions = 2,
                                  .channels = 1,
                                  .channel_bits = 32,
                                  .texel = SIM_TEXEL_FLOAT,
                                  .filter_linear = form->words == REAL};
    if (sim_texture_add(bench.device, &texture))
        exit(1);
    const uint64_t values[] = {(uintptr_t)memory, 100, (uintptr_t)&texture};
    struct speed speed = speed_of(&bench, values, THREADS / 128, 1, 128, 1);
    sim_texture_remove(bench.device, &texture);
    close_kernel(&bench);
    free(memory);
    free(texels);
    return speed;
}

// --- Memory --------------------------------------------------------------------------------------

// A launch whose blocks all wait for each other, twice. Each thread has `values` numbers, and needs
// `kept` of them after the wait.
struct together {
    const char *preset;
    unsigned threads_per_sm, values, kept;
};

static void write_together(struct base_buf *text, unsigned values, unsigned kept)
{
    base_buf_printf(text,
                    ".version 8.0\n.target sm_75\n.address_size 64\n"
                    ".visible .entry together(.param .u64 counter, .param .u64 out)\n{\n"
                    ".reg .b32 %%v<%u>;\n.reg .b32 %%r<9>;\n.reg .b64 %%d<5>;\n.reg .pred %%p<3>;\n"
                    "ld.param.u64 %%d1, [counter];\nld.param.u64 %%d2, [out];\n"
                    "mov.u32 %%r1, %%tid.x;\nmov.u32 %%r2, %%ctaid.x;\nmov.u32 %%r3, %%ntid.x;\n"
                    "mov.u32 %%r4, %%nctaid.x;\nmad.lo.u32 %%r5, %%r2, %%r3, %%r1;\n"
                    "mov.u32 %%r6, 0;\nmov.u32 %%r8, 0;\nROUND:\n",
                    values);
    for (unsigned i = 0; i < values; i++)
        base_buf_printf(text, "mad.lo.u32 %%v%u, %%r5, %u, %%r8;\n", i, 2 * i + 1);
    for (unsigned i = kept; i < values; i++)
        base_buf_printf(text, "xor.b32 %%r8, %%r8, %%v%u;\n", i);
    base_buf_puts(text, "bar.sync 0;\nadd.u32 %r6, %r6, %r4;\nsetp.ne.u32 %p1, %r1, 0;\n"
                        "@%p1 bra WAITED;\natom.global.add.u32 %r7, [%d1], 1;\n"
                        "WAIT:\nld.acquire.gpu.global.u32 %r7, [%d1];\n"
                        "setp.lt.u32 %p2, %r7, %r6;\n@%p2 bra WAIT;\nWAITED:\nbar.sync 0;\n");
    for (unsigned i = 0; i < kept; i++)
        base_buf_printf(text, "xor.b32 %%r8, %%r8, %%v%u;\n", i);
    base_buf_puts(text, "add.u32 %r7, %r4, %r4;\nsetp.lt.u32 %p2, %r6, %r7;\n@%p2 bra ROUND;\n"
                        "mul.wide.u32 %d3, %r5, 4;\nadd.s64 %d4, %d2, %d3;\n"
                        "st.global.u32 [%d4], %r8;\nret;\n}\n");
}

static uint32_t together_in_c(unsigned values, unsigned kept, uint32_t thread)
{
    uint32_t mixed = 0;
    for (int round = 0; round < 2; round++) {
        uint32_t start = mixed;
        for (unsigned k = 0; k < values; k++)
            mixed ^= thread * (2 * ((k + kept) % values) + 1) + start;
    }
    return mixed;
}

static void run_together(const void *user)
{
    const struct together *what = user;
    struct base_buf text = {0};
    write_together(&text, what->values, what->kept);
    struct sim_ptx ptx = {.name = "together", .text = text.text, .length = text.length};
    struct bench bench = open_text(ptx, what->preset, 2);
    unsigned blocks = sim_preset_find(what->preset)->sm_count * what->threads_per_sm / 256;
    uint32_t *counter = add(&bench, 4096), *out = add(&bench, (size_t)blocks * 256 * 4);
    uint64_t values[] = {(uintptr_t)counter, (uintptr_t)out};
    run_as(&bench, values, blocks, 1, 256, 1, true);
    for (uint32_t i = 0; i < blocks * 256; i++) {
        if (out[i] != together_in_c(what->values, what->kept, i)) {
            fprintf(stderr, "bench_gpusim: the cooperative launch is wrong\n");
            exit(1);
        }
    }
    close_kernel(&bench);
    base_buf_fini(&text);
    free(counter);
    free(out);
}

struct kernel {
    const char *name, *what;
    struct speed (*run)(int size, unsigned workers);
    int size, small_size; // the second is that of launches whose memory is measured; 0: none
};

static const struct kernel kernels[] = {
    {"sgemm", "naive sgemm 512 x 512", sgemm, 512, 0},
    {"tiled", "tiled sgemm (shared memory, barriers)", tiled, 256, 256},
    {"dot", "dot product (shared memory, barriers)", reduction, 1 << 20, 1 << 20},
    {"search", "graph search (divergent)", search, 200000, 200000},
    {"sparse", "sparse product (divergent)", sparse, 100000, 0},
    {"mandelbrot", "Mandelbrot set (divergent)", mandelbrot, 512, 0},
    {"loops", "long loops (divergent)", divergent, 1000, 0},
    {"saxpy", "saxpy (many small blocks)", saxpy, 1 << 20, 1 << 22},
};
enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]) };

static void run_small(const void *user)
{
    const struct kernel *kernel = user;
    kernel->run(kernel->small_size, 1);
}

// Returns the peak memory of a child process that runs the launch, in bytes, without the memory
// that the program allocates.
static double memory_beside(void (*does)(const void *), const void *user)
{
    int ends[2];
    double beside = -1;
    if (pipe(ends) != 0)
        return beside;
    pid_t child = fork();
    if (child == 0) {
        does(user);
        char text[4096] = "";
        FILE *status = fopen("/proc/self/status", "re");
        size_t got = status ? fread(text, 1, sizeof(text) - 1, status) : 0;
        text[got] = 0;
        const char *peak = strstr(text, "VmHWM:");
        beside = peak ? strtod(peak + 6, NULL) * 1024 - (double)allocated_bytes : -1;
        _exit(write(ends[1], &beside, sizeof(beside)) != sizeof(beside));
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &beside, sizeof(beside)) != sizeof(beside))
        beside = -1;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return beside;
}

static void print_together(struct together what)
{
    double start = now_s(), beside = memory_beside(run_together, &what);
    printf("  cooperative, %-9s %4u threads an SM, %3u registers, %3u kept  %6.1f MB %5.2f s\n",
           what.preset, what.threads_per_sm, what.values, what.kept, beside / 1e6, now_s() - start);
}

static void print_memory(void)
{
    double most = 0;
    for (size_t i = 0; i < KERNELS; i++) {
        double beside = kernels[i].small_size ? memory_beside(run_small, &kernels[i]) : 0;
        most = beside > most ? beside : most;
    }
    printf("memory beside what programs allocate (wanted: at most 64 MB)\n");
    printf("  kernels below, the most of them                                   %6.1f MB\n",
           most / 1e6);
    print_together((struct together){"h200", 2048, 8, 8});
    print_together((struct together){"a100", 2048, 8, 8});
    print_together((struct together){"rtx3090", 1536, 8, 8});
    print_together((struct together){"rtx2080ti", 1024, 8, 8});
    // The largest launch that fits into the device's registers.
    print_together((struct together){"h200", 2048, 32, 32});
    print_together((struct together){"h200", 512, 128, 128});
    // No real device would start these, because each thread has only 32 registers. After the wait,
    // the first launch needs few of its values, and the second all of them, which are 138 MB.
    print_together((struct together){"h200", 2048, 128, 8});
    print_together((struct together){"h200", 2048, 128, 128});
}

// Measures one and two workers in turn.
static void print_speed(const struct kernel *kernel)
{
    struct speed one = kernel->run(kernel->size, 1), two = kernel->run(kernel->size, 2);
    for (int i = 1; i < RUNS; i++) {
        one = better(one, kernel->run(kernel->size, 1));
        two = better(two, kernel->run(kernel->size, 2));
    }
    printf("  %-42s %7.1f %7.2f %7.2f\n", kernel->what, one.instructions / one.cpu / 1e6,
           one.elapsed / two.elapsed, two.cpu / one.cpu);
    if (kernel->run == sgemm)
        printf("    one worker is %.1f times slower than the loops in C (wanted: at most 15)\n",
               one.cpu / seconds_in_c);
    fflush(stdout);
}

static bool is_named(const struct kernel *kernel, int argc, char **argv)
{
    bool named = argc < 2;
    for (int i = 1; i < argc; i++)
        named = named || strcmp(argv[i], kernel->name) == 0;
    return named;
}

int main(int argc, char **argv)
{
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        printf("this processor has no AVX2 and FMA, for which the simulated GPU is measured\n");
        return 0;
    }
#endif
    if (argc < 2)
        print_memory();
    printf("%-44s %7s %7s %7s\n", "million thread-instructions per CPU second", "one", "two/one",
           "CPU");
    fflush(stdout);
    for (size_t i = 0; i < KERNELS; i++) {
        if (is_named(&kernels[i], argc, argv))
            print_speed(&kernels[i]);
    }
    for (int i = 0; i < FORMS; i++) {
        const struct kernel kernel = {forms[i].name, forms[i].what, run_form, i, 0};
        if (is_named(&kernel, argc, argv))
            print_speed(&kernel);
    }
    return 0;
}
