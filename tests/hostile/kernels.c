// SPDX-License-Identifier: Apache-2.0
// Kernels that print, fail, allocate, or wait for the host, and functions that the GPU calls.
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "hostile.h"

#define HEADER ".version 7.0\n.target sm_70\n.address_size 64\n"

static CUfunction load(const char *text, const char *name)
{
    CUmodule module;
    CUfunction function;
    CHECK(cuModuleLoadData(&module, text));
    CHECK(cuModuleGetFunction(&function, module, name));
    return function;
}

static CUresult launch(CUfunction function, unsigned blocks, unsigned threads, void **params)
{
    return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, NULL, params, NULL);
}

// --- Kernels with side effects -------------------------------------------------------------------

// Prints its argument.
static const char printing[] = HEADER
    ".extern .func (.param .b32 status) vprintf (.param .b64 format, .param .b64 values);\n"
    ".global .align 1 .b8 text[10] = {119, 111, 114, 100, 32, 37, 100, 10, 0};\n"
    ".visible .entry tell(.param .u32 word)\n{\n    .local .align 8 .b8 room[8];\n"
    "    .reg .b64 %rd<5>;\n    .reg .b32 %r<4>;\n    ld.param.u32 %r1, [word];\n"
    "    mov.u64 %rd1, room;\n    cvta.local.u64 %rd2, %rd1;\n    st.local.u32 [%rd1], %r1;\n"
    "    mov.u64 %rd3, text;\n    cvta.global.u64 %rd4, %rd3;\n"
    "    {\n    .param .b64 a;\n    .param .b64 b;\n    .param .b32 c;\n"
    "    st.param.b64 [a], %rd4;\n    st.param.b64 [b], %rd2;\n"
    "    call.uni (c), vprintf, (a, b);\n    ld.param.b32 %r2, [c];\n    }\n    ret;\n}\n";

void kernels_printf(void)
{
    const CUfunction tell = load(printing, "tell");
    for (unsigned i = 0; i < 5; i++) {
        CHECK(launch(tell, 1, 2, (void *[]){&i}));
        CHECK(cuCtxSynchronize());
        printf("host %u\n", i);
    }
}

// The text comes out at the end at the latest.
void kernels_printf_at_end(void)
{
    const CUfunction tell = load(printing, "tell");
    unsigned word = 7;
    CHECK(launch(tell, 1, 1, (void *[]){&word}));
    CHECK(cuCtxSynchronize());
    _exit(0);
}

// Allocates, writes and frees memory of the device's heap.
static const char allocating[] = HEADER
    ".extern .func (.param .b64 memory) malloc (.param .b64 bytes);\n"
    ".extern .func free (.param .b64 memory);\n"
    ".visible .entry allocate(.param .u64 to)\n{\n    .reg .b64 %rd<6>;\n    .reg .b32 %r<4>;\n"
    "    ld.param.u64 %rd1, [to];\n    mov.u32 %r1, %tid.x;\n    mul.wide.u32 %rd2, %r1, 4;\n"
    "    add.u64 %rd3, %rd1, %rd2;\n    mov.u64 %rd4, 64;\n"
    "    {\n    .param .b64 a;\n    .param .b64 r;\n    st.param.b64 [a], %rd4;\n"
    "    call.uni (r), malloc, (a);\n    ld.param.b64 %rd5, [r];\n    }\n"
    "    add.u32 %r2, %r1, 5;\n    st.u32 [%rd5], %r2;\n    ld.u32 %r3, [%rd5];\n"
    "    st.global.u32 [%rd3], %r3;\n"
    "    {\n    .param .b64 a;\n    st.param.b64 [a], %rd5;\n    call.uni free, (a);\n    }\n    "
    "ret;\n}\n";

void kernels_malloc(void)
{
    const CUfunction allocate = load(allocating, "allocate");
    unsigned found[64];
    for (unsigned i = 0; i < 5; i++) {
        CHECK(launch(allocate, 1, 64, (void *[]){&device_words}));
        CHECK(cuMemcpyDtoH_v2(found, device_words, sizeof(found)));
        printf("%u %u\n", found[0], found[63]);
    }
}

// --- Kernels that fail ---------------------------------------------------------------------------

static const char failing[] =
    HEADER ".visible .entry trap()\n{\n    trap;\n    ret;\n}\n"
           ".visible .entry write(.param .u64 to)\n{\n    .reg .b64 %rd<2>;\n    .reg .b32 %r<2>;\n"
           "    ld.param.u64 %rd1, [to];\n    mov.u32 %r1, 7;\n    st.global.u32 [%rd1], %r1;\n    "
           "ret;\n}\n";

// The first error stays: every later call returns it.
static void after_failure(void)
{
    unsigned word = 5;
    CUdeviceptr memory;
    printf("synchronize %d\n", (int)cuCtxSynchronize());
    printf("copy %d, %u\n", (int)cuMemcpyDtoH_v2(&word, device_words, 4), word);
    printf("alloc %d\n", (int)cuMemAlloc_v2(&memory, 100));
    printf("query %d\n", (int)cuStreamQuery(NULL));
    printf("free %d\n", (int)cuMemFree_v2(device_words));
}

