// SPDX-License-Identifier: Apache-2.0
// Uses results of the GPU, in one way for each of its arguments. Its output does not depend on
// whether glint watches for first uses. A line with a first use is marked with "used:" and a word
// that the test looks up by line number.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "words.h"

enum { PAGE = 4096 };

static __attribute__((noinline)) unsigned read_word(const unsigned *words, unsigned i)
{
    return ((const volatile unsigned *)words)[i]; // used: read
}

static __attribute__((noinline)) void write_word(unsigned *words, unsigned i)
{
    ((volatile unsigned *)words)[i] = 7; // used: write
}

static unsigned *pinned_bytes(size_t bytes)
{
    void *words;
    CHECK(cuMemAllocHost_v2(&words, bytes));
    return words;
}

// --- Reading and writing -------------------------------------------------------------------------

static void reads(void)
{
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    printf("%u\n", read_word(words, 1000));
    printf("%u\n", sum_of(words, WORDS));
    free(words);
}

// Freeing a mapped block raises malloc's mmap threshold, so later blocks come from the heap.
static void after_free(void)
{
    unsigned *large = malloc(4 * BYTES);
    memset(large, 0, 4 * BYTES);
    free(large);
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    printf("%u\n", read_word(words, 0));
}

static void writes(void)
{
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    write_word(words, 0);
    printf("%u\n", sum_of(words, WORDS));
    free(words);
}

static void asynchronous(void)
{
    CUstream stream;
    unsigned *words = pinned_bytes(BYTES);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemcpyDtoHAsync_v2(words, device, BYTES, stream));
    CHECK(cuStreamSynchronize(stream));
    printf("%u\n", read_word(words, WORDS - 1));
    CHECK(cuMemFreeHost(words));
}

// The event precedes the second copy, so it only makes the result of the first copy safe to read.
static void events(void)
{
    CUstream stream;
    CUevent event;
    unsigned *first = pinned_bytes(BYTES), *second = pinned_bytes(BYTES);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuMemcpyDtoHAsync_v2(first, device, BYTES, stream));
    CHECK(cuEventRecord(event, stream));
    CHECK(cuMemcpyDtoHAsync_v2(second, device, BYTES, stream));
    CHECK(cuEventSynchronize(event));
    printf("%u\n", read_word(first, 5));
    CHECK(cuCtxSynchronize());
    printf("%u\n", read_word(second, 6));
}

// The copy runs on one stream, and the program waits for another stream that waits for it.
static void stream_waits(void)
{
    CUstream stream, other;
    CUevent event;
    unsigned *words = pinned_bytes(BYTES);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK(cuStreamSynchronize(other));
    CHECK(cuMemcpyDtoHAsync_v2(words, device, BYTES, stream));
    CHECK(cuEventRecord(event, stream));
    CHECK(cuStreamWaitEvent(other, event, 0));
    CHECK(cuStreamSynchronize(other));
    printf("%u\n", read_word(words, 7));
}

static void never_used(void)
{
    unsigned *words = block(), *pinned = pinned_bytes(BYTES), *kept = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    CHECK(cuMemcpyDtoH_v2(pinned, device, BYTES));
    CHECK(cuMemcpyDtoH_v2(kept, device, BYTES)); // still allocated when the program ends
    CHECK(cuCtxSynchronize());
    free(words);
    CHECK(cuMemFreeHost(pinned));
}

static void overwritten(void)
{
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    CHECK(cuMemcpyDtoH_v2(words, device + 4, BYTES - 4));
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    printf("%u\n", read_word(words, 1));
}

static void on_stack(void)
{
    unsigned words[4 * PAGE];
    CHECK(cuMemcpyDtoH_v2(words, device, sizeof(words)));
    printf("%u\n", sum_of(words, 4 * PAGE));
}

static void in_heap(void)
{
    unsigned *words = malloc(64), *more = malloc(64);
    CHECK(cuMemcpyDtoH_v2(words, device, 64));
    printf("%u\n", sum_of(words, 16));
    free(more);
    free(words);
}

static unsigned variable[8 * PAGE]; // some of its pages contain no other data

