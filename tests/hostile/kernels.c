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

// --- Kernels that use all there is ---------------------------------------------------------------

static unsigned first_word(void)
{
    unsigned word = 0;
    CHECK(cuMemcpyDtoH_v2(&word, device_words, sizeof(word)));
    return word;
}

// As many bytes of parameters as there may be; a clone has no room for one more.
static void with_parameters(const char *version, unsigned bytes)
{
    static char text[1000], block[32 << 10];
    snprintf(text, sizeof(text),
             ".version %s\n.target sm_70\n.address_size 64\n"
             ".visible .entry take(.param .u64 to, .param .align 8 .b8 block[%u])\n{\n"
             "    .reg .b64 %%rd<2>;\n    .reg .b32 %%r<2>;\n    ld.param.u64 %%rd1, [to];\n"
             "    ld.param.u32 %%r1, [block+%u];\n    st.global.u32 [%%rd1], %%r1;\n    ret;\n}\n",
             version, bytes - 8, bytes - 12);
    const CUfunction take = load(text, "take");
    for (unsigned i = 0; i < 3; i++) {
        memcpy(block + bytes - 12, &i, sizeof(i));
        CHECK(launch(take, 1, 1, (void *[]){&device_words, block}));
        printf("%u bytes: %u\n", bytes, first_word());
    }
}

void kernels_most_parameters(void)
{
    with_parameters("7.0", 4096);
    with_parameters("7.0", 4088);
    with_parameters("8.1", 32760);
    with_parameters("8.1", 32752);
}

// The kernel asks how much shared memory it has.
static const char sharing[] =
    HEADER ".extern .shared .align 16 .b8 room[];\n"
           ".visible .entry ask(.param .u64 to)\n{\n    .reg .b64 %rd<2>;\n    .reg .b32 %r<4>;\n"
           "    ld.param.u64 %rd1, [to];\n    mov.u32 %r1, %dynamic_smem_size;\n"
           "    mov.u32 %r2, room;\n    st.shared.u32 [%r2], %r1;\n    bar.sync 0;\n"
           "    ld.shared.u32 %r3, [%r2];\n    st.global.u32 [%rd1], %r3;\n    ret;\n}\n";

