// SPDX-License-Identifier: Apache-2.0
// Names and structures that lie in results, or beside them in the same page, and are given to the
// system: the page may be closed for the results' sake, and the system must not answer EFAULT.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hostile.h"

// `use` gets 2 KiB beside the results in their first page, and then memory of the results
// themselves. Small results have no room beside them.
static void (*current)(char *memory);

static void beside_and_in(const struct result *whole, unsigned key)
{
    char *memory = (char *)whole->words;
    puts(name_of(whole->place));
    if (whole->count == WORDS) {
        struct result part = *whole;
        part.words += PAGE_WORDS / 2;
        part.count = PAGE_WORDS / 2 + 3 * PAGE_WORDS;
        bring(&part, key);
        memset(memory, 0, PAGE / 2);
        current(memory);
        say_good("beside", part.words, part.count, key);
    }
    bring(whole, key);
    memory += 64;
    memset(memory, 0, PAGE / 2);
    current(memory);
    printf("in: %d\n", whole->words[FEW_WORDS - 1] == word_of(FEW_WORDS - 1, key));
}

void in_pages(void (*use)(char *memory))
{
    current = use;
    on_each(beside_and_in);
}

// --- Names ---------------------------------------------------------------------------------------

void structures_fopen(char *memory)
{
    put_text(memory, "/dev/null");
    FILE *file = fopen(memory, "r");
    say("fopen", file ? 0 : -1);
    if (file)
        fclose(file);
}

void structures_open(char *memory)
{
    put_text(memory, "made");
    const int file = open(memory, O_RDWR | O_CREAT, 0600);
    say("open", file >= 0 ? 0 : -1);
    say("write", write(file, memory, 4));
    close(file);
    put_text(memory + 512, "renamed");
    say("rename", rename(memory, memory + 512));
    say("access", access(memory + 512, R_OK));
    say("unlink", unlink(memory + 512));
}

void structures_stat(char *memory)
{
    put_text(memory, "/dev/null");
    struct stat *status = (struct stat *)(void *)(memory + 256);
    say("stat", stat(memory, status));
    printf("%d\n", S_ISCHR(status->st_mode));
    say("fstat", fstat(0, status));
    say("lstat", lstat(memory, status));
    say("statx", statx(AT_FDCWD, memory, 0, STATX_BASIC_STATS, (struct statx *)(void *)status));
    say("statvfs", statvfs("/", (struct statvfs *)(void *)status));
}

void structures_readlink(char *memory)
{
    say("symlink", symlink("nowhere", "link"));
    say("readlink", readlink("link", memory, 100));
    puts(memory);
    unlink("link");
    printf("%s\n", getcwd(memory, 1024) ? "a folder" : strerror(errno));
}

void structures_folders(char *memory)
{
    put_text(memory, "folder");
    say("mkdir", mkdir(memory, 0700));
    say("chdir", chdir(memory));
    say("back", chdir(".."));
    say("rmdir", rmdir(memory));
}

// --- Waiting -------------------------------------------------------------------------------------

void structures_poll(char *memory)
{
    struct pollfd *files = (struct pollfd *)(void *)memory;
    int ends[2];
    say("pipe", pipe(ends));
    files[0] = (struct pollfd){.fd = ends[1], .events = POLLOUT};
    files[1] = (struct pollfd){.fd = -1};
    say("poll", poll(files, 2, 0));
    printf("%d\n", files[0].revents);
    close(ends[0]);
    close(ends[1]);
}

void structures_select(char *memory)
{
    fd_set *set = (fd_set *)(void *)memory;
    struct timeval *time = (struct timeval *)(void *)(memory + 512);
    int *ends = (int *)(void *)(memory + 1024);
    say("pipe", pipe(ends));
    FD_SET(ends[1], set);
    say("select", select(ends[1] + 1, NULL, set, NULL, time));
    printf("%d\n", FD_ISSET(ends[1], set));
    close(ends[0]);
    close(ends[1]);
}