static void in_variable(void)
{
    CHECK(cuMemcpyDtoH_v2(variable, device, sizeof(variable)));
    printf("%u\n", read_word(variable, 4 * PAGE));
    printf("%u\n", sum_of(variable, 8 * PAGE));
}

static void aligned(void)
{
    unsigned *line = aligned_alloc(64, BYTES), *page = aligned_alloc(PAGE, BYTES);
    CHECK(cuMemcpyDtoH_v2(line, device, BYTES));
    CHECK(cuMemcpyDtoH_v2(page, device, BYTES));
    printf("%u\n", read_word(line, 0));
    printf("%u\n", read_word(page, WORDS - 1));
}

// The program registers closed pages with the driver, and glint keeps watching the data.
static void registered(void)
{
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    CHECK(cuMemHostRegister_v2(words, BYTES, 0));
    CHECK(cuMemHostUnregister(words));
    printf("%u\n", read_word(words, 13));
}

// The first and last page of the variable are shared with other data, so glint does not watch them.
static void edges(void)
{
    CHECK(cuMemcpyDtoH_v2(variable, device, sizeof(variable)));
    CHECK(cuCtxSynchronize());
}

static void part_of_block(void)
{
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, 4 * PAGE));
    words[4 * PAGE / 4] = 1; // after the copied data
    printf("%u\n", read_word(words, 2 * PAGE / 4));
}

static void rows(void)
{
    enum { PITCH = 256, WIDTH = 64, HEIGHT = 100 };
    char *memory = (char *)pinned_bytes((size_t)PITCH * HEIGHT);
    memset(memory, 0, (size_t)PITCH * HEIGHT);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = device,
                          .srcPitch = WIDTH,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = memory,
                          .dstPitch = PITCH,
                          .WidthInBytes = WIDTH,
                          .Height = HEIGHT};
    CHECK(cuMemcpy2D_v2(&copy));
    printf("%d\n", ((volatile char *)memory)[PITCH + WIDTH]); // between rows: not data
    CHECK(cuCtxSynchronize());
    printf("%u\n", read_word((unsigned *)(void *)memory, 3 * PITCH / 4 + 2));
}

// The second copy writes between the rows of the first.
static void columns(void)
{
    enum { PITCH = 256, WIDTH = 64, HEIGHT = 100 };
    char *memory = (char *)pinned_bytes((size_t)PITCH * HEIGHT);
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = device,
                          .srcPitch = WIDTH,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = memory + WIDTH,
                          .dstPitch = PITCH,
                          .WidthInBytes = WIDTH,
                          .Height = HEIGHT / 2};
    CHECK(cuMemcpy2D_v2(&copy));
    copy.dstHost = memory;
    copy.Height = HEIGHT;
    CHECK(cuMemcpy2D_v2(&copy));
    printf("%u\n", read_word((unsigned *)(void *)memory, (PITCH + WIDTH) / 4 + 1));
}

// --- Neighbors -----------------------------------------------------------------------------------

static void neighbours(void)
{
    unsigned *page = pinned_bytes(PAGE), *a = page, *b = page + 250;
    CHECK(cuMemcpyDtoH_v2(a, device, 1000));
    CHECK(cuMemcpyDtoH_v2(b, device, 1000));
    printf("%u\n", read_word(b, 1));
    CHECK(cuCtxSynchronize()); // the page is closed again
    printf("%u\n", read_word(a, 2));
}

static void touched_beside(void)
{
    unsigned *page = pinned_bytes(PAGE);
    CHECK(cuMemcpyDtoH_v2(page, device, 1000));
    page[500] = 1;
    printf("%u\n", page[500]);
    CHECK(cuCtxSynchronize());
}

// A fault opens one page only. The system may write to another page of the same data afterwards.
static void handed_beside(void)
{
    unsigned *words = pinned_bytes(4 * PAGE);
    int ends[2];
    CHECK(cuMemcpyDtoH_v2(words + 16, device, 3 * PAGE - 128));
    printf("%u\n", read_word(words, 0));
    CHECK(pipe(ends) != 0);
    printf("%zd\n", write(ends[1], "beside", 6));
    printf("%zd\n", read(ends[0], (char *)words + 3 * PAGE - 16, 6));
    printf("%.6s\n", (char *)words + 3 * PAGE - 16);
}

