// SPDX-License-Identifier: Apache-2.0
// Call paths: they agree with libgcc's unwinder over frames of many shapes, threads, signals,
// stacks of all kinds, and libraries that are loaded and unloaded. Garbage on the stack never
// causes a crash. Paths are interned, and each is recorded once, before its first use.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "frames/frames.h"
#include "inject/stack/stack.h"
#include "inject/stack/unwind.h"

static uint64_t test_random(uint64_t *state)
{
    uint64_t bits = *state += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

// --- Compared with libgcc's unwinder -------------------------------------------------------------

static struct stack_unwind *rules; // zeroed memory, for all tests of unwinding

struct reference {
    unsigned depth;
    uint64_t pc[UNWIND_MOST + 1];
};

static _Unwind_Reason_Code take_reference(struct _Unwind_Context *context, void *user)
{
    struct reference *reference = user;
    uint64_t pc = _Unwind_GetIP(context);
    if (!pc)
        return _URC_NO_REASON;
    if (reference->depth > UNWIND_MOST)
        return _URC_NORMAL_STOP;
    reference->pc[reference->depth++] = pc;
    return _URC_NO_REASON;
}

struct comparison {
    bool truncated, slow; // expected properties of the path
    bool any_end;         // accepts truncated and complete paths
    unsigned runs, least_depth;
    char wrong[200]; // why the comparison failed; empty: it did not
};

// Stores its result in user, because cmocka's assertions cannot jump out of threads and handlers.
// As in hooks, the path begins with the caller of this function.
__attribute__((noinline)) static void unwind_here(struct stack_unwind *unwind,
                                                  struct stack_unwind_path *path)
{
    stack_unwind_from(unwind, UNWIND_CALLER, path, NULL);
    __asm__ volatile(""); // prevents a tail call, which would remove the frame
}

__attribute__((noinline)) static void compare(void *user)
{
    struct comparison *comparison = user;
    struct reference reference = {0};
    struct stack_unwind_path path;
    _Unwind_Backtrace(take_reference, &reference);
    unwind_here(rules, &path);
    comparison->runs++;
    bool over = reference.depth > UNWIND_MOST;
    unsigned depth = over ? UNWIND_MOST : reference.depth;
    char *wrong = comparison->wrong;
    size_t bytes = sizeof(comparison->wrong);
    if (*wrong)
        return;
    if (path.depth != depth)
        snprintf(wrong, bytes, "depth %u and not %u", path.depth, depth);
    else if (!comparison->any_end && path.truncated != (over || comparison->truncated))
        snprintf(wrong, bytes, "truncated is %d", path.truncated);
    else if (path.slow != comparison->slow)
        snprintf(wrong, bytes, "slow is %d", path.slow);
    else if (depth < comparison->least_depth)
        snprintf(wrong, bytes, "only %u frames", depth);
    // [0] is in this function, at two different places.
    for (unsigned i = 1; i < depth && !*wrong; i++)
        if (path.pc[i] != reference.pc[i])
            snprintf(wrong, bytes, "frame %u of %u: %#llx and not %#llx", i, depth,
                     (unsigned long long)path.pc[i], (unsigned long long)reference.pc[i]);
}

#define assert_compared(comparison)                   \
    do {                                              \
        assert_string_equal((comparison)->wrong, ""); \
        assert_true((comparison)->runs > 0);          \
    } while (0)

static frames_function *const *const all_frames[] = {frames_O0, frames_O2, frames_O2_fp, frames_Os,
                                                     frames_O3_signed};
enum { OPTIONS = sizeof(all_frames) / sizeof(*all_frames) };

static long next_frame(struct frames_walk *walk, unsigned depth)
{
    if (!depth) {
        walk->leaf(walk->user);
        return 0;
    }
    uint64_t random = walk->random;
    walk->random = test_random(&random);
    return all_frames[walk->random % OPTIONS][walk->random / OPTIONS % FRAMES_SHAPES](walk,
                                                                                      depth - 1) +
           1;
}

static void walk_frames(uint64_t seed, unsigned depth, void (*leaf)(void *), void *user)
{
    struct frames_walk walk = {next_frame, leaf, user, seed};
    next_frame(&walk, depth);
}

static void frames_of_every_shape_give_libgccs_path(void **state)
{
    (void)state;
    for (unsigned options = 0; options < OPTIONS; options++)
        for (unsigned shape = 0; shape < FRAMES_SHAPES; shape++) {
            struct comparison comparison = {.least_depth = 5};
            struct frames_walk walk = {next_frame, compare, &comparison, 1};
            all_frames[options][shape](&walk, 0);
            if (*comparison.wrong)
                print_error("options %u, shape %u\n", options, shape);
            assert_compared(&comparison);
        }
}

static void random_stacks_give_libgccs_path(void **state)
{
    (void)state;
    struct comparison comparison = {.least_depth = 5};
    for (unsigned i = 0; i < 2000; i++)
        walk_frames(i, i % 55, compare, &comparison);
    assert_compared(&comparison);
}

static void deep_recursion_is_cut_at_the_most(void **state)
{
    (void)state;
    struct comparison comparison = {.least_depth = UNWIND_MOST};
    for (unsigned depth = 100; depth < 140; depth++)
        walk_frames(depth, depth, compare, &comparison);
    assert_compared(&comparison);
}

static int compare_in_callback(const void *a, const void *b, void *user)
{
    compare(user);
    return *(const int *)a - *(const int *)b;
}

static void frames_of_the_c_library_are_passed(void **state)
{
    (void)state;
    struct comparison comparison = {.least_depth = 5};
    int numbers[] = {3, 1, 2};
    qsort_r(numbers, 3, sizeof(*numbers), compare_in_callback, &comparison);
    assert_compared(&comparison);
}

// --- Signals and stacks of all kinds -------------------------------------------------------------

static struct comparison *handlers;

static void compare_in_handler(int signal)
{
    (void)signal;
    compare(handlers);
}

static void raise_signal(void *user)
{
    (void)user;
    raise(SIGUSR1);
}

// QEMU's signal frames are not the kernel's: for x86_64, libgcc's unwinder itself crashes at them.
static void skip_where_signal_frames_are_wrong(void)
{
#ifdef TEST_EMULATED
    skip();
#endif
}

static void signal_frames_are_left_to_libgcc(void **state)
{
    (void)state;
    skip_where_signal_frames_are_wrong();
    struct comparison comparison = {.slow = true, .least_depth = 8};
    handlers = &comparison;
    struct sigaction action = {.sa_handler = compare_in_handler}, before;
    sigaction(SIGUSR1, &action, &before);
    walk_frames(1, 5, raise_signal, NULL);
    assert_compared(&comparison);
    // The same on an alternate signal stack.
    static _Alignas(16) char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)}, old;
    assert_int_equal(sigaltstack(&stack, &old), 0);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, NULL);
    walk_frames(1, 5, raise_signal, NULL);
    assert_compared(&comparison);
    assert_int_equal(comparison.runs, 2);
    sigaltstack(&old, NULL);
    sigaction(SIGUSR1, &before, NULL);
}