void kernels_shared_memory(void)
{
    static const unsigned sizes[] = {16, 100, 20000, 48 << 10};
    const CUfunction ask = load(sharing, "ask");
    void *params[] = {&device_words};
    int most = 0;
    for (unsigned i = 0; i < 4; i++) {
        CHECK(cuLaunchKernel(ask, 1, 1, 1, 32, 1, 1, sizes[i], NULL, params, NULL));
        printf("%u\n", first_word());
    }
    CHECK(cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    for (unsigned i = 0; i < 2; i++) {
        printf("launch %d\n",
               (int)cuLaunchKernel(ask, 1, 1, 1, 32, 1, 1, (unsigned)most, NULL, params, NULL));
        printf("set %d\n",
               (int)cuFuncSetAttribute(ask, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most));
    }
    CHECK(cuCtxSynchronize());
    printf("%d\n", first_word() == (unsigned)most);
    printf("one more %d\n",
           (int)cuLaunchKernel(ask, 1, 1, 1, 32, 1, 1, (unsigned)most + 1, NULL, params, NULL));
}

// Kernels whose names are those of glint's clones, or very long.
void kernels_names(void)
{
    static char text[9000], name[4001];
    static const char *const names[] = {"k", "k$glint", "k$glint$glint", "k$glint$glint$glint"};
    int length = snprintf(text, sizeof(text), HEADER);
    for (unsigned i = 0; i < 3; i++)
        length += snprintf(text + length, sizeof(text) - (size_t)length,
                           ".visible .entry %s(.param .u64 to)\n{\n    .reg .b64 %%rd<2>;\n"
                           "    ld.param.u64 %%rd1, [to];\n    st.global.u32 [%%rd1], %u;\n"
                           "    ret;\n}\n",
                           names[i], i + 1);
    CUmodule module;
    unsigned functions = 0;
    CHECK(cuModuleLoadData(&module, text));
    for (unsigned i = 0; i < 4; i++) {
        CUfunction function;
        const CUresult result = cuModuleGetFunction(&function, module, names[i]);
        printf("%s: %d\n", names[i], (int)result);
        if (result != CUDA_SUCCESS)
            continue;
        CHECK(launch(function, 1, 1, (void *[]){&device_words}));
        printf("%u\n", first_word());
    }
    CHECK(cuModuleGetFunctionCount(&functions, module));
    printf("%u functions\n", functions);
    memset(name, 'x', sizeof(name) - 1);
    snprintf(text, sizeof(text),
             HEADER ".visible .entry %s(.param .u64 to)\n{\n    .reg .b64 %%rd<2>;\n"
                    "    ld.param.u64 %%rd1, [to];\n    st.global.u32 [%%rd1], 9;\n    ret;\n}\n",
             name);
    const char *found = "";
    const CUfunction function = load(text, name);
    CHECK(launch(function, 1, 1, (void *[]){&device_words}));
    CHECK(cuFuncGetName(&found, function));
    printf("%u %d\n", first_word(), strcmp(found, name) == 0);
}

// Modules with equal names of kernels and variables.
void kernels_equal_names(void)
{
    CUfunction functions[6];
    for (unsigned i = 0; i < 6; i++) {
        char text[400];
        snprintf(text, sizeof(text),
                 HEADER ".visible .global .u32 variable = %u;\n"
                        ".visible .entry k(.param .u64 to)\n{\n    .reg .b64 %%rd<2>;\n"
                        "    .reg .b32 %%r<2>;\n    ld.param.u64 %%rd1, [to];\n"
                        "    ld.global.u32 %%r1, [variable];\n    st.global.u32 [%%rd1], %%r1;\n"
                        "    ret;\n}\n",
                 i / 2);
        functions[i] = load(text, "k");
    }
    for (unsigned i = 6; i-- > 0;) {
        CHECK(launch(functions[i], 1, 1, (void *[]){&device_words}));
        printf("%u ", first_word());
    }
    putchar('\n');
}

// One half of the block hands words to the other through barriers with numbers.
static const char barriers[] =
    HEADER ".visible .entry pass(.param .u64 to)\n{\n    .reg .b64 %rd<3>;\n    .reg .b32 %r<7>;\n"
           "    .reg .pred %p;\n    .shared .align 4 .b8 room[512];\n    ld.param.u64 %rd1, [to];\n"
           "    mov.u32 %r1, %tid.x;\n    mov.u32 %r2, room;\n    shl.b32 %r3, %r1, 2;\n"
           "    add.u32 %r3, %r3, %r2;\n    setp.lt.u32 %p, %r1, 64;\n    @%p bra takes;\n"
           "    add.u32 %r4, %r1, 5;\n    st.shared.u32 [%r3], %r4;\n    bar.arrive 1, 128;\n"
           "    bar.sync 15, 64;\n    bra done;\n"
           "takes:\n    bar.sync 1, 128;\n    ld.shared.u32 %r5, [%r3+256];\n    bar.sync 14, 64;\n"
           "    st.shared.u32 [%r3], %r5;\n"
           "done:\n    bar.sync 0;\n    ld.shared.u32 %r6, [%r3];\n    mul.wide.u32 %rd2, %r1, 4;\n"
           "    add.u64 %rd2, %rd2, %rd1;\n    st.global.u32 [%rd2], %r6;\n    ret;\n}\n";

void kernels_barriers(void)
{
    const CUfunction pass = load(barriers, "pass");
    unsigned words[128];
    for (unsigned i = 0; i < 3; i++) {
        CHECK(launch(pass, 4, 128, (void *[]){&device_words}));
        CHECK(cuMemcpyDtoH_v2(words, device_words, sizeof(words)));
        printf("%u %u\n", words[3], words[127]);
    }
}
