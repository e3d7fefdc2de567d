// SPDX-License-Identifier: Apache-2.0
// Hands results to the system in ways that no list of functions covers, as their first use:
// results NAME. Some system calls are made without the C library. Its output is the same whether it
// is recorded or not.
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "readers.h"
#include "words.h"

enum { ROUNDS = 3 };

static long address(const void *memory)
{
    return (long)(uintptr_t)memory;
}

static void say(const char *what, long result)
{
    if (result == -1)
        result = -errno;
    printf("%s %ld %s\n", what, result, result < 0 ? strerror((int)-result) : "");
}

// Prints what a pipe has received: the results are the words 0, 1, 2...
static void say_received(const char *what, const int ends[2], long bytes)
{
    close(ends[1]);
    static unsigned words[BYTES / 4];
    long got = 0, bad = 0;
    while (got < bytes) {
        const long more = raw_system(SYS_read, ends[0], address(words), bytes - got, 0, 0, 0);
        if (more <= 0)
            break;
        for (long i = 0; i < more / 4; i++)
            bad += words[i] != (unsigned)(got / 4 + i);
        got += more;
    }
    close(ends[0]);
    printf("%s: %ld bytes received, %ld bad\n", what, got, bad);
}

// --- System calls on results ---------------------------------------------------------------------

static void raw_write(char *memory)
{
    int ends[2];
    say("pipe", pipe(ends));
    say("write", raw_system(SYS_write, ends[1], address(memory), 32768, 0, 0, 0));
    say_received("write", ends, 32768);
}

static void raw_read(char *memory)
{
    const int file = open("/dev/zero", O_RDONLY);
    say("read", raw_system(SYS_read, file, address(memory + 8192), 4096, 0, 0, 0));
    say("after", ((unsigned *)(void *)memory)[3000]);
    say("beside", ((unsigned *)(void *)memory)[4000]);
    close(file);
}

static void names(char *memory)
{
    struct stat *status = (struct stat *)(void *)(memory + 16384);
    say("stat", stat("/", status));
    say("is a folder", S_ISDIR(status->st_mode));
    say("readlink", readlink("/proc/self/cwd", memory + 32768, 1) > 0);
    say("getcwd", getcwd(memory + 49152, 4096) != NULL);
    say("uname", uname((struct utsname *)(void *)(memory + 65536)));
    say("missing file", access(memory + 4, R_OK));
    say("pipe", pipe((int *)(void *)(memory + 81920)));
}

static void messages(char *memory)
{
    const int queue = msgget(IPC_PRIVATE, 0600);
    *(volatile long *)(void *)memory = 1; // beyond the first use of its page
    say("msgsnd", msgsnd(queue, memory + 8, 4096, 0));
    say("msgctl", msgctl(queue, IPC_RMID, NULL));
}

static void queues(char *memory)
{
    char name[64];
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 4096};
    snprintf(name, sizeof(name), "/glint-results-%d", (int)getpid());
    const mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    if (queue == (mqd_t)-1) {
        printf("no queues\n");
        return;
    }
    mq_unlink(name);
    say("mq_send", mq_send(queue, memory + 8192, 4096, 0));
    say("mq_receive", mq_receive(queue, memory + 32768, 4096, NULL));
    mq_close(queue);
}

static void locked(char *memory)
{
    say("mlock", mlock(memory + 8192, 8192));
    say("munlock", munlock(memory + 8192, 8192));
    say("madvise", madvise((char *)(((uintptr_t)memory + 16383) & ~(uintptr_t)4095), 8192,
                           MADV_POPULATE_READ));
}

static void lists(char *memory)
{
    int ends[2];
    say("pipe", pipe(ends));
    struct aiocb one = {.aio_fildes = ends[1], .aio_buf = memory, .aio_nbytes = 16384};
    struct aiocb *list[] = {&one};
    one.aio_lio_opcode = LIO_WRITE;
    say("lio_listio", lio_listio(LIO_WAIT, list, 1, NULL));
    say_received("lio_listio", ends, 16384);
}

static void buffers(char *memory)
{
    FILE *file = tmpfile();
    setvbuf(file, memory + 8192, _IOFBF, 65536);
    say("fputs", fputs("a line\n", file) >= 0);
    rewind(file);
    char line[32] = "";
    say("fgets", fgets(line, sizeof(line), file) != NULL);
    printf("%s", line);
    fclose(file);
}

static void polls(char *memory)
{
    struct pollfd *files = (struct pollfd *)(void *)(memory + 8192);
    say("poll", raw_system(SYS_ppoll, address(files), 1, 0, 0, 0, 0) >= -EBADF);
    say("futex", raw_system(SYS_futex, address(memory + 16384), FUTEX_WAIT_PRIVATE, 1, 0, 0, 0));
}