static void *compare_in_thread(void *user)
{
    for (unsigned i = 0; i < 200; i++)
        walk_frames(i, 20, compare, user);
    return NULL;
}

static void threads_have_paths_of_their_own(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    struct comparison comparisons[THREADS] = {
        {.least_depth = 22}, {.least_depth = 22}, {.least_depth = 22}, {.least_depth = 22}};
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compare_in_thread, &comparisons[i]), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_compared(&comparisons[i]);
    }
}

static void *compare_once(void *user)
{
    compare(user);
    return NULL;
}

static void the_smallest_stack_is_enough(void **state)
{
    (void)state;
    struct comparison comparison = {.least_depth = 2};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN), 0);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, &attributes, compare_once, &comparison), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    assert_compared(&comparison);
}

static struct comparison *fibers;

static void run_fiber(void)
{
    walk_frames(3, 6, compare, fibers);
}

static void fibers_are_stacks_too(void **state)
{
    (void)state;
    // On aarch64, the unwind tables do not mark a fiber's first function as outermost.
    struct comparison comparison = {.any_end = true, .least_depth = 7};
    fibers = &comparison;
    ucontext_t here, there;
    size_t bytes = 1 << 19;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(getcontext(&there), 0);
    there.uc_stack.ss_sp = memory;
    there.uc_stack.ss_size = bytes;
    there.uc_link = &here;
    makecontext(&there, run_fiber, 0);
    assert_int_equal(swapcontext(&here, &there), 0);
    assert_compared(&comparison);
    walk_frames(1, 3, compare, &comparison); // back on the first stack
    assert_compared(&comparison);
    munmap(memory, bytes);
}

