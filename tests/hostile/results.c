// SPDX-License-Identifier: Apache-2.0
// Results of the GPU in all kinds of memory, and how they get there.
#include <errno.h>
#include <sys/mman.h>

#include "hostile.h"

// hold waits for a number of nanoseconds, fill fills words.
static const char ptx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry hold(.param .u64 wait_ns)\n"
    "{\n    .reg .b64 %rd<4>;\n    .reg .pred %p;\n"
    "    ld.param.u64 %rd1, [wait_ns];\n    mov.u64 %rd2, %globaltimer;\n"
    "again:\n    mov.u64 %rd3, %globaltimer;\n    sub.u64 %rd3, %rd3, %rd2;\n"
    "    setp.lt.u64 %p, %rd3, %rd1;\n    @%p bra again;\n    ret;\n}\n"
    ".visible .entry fill(.param .u64 to, .param .u32 words, .param .u32 key)\n"
    "{\n    .reg .b64 %rd<4>;\n    .reg .b32 %r<8>;\n    .reg .pred %p;\n"
    "    ld.param.u64 %rd1, [to];\n    ld.param.u32 %r1, [words];\n    ld.param.u32 %r2, [key];\n"
    "    mov.u32 %r3, %ctaid.x;\n    mov.u32 %r4, %ntid.x;\n    mov.u32 %r5, %tid.x;\n"
    "    mad.lo.u32 %r6, %r3, %r4, %r5;\n    setp.ge.u32 %p, %r6, %r1;\n    @%p bra done;\n"
    "    mul.wide.u32 %rd2, %r6, 4;\n    add.u64 %rd3, %rd1, %rd2;\n"
    "    mul.lo.u32 %r7, %r6, 2654435761;\n    xor.b32 %r7, %r7, %r2;\n"
    "    st.global.u32 [%rd3], %r7;\ndone:\n    ret;\n}\n";

enum { WAIT_NS = 100000, BLOCK_THREADS = 256 };

static CUfunction hold_function;
CUfunction fill_function;
CUmodule fill_module;
CUdeviceptr device_words;
static CUdeviceptr other_words;

void *sure(void *pointer)
{
    if (!pointer || pointer == MAP_FAILED) {
        perror("no memory");
        exit(1);
    }
    return pointer;
}

void cause_fault(void)
{
    volatile uintptr_t nowhere = 16;
    *(volatile int *)nowhere = 1;
}

void start(void)
{
    start_thread();
    CHECK(cuModuleLoadData(&fill_module, ptx));
    CHECK(cuModuleGetFunction(&hold_function, fill_module, "hold"));
    CHECK(cuModuleGetFunction(&fill_function, fill_module, "fill"));
    CHECK(cuMemAlloc_v2(&device_words, WORDS * sizeof(unsigned)));
    CHECK(cuMemAlloc_v2(&other_words, PAGE));
    fill(device_words, WORDS, 0, 0, NULL);
    CHECK(cuCtxSynchronize());
}

void fill(CUdeviceptr to, unsigned words, unsigned key, uint64_t wait_ns, CUstream stream)
{
    void *params[] = {&to, &words, &key}, *hold_params[] = {&wait_ns};
    if (wait_ns)
        CHECK(cuLaunchKernel(hold_function, 1, 1, 1, 1, 1, 1, 0, stream, hold_params, NULL));
    CHECK(cuLaunchKernel(fill_function, (words + BLOCK_THREADS - 1) / BLOCK_THREADS, 1, 1,
                         BLOCK_THREADS, 1, 1, 0, stream, params, NULL));
}

unsigned word_of(unsigned index, unsigned key)
{
    return index * 2654435761u ^ key;
}

unsigned count_good(const unsigned *words, unsigned count, unsigned key)
{
    unsigned good = 0;
    for (unsigned i = 0; i < count; i++)
        good += words[i] == word_of(i, key);
    return good;
}

// --- Places --------------------------------------------------------------------------------------

const char *name_of(enum place place)
{
    static const char *const names[PLACES] = {"block",      "static", "mapped",  "heap",
                                              "registered", "pinned", "managed", "stack"};
    return names[place];
}