// --- Kernel threads, and others ------------------------------------------------------------------

static void kernel_aio(char *memory)
{
    aio_context_t context = 0;
    int ends[2];
    say("pipe", pipe(ends));
    const long made = raw_system(SYS_io_setup, 4, address(&context), 0, 0, 0, 0);
    if (made < 0) {
        printf("no io_setup\n");
        return;
    }
    struct iocb one = {.aio_lio_opcode = IOCB_CMD_PWRITE,
                       .aio_fildes = (unsigned)ends[1],
                       .aio_buf = (uint64_t)(uintptr_t)memory,
                       .aio_nbytes = 16384};
    struct iocb *list[] = {&one};
    struct io_event event = {0};
    say("io_submit", raw_system(SYS_io_submit, (long)context, 1, address(list), 0, 0, 0));
    say("io_getevents", raw_system(SYS_io_getevents, (long)context, 1, 1, address(&event), 0, 0));
    say("result", event.res);
    say_received("io_submit", ends, 16384);
    raw_system(SYS_io_destroy, (long)context, 0, 0, 0, 0, 0);
}

// A ring whose kernel thread submits (SQPOLL) if `flags` ask for it.
static void ring_writes(char *memory, unsigned flags)
{
    int ends[2];
    struct io_uring_params made = {.flags = flags, .sq_thread_idle = 1000};
    say("pipe", pipe(ends));
    const long ring = raw_system(SYS_io_uring_setup, 4, address(&made), 0, 0, 0, 0);
    if (ring < 0) {
        printf("no io_uring\n");
        return;
    }
    const size_t bytes = made.sq_off.array + made.sq_entries * sizeof(unsigned) + made.cq_off.cqes +
                         made.cq_entries * sizeof(struct io_uring_cqe);
    char *queue = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, (int)ring, 0);
    struct io_uring_sqe *entries =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, (int)ring, (long)IORING_OFF_SQES);
    entries[0] = (struct io_uring_sqe){.opcode = IORING_OP_WRITE,
                                       .flags = IOSQE_ASYNC,
                                       .fd = ends[1],
                                       .off = (uint64_t)-1,
                                       .addr = (uint64_t)(uintptr_t)memory,
                                       .len = 16384};
    *(unsigned *)(void *)(queue + made.sq_off.array) = 0;
    atomic_store((_Atomic unsigned *)(void *)(queue + made.sq_off.tail), 1);
    const unsigned wake = flags & IORING_SETUP_SQPOLL ? IORING_ENTER_SQ_WAKEUP : 0;
    raw_system(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS | wake, 0, 0);
    const struct io_uring_cqe *done = (const void *)(queue + made.cq_off.cqes);
    say("io_uring", done->res);
    say_received("io_uring", ends, 16384);
    close((int)ring);
}

static void ring(char *memory)
{
    ring_writes(memory, 0);
}

static void ring_polled(char *memory)
{
    ring_writes(memory, IORING_SETUP_SQPOLL);
}

// A child reads this process' memory.
static void other_process(char *memory)
{
    const pid_t parent = getpid();
    fflush(stdout);
    const long child = raw_system(SYS_clone, SIGCHLD | CLONE_VM | CLONE_VFORK, 0, 0, 0, 0, 0);
    if (child == 0) {
        static unsigned word;
        const struct iovec own = {&word, 4}, other = {memory + 16384, 4};
        const long got =
            raw_system(SYS_process_vm_readv, parent, address(&own), 1, address(&other), 1, 0);
        raw_system(SYS_exit, got == 4 && word == 4096 ? 7 : 9, 0, 0, 0, 0, 0);
    }
    int status = 0;
    waitpid((pid_t)child, &status, 0);
    say("child", WEXITSTATUS(status));
}

// A child that no function of the C library announces has the results, too.
static void check_in_child(pid_t made, const unsigned *words)
{
    unsigned bad = 0;
    int status = 0;
    for (unsigned i = 0; made == 0 && i < BYTES / 4; i++)
        bad += words[i] != i;
    if (made == 0)
        _exit(bad ? 9 : 7);
    waitpid(made, &status, 0);
    say("child", WEXITSTATUS(status));
    say("parent", words[6000]);
}

static void child(char *memory)
{
    fflush(stdout);
    check_in_child(_Fork(), (const unsigned *)(void *)memory);
}

static void announced_child(char *memory)
{
    fflush(stdout);
    check_in_child(fork(), (const unsigned *)(void *)memory);
}

// Descriptors that the program does not know are closed.
static void closed_files(char *memory)
{
    raw_system(SYS_close_range, 3, 10000, 0, 0, 0, 0);
    say("seen", ((volatile unsigned *)(void *)memory)[7000]);
}