// --- Unknown code, and garbage -------------------------------------------------------------------

static void code_without_tables_ends_the_path(void **state)
{
    (void)state;
    for (unsigned shape = 0; shape < FRAMES_SHAPES; shape++) {
        struct comparison comparison = {.truncated = true};
        struct frames_walk walk = {next_frame, compare, &comparison, 1};
        frames_none[shape](&walk, 0);
        assert_compared(&comparison);
    }
}

#if defined(__x86_64__)
static const unsigned char made_code[] = {0x55, 0x48, 0x89, 0xE5, 0x48, 0x89, 0xF8,
                                          0x48, 0x89, 0xF7, 0xFF, 0xD0, 0x5D, 0xC3};
#else
static const uint32_t made_code[] = {0xA9BF7BFD, 0x910003FD, 0xAA0003E2, 0xAA0103E0,
                                     0xD63F0040, 0xA8C17BFD, 0xD65F03C0};
#endif

static void code_made_at_run_time_ends_the_path(void **state)
{
    (void)state;
    struct comparison comparison = {.truncated = true};
    void *page = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    memcpy(page, made_code, sizeof(made_code));
    assert_int_equal(mprotect(page, 65536, PROT_READ | PROT_EXEC), 0);
    __builtin___clear_cache((char *)page, (char *)page + sizeof(made_code));
    void (*call)(void (*)(void *), void *);
    memcpy(&call, &page, sizeof(call));
    call(compare, &comparison);
    assert_compared(&comparison);
    munmap(page, 65536);
}

// Functions whose unwind tables are wrong about their frame. Each calls its first argument with its
// second.
#if defined(__x86_64__)
#define LIAR(name, lie)                                                                        \
    void name(void (*callback)(void *), void *user);                                           \
    __asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n.cfi_startproc\n" \
            "push %rbp\nmov %rdi, %rax\nmov %rsi, %rdi\n" lie                                  \
            "call *%rax\npop %rbp\nret\n.cfi_endproc\n.size " #name ",.-" #name "\n");