void kernels_trap(void)
{
    printf("launch %d\n", (int)launch(load(failing, "trap"), 1, 1, NULL));
    after_failure();
}

// What assert() becomes: the message, file, line and function, and the size of a character.
static const char asserting[] = HEADER
    ".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, "
    ".param "
    ".b64 c);\n.global .align 1 .b8 text[6] = {119, 111, 114, 100, 115, 0};\n"
    ".visible .entry check()\n{\n    .reg .b64 %rd<4>;\n    .reg .b32 %r<2>;\n"
    "    mov.u64 %rd1, text;\n    cvta.global.u64 %rd2, %rd1;\n    mov.u64 %rd3, 1;\n"
    "    mov.u32 %r1, 42;\n    {\n    .param .b64 m;\n    .param .b64 f;\n    .param .b32 l;\n"
    "    .param .b64 n;\n    .param .b64 c;\n    st.param.b64 [m], %rd2;\n"
    "    st.param.b64 [f], %rd2;\n    st.param.b32 [l], %r1;\n    st.param.b64 [n], %rd2;\n"
    "    st.param.b64 [c], %rd3;\n    call.uni __assertfail, (m, f, l, n, c);\n    }\n    "
    "ret;\n}\n";

void kernels_assert(void)
{
    printf("launch %d\n", (int)launch(load(asserting, "check"), 1, 1, NULL));
    after_failure();
}

void kernels_illegal_address(void)
{
    CUdeviceptr nowhere = 0x10;
    printf("launch %d\n", (int)launch(load(failing, "write"), 1, 1, (void *[]){&nowhere}));
    after_failure();
}

void kernels_misaligned(void)
{
    CUdeviceptr at = device_words + 2;
    printf("launch %d\n", (int)launch(load(failing, "write"), 1, 1, (void *[]){&at}));
    after_failure();
}

// Fails with results unused and other work pending, and is left at once.
void kernels_failing_end(void)
{
    const struct result result = place_result(BLOCK);
    const CUfunction function = load(failing, "trap");
    bring(&result, 3);
    CHECK(launch(function, 1, 1, NULL));
    say_good("block", result.words, result.count, 3);
    exit(21);
}

// --- Kernels that wait for the host --------------------------------------------------------------

// Waits until a word of the host's memory is no longer 0, then answers beside it.
static const char waiting[] = HEADER
    ".visible .entry wait(.param .u64 flag)\n{\n    .reg .b64 %rd<2>;\n    .reg .b32 %r<3>;\n"
    "    .reg .pred %p;\n    ld.param.u64 %rd1, [flag];\n"
    "again:\n    ld.volatile.global.u32 %r1, [%rd1];\n    setp.eq.u32 %p, %r1, 0;\n    @%p bra "
    "again;\n"
    "    add.u32 %r2, %r1, 1;\n    st.volatile.global.u32 [%rd1+4], %r2;\n    ret;\n}\n";

static void with_flag(volatile unsigned *flag)
{
    const CUfunction wait = load(waiting, "wait");
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)flag;
    for (unsigned i = 1; i < 6; i++) {
        flag[0] = flag[1] = 0;
        CHECK(launch(wait, 1, 1, (void *[]){&address}));
        usleep(1000);
        flag[0] = i;
        for (unsigned j = 0; j < 20000 && flag[1] == 0; j++)
            usleep(100);
        printf("%u\n", flag[1]);
        CHECK(cuCtxSynchronize());
    }
}

void kernels_wait_for_pinned(void)
{
    with_flag(place_result(PINNED).words);
}

void kernels_wait_for_registered(void)
{
    with_flag(place_result(REGISTERED).words);
}

void kernels_wait_for_managed(void)
{
    with_flag(place_result(MANAGED).words);
}

// The host calls CUDA while a kernel waits for it.
void kernels_calls_while_waiting(void)
{
    volatile unsigned *flag = place_result(PINNED).words;
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)flag, memory;
    CUstream stream, other;
    const CUfunction wait = load(waiting, "wait");
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    for (unsigned i = 1; i < 4; i++) {
        unsigned found[FEW_WORDS];
        flag[0] = flag[1] = 0;
        CHECK(cuLaunchKernel(wait, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&address}, NULL));
        CHECK(cuMemAlloc_v2(&memory, 1 << 20));
        fill(memory, FEW_WORDS, i, 0, other);
        CHECK(cuMemcpyDtoHAsync_v2(found, memory, sizeof(found), other));
        CHECK(cuStreamSynchronize(other));
        printf("%d\n", cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
        say_good("meanwhile", found, FEW_WORDS, i);
        flag[0] = i;
        CHECK(cuStreamSynchronize(stream));
        printf("%u\n", flag[1]);
        CHECK(cuMemFree_v2(memory));
    }
}