static void *map(void)
{
    return sure(mmap(NULL, WORDS * sizeof(unsigned), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

struct result place_result(enum place place)
{
    static _Alignas(PAGE) unsigned variables[WORDS];
    struct result result = {place, NULL, WORDS};
    void *memory = NULL;
    CUdeviceptr managed;
    switch (place) {
    case PINNED: CHECK(cuMemAllocHost_v2(&memory, WORDS * sizeof(unsigned))); break;
    case REGISTERED:
        memory = map();
        CHECK(cuMemHostRegister_v2(memory, WORDS * sizeof(unsigned), 0));
        break;
    case MANAGED:
        CHECK(cuMemAllocManaged(&managed, WORDS * sizeof(unsigned), CU_MEM_ATTACH_GLOBAL));
        memory = (void *)(uintptr_t)managed;
        break;
    case HEAP:
        result.count = FEW_WORDS;
        memory = sure(malloc(FEW_WORDS * sizeof(unsigned)));
        break;
    case BLOCK: memory = sure(aligned_alloc(PAGE, WORDS * sizeof(unsigned))); break;
    case STATIC: memory = variables; break;
    default: memory = map();
    }
    result.words = memory;
    return result;
}

static void launch_for(const struct result *result, unsigned key, CUstream stream)
{
    const bool direct = result->place == MANAGED;
    fill(direct ? (CUdeviceptr)(uintptr_t)result->words : device_words, result->count, key, WAIT_NS,
         stream);
}

static void bring_words(const struct result *result, unsigned key)
{
    const size_t bytes = result->count * sizeof(unsigned);
    launch_for(result, key, NULL);
    if (result->place == PINNED)
        CHECK(cuMemcpyDtoHAsync_v2(result->words, device_words, bytes, NULL));
    CHECK(cuCtxSynchronize());
    if (result->place != PINNED && result->place != MANAGED)
        CHECK(cuMemcpyDtoH_v2(result->words, device_words, bytes));
    fill(other_words, 1, key, WAIT_NS, NULL);
    CHECK(cuCtxSynchronize());
}

// Each kind of memory has its own call path, so that glint fix can correct it by itself.
#define SITE(name, place)                                                                    \
    static __attribute__((noinline)) void name(const struct result *result, unsigned key)    \
    {                                                                                        \
        bring_words(result, key);                                                            \
        __asm__ volatile("" ::"i"(place)); /* neither a tail call nor the code of another */ \
    }
SITE(bring_pinned, PINNED)
SITE(bring_registered, REGISTERED)
SITE(bring_managed, MANAGED)
SITE(bring_heap, HEAP)
SITE(bring_block, BLOCK)
SITE(bring_static, STATIC)
SITE(bring_mapped, MAPPED)
SITE(bring_stack, STACK)

void bring(const struct result *result, unsigned key)
{
    static void (*const sites[PLACES])(const struct result *, unsigned) = {
        bring_block,      bring_static, bring_mapped,  bring_heap,
        bring_registered, bring_pinned, bring_managed, bring_stack};
    sites[result->place](result, key);
}

void bring_async(const struct result *result, unsigned key, CUstream stream)
{
    launch_for(result, key, stream);
    if (result->place != MANAGED)
        CHECK(cuMemcpyDtoHAsync_v2(result->words, device_words, result->count * sizeof(unsigned),
                                   stream));
}

void on_each(void (*use)(const struct result *result, unsigned key))
{
    unsigned on_stack[FEW_WORDS];
    for (enum place place = 0; place < PLACES; place++) {
        const struct result result =
            place == STACK ? (struct result){STACK, on_stack, FEW_WORDS} : place_result(place);
        for (unsigned round = 0; round < 2; round++) {
            const unsigned key = place * 16 + round + 1;
            bring(&result, key);
            use(&result, key);
        }
    }
}

// --- Output --------------------------------------------------------------------------------------

void say(const char *what, long result)
{
    if (result < 0)
        printf("%s: %ld, %s\n", what, result, strerror(errno));
    else
        printf("%s: %ld\n", what, result);
}

void say_good(const char *what, const unsigned *words, unsigned count, unsigned key)
{
    printf("%s: %u of %u\n", what, count_good(words, count, key), count);
}

void not_here(const char *what)
{
    printf("not here: %s, %s\n", what, strerror(errno));
}