#else
#define LIAR(name, lie)                                                                        \
    void name(void (*callback)(void *), void *user);                                           \
    __asm__(".text\n.globl " #name "\n.type " #name ",@function\n" #name ":\n.cfi_startproc\n" \
            "stp x29, x30, [sp, #-16]!\n.cfi_offset 30, -8\nmov x2, x0\nmov x0, x1\n" lie      \
            "blr x2\nldp x29, x30, [sp], #16\nret\n.cfi_endproc\n.size " #name ",.-" #name "\n");
#endif
#if defined(__x86_64__)
#define SP       "7"
#define FP       "6"
#define WRECK_FP "mov $0x123456789, %rbp\n"
#else
#define SP       "31"
#define FP       "29"
#define WRECK_FP "mov x29, #0x1238\nmovk x29, #0x77, lsl #32\n"
#endif
LIAR(liar_far, ".cfi_def_cfa " SP ", 0x40000000\n")
LIAR(liar_back, ".cfi_def_cfa " SP ", -64\n")
LIAR(liar_still, ".cfi_def_cfa " SP ", 0\n")
LIAR(liar_odd, ".cfi_def_cfa " SP ", 9\n")
LIAR(liar_ra_far,
     ".cfi_def_cfa " SP ", 16\n.cfi_offset 30, -0x40000000\n.cfi_offset 16, 0x40000000\n")
LIAR(liar_fp, ".cfi_def_cfa " SP ", 16\n.cfi_offset " FP ", 0x7000000\n")
LIAR(liar_wild_fp, WRECK_FP ".cfi_def_cfa " FP ", 16\n")
LIAR(liar_inside, ".cfi_def_cfa " SP ", 160\n") // reads whatever is at that address

static void take_path(void *user)
{
    unwind_here(rules, user);
    __asm__ volatile(""); // no tail call: this function is part of the path
}

static void tables_that_lie_never_crash(void **state)
{
    (void)state;
    static void (*const liars[])(void (*)(void *), void *) = {
        liar_far, liar_back, liar_still, liar_odd, liar_ra_far, liar_fp, liar_wild_fp, liar_inside};
    for (unsigned i = 0; i < sizeof(liars) / sizeof(*liars); i++)
        for (unsigned again = 0; again < 2; again++) {
            struct stack_unwind_path path;
            liars[i](take_path, &path);
            assert_true(path.depth >= 2); // take_path, and the liar
            assert_true(path.truncated || i == 7);
        }
}

// The tables themselves are garbage. They may yield any rule, but nothing outside them is read.
static void garbage_tables_never_crash(void **state)
{
    (void)state;
    Dl_info info;
    assert_true(dladdr((const void *)(uintptr_t)&qsort, &info));
    uint32_t number = stack_images_find(&rules->images, (uint64_t)(uintptr_t)&qsort);
    assert_int_not_equal(number, 0);
    const struct stack_cfi_tables *real = &stack_images_at(&rules->images, number)->cfi;
    size_t bytes = (size_t)(real->readable_end - real->readable);
    size_t before = (size_t)(real->header - real->readable);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), around = (bytes + page - 1) / page * page;
    unsigned char *copy =
        mmap(NULL, around + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(copy != MAP_FAILED);
    mprotect(copy + around, page, PROT_NONE);
    unsigned char *start = copy + around - bytes;
    memcpy(start, real->readable, bytes);
    const struct stack_cfi_tables tables = {start + before, real->header_bytes, start,
                                            start + bytes};
    uint64_t random = 5;
    unsigned kinds[CFI_LINK + 1] = {0};
    for (unsigned i = 0; i < 20000; i++) {
        for (unsigned j = 0; j < 50; j++) {
            size_t at = before - before % 8 + test_random(&random) % (bytes - before);
            start[at < bytes ? at : 0] = (unsigned char)test_random(&random);
        }
        // The code is as far from the header as in the library.
        uint64_t pc = (uint64_t)(uintptr_t)start - test_random(&random) % (4 * bytes);
        kinds[stack_cfi_find(&tables, pc).kind]++;
    }
    assert_true(kinds[CFI_STOP] + kinds[CFI_OTHER] > 0);
    munmap(copy, around + page);
}

// --- Libraries that are loaded and unloaded ------------------------------------------------------

static void open_plugin(const char *name, void **library, long (**call)(void (*)(void *), void *))
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    assert_true(length > 0);
    path[length] = 0;
    char *slash = strrchr(path, '/');
    assert_true((size_t)(slash - path) + strlen(name) + 2 < sizeof(path));
    strcpy(slash + 1, name);
    *library = dlopen(path, RTLD_NOW);
    if (!*library)
        print_error("%s\n", dlerror());
    assert_non_null(*library);
    void *found = dlsym(*library, "plugin_call");
    assert_non_null(found);
    memcpy(call, &found, sizeof(found));
}

struct numbered {
    struct stack_table *table;
    struct event_ring *ring;
    uint32_t number;
};

__attribute__((noinline)) static uint32_t stack_here(struct stack_table *table,
                                                     struct event_ring *ring)
{
    uint32_t number = stack_from(table, ring, UNWIND_CALLER);
    __asm__ volatile("");
    return number;
}

__attribute__((noinline)) static void take_number(void *user)
{
    struct numbered *numbered = user;
    numbered->number = stack_here(numbered->table, numbered->ring);
}

// Both ways have frames of the same size, so that only the contents of the stack distinguish them.
__attribute__((noinline)) static void through(struct numbered *numbered)
{
    take_number(numbered);
    __asm__ volatile("");
}

