// SPDX-License-Identifier: Apache-2.0
// Results are first used by the kernel of the system: given to system calls that read them, or
// overwritten by system calls that fill them. Each call is tried on each kind of memory.
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../inject/readers.h"
#include "hostile.h"

static unsigned seen[WORDS];
enum { SENT = FEW_WORDS * sizeof(unsigned) }; // fits into every socket and pipe

static size_t bytes_of(const struct result *result)
{
    return result->count * sizeof(unsigned);
}

static int new_file(void)
{
    const int file = memfd_create("seen", 0);
    if (file < 0)
        exit(1);
    return file;
}

// Prints how many words arrived in the file, or in `seen` if it is -1, and closes it.
static void say_seen(const struct result *result, long done, int file, unsigned key)
{
    const unsigned count = done > 0 ? (unsigned)done / sizeof(unsigned) : 0;
    if (file >= 0) {
        if (pread(file, seen, sizeof(seen), 0) < 0)
            perror("pread");
        close(file);
    }
    say(name_of(result->place), done);
    say_good("arrived", seen, count, key);
    memset(seen, 0, sizeof(seen));
}

// --- Files ---------------------------------------------------------------------------------------

#define TO_FILE(name, call)                                                   \
    void system_##name(const struct result *result, unsigned key)             \
    {                                                                         \
        const int file = new_file();                                          \
        const void *from = result->words;                                     \
        const size_t bytes = bytes_of(result);                                \
        const struct iovec parts[] = {{(void *)result->words, bytes / 2},     \
                                      {(char *)from + bytes / 2, bytes / 2}}; \
        (void)parts;                                                          \
        say_seen(result, (long)(call), file, key);                            \
    }
TO_FILE(write, write(file, from, bytes))
TO_FILE(pwrite, pwrite(file, from, bytes, 0))
TO_FILE(writev, writev(file, parts, 2))
TO_FILE(pwritev2, pwritev2(file, parts, 2, 0, 0))
TO_FILE(syscall, syscall(SYS_write, file, from, bytes))
TO_FILE(instruction, own_system(SYS_write, file, (long)from, (long)bytes, 0))

void system_fwrite(const struct result *result, unsigned key)
{
    FILE *file = sure(fopen("written", "w+"));
    const size_t done = fwrite(result->words, 4, result->count, file);
    rewind(file);
    (void)!fread(seen, 4, result->count, file);
    fclose(file);
    say_seen(result, (long)done * 4, -1, key);
}

// Leaves a file, which is compared as a whole.
void system_append(const struct result *result, unsigned key)
{
    const int file = open("appended", O_WRONLY | O_CREAT | O_APPEND, 0666);
    say("write", write(file, result->words, bytes_of(result)) + key);
    close(file);
}

// Gives the pages to a pipe, which keeps them until they are read.
void system_vmsplice(const struct result *result, unsigned key)
{
    int ends[2];
    const struct iovec part = {result->words, SENT};
    if (pipe(ends) != 0)
        exit(1);
    const long given = vmsplice(ends[1], &part, 1, 0);
    const long taken = given > 0 ? read(ends[0], seen, (size_t)given) : given;
    close(ends[0]);
    close(ends[1]);
    say_seen(result, taken, -1, key);
}

void system_sendfile(const struct result *result, unsigned key)
{
    const int from = new_file(), to = new_file();
    off_t offset = 0;
    if (write(from, result->words, bytes_of(result)) < 0)
        perror("write");
    say_seen(result, sendfile(to, from, &offset, bytes_of(result)), to, key);
    close(from);
}

// --- Asynchronous I/O ----------------------------------------------------------------------------

static void finish(const struct aiocb *request)
{
    const struct aiocb *const list[] = {request};
    while (aio_error(request) == EINPROGRESS)
        aio_suspend(list, 1, NULL);
}

void system_aio(const struct result *result, unsigned key)
{
    const int file = new_file();
    struct aiocb request = {
        .aio_fildes = file, .aio_buf = result->words, .aio_nbytes = bytes_of(result)};
    say("aio_write", aio_write(&request));
    finish(&request);
    say_seen(result, aio_return(&request), file, key);
}

void system_lio_listio(const struct result *result, unsigned key)
{
    const int file = new_file();
    struct aiocb request = {.aio_fildes = file,
                            .aio_buf = result->words,
                            .aio_nbytes = bytes_of(result),
                            .aio_lio_opcode = LIO_WRITE};
    struct aiocb *const list[] = {&request};
    say("lio_listio", lio_listio(LIO_WAIT, list, 1, NULL));
    say_seen(result, aio_return(&request), file, key);
}

// --- Sockets and queues --------------------------------------------------------------------------

// A pair of sockets of this kind; what one end is given arrives at the other.
static long through(int kind, const struct result *result, unsigned way)
{
    int ends[2];
    struct iovec part = {result->words, SENT};
    struct mmsghdr messages[1] = {{.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}}};
    if (socketpair(AF_UNIX, kind, 0, ends) != 0)
        exit(1);
    long done = way == 0   ? send(ends[0], result->words, SENT, 0)
                : way == 1 ? sendmsg(ends[0], &messages[0].msg_hdr, 0)
                : way == 2 ? sendmmsg(ends[0], messages, 1, 0)
                           : sendto(ends[0], result->words, SENT, 0, NULL, 0);
    say("sent", done);
    done = recv(ends[1], seen, SENT, MSG_DONTWAIT);
    close(ends[0]);
    close(ends[1]);
    return done;
}

