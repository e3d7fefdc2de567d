// SPDX-License-Identifier: Apache-2.0
// Uses signals, and memory that the GPU writes to, in ways that closed pages, a changed
// allocator or missing symbols would break: undisturbed NAME. Its output is the same
// whether it is recorded or not.
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "words.h"

enum { PAGE_WORDS = 1024, PAGES = 16, PIECE = PAGE_WORDS * PAGES };

static unsigned *pinned(void)
{
    void *memory;
    CHECK(cuMemAllocHost_v2(&memory, BYTES));
    return memory;
}

static void say(const char *what, long result)
{
    printf("%s %ld %s\n", what, result, result < 0 ? strerror(errno) : "");
}

// --- Memory beside results -----------------------------------------------------------------------

// Passes names and structures in this memory to the system, after a wait made its results safe.
static void give_to_system(char *memory)
{
    struct stat *status = (struct stat *)(void *)(memory + 512);
    struct pollfd *files = (struct pollfd *)(void *)(memory + 1024);
    FILE *file = fopen(memory, "r");
    say("fopen", file ? 0 : -1);
    if (file)
        fclose(file);
    say("stat", stat(memory, status));
    say("access", access(memory, R_OK));
    say("readlink", readlink("/proc/self/exe", memory + 2048, 8));
    say("poll", poll(files, 1, 0));
    say("clock_gettime", clock_gettime(CLOCK_REALTIME, (struct timespec *)(void *)(memory + 3072)));
    say("pipe", pipe((int *)(void *)(memory + 3584)));
}

static void system_in_managed(void)
{
    CUdeviceptr managed;
    CHECK(cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL));
    char *memory = (char *)(uintptr_t)managed; // NOLINT
    for (unsigned i = 0; i < 2; i++) {
        memcpy(memory, "/dev/null", sizeof("/dev/null"));
        *(struct pollfd *)(void *)(memory + 1024) = (struct pollfd){.fd = -1};
        CHECK(cuMemsetD8_v2(managed + BYTES / 2, 7, BYTES / 2));
        CHECK(cuCtxSynchronize());
        give_to_system(memory);
    }
}

static void system_in_pinned(void)
{
    char *memory = (char *)pinned();
    for (unsigned i = 0; i < 2; i++) {
        memcpy(memory, "/dev/null", sizeof("/dev/null"));
        *(struct pollfd *)(void *)(memory + 1024) = (struct pollfd){.fd = -1};
        CHECK(cuMemcpyDtoH_v2(memory + 3840, device, 100));
        give_to_system(memory);
    }
}

// A lock and counters share a page with copied results, and threads use them all the time.
struct shared {
    pthread_mutex_t lock;
    unsigned counted;
    _Atomic unsigned added, stop;
    unsigned results[256];
};

static void *hammer(void *user)
{
    struct shared *shared = user;
    while (!atomic_load(&shared->stop)) {
        pthread_mutex_lock(&shared->lock);
        shared->counted++;
        pthread_mutex_unlock(&shared->lock);
        atomic_fetch_add(&shared->added, 1);
    }
    return NULL;
}

static void hammer_beside(struct shared *shared)
{
    enum { THREADS = 4, ROUNDS = 300 };
    pthread_t threads[THREADS];
    unsigned bad = 0;
    memset(shared, 0, sizeof(*shared));
    pthread_mutex_init(&shared->lock, NULL);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, hammer, shared);
    for (unsigned i = 0; i < ROUNDS; i++) {
        CHECK(cuMemcpyDtoH_v2(shared->results, device, sizeof(shared->results)));
        CHECK(cuCtxSynchronize());
        bad += i % 3 == 0 && shared->results[200] != 200;
    }
    atomic_store(&shared->stop, 1);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%u bad, %s\n", bad, shared->counted == shared->added ? "all counted" : "some lost");
}

static void locks_beside(void)
{
    struct shared *shared = (struct shared *)(void *)pinned();
    hammer_beside(shared);
    shared = malloc(sizeof(*shared) + 200000);
    hammer_beside(shared);
}

// The whole page is results. Threads read them all the time while they are copied again.
static _Atomic bool stop_reading;

static void *read_on(void *user)
{
    const volatile unsigned *words = user;
    unsigned bad = 0;
    for (unsigned i = 0; !atomic_load(&stop_reading); i++)
        bad += words[1 + i % 100] != 1 + i % 100;
    return (void *)(uintptr_t)bad; // NOLINT
}

static void readers(void)
{
    enum { THREADS = 4, ROUNDS = 400 };
    pthread_t threads[THREADS];
    unsigned *words = pinned();
    uintptr_t bad = 0;
    CHECK(cuMemcpyDtoH_v2(words, device, PIECE * 4));
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, read_on, words);
    for (unsigned i = 0; i < ROUNDS; i++)
        CHECK(cuMemcpyDtoH_v2(words, device, PIECE * 4));
    atomic_store(&stop_reading, true);
    for (unsigned i = 0; i < THREADS; i++) {
        void *found;
        pthread_join(threads[i], &found);
        bad += (uintptr_t)found;
    }
    printf("%lu bad\n", (unsigned long)bad);
}