void structures_epoll(char *memory)
{
    struct epoll_event *events = (struct epoll_event *)(void *)memory;
    int ends[2];
    const int queue = epoll_create1(0);
    say("pipe", pipe(ends));
    events[0] = (struct epoll_event){.events = EPOLLOUT, .data.u32 = 77};
    say("epoll_ctl", epoll_ctl(queue, EPOLL_CTL_ADD, ends[1], events));
    memset(events, 0, sizeof(*events));
    say("epoll_wait", epoll_wait(queue, events, 2, 0));
    printf("%u\n", events[0].data.u32);
    close(queue);
    close(ends[0]);
    close(ends[1]);
}

void structures_waitpid(char *memory)
{
    int *status = (int *)(void *)memory;
    const pid_t child = fork();
    if (child == 0)
        _exit(9);
    say("waitpid", waitpid(child, status, 0) == child);
    printf("%d\n", WEXITSTATUS(*status));
    const pid_t other = fork();
    if (other == 0)
        _exit(10);
    say("wait4", wait4(other, status, 0, (struct rusage *)(void *)(memory + 256)) == other);
    printf("%d\n", WEXITSTATUS(*status));
}

void structures_nanosleep(char *memory)
{
    struct timespec *time = (struct timespec *)(void *)memory;
    time->tv_nsec = 1000;
    say("nanosleep", nanosleep(time, time + 1));
    say("clock_nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, time, NULL));
}

void structures_sigtimedwait(char *memory)
{
    sigset_t *set = (sigset_t *)(void *)memory;
    sigemptyset(set);
    sigaddset(set, SIGUSR1);
    say("sigprocmask", sigprocmask(SIG_BLOCK, set, set + 1));
    raise(SIGUSR1);
    say("sigtimedwait", sigtimedwait(set, (siginfo_t *)(void *)(memory + 512),
                                     (struct timespec *)(void *)(memory + 1024)));
    say("sigprocmask", sigprocmask(SIG_SETMASK, set + 1, NULL));
    say("sigpending", sigpending(set));
}

// --- Answers -------------------------------------------------------------------------------------

void structures_clocks(char *memory)
{
    struct timespec *time = (struct timespec *)(void *)memory;
    say("clock_gettime", clock_gettime(CLOCK_REALTIME, time));
    say("clock_getres", clock_getres(CLOCK_MONOTONIC, time));
    say("gettimeofday", gettimeofday((struct timeval *)(void *)time, NULL));
    printf("times %d\n", times((struct tms *)(void *)memory) != -1);
}

void structures_limits(char *memory)
{
    say("getrlimit", getrlimit(RLIMIT_NOFILE, (struct rlimit *)(void *)memory));
    say("getrusage", getrusage(RUSAGE_SELF, (struct rusage *)(void *)memory));
    say("sysinfo", sysinfo((struct sysinfo *)(void *)memory));
    say("uname", uname((struct utsname *)(void *)memory));
    say("sched_getaffinity", sched_getaffinity(0, sizeof(cpu_set_t), (cpu_set_t *)(void *)memory));
    printf("getgroups %d\n", getgroups(200, (gid_t *)(void *)memory) >= 0);
}

void structures_sigaction(char *memory)
{
    struct sigaction *action = (struct sigaction *)(void *)memory;
    say("sigaction", sigaction(SIGUSR2, NULL, action));
    action->sa_handler = SIG_IGN;
    say("sigaction", sigaction(SIGUSR2, action, action + 1));
    say("sigaltstack", sigaltstack(NULL, (stack_t *)(void *)(memory + 1024)));
}

void structures_timers(char *memory)
{
    struct itimerspec *value = (struct itimerspec *)(void *)memory;
    const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    value->it_value.tv_nsec = 1000;
    say("timerfd_settime", timerfd_settime(timer, 0, value, value + 1));
    say("read", read(timer, memory + 512, 8));
    close(timer);
    say("getitimer", getitimer(ITIMER_REAL, (struct itimerval *)(void *)memory));
}

void structures_names(char *memory)
{
    put_text(memory, "hostile thread");
    say("prctl", prctl(PR_SET_NAME, memory));
    say("prctl", prctl(PR_GET_NAME, memory + 64));
    puts(memory + 64);
    say("gethostname", gethostname(memory, 512));
}

void structures_ioctl(char *memory)
{
    int ends[2];
    say("pipe", pipe(ends));
    say("write", write(ends[1], "12345", 5));
    say("ioctl", ioctl(ends[0], FIONREAD, memory));
    printf("%d\n", *(int *)(void *)memory);
    close(ends[0]);
    close(ends[1]);
}

// --- Sockets -------------------------------------------------------------------------------------

void structures_sockets(char *memory)
{
    int *ends = (int *)(void *)memory;
    socklen_t *length = (socklen_t *)(void *)(memory + 16);
    struct sockaddr_un *address = (struct sockaddr_un *)(void *)(memory + 64);
    say("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    *length = sizeof(*address);
    say("getsockname", getsockname(ends[0], (struct sockaddr *)address, length));
    *length = sizeof(int);
    say("getsockopt", getsockopt(ends[0], SOL_SOCKET, SO_TYPE, memory + 32, length));
    say("setsockopt", setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, memory + 32, *length));
    const int server = socket(AF_UNIX, SOCK_STREAM, 0);
    address->sun_family = AF_UNIX;
    put_text(address->sun_path, "socket");
    say("bind", bind(server, (struct sockaddr *)address, sizeof(*address)));
    say("unlink", unlink("socket"));
    close(ends[0]);
    close(ends[1]);
    close(server);
}

// Passes a descriptor; all structures of the message lie there.
void structures_descriptors(char *memory)
{
    int ends[2];
    struct msghdr *message = (struct msghdr *)(void *)memory;
    struct iovec *part = (struct iovec *)(void *)(memory + 128);
    say("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    *part = (struct iovec){memory + 256, 1};
    *message = (struct msghdr){.msg_iov = part,
                               .msg_iovlen = 1,
                               .msg_control = memory + 512,
                               .msg_controllen = CMSG_SPACE(sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    *header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &ends[0], sizeof(int));
    say("sendmsg", sendmsg(ends[0], message, 0));
    memset(memory + 512, 0, 256);
    message->msg_controllen = CMSG_SPACE(sizeof(int));
    say("recvmsg", recvmsg(ends[1], message, 0));
    int got = -1;
    if (CMSG_FIRSTHDR(message))
        memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(message)), sizeof(int));
    say("close", close(got));
    close(ends[0]);
    close(ends[1]);
}

void structures_inotify(char *memory)
{
    const int watch = inotify_init1(IN_NONBLOCK);
    put_text(memory, ".");
    say("inotify_add_watch", inotify_add_watch(watch, memory, IN_CREATE));
    close(open("watched", O_CREAT | O_WRONLY, 0600));
    say("read", read(watch, memory + 64, 512) > 0);
    unlink("watched");
    close(watch);
}

// --- FILE buffers --------------------------------------------------------------------------------

void structures_buffer(char *memory)
{
    FILE *file = sure(fopen("buffered", "a"));
    setvbuf(file, memory, _IOFBF, 1024);
    for (unsigned i = 0; i < 300; i++)
        fprintf(file, "line %u\n", i);
    say("fclose", fclose(file));
    file = sure(fopen("buffered", "r"));
    setvbuf(file, memory, _IOFBF, 1024);
    unsigned lines = 0;
    int character;
    while ((character = getc(file)) != EOF)
        lines += character == '\n';
    printf("%u lines\n", lines);
    fclose(file);
}

void structures_streams(char *memory)
{
    FILE *file = sure(fmemopen(memory, 512, "w"));
    fprintf(file, "some %s", "text");
    fclose(file);
    puts(memory);
    sprintf(memory, "%d %s", 7, "seven");
    fputs(memory, stdout);
    putchar('\n');
}