__attribute__((noinline)) static void one_way(struct numbered *numbered)
{
    through(numbered);
    __asm__ volatile("" ::"r"(1));
}

__attribute__((noinline)) static void another_way(struct numbered *numbered)
{
    through(numbered);
    __asm__ volatile("" ::"r"(2));
}

static void the_same_place_by_another_way_is_another_path(void **state)
{
    (void)state;
    size_t bytes = event_ring_bytes(1 << 16);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct numbered numbered = {stack_table_make(false), event_ring_make(memory, bytes), 0};
    void (*const ways[])(struct numbered *) = {one_way, another_way};
    uint32_t seen[2] = {0, 0};
    // Calls through a pointer, so that both ways share one call site.
    for (unsigned i = 0; i < 20; i++) {
        ways[i / 2 % 2](&numbered);
        assert_int_not_equal(numbered.number, 0);
        if (!seen[i / 2 % 2])
            seen[i / 2 % 2] = numbered.number;
        assert_int_equal(numbered.number, seen[i / 2 % 2]);
    }
    assert_int_not_equal(seen[0], seen[1]);
    stack_table_free(numbered.table);
    munmap(memory, bytes);
}

static void load_in_turn(const char *const names[2])
{
    size_t bytes = event_ring_bytes(1 << 16);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct numbered numbered = {stack_table_make(false), event_ring_make(memory, bytes), 0};
    assert_non_null(numbered.table);
    assert_non_null(numbered.ring);
    uint32_t seen[2] = {0, 0};
    unsigned same_place = 0;
    uint64_t place = 0;
    for (unsigned i = 0; i < 40; i++) {
        void *library;
        long (*call)(void (*)(void *), void *);
        open_plugin(names[i % 2], &library, &call);
        same_place += place == (uint64_t)(uintptr_t)call;
        place = (uint64_t)(uintptr_t)call;
        struct comparison comparison = {.least_depth = 5};
        call(compare, &comparison);
        assert_compared(&comparison);
        call(take_number, &numbered);
        assert_int_not_equal(numbered.number, 0);
        assert_int_not_equal(numbered.number, seen[!(i % 2)]);
        seen[i % 2] = numbered.number;
        dlclose(library);
    }
    print_message("%u of 40 libraries took the place of the one before\n", same_place);
    stack_table_free(numbered.table);
    munmap(memory, bytes);
}

static void unloaded_libraries_are_forgotten(void **state)
{
    (void)state;
    load_in_turn((const char *const[]){"test_plugin_300.so", "test_plugin_100.so"});
    load_in_turn((const char *const[]){"test_plugin_two.so", "test_plugin_100.so"});
}

// --- Interning and recording ---------------------------------------------------------------------

struct telling {
    struct numbered numbered;
    struct event_reader reader;
    void *memory;
    size_t bytes;
};