// --- Other threads -------------------------------------------------------------------------------

static void *read_there(void *words)
{
    printf("%u\n", read_word(words, 9));
    return NULL;
}

static void other_thread(void)
{
    pthread_t thread;
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    pthread_create(&thread, NULL, read_there, words);
    pthread_join(thread, NULL);
}

static void *read_all(void *user)
{
    unsigned *const *blocks = user;
    unsigned long sum = 0;
    for (unsigned i = 0; i < 8; i++)
        sum += sum_of(blocks[i], WORDS);
    return (void *)sum;
}

// All threads touch the same pages at once, while glint closes new ones.
static void many_threads(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    unsigned *blocks[8];
    unsigned *more = block();
    for (unsigned i = 0; i < 8; i++)
        blocks[i] = i % 2 ? block() : pinned_bytes(BYTES);
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 8; i++)
            CHECK(cuMemcpyDtoH_v2(blocks[i], device, BYTES));
        for (unsigned i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, read_all, blocks);
        for (unsigned i = 0; i < 20; i++)
            CHECK(cuMemcpyDtoH_v2(more, device, BYTES));
        for (unsigned i = 0; i < THREADS; i++) {
            void *sum;
            pthread_join(threads[i], &sum);
            if (sum != (void *)(8ul * sum_of(more, WORDS)))
                printf("wrong\n");
        }
    }
    printf("done\n");
}

static void CUDA_CB_host(void *words)
{
    printf("%u\n", read_word(words, 3));
}

static void host_function(void)
{
    CUstream stream;
    unsigned *words = pinned_bytes(BYTES);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuMemcpyDtoHAsync_v2(words, device, BYTES, stream));
    CHECK(cuStreamSynchronize(stream));
    CHECK(cuLaunchHostFunc(stream, CUDA_CB_host, words));
    CHECK(cuStreamSynchronize(stream));
}

// --- The system ----------------------------------------------------------------------------------

static int scratch(void)
{
    char name[] = "/tmp/glint-first-use-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    return file;
}

static void check_file(int file)
{
    unsigned *words = block();
    printf("%zd ", pread(file, words, BYTES, 0));
    printf("%u\n", sum_of(words, WORDS));
    free(words);
}

static void system_writes(void)
{
    unsigned *words = block();
    int file = scratch();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    printf("%zd %d\n", write(file, (char *)words + 100, BYTES - 100), errno); // used: handed
    pwrite(file, words, BYTES, 0);
    check_file(file);
}

static void system_vectors(void)
{
    unsigned *words = block(), *other = pinned_bytes(BYTES);
    unsigned *lower = words < other ? words : other, *upper = words < other ? other : words;
    int file = scratch();
    CHECK(cuMemcpyDtoH_v2(lower, device, BYTES));
    CHECK(cuMemcpyDtoH_v2(upper, device, BYTES));
    // The memory between the pieces counts as handed over, too, so each piece ends the whole range.
    struct iovec pieces[] = {{upper, BYTES / 2}, {lower + WORDS / 2, BYTES / 2}};
    printf("%zd\n", writev(file, pieces, 2)); // used: handed
    check_file(file);
}

// The iovec table is far from the piece that it names. The data between them is not handed over.
static void system_beside(void)
{
    unsigned *lower = block(), *words = block(), *upper = block();
    const struct {
        struct iovec *table;
        unsigned *data;
    } orders[] = {{(struct iovec *)lower, upper}, {(struct iovec *)upper, lower}};
    for (unsigned i = 0; i < 2; i++) {
        *orders[i].table = (struct iovec){orders[i].data, 16};
        CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
        printf("%zd\n", writev(scratch(), orders[i].table, 1));
        printf("%u\n", read_word(words, i));
    }
}

static void system_prints(void)
{
    unsigned *words = block();
    FILE *file = fdopen(scratch(), "w+");
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    printf("%zu\n", fwrite(words, 4, WORDS, file)); // used: handed
    fflush(file);
    check_file(fileno(file));
}

