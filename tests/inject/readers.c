// SPDX-License-Identifier: Apache-2.0
// Lets others than its own instructions and the C library's functions read its memory: readers
// CASE. It copies from the device to the host, has another reader read the data, and prints whether
// the reader saw what the device had.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"
#include "readers.h"

enum { BYTES = 128 << 10, ROUNDS = 3 };

static CUdeviceptr device;
static unsigned char *words;      // the target of copies from the device
static unsigned char seen[BYTES]; // what the reader has read there
static const char *plugin = READERS_PLUGIN, *verbs = READERS_VERBS;

// Copies to host memory. With an asynchronous remedy, the data may still be pending on return.
static void bring(unsigned char value)
{
    CHECK(cuMemsetD8_v2(device, value, BYTES));
    CHECK(cuMemcpyDtoH_v2(words, device, BYTES));
}

static void tell(long result, unsigned char value)
{
    size_t good = 0;
    for (size_t i = 0; i < BYTES; i++)
        good += seen[i] == value;
    printf("%d: %ld, %zu bytes\n", value, result, good);
    memset(seen, 0, sizeof(seen));
}

// A file that a reader writes to, and that the program reads back.
static int scratch(void)
{
    const int file = (int)syscall(SYS_memfd_create, "scratch", 0);
    if (file < 0)
        exit(77);
    return file;
}

static void read_back(int file, long result, unsigned char value)
{
    if (pread(file, seen, BYTES, 0) < 0)
        memset(seen, 0, sizeof(seen));
    tell(result, value);
}

// --- io_uring ------------------------------------------------------------------------------------

struct ring {
    int file;
    unsigned given; // entries submitted so far; completed entries stay in the other queue
    char *queue;
    struct io_uring_sqe *entries;
    struct io_uring_params params;
};

typedef long system_call(long number, long a, long b, long c, long d);

static long by_library(long number, long a, long b, long c, long d)
{
    return syscall(number, a, b, c, d, 0L, 0L);
}

static void make_ring(struct ring *ring, system_call *call)
{
    memset(ring, 0, sizeof(*ring));
    ring->file = (int)call(SYS_io_uring_setup, 4, (long)&ring->params, 0, 0);
    if (ring->file < 0) {
        printf("there is no io_uring here\n");
        exit(0);
    }
    const size_t bytes = ring->params.sq_off.array + ring->params.sq_entries * sizeof(unsigned);
    ring->queue = mmap(NULL, bytes < 65536 ? 65536 : bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                       ring->file, IORING_OFF_SQ_RING);
    ring->entries = mmap(NULL, ring->params.sq_entries * sizeof(struct io_uring_sqe),
                         PROT_READ | PROT_WRITE, MAP_SHARED, ring->file, IORING_OFF_SQES);
    if (ring->queue == MAP_FAILED || (void *)ring->entries == MAP_FAILED)
        exit(1);
}

static long write_by(struct ring *ring, system_call *call, int file)
{
    unsigned *tail = (unsigned *)(void *)(ring->queue + ring->params.sq_off.tail);
    const unsigned mask = *(unsigned *)(void *)(ring->queue + ring->params.sq_off.ring_mask);
    unsigned *array = (unsigned *)(void *)(ring->queue + ring->params.sq_off.array);
    ring->entries[*tail & mask] = (struct io_uring_sqe){
        .opcode = IORING_OP_WRITE, .fd = file, .addr = (uint64_t)(uintptr_t)words, .len = BYTES};
    array[*tail & mask] = *tail & mask;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    return call(SYS_io_uring_enter, ring->file, 1, ++ring->given, IORING_ENTER_GETEVENTS);
}

static void by_ring(system_call *call, bool late)
{
    struct ring ring;
    if (!late)
        make_ring(&ring, call);
    for (unsigned char i = 1; i <= ROUNDS; i++) {
        const int file = scratch();
        bring(i);
        if (late && i == 1)
            make_ring(&ring, call);
        read_back(file, write_by(&ring, call, file), i);
        close(file);
    }
}

static void io_uring(void)
{
    by_ring(by_library, false);
}

static void io_uring_late(void)
{
    by_ring(by_library, true);
}

static void io_uring_own(void)
{
    by_ring(own_system, false);
}

// --- Libraries -----------------------------------------------------------------------------------

typedef long write_function(int file, const void *from, unsigned long bytes);

static write_function *find(void *library, const char *name)
{
    write_function *found = library ? (write_function *)dlsym(library, name) : NULL;
    if (!found) {
        printf("%s\n", dlerror());
        exit(1);
    }
    return found;
}

static void by_plugin(const char *path, int flags, const char *name)
{
    for (unsigned char i = 1; i <= ROUNDS; i++) {
        const int file = scratch();
        bring(i);
        read_back(file, find(dlopen(path, flags), name)(file, words, BYTES), i);
        close(file);
    }
}

static void deepbind(void)
{
    by_plugin(plugin, RTLD_NOW | RTLD_DEEPBIND, "plugin_write");
}

// A near miss: glint sees the calls of a library that is loaded the usual way.
static void plain_library(void)
{
    by_plugin(plugin, RTLD_NOW, "plugin_write");
}

static void namespaces(void)
{
    const int file = scratch();
    bring(1);
    void *library = dlmopen(LM_ID_NEWLM, plugin, RTLD_NOW);
    read_back(file, find(library, "plugin_write")(file, words, BYTES), 1);
}