// --- Threads that block SIGSEGV ------------------------------------------------------------------

static unsigned *results;
static _Atomic unsigned seen;

static void copy_results(void)
{
    if (!results)
        results = pinned();
    CHECK(cuMemcpyDtoH_v2(results, device, PIECE * 4));
}

static void *touch(void *user)
{
    (void)user;
    atomic_store(&seen, results[77]);
    return NULL;
}

static void touch_in_handler(int number)
{
    (void)number;
    touch(NULL);
}

static void touch_in_timer(union sigval value)
{
    (void)value;
    touch(NULL);
}

static sigset_t with_fault(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    return set;
}

static void tell_seen(void)
{
    for (unsigned i = 0; i < 5000 && !atomic_load(&seen); i++)
        usleep(1000);
    printf("saw %u\n", atomic_load(&seen));
    atomic_store(&seen, 0);
}

static void blocked_by_attribute(void)
{
    pthread_t thread;
    pthread_attr_t attribute;
    const sigset_t set = with_fault();
    copy_results();
    pthread_attr_init(&attribute);
    pthread_attr_setsigmask_np(&attribute, &set);
    pthread_create(&thread, &attribute, touch, NULL);
    pthread_join(thread, NULL);
    tell_seen();
}

static void blocked_in_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = touch_in_timer};
    const struct itimerspec soon = {.it_value = {.tv_nsec = 1000000}};
    timer_t timer;
    copy_results();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        exit(1);
    timer_settime(timer, 0, &soon, NULL);
    tell_seen();
}

static void blocked_in_sigsuspend(void)
{
    sigset_t set;
    sigfillset(&set);
    sigdelset(&set, SIGUSR1);
    signal(SIGUSR1, touch_in_handler);
    copy_results();
    sigset_t block, old;
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    sigprocmask(SIG_BLOCK, &block, &old);
    raise(SIGUSR1);
    sigsuspend(&set);
    sigprocmask(SIG_SETMASK, &old, NULL);
    tell_seen();
}

static void blocked_in_ppoll(void)
{
    sigset_t set, block;
    sigfillset(&set);
    sigdelset(&set, SIGUSR1);
    signal(SIGUSR1, touch_in_handler);
    copy_results();
    sigemptyset(&block);
    sigaddset(&block, SIGUSR1);
    sigprocmask(SIG_BLOCK, &block, NULL);
    raise(SIGUSR1);
    const struct timespec long_enough = {5, 0};
    say("ppoll", ppoll(NULL, 0, &long_enough, &set));
    tell_seen();
}

static void blocked_by_sighold(void)
{
    copy_results();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    sighold(SIGSEGV);
#pragma GCC diagnostic pop
    touch(NULL);
    tell_seen();
}

static void blocked_by_number(void)
{
    const sigset_t set = with_fault();
    copy_results();
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8);
    touch(NULL);
    tell_seen();
}

static ucontext_t back;

static void in_context(void)
{
    touch(NULL);
}

static void blocked_in_context(void)
{
    static char stack[65536];
    ucontext_t context;
    copy_results();
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = sizeof(stack);
    context.uc_link = &back;
    context.uc_sigmask = with_fault();
    makecontext(&context, in_context, 0);
    swapcontext(&back, &context);
    tell_seen();
}

// Blocks the signal by a system call instruction, not through the C library, before any copy.
static void blocked_by_itself(void)
{
    const unsigned long set = 1ul << (SIGSEGV - 1);
#if defined(__x86_64__)
    register long r10 __asm__("r10") = 8;
    long result = SYS_rt_sigprocmask;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(SIG_BLOCK), "S"(&set), "d"(NULL), "r"(r10)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = SYS_rt_sigprocmask;
    register long x0 __asm__("x0") = SIG_BLOCK;
    register const void *x1 __asm__("x1") = &set;
    register const void *x2 __asm__("x2") = NULL;
    register long x3 __asm__("x3") = 8;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
#endif
    copy_results();
    touch(NULL);
    tell_seen();
}

static void *block_itself(void *user)
{
    (void)user;
    blocked_by_itself();
    return NULL;
}