static void system_sends(void)
{
    int ends[2];
    unsigned *words = block(), *got = block();
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    printf("%zd\n", send(ends[0], words, PAGE, 0)); // used: handed
    CHECK(cuMemcpyDtoH_v2(got, device + PAGE, BYTES - PAGE));
    printf("%zd\n", recv(ends[1], got, PAGE, MSG_WAITALL)); // used: handed
    printf("%u\n", sum_of(got, PAGE / 4));
}

static void copied_back(void)
{
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    CHECK(cuMemcpyHtoD_v2(device, words, BYTES)); // used: handed
    printf("%u\n", sum_of(words, WORDS));
}

// --- Signals -------------------------------------------------------------------------------------

static sigjmp_buf back;
static char *volatile wrong_address;
static volatile int handled;

static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)context;
    handled++;
    printf("signal %d at %s address\n", number, info->si_addr == wrong_address ? "its" : "another");
    siglongjmp(back, 1);
}

static void fault(void)
{
    if (!sigsetjmp(back, 1))
        *wrong_address = 1;
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, old;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGSEGV, NULL, &old);
    printf("installed %d %d\n", old.sa_sigaction == on_fault, old.sa_flags == SA_SIGINFO);
}

static void use_and_fault(void)
{
    unsigned *words = block();
    for (unsigned i = 0; i < 3; i++) {
        fault();
        CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
        fault();
        printf("%u\n", read_word(words, 10));
    }
    printf("handled %d\n", handled);
}

static void handler_before(void)
{
    wrong_address = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    install();
    use_and_fault();
}

static void handler_after(void)
{
    unsigned *words = block();
    struct sigaction old;
    wrong_address = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    sigaction(SIGSEGV, NULL, &old);
    printf("default %d\n", old.sa_handler == SIG_DFL);
    install();
    use_and_fault();
    printf("default %d\n", signal(SIGSEGV, SIG_DFL) == (void (*)(int))(void (*)(void))on_fault);
}

static void dies(void)
{
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    printf("%u\n", read_word(words, 1));
    fflush(stdout);
    *wrong_address = 1;
}

static void on_other(int number)
{
    (void)number;
    handled++;
}

static void blocked(void)
{
    sigset_t set, old;
    unsigned *words = block();
    struct sigaction action = {.sa_handler = on_other}, was;
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR1, NULL, &was);
    printf("masked %d\n", sigismember(&was.sa_mask, SIGSEGV));
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    printf("%u\n", read_word(words, 11));
    pthread_sigmask(SIG_SETMASK, NULL, &old);
    printf("blocked %d\n", sigismember(&old, SIGSEGV));
    // A blocked signal stays pending until the program unblocks it.
    signal(SIGSEGV, on_other);
    raise(SIGSEGV);
    printf("handled %d\n", handled);
    sigemptyset(&set);
    pthread_sigmask(SIG_SETMASK, &set, &old);
    printf("handled %d, was blocked %d\n", handled, sigismember(&old, SIGSEGV));
}

static void *overflow(void *user)
{
    char room[256];
    memset(room, 1, sizeof(room));
    return user ? room[10] + (char *)overflow(room) : NULL;
}

// This handler runs on an alternate stack and sees the overflow of the normal one.
static void on_overflow(int number)
{
    (void)number;
    static const char text[] = "no stack left\n";
    if (write(1, text, sizeof(text) - 1) > 0)
        _exit(5);
}

static void stack_overflow(void)
{
    unsigned *words = block();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_overflow, .sa_flags = SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    printf("%u\n", read_word(words, 12));
    fflush(stdout);
    overflow(words);
}

// --- Processes -----------------------------------------------------------------------------------

static void forks(void)
{
    unsigned *words = block();
    int status = 0;
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    fflush(stdout);
    if (fork() == 0) {
        printf("%u\n", read_word(words, 20));
        printf("%zd\n", write(scratch(), words, BYTES));
        fflush(stdout);
        _exit(sum_of(words, 16) & 127);
    }
    wait(&status);
    printf("%d\n", WEXITSTATUS(status));
    printf("%u\n", read_word(words, 21));
}

