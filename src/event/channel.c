// SPDX-License-Identifier: Apache-2.0
// Passes a ring from the program to the recorder: a memfd, sealed against shrinking so that a
// reader never faults, sent as a descriptor through the recorder's socket. Afterwards both sides
// have the memory mapped and need no descriptor, so the program may close all of its descriptors.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "event.h"

#define GREETING "glint ring"

enum { CONNECT_TRIES = 20 }; // one millisecond apart

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

// Does not wait long: a stopped recorder must not stop the program. The recorder's queue may be
// full for a moment when many processes start at once.
static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, length + 1);
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    for (int tries = 0; connection >= 0 && tries < CONNECT_TRIES; tries++) {
        if (connect(connection, (const struct sockaddr *)&address, sizeof(address)) == 0)
            return connection;
        if (errno != EAGAIN && errno != EINTR)
            break;
        const struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
        errno = EAGAIN;
    }
    int why = errno;
    if (connection >= 0)
        close(connection);
    errno = why;
    return -1;
}

static bool send_descriptor(int connection, int descriptor, struct base_str introduction)
{
    char text[] = GREETING;
    const size_t more =
        introduction.length < EVENT_INTRODUCTION ? introduction.length : EVENT_INTRODUCTION;
    struct iovec parts[] = {{text, sizeof(text)}, {(void *)(uintptr_t)introduction.text, more}};
    union control control = {{0}};
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = more ? 2 : 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    return sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           (ssize_t)(sizeof(text) + more);
}

// Creates a ring of `slots` slots in a memfd and sets *memory to its descriptor. Returns NULL on
// failure.
static struct event_ring *make_ring(uint32_t slots, int *memory)
{
    const size_t bytes = event_ring_bytes(slots);
    struct rlimit files; // a larger file would raise SIGXFSZ
    if (getrlimit(RLIMIT_FSIZE, &files) == 0 && bytes > files.rlim_cur) {
        errno = ENOSPC;
        return NULL;
    }
    *memory = memfd_create("glint", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    void *mapped = MAP_FAILED;
    // Allocate all of its memory now: if it ran out later, writing a record would raise SIGBUS.
    // Only the pages that are used are mapped: mapping all takes longer than many programs record.
    if (*memory >= 0 && fallocate(*memory, 0, 0, (off_t)bytes) == 0 &&
        fcntl(*memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
        mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *memory, 0);
    if (mapped != MAP_FAILED)
        return event_ring_make(mapped, bytes);
    const int why = errno;
    if (*memory >= 0)
        close(*memory);
    errno = why;
    return NULL;
}

struct event_ring *event_ring_offer(const char *socket_path, struct base_str introduction,
                                    uint32_t slots, uint32_t least, size_t *bytes,
                                    enum event_refusal *refusal)
{
    struct event_ring *ring = NULL;
    int memory, connection = connect_to(socket_path);
    *refusal = EVENT_REFUSED_CONNECTION;
    if (connection < 0)
        return NULL;
    do
        ring = make_ring(slots, &memory);
    while (!ring && (errno == ENOMEM || errno == ENOSPC) && (slots /= 2) >= least);
    *bytes = event_ring_bytes(slots);
    int why = errno;
    if (!ring)
        *refusal = EVENT_REFUSED_MEMORY;
    if (ring) {
        const bool sent = send_descriptor(connection, memory, introduction);
        why = errno;
        close(memory);
        if (!sent) {
            munmap(ring, *bytes);
            ring = NULL;
        }
    }
    if (ring)
        *refusal = EVENT_REFUSED_NOTHING;
    close(connection);
    errno = why;
    return ring;
}

// Sockets of this kind pass a message of this size in one piece.
static int receive_descriptor(int connection, struct base_buf *introduction)
{
    char text[sizeof(GREETING) + EVENT_INTRODUCTION] = "";
    struct iovec part = {text, sizeof(text)};
    union control control = {{0}};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    int descriptor = -1;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
    if (descriptor >= 0 &&
        (got < (ssize_t)sizeof(GREETING) || memcmp(text, GREETING, sizeof(GREETING)) != 0)) {
        close(descriptor);
        descriptor = -1;
    }
    if (descriptor >= 0 && introduction)
        base_buf_add(introduction, text + sizeof(GREETING), (size_t)got - sizeof(GREETING));
    return descriptor;
}

// Maps the memory behind the descriptor if it is sealed against shrinking.
static struct event_ring *map_ring(int memory, size_t *bytes)
{
    int seals = fcntl(memory, F_GET_SEALS);
    off_t size = lseek(memory, 0, SEEK_END);
    if (seals < 0 || !(seals & F_SEAL_SHRINK) || size <= 0)
        return NULL;
    *bytes = (size_t)size;
    void *mapped = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    struct event_reader reader;
    if (event_reader_init(&reader, mapped, *bytes))
        return reader.ring;
    munmap(mapped, *bytes);
    return NULL;
}

struct event_ring *event_ring_accept(int connection, size_t *bytes, int *pid,
                                     struct base_buf *introduction, struct base_error *error)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 ||
        peer.uid != geteuid()) {
        base_fail(error, BASE_CONFLICT, "a process of another user offered records");
        return NULL;
    }
    int memory = receive_descriptor(connection, introduction);
    if (memory < 0) {
        base_fail(error, BASE_IO, "process %d connected without a ring of records", (int)peer.pid);
        return NULL;
    }
    struct event_ring *ring = map_ring(memory, bytes);
    close(memory);
    if (!ring)
        base_fail(error, BASE_UNSUPPORTED, "process %d offered records of another version of glint",
                  (int)peer.pid);
    *pid = peer.pid;
    return ring;
}

void event_ring_release(struct event_ring *ring, size_t bytes)
{
    if (ring)
        munmap(ring, bytes);
}