static void rdma_late(void)
{
    by_plugin(verbs, RTLD_NOW, "plugin_write_itself");
}

static void *load_verbs(void *unused)
{
    (void)unused;
    return dlopen(verbs, RTLD_NOW);
}

// A thread that ends afterwards loads the library.
static void rdma_thread(void)
{
    pthread_t thread;
    void *library;
    bring(1);
    pthread_create(&thread, NULL, load_verbs, NULL);
    pthread_join(thread, &library);
    for (unsigned char i = 1; i <= ROUNDS; i++) {
        const int file = scratch();
        bring(i);
        read_back(file, find(library, "plugin_write_itself")(file, words, BYTES), i);
        close(file);
    }
}

// --- The process's own memory as a file ----------------------------------------------------------

static void by_file(int file)
{
    tell(pread(file, seen, BYTES, (off_t)(uintptr_t)words), 1);
    for (unsigned char i = 2; i <= ROUNDS; i++) {
        bring(i);
        tell(pread(file, seen, BYTES, (off_t)(uintptr_t)words), i);
    }
}

static void own_memory(void)
{
    bring(1);
    by_file(open("/proc/self/mem", O_RDONLY));
}

static void own_memory_number(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)getpid());
    bring(1);
    by_file(openat(AT_FDCWD, path, O_RDONLY));
}

static void own_memory_folder(void)
{
    const int folder = open("/proc/self", O_RDONLY | O_DIRECTORY);
    bring(1);
    by_file((int)syscall(SYS_openat, folder, "mem", O_RDONLY));
}

static void own_memory_stream(void)
{
    bring(1);
    by_file(fileno(fopen("/proc/thread-self/mem", "r")));
}

static void own_memory_itself(void)
{
    const int file = (int)own_system(SYS_openat, AT_FDCWD, (long)"/proc/self/mem", O_RDONLY, 0);
    bring(1);
    by_file(file);
}

// --- Other ways ----------------------------------------------------------------------------------

static void own_process(void)
{
    for (unsigned char i = 1; i <= ROUNDS; i++) {
        const struct iovec to = {seen, BYTES}, from = {words, BYTES};
        bring(i);
        tell(i % 2 ? process_vm_readv(getpid(), &to, 1, &from, 1, 0)
                   : syscall(SYS_process_vm_readv, getpid(), &to, 1, &from, 1, 0),
             i);
    }
}

// A child process that is allowed to read its parent's memory.
static void other_process(void)
{
    int asks[2], answers[2];
    const pid_t parent = getpid();
    if (pipe(asks) != 0 || pipe(answers) != 0)
        exit(1);
    const pid_t child = fork();
    if (child == 0) {
        for (unsigned char i = 1; i <= ROUNDS; i++) {
            const struct iovec to = {seen, BYTES}, from = {words, BYTES};
            char asked;
            if (read(asks[0], &asked, 1) != 1)
                _exit(1);
            const long got = process_vm_readv(parent, &to, 1, &from, 1, 0);
            if (write(answers[1], &got, sizeof(got)) < 0 || write(answers[1], seen, BYTES) < 0)
                _exit(1);
        }
        _exit(0);
    }
    prctl(PR_SET_PTRACER, child, 0, 0, 0);
    for (unsigned char i = 1; i <= ROUNDS; i++) {
        long got = 0;
        size_t count = 0;
        bring(i);
        if (write(asks[1], "?", 1) != 1 || read(answers[0], &got, sizeof(got)) < 0)
            exit(1);
        while (count < BYTES) {
            const ssize_t more = read(answers[0], seen + count, BYTES - count);
            if (more <= 0)
                exit(1);
            count += (size_t)more;
        }
        tell(got, i);
    }
    waitpid(child, NULL, 0);
}

// Near misses: files and processes that give no access to the program's memory.
static void others(void)
{
    char path[64];
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)child);
    const int memory = open(path, O_RDONLY), maps = open("/proc/self/maps", O_RDONLY);
    const int event = eventfd(0, 0), poll = epoll_create1(0);
    FILE *status = fopen("/proc/self/status", "r");
    const int file = scratch();
    for (unsigned char i = 1; i <= ROUNDS; i++) {
        bring(i);
        read_back(file, pwrite(file, words, BYTES, 0), i);
    }
    printf("%d\n", memory >= 0 && maps >= 0 && event >= 0 && poll >= 0 && status);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"io_uring", io_uring},
        {"io_uring_late", io_uring_late},
        {"io_uring_own", io_uring_own},
        {"deepbind", deepbind},
        {"plain_library", plain_library},
        {"namespaces", namespaces},
        {"rdma_late", rdma_late},
        {"rdma_thread", rdma_thread},
        {"own_memory", own_memory},
        {"own_memory_number", own_memory_number},
        {"own_memory_folder", own_memory_folder},
        {"own_memory_stream", own_memory_stream},
        {"own_memory_itself", own_memory_itself},
        {"own_process", own_process},
        {"other_process", other_process},
        {"others", others},
    };
    start_thread();
    words = malloc(BYTES);
    memset(words, 0x11, BYTES);
    CHECK(cuMemAlloc_v2(&device, BYTES));
    for (unsigned i = 0; count == 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(cases[i].name, arguments[1]) == 0) {
            cases[i].run();
            return 0;
        }
    }
    fprintf(stderr, "usage: %s CASE\n", arguments[0]);
    return 2;
}