// The CPU's threads use managed memory when the GPU is done, in turn with kernels.
void kernels_managed_turns(void)
{
    const struct result result = place_result(MANAGED);
    for (unsigned i = 0; i < 20; i++) {
        fill((CUdeviceptr)(uintptr_t)result.words, result.count, i, 50000, NULL);
        CHECK(cuCtxSynchronize());
        result.words[i] ^= 0xffff;
        printf("%u ", count_good(result.words, result.count, i));
    }
    putchar('\n');
}

// --- Functions on streams ------------------------------------------------------------------------

static struct result seen_by_function;
static unsigned good_in_function;

static void use_in_function(void *user)
{
    good_in_function +=
        count_good(seen_by_function.words, seen_by_function.count, (unsigned)(uintptr_t)user);
}

// Results are first used by a function that the stream calls.
void kernels_host_function(void)
{
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (enum place place = 0; place < STACK; place++) {
        seen_by_function = place_result(place);
        good_in_function = 0;
        for (uintptr_t i = 1; i < 4; i++) {
            bring_async(&seen_by_function, (unsigned)i, stream);
            CHECK(cuLaunchHostFunc(stream, use_in_function, (void *)i));
            CHECK(cuStreamSynchronize(stream));
        }
        printf("%s: %d\n", name_of(place), good_in_function == 3 * seen_by_function.count);
    }
}

static void use_in_callback(CUstream stream, CUresult status, void *user)
{
    (void)stream;
    printf("callback %d\n", (int)status);
    use_in_function(user);
}

void kernels_callback(void)
{
    seen_by_function = place_result(BLOCK);
    for (uintptr_t i = 1; i < 5; i++) {
        bring(&seen_by_function, (unsigned)i);
        CHECK(cuStreamAddCallback(NULL, use_in_callback, (void *)i, 0));
        CHECK(cuCtxSynchronize());
    }
    printf("%d\n", good_in_function == 4 * seen_by_function.count);
}

// Streams signal each other through memory.
void kernels_stream_values(void)
{
    CUstream stream, other;
    unsigned *flag = place_result(PINNED).words;
    unsigned found[FEW_WORDS];
    const CUdeviceptr address = (CUdeviceptr)(uintptr_t)flag;
    *flag = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    const CUresult result = cuStreamWaitValue32_v2(stream, address, 1, CU_STREAM_WAIT_VALUE_GEQ);
    printf("wait %d\n", (int)result);
    if (result != CUDA_SUCCESS)
        return;
    CHECK(cuMemcpyDtoHAsync_v2(found, device_words, 4, other));
    fill(device_words, FEW_WORDS, 5, 500000, other);
    CHECK(cuStreamWriteValue32_v2(other, address, 1, 0));
    CHECK(cuMemcpyDtoHAsync_v2(found, device_words, sizeof(found), stream));
    CHECK(cuStreamSynchronize(stream));
    say_good("values", found, FEW_WORDS, 5);
    printf("%u\n", *flag);
}

// --- Many ----------------------------------------------------------------------------------------

void kernels_many_launches(void)
{
    unsigned found[256];
    for (unsigned i = 0; i < 500; i++)
        fill(device_words, 256, i, 0, NULL);
    CHECK(cuMemcpyDtoH_v2(found, device_words, sizeof(found)));
    say_good("last", found, 256, 499);
}

void kernels_many_modules(void)
{
    for (unsigned i = 0; i < 40; i++) {
        CUmodule module;
        CUfunction function;
        CUdeviceptr to = device_words;
        CHECK(cuModuleLoadData(&module, failing));
        CHECK(cuModuleGetFunction(&function, module, "write"));
        CHECK(launch(function, 1, 1, (void *[]){&to}));
        CHECK(cuModuleUnload(module));
    }
    unsigned word;
    CHECK(cuMemcpyDtoH_v2(&word, device_words, 4));
    printf("%u\n", word);
}

// Parameters as one buffer.
void kernels_parameter_buffer(void)
{
    struct {
        CUdeviceptr to;
        unsigned words, key;
    } values = {device_words, FEW_WORDS, 0};
    size_t bytes = sizeof(values);
    unsigned found[FEW_WORDS];
    for (values.key = 1; values.key < 5; values.key++) {
        void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &values, CU_LAUNCH_PARAM_BUFFER_SIZE,
                         &bytes, CU_LAUNCH_PARAM_END};
        CHECK(cuLaunchKernel(fill_function, 3, 1, 1, 256, 1, 1, 0, NULL, NULL, extra));
        CHECK(cuMemcpyDtoH_v2(found, device_words, sizeof(found)));
        say_good("buffer", found, FEW_WORDS, values.key);
    }
}

// The same words are copied to all kinds of memory at once, and used in another order.
void kernels_many_pending(void)
{
    struct result list[STACK];
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    for (unsigned round = 0; round < 5; round++) {
        for (enum place place = 0; place < STACK; place++) {
            list[place] = round ? list[place] : place_result(place);
            bring_async(&list[place], round + place, stream);
        }
        CHECK(cuStreamSynchronize(stream));
        for (unsigned i = STACK; i-- > 0;)
            say_good(name_of(i), list[i].words, list[i].count, round + i);
    }
}