// The near miss: blocks and unblocks the signal through the C library, so glint keeps watching.
static void blocked_the_usual_way(void)
{
    const sigset_t set = with_fault();
    copy_results();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    touch(NULL);
    tell_seen();
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void blocked_in_thread(void)
{
    pthread_t thread;
    copy_results();
    touch(NULL);
    tell_seen();
    pthread_create(&thread, NULL, block_itself, NULL);
    pthread_join(thread, NULL);
}

// --- Faults of the program -----------------------------------------------------------------------

// A write-protected piece, as garbage collectors use, between two pieces of results.
static _Alignas(1 << 16) unsigned area[3 * PIECE];
static _Atomic unsigned faults;

static void let_write(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    const uintptr_t at = (uintptr_t)info->si_addr - (uintptr_t)(area + PIECE);
    if (at >= PIECE * 4)
        _exit(1);
    atomic_fetch_add(&faults, 1);
    mprotect(area + PIECE, PIECE * 4, PROT_READ | PROT_WRITE);
}

static void own_faults(void)
{
    const struct sigaction action = {.sa_sigaction = let_write, .sa_flags = SA_SIGINFO};
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    const struct rlimit none = {0, files.rlim_max};
    sigaction(SIGSEGV, &action, NULL);
    for (unsigned i = 0; i < 10; i++) {
        CHECK(cuMemcpyDtoH_v2(area, device, PIECE * 4));
        CHECK(cuMemcpyDtoH_v2(area + 2 * PIECE, device, PIECE * 4));
        mprotect(area + PIECE, PIECE * 4, PROT_READ);
        setrlimit(RLIMIT_NOFILE, i < 5 ? &files : &none); // later rounds cannot open files
        ((volatile unsigned *)area)[PIECE + 5] = i;
        setrlimit(RLIMIT_NOFILE, &files);
        printf("%u faults, %u\n", atomic_load(&faults), area[5] + area[2 * PIECE + 5]);
    }
}

// --- The limit on mappings -----------------------------------------------------------------------

static unsigned fill_mappings(void)
{
    enum { MOST = 300000 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/sys/vm/max_map_count", "r");
    unsigned most = 0, made = 0;
    if (!file || fscanf(file, "%u", &most) != 1 || most > MOST)
        return 0;
    fclose(file);
    char *all = mmap(NULL, (most + 2ul) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return 0;
    while (made < most / 2 && mprotect(all + (2ul * made + 1) * page, page, PROT_READ) == 0)
        made++;
    return made;
}

// Three adjacent pieces of results are one closed mapping, and the kernel allows no more mappings.
static void mapping_limit(void)
{
    unsigned *words = pinned();
    CHECK(cuMemcpyDtoH_v2(words, device, PIECE * 4));
    CHECK(cuMemcpyDtoH_v2(words + PIECE, device, PIECE * 4));
    CHECK(cuMemcpyDtoH_v2(words + 2 * PIECE, device, PIECE * 4));
    const bool full = fill_mappings();
    const unsigned found = words[PIECE + 5] + words[5] + words[2 * PIECE + 5];
    fprintf(stderr, "%s\n", full ? "full" : "SKIP: vm.max_map_count is too high");
    printf("%u\n", found);
}

// --- The allocator, and names --------------------------------------------------------------------

static void *(*volatile allocate)(size_t) = malloc;

static void allocator(void)
{
    void *blocks[8];
    for (unsigned i = 0; i < 8; i++)
        blocks[i] = allocate(100000);
    printf("%zu mapped alone\n", mallinfo2().hblks);
    for (unsigned i = 0; i < 8; i++)
        free(blocks[i]);
    blocks[0] = allocate(1 << 20);
    free(blocks[0]);
    printf("%zu mapped alone\n", mallinfo2().hblks);
}

extern int MPI_Init(int *, char ***) __attribute__((weak, visibility("default")));
extern int MPI_Send(const void *, int, long, int, int, long)
    __attribute__((weak, visibility("default")));
extern int MPI_Barrier(long) __attribute__((weak, visibility("default")));

static void weak_mpi(void)
{
    int (*volatile init)(int *, char ***) = MPI_Init;
    int (*volatile send)(const void *, int, long, int, int, long) = MPI_Send;
    int (*volatile barrier)(long) = MPI_Barrier;
    printf("MPI %s %s %s\n", init ? "is there" : "is not", send ? "is there" : "is not",
           barrier ? "is there" : "is not");
    if (send && init)
        send(NULL, 0, 0, 0, 0, 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"system_in_managed", system_in_managed},
        {"system_in_pinned", system_in_pinned},
        {"locks_beside", locks_beside},
        {"readers", readers},
        {"blocked_by_attribute", blocked_by_attribute},
        {"blocked_in_timer", blocked_in_timer},
        {"blocked_in_sigsuspend", blocked_in_sigsuspend},
        {"blocked_in_ppoll", blocked_in_ppoll},
        {"blocked_by_sighold", blocked_by_sighold},
        {"blocked_by_number", blocked_by_number},
        {"blocked_in_context", blocked_in_context},
        {"blocked_by_itself", blocked_by_itself},
        {"blocked_in_thread", blocked_in_thread},
        {"blocked_the_usual_way", blocked_the_usual_way},
        {"own_faults", own_faults},
        {"mapping_limit", mapping_limit},
        {"allocator", allocator},
        {"weak_mpi", weak_mpi},
    };
    words_count();
    words_to_device();
    for (unsigned i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    }
    return 2;
}