// A device may access the buffer at any time after it was registered.
static void ring_registered(char *memory)
{
    static long made;
    static struct io_uring_params about;
    if (!made) {
        const struct iovec buffer = {memory, 65536};
        made = raw_system(SYS_io_uring_setup, 4, address(&about), 0, 0, 0, 0);
        if (made > 0)
            say("register", raw_system(SYS_io_uring_register, made, IORING_REGISTER_BUFFERS,
                                       address(&buffer), 1, 0, 0));
    }
    say("ring", made > 0);
    say("seen", ((volatile unsigned *)(void *)memory)[7000]);
}

// --- Signal masks --------------------------------------------------------------------------------

static _Atomic unsigned seen;

static void *touch_masked(void *memory)
{
    const uint64_t all = ~UINT64_C(0);
    raw_system(SYS_rt_sigprocmask, SIG_BLOCK, address(&all), 0, 8, 0, 0);
    atomic_store(&seen, ((volatile unsigned *)memory)[5000]);
    return NULL;
}

static void masked(char *memory)
{
    pthread_t thread;
    pthread_create(&thread, NULL, touch_masked, memory);
    pthread_join(thread, NULL);
    say("seen", atomic_load(&seen));
}

// --- A little stack ------------------------------------------------------------------------------

static struct {
    char below[64 << 10]; // belongs to something else
    char stack[4 << 10];  // enough for what runs there, but not for a signal
} little;
static ucontext_t back, there;
static unsigned *touched;

static void touch_there(void)
{
    atomic_store(&seen, *(volatile unsigned *)touched);
}

static long count_changed(void)
{
    long changed = 0;
    for (size_t i = 0; i < sizeof(little.below); i++)
        changed += little.below[i] != 'x';
    return changed;
}

static void little_stack(char *memory)
{
    memset(little.below, 'x', sizeof(little.below));
    touched = (unsigned *)(void *)memory + 6000;
    getcontext(&there);
    there.uc_stack.ss_sp = little.stack;
    there.uc_stack.ss_size = sizeof(little.stack);
    there.uc_link = &back;
    makecontext(&there, touch_there, 0);
    swapcontext(&back, &there);
    say("seen", atomic_load(&seen));
    say("changed", count_changed());
}

// --- Many threads --------------------------------------------------------------------------------

static int blocked[2];

static void *read_blocked(void *unused)
{
    char byte;
    (void)unused;
    return (void *)(intptr_t)read(blocked[0], &byte, 1); // NOLINT
}

static void waiting_threads(char *memory)
{
    enum { THREADS = 200 };
    static pthread_t threads[THREADS];
    static bool started;
    long sum = 0;
    if (!started && pipe(blocked) == 0) {
        for (unsigned i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, read_blocked, NULL);
        usleep(100000);
    }
    started = true;
    for (unsigned i = 0; i < BYTES / 4; i += 1024)
        sum += ((volatile unsigned *)(void *)memory)[i];
    say("sum", sum);
}

// Returns whether glint can let the system wait for pages here: see src/inject/guard/pager.h.
static bool system_can_wait(void)
{
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_EVENT_FORK | UINT64_C(1) << 16}; // MOVE
    const long file = raw_system(SYS_userfaultfd, O_CLOEXEC, 0, 0, 0, 0, 0);
    const bool can =
        file >= 0 && raw_system(SYS_ioctl, file, (long)UFFDIO_API, address(&api), 0, 0, 0) == 0;
    if (file >= 0)
        raw_system(SYS_close, file, 0, 0, 0, 0, 0);
    return can;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(char *memory);
    } cases[] = {
        {"raw_write", raw_write},
        {"raw_read", raw_read},
        {"names", names},
        {"messages", messages},
        {"queues", queues},
        {"locked", locked},
        {"lists", lists},
        {"buffers", buffers},
        {"polls", polls},
        {"kernel_aio", kernel_aio},
        {"ring", ring},
        {"ring_polled", ring_polled},
        {"other_process", other_process},
        {"child", child},
        {"announced_child", announced_child},
        {"closed_files", closed_files},
        {"ring_registered", ring_registered},
        {"masked", masked},
        {"little_stack", little_stack},
        {"waiting_threads", waiting_threads},
    };
    if (!system_can_wait())
        fprintf(stderr, "SKIP: userfaultfd does not let the system wait here\n");
    alarm(60);
    setvbuf(stdout, NULL, _IOLBF, 0);
    words_count();
    words_to_device();
    for (unsigned i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (strcmp(argv[1], cases[i].name) != 0)
            continue;
        char *memory = malloc(BYTES);
        for (unsigned round = 0; memory && round < ROUNDS; round++) {
            CHECK(cuMemcpyDtoH_v2(memory, device, BYTES));
            cases[i].run(memory);
        }
        free(memory);
        return 0;
    }
    fprintf(stderr, "which case?\n");
    return 2;
}