#define TO_SOCKET(name, kind, way)                                \
    void system_##name(const struct result *result, unsigned key) \
    {                                                             \
        say_seen(result, through(kind, result, way), -1, key);    \
    }
TO_SOCKET(send, SOCK_STREAM, 0)
TO_SOCKET(sendmsg, SOCK_STREAM, 1)
TO_SOCKET(sendmmsg, SOCK_DGRAM, 2)
TO_SOCKET(sendto, SOCK_SEQPACKET, 3)

void system_mq_send(const struct result *result, unsigned key)
{
    char name[64];
    struct mq_attr attribute = {.mq_maxmsg = 1, .mq_msgsize = SENT};
    snprintf(name, sizeof(name), "/glint-hostile-%d", (int)getpid());
    const mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &attribute);
    if (queue == (mqd_t)-1) {
        not_here("mq_open");
        return;
    }
    mq_unlink(name);
    say("mq_send", mq_send(queue, (const char *)result->words, SENT, 0));
    say_seen(result, mq_receive(queue, (char *)seen, SENT, NULL), -1, key);
    mq_close(queue);
}

// The message starts with its type, a long, which must be positive.
void system_msgsnd(const struct result *result, unsigned key)
{
    const int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    if (queue < 0) {
        not_here("msgget");
        return;
    }
    *(long *)(void *)result->words = 1;
    say("msgsnd", msgsnd(queue, result->words, SENT - sizeof(long), IPC_NOWAIT));
    const long got = msgrcv(queue, seen, SENT - sizeof(long), 0, IPC_NOWAIT);
    msgctl(queue, IPC_RMID, NULL);
    say("msgrcv", got);
    say_good("arrived", seen, FEW_WORDS, key);
    memset(seen, 0, sizeof(seen));
}

// --- Calls that overwrite results ----------------------------------------------------------------

static void fill_pipe(int ends[2], size_t bytes)
{
    static char text[SENT];
    memset(text, 'x', sizeof(text));
    if (pipe(ends) != 0 || write(ends[1], text, bytes) != (ssize_t)bytes)
        exit(1);
}

// Overwrites the first half of the words; the other half must remain.
static void say_overwritten(const struct result *result, unsigned key, long done)
{
    say(name_of(result->place), done);
    printf("%.4s, %u remain\n", (const char *)result->words,
           count_good(result->words, result->count, key));
}

#define FROM_PIPE(name, call)                                     \
    void system_##name(const struct result *result, unsigned key) \
    {                                                             \
        int ends[2];                                              \
        const size_t bytes = SENT / 2;                            \
        const struct iovec part = {result->words, bytes};         \
        (void)part;                                               \
        fill_pipe(ends, bytes);                                   \
        say_overwritten(result, key, (long)(call));               \
        close(ends[0]);                                           \
        close(ends[1]);                                           \
    }
FROM_PIPE(read, read(ends[0], result->words, bytes))
FROM_PIPE(readv, readv(ends[0], &part, 1))
FROM_PIPE(read_instruction, own_system(SYS_read, ends[0], (long)result->words, (long)bytes, 0))

void system_getrandom(const struct result *result, unsigned key)
{
    const long done = getrandom(result->words, SENT / 2, 0);
    const unsigned good = count_good(result->words, result->count, key);
    say(name_of(result->place), done);
    printf("%s\n", good >= result->count - FEW_WORDS / 2 && good < result->count ? "other words"
                                                                                 : "the same");
}

// Refused natively, so refused with glint.
void system_mistakes(const struct result *result, unsigned key)
{
    say("write to nothing", write(-1, result->words, bytes_of(result)));
    say("read from nothing", read(-1, result->words, bytes_of(result)));
    say("writev of too many", writev(1, (const struct iovec *)(void *)result->words, IOV_MAX + 1));
    say_good(name_of(result->place), result->words, result->count, key);
}

// Addresses that are wrong are refused by the system, and nothing in between may follow them.
void system_bad_addresses(void)
{
    volatile uintptr_t nowhere = 16;
    const struct iovec part = {(void *)nowhere, 100};
    const struct result result = place_result(BLOCK);
    struct msghdr message = {.msg_iov = (struct iovec *)nowhere, .msg_iovlen = 1};
    int ends[2];
    if (pipe(ends) != 0)
        exit(1);
    bring(&result, 3);
    say("write", write(ends[1], (void *)nowhere, 100));
    say("writev", writev(ends[1], (const struct iovec *)nowhere, 2));
    say("writev", writev(ends[1], &part, 1));
    say("read", read(-1, (void *)nowhere, 100));
    say("sendmsg", sendmsg(ends[1], &message, 0));
    say("sendmsg", sendmsg(ends[1], (const struct msghdr *)nowhere, 0));
    say("open", open((const char *)nowhere, O_RDONLY));
    say_good("block", result.words, result.count, 3);
}