static void telling_init(struct telling *telling, uint32_t slots)
{
    telling->bytes = event_ring_bytes(slots);
    telling->memory =
        mmap(NULL, telling->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(telling->memory != MAP_FAILED);
    telling->numbered.table = stack_table_make(false);
    telling->numbered.ring = event_ring_make(telling->memory, telling->bytes);
    assert_non_null(telling->numbered.table);
    assert_non_null(telling->numbered.ring);
    assert_true(event_reader_init(&telling->reader, telling->memory, telling->bytes));
}

static void telling_fini(const struct telling *telling)
{
    stack_table_free(telling->numbered.table);
    munmap(telling->memory, telling->bytes);
}

static uint32_t number_at(struct telling *telling, uint64_t seed, unsigned depth)
{
    walk_frames(seed, depth, take_number, &telling->numbered);
    return telling->numbered.number;
}

// Paths are compared by the words that a walk has read, of which these have up to a hundred.
static void deep_paths_in_turn_keep_their_numbers(void **state)
{
    (void)state;
    enum { SEEDS = 3, ROUNDS = 4 };
    struct telling telling;
    telling_init(&telling, 1 << 16);
    for (unsigned depth = 10; depth <= 50; depth += 4) {
        uint32_t seen[SEEDS] = {0};
        for (unsigned i = 0; i < SEEDS * ROUNDS; i++) {
            const unsigned seed = i % SEEDS;
            const uint32_t number = number_at(&telling, 100 * depth + seed, depth);
            assert_int_not_equal(number, 0);
            assert_true(i < SEEDS || number == seen[seed]);
            for (unsigned other = 0; other < seed; other++)
                assert_int_not_equal(number, seen[other]);
            seen[seed] = number;
        }
    }
    telling_fini(&telling);
}

static void equal_paths_are_one_number_and_told_once(void **state)
{
    (void)state;
    struct telling telling;
    telling_init(&telling, 1 << 12);
    uint32_t first = 0, other = 0;
    for (unsigned i = 0; i < 3; i++) {
        uint32_t number = number_at(&telling, 1, 10);
        assert_int_not_equal(number, 0);
        assert_true(!i || number == first);
        first = number;
    }
    for (unsigned i = 0; i < 3; i++)
        other = number_at(&telling, 2, 10); // more call sites if unrolled
    assert_int_not_equal(other, first);
    struct base_buf got = {0};
    unsigned stacks = 0, images = 0;
    bool executable = false;
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
    struct event_image known[64];
    enum event_kind kind;
    while ((kind = event_take(&telling.reader, &got, false)) != EVENT_NONE) {
        if (kind == EVENT_IMAGE) {
            assert_true(images < 64);
            struct event_image *image = &known[images++];
            memcpy(image, got.text, sizeof(*image));
            assert_true(image->start < image->end);
            executable |= got.length - sizeof(*image) == (size_t)length &&
                          !memcmp(got.text + sizeof(*image), path, (size_t)length);
            continue;
        }
        assert_int_equal(kind, EVENT_STACK);
        struct event_stack stack;
        memcpy(&stack, got.text, sizeof(stack));
        assert_int_equal(stack.number, ++stacks);
        assert_int_equal(stack.truncated, 0);
        // Two frames for each of the ten, and the frames of the test's callers.
        assert_true(stack.depth > 22);
        assert_int_equal(got.length, sizeof(stack) + stack.depth * sizeof(uint64_t));
        for (unsigned i = 0; i < stack.depth; i++) {
            uint64_t pc;
            memcpy(&pc, got.text + sizeof(stack) + i * sizeof(pc), sizeof(pc));
            unsigned in = 0;
            for (unsigned j = 0; j < images; j++)
                in += pc - 1 >= known[j].start && pc - 1 < known[j].end;
            assert_int_equal(in, 1);
            Dl_info info;
            if (!i) { // the innermost is take_number, not stack_here
                assert_true(pc > (uint64_t)(uintptr_t)&take_number &&
                            pc < (uint64_t)(uintptr_t)&take_number + 256);
                assert_true(dladdr((void *)(uintptr_t)pc, &info));
            }
        }
    }
    assert_true(executable);
    assert_true(stacks == 2 || stacks == 4); // 4: the second loop was unrolled
    base_buf_fini(&got);
    telling_fini(&telling);
}

static void a_full_ring_gives_no_number_until_there_is_room(void **state)
{
    (void)state;
    struct telling telling;
    telling_init(&telling, 16);
    while (event_put(telling.numbered.ring, EVENT_NOTE, "x", 1, NULL, 0))
        ;
    uint32_t numbers[10];
    struct base_buf got = {0};
    for (unsigned i = 0; i < 10; i++) { // the ring has room for one or two images at a time
        numbers[i] = number_at(&telling, 1, 2);
        if (i)
            while (event_take(&telling.reader, &got, false) != EVENT_NONE)
                ;
    }
    assert_int_equal(numbers[0], 0);
    assert_int_equal(numbers[1], 0);
    assert_int_not_equal(numbers[8], 0);
    assert_int_equal(numbers[8], numbers[9]);
    base_buf_fini(&got);
    telling_fini(&telling);
}

static void errno_and_the_heap_are_left_alone(void **state)
{
    (void)state;
    struct telling telling;
    telling_init(&telling, 1 << 14);
    struct mallinfo2 before = mallinfo2();
    errno = 4711;
    for (unsigned i = 0; i < 100; i++)
        number_at(&telling, i, i % 30);
    assert_int_equal(errno, 4711);
    struct mallinfo2 after = mallinfo2();
    assert_int_equal(after.uordblks, before.uordblks);
    telling_fini(&telling);
}

// Threads and a signal handler number paths and then use the numbers, as calls do.
struct user {
    uint32_t number;
};

static void use_number(void *argument)
{
    struct numbered numbered = *(struct numbered *)argument;
    take_number(&numbered);
    struct user use = {numbered.number};
    if (use.number)
        event_put(numbered.ring, EVENT_CALL, &use, sizeof(use), NULL, 0);
}

static void *use_in_thread(void *argument)
{
    for (unsigned i = 0; i < 400; i++)
        walk_frames(i % 100, 10, use_number, argument);
    return NULL;
}

static struct numbered *handlers_numbered;

static void use_in_handler(int signal)
{
    (void)signal;
    use_number(handlers_numbered);
}

static void numbers_are_told_before_they_are_used(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    skip_where_signal_frames_are_wrong();
    struct telling telling;
    telling_init(&telling, 1 << 18);
    handlers_numbered = &telling.numbered;
    struct sigaction action = {.sa_handler = use_in_handler, .sa_flags = SA_RESTART}, before;
    sigaction(SIGALRM, &action, &before);
    timer_t timer;
    struct sigevent to = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &to, &timer), 0);
    struct itimerspec often = {{0, 300000}, {0, 300000}};
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_in_thread, &telling.numbered), 0);
    timer_settime(timer, 0, &often, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    timer_delete(timer);
    sigaction(SIGALRM, &before, NULL);
    static bool told[1 << 16];
    struct base_buf got = {0};
    enum event_kind kind;
    unsigned uses = 0;
    while ((kind = event_take(&telling.reader, &got, false)) != EVENT_NONE) {
        struct user use;
        struct event_stack stack;
        if (kind == EVENT_STACK) {
            memcpy(&stack, got.text, sizeof(stack));
            assert_true(stack.number < 1 << 16);
            told[stack.number] = true;
        } else if (kind == EVENT_CALL) {
            memcpy(&use, got.text, sizeof(use));
            assert_true(told[use.number]);
            uses++;
        }
    }
    assert_true(uses >= 1600);
    assert_int_equal(event_dropped(&telling.reader, EVENT_STACK), 0);
    base_buf_fini(&got);
    telling_fini(&telling);
}