// Signal dispositions that a vfork child changes must not affect the parent.
static void vforks(void)
{
    unsigned *words = block();
    int status = 0;
    wrong_address = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    install();
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
    fflush(stdout);
    const pid_t child = vfork();
    if (child == 0) {
        signal(SIGSEGV, SIG_IGN);
        execl("/bin/true", "true", NULL);
        _exit(9);
    }
    waitpid(child, &status, 0);
    printf("%d\n", WEXITSTATUS(status));
    fault();
    printf("%u\n", read_word(words, 22));
}

// --- Managed memory, graphs ----------------------------------------------------------------------

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry add(.param .u64 p)\n{\n"
                          "    .reg .b64 %rd<2>;\n    .reg .b32 %r<2>;\n"
                          "    ld.param.u64 %rd1, [p];\n    ld.u32 %r1, [%rd1];\n"
                          "    add.u32 %r1, %r1, 1;\n    st.u32 [%rd1], %r1;\n    ret;\n}\n";

static void managed(void)
{
    CUmodule module;
    CUfunction add;
    CUdeviceptr used, unused;
    CHECK(cuModuleLoadData(&module, ptx));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    CHECK(cuMemAllocManaged(&used, BYTES, CU_MEM_ATTACH_GLOBAL));
    CHECK(cuMemAllocManaged(&unused, BYTES, CU_MEM_ATTACH_GLOBAL));
    unsigned *words = (unsigned *)(uintptr_t)used;
    words[0] = 1;
    void *params[] = {&used};
    for (unsigned i = 0; i < 2; i++) {
        CHECK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
        CHECK(cuCtxSynchronize());
        printf("%u\n", read_word(words, 0));
    }
    CHECK(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CHECK(cuMemFree_v2(unused));
    CHECK(cuMemFree_v2(used));
}

static void graphs(void)
{
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    unsigned *words = pinned_bytes(BYTES);
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CHECK(cuMemcpyDtoHAsync_v2(words, device, BYTES, stream));
    CHECK(cuStreamEndCapture(stream, &graph));
    CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (unsigned i = 0; i < 2; i++) {
        CHECK(cuGraphLaunch(exec, stream));
        CHECK(cuStreamSynchronize(stream));
        printf("%u\n", read_word(words, 30 + i));
    }
}

// If a call path uses its data every time, glint only samples its first uses.
static void often(void)
{
    unsigned *words = block(), sum = 0;
    for (unsigned i = 0; i < 1000; i++) {
        CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
        sum += read_word(words, i);
    }
    printf("%u\n", sum);
}

// libglint.so's MPI wrappers must not be found by dlsym where the program has no MPI.
static void no_mpi(void)
{
    void *self = dlopen(NULL, RTLD_LAZY);
    printf("%d %d\n", dlsym(RTLD_DEFAULT, "MPI_Send") == NULL, dlsym(self, "PMPI_Wait") == NULL);
    printf("%s\n", dlerror() ? "not found" : "found");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"reads", reads},
        {"after_free", after_free},
        {"writes", writes},
        {"asynchronous", asynchronous},
        {"events", events},
        {"stream_waits", stream_waits},
        {"never_used", never_used},
        {"overwritten", overwritten},
        {"on_stack", on_stack},
        {"in_heap", in_heap},
        {"in_variable", in_variable},
        {"aligned", aligned},
        {"registered", registered},
        {"edges", edges},
        {"part_of_block", part_of_block},
        {"rows", rows},
        {"columns", columns},
        {"neighbours", neighbours},
        {"touched_beside", touched_beside},
        {"handed_beside", handed_beside},
        {"other_thread", other_thread},
        {"many_threads", many_threads},
        {"host_function", host_function},
        {"system_writes", system_writes},
        {"system_vectors", system_vectors},
        {"system_beside", system_beside},
        {"system_prints", system_prints},
        {"system_sends", system_sends},
        {"copied_back", copied_back},
        {"handler_before", handler_before},
        {"handler_after", handler_after},
        {"dies", dies},
        {"blocked", blocked},
        {"stack_overflow", stack_overflow},
        {"forks", forks},
        {"vforks", vforks},
        {"managed", managed},
        {"graphs", graphs},
        {"often", often},
        {"no_mpi", no_mpi},
    };
    words_count();
    words_to_device();
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (argc < 2)
            printf("%s\n", cases[i].name);
        else if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    }
    return 3;
}
