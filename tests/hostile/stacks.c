// SPDX-License-Identifier: Apache-2.0
// Calls of CUDA on stacks that are not the system's: of coroutines, of threads with the least stack
// that there is, of code without unwind tables. Whoever walks up such a stack finds no end, or
// memory that is gone.
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "hostile.h"

enum { STACK_BYTES = 128 << 10 };

static ucontext_t back, coroutine;

static void use_some(void)
{
    const struct result result = place_result(BLOCK);
    for (unsigned i = 0; i < 3; i++) {
        bring(&result, i);
        say_good("on a stack", result.words, result.count, i);
    }
}

static void run_on(char *stack, size_t bytes)
{
    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = stack;
    coroutine.uc_stack.ss_size = bytes;
    coroutine.uc_link = &back;
    makecontext(&coroutine, use_some, 0);
    swapcontext(&back, &coroutine);
}

static char *map(size_t bytes)
{
    return sure(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

// A static stack, with data behind it that is no stack.
void stacks_coroutine(void)
{
    static char stack[STACK_BYTES], behind[PAGE];
    memset(stack, 0xee, sizeof(stack));
    memset(behind, 0xee, sizeof(behind));
    for (unsigned i = 0; i < 3; i++)
        run_on(stack, sizeof(stack));
    use_some();
}

// The stack ends where the mapping ends.
void stacks_at_end(void)
{
    char *memory = map(STACK_BYTES + PAGE);
    mprotect(memory + STACK_BYTES, PAGE, PROT_NONE);
    for (unsigned i = 0; i < 3; i++)
        run_on(memory, STACK_BYTES);
}

// What was behind the stack is unmapped while the stack is used again.
void stacks_beside_unmapped(void)
{
    for (unsigned i = 0; i < 4; i++) {
        char *memory = map((size_t)4 * STACK_BYTES);
        run_on(memory + STACK_BYTES, STACK_BYTES);
        munmap(memory + (size_t)2 * STACK_BYTES, (size_t)2 * STACK_BYTES);
        run_on(memory + STACK_BYTES, STACK_BYTES);
        run_on(memory, STACK_BYTES);
        munmap(memory, (size_t)2 * STACK_BYTES);
    }
}

void stacks_in_heap(void)
{
    for (unsigned i = 0; i < 5; i++) {
        char *memory = sure(malloc(64 << 10));
        run_on(memory, 64 << 10);
        free(memory);
    }
}

// Machine code that the program wrote: it has no unwind tables, and its frame pointer is no
// address.
void stacks_written_code(void)
{
#if defined(__x86_64__)
    static const unsigned char before[] = {0x55, 0x48, 0xb8}; // push %rbp; movabs $CALLED, %rax
    static const unsigned char after[] = {0x31, 0xed, 0x48, 0xf7, 0xd5, // %rbp = -1
                                          0x48, 0x83, 0xec, 0x20,       // sub $0x20, %rsp
                                          0xff, 0xd0,                   // call *%rax
                                          0x48, 0x83, 0xc4, 0x20,       // add $0x20, %rsp
                                          0x5d, 0xc3};                  // pop %rbp; ret
    CUresult (*const called)(void) = cuCtxSynchronize;
    for (unsigned i = 0; i < 4; i++) {
        char *code = sure(mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        memcpy(code, before, sizeof(before));
        memcpy(code + sizeof(before), (const void *)&called, sizeof(called));
        memcpy(code + sizeof(before) + sizeof(called), after, sizeof(after));
        CUresult (*own)(void);
        memcpy((void *)&own, (const void *)&code, sizeof(own));
        fill(device_words, 100, i, 100000, NULL);
        printf("%d ", (int)own());
        printf("%d\n", (int)own());
        munmap(code, PAGE); // the next code may lie there
    }
#else
    puts("not here: code for this processor");
#endif
}

static CUcontext context;

static void *use_little(void *key)
{
    const unsigned first = (unsigned)(uintptr_t)key;
    unsigned words[8];
    CHECK(cuCtxSetCurrent(context));
    for (unsigned i = 0; i < 3; i++) {
        fill(device_words, 8, first + i, 1000, NULL);
        CHECK(cuMemcpyDtoH_v2(words, device_words, sizeof(words)));
    }
    return count_good(words, 8, first + 2) == 8 ? key : NULL;
}

// Threads that come and go.
void stacks_many_threads(void)
{
    unsigned good = 0;
    CHECK(cuCtxGetCurrent(&context));
    for (uintptr_t i = 1; i <= 40; i++) {
        pthread_t thread;
        void *found = NULL;
        if (pthread_create(&thread, NULL, use_little, (void *)(i * 16)) == 0) // NOLINT
            pthread_join(thread, &found);
        good += found == (void *)(i * 16); // NOLINT
    }
    printf("%u\n", good);
}