static int make_rules(void **state)
{
    (void)state;
    rules = mmap(NULL, sizeof(*rules), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return rules == MAP_FAILED;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_of_every_shape_give_libgccs_path),
        cmocka_unit_test(random_stacks_give_libgccs_path),
        cmocka_unit_test(deep_recursion_is_cut_at_the_most),
        cmocka_unit_test(frames_of_the_c_library_are_passed),
        cmocka_unit_test(signal_frames_are_left_to_libgcc),
        cmocka_unit_test(threads_have_paths_of_their_own),
        cmocka_unit_test(the_smallest_stack_is_enough),
        cmocka_unit_test(fibers_are_stacks_too),
        cmocka_unit_test(code_without_tables_ends_the_path),
        cmocka_unit_test(code_made_at_run_time_ends_the_path),
        cmocka_unit_test(tables_that_lie_never_crash),
        cmocka_unit_test(garbage_tables_never_crash),
        cmocka_unit_test(the_same_place_by_another_way_is_another_path),
        cmocka_unit_test(unloaded_libraries_are_forgotten),
        cmocka_unit_test(deep_paths_in_turn_keep_their_numbers),
        cmocka_unit_test(equal_paths_are_one_number_and_told_once),
        cmocka_unit_test(a_full_ring_gives_no_number_until_there_is_room),
        cmocka_unit_test(errno_and_the_heap_are_left_alone),
        cmocka_unit_test(numbers_are_told_before_they_are_used),
    };
    return cmocka_run_group_tests(tests, make_rules, NULL);
}
