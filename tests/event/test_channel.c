// SPDX-License-Identifier: Apache-2.0
// Passing a ring: the recorder gets the ring that a process offers, with the process's number. It
// rejects descriptors that are no ring or could shrink. Without a listener, no ring is made.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "event/event.h"

struct fixture {
    char folder[64];
    struct sockaddr_un address;
    int listener;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    if (!fixture)
        return -1;
    snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/glint-test-XXXXXX");
    if (!mkdtemp(fixture->folder))
        return -1;
    fixture->address.sun_family = AF_UNIX;
    snprintf(fixture->address.sun_path, sizeof(fixture->address.sun_path), "%s/socket",
             fixture->folder);
    fixture->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    *state = fixture;
    return bind(fixture->listener, (const struct sockaddr *)&fixture->address,
                sizeof(fixture->address)) ||
           listen(fixture->listener, 8);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    close(fixture->listener);
    unlink(fixture->address.sun_path);
    rmdir(fixture->folder);
    free(fixture);
    return 0;
}

static enum event_refusal refusal;

static void a_ring_offered_is_the_ring_accepted(void **state)
{
    struct fixture *fixture = *state;
    pid_t child = fork();
    if (child == 0) {
        size_t bytes;
        struct event_ring *ring =
            event_ring_offer(fixture->address.sun_path, (struct base_str){"RANK=3\0X=", 10}, 64, 64,
                             &bytes, &refusal);
        struct event_name name = {7};
        _exit(!ring || !event_put(ring, EVENT_FUNCTION, &name, sizeof(name), "cuInit", 6));
    }
    int connection = accept(fixture->listener, NULL, NULL), pid = 0, status;
    size_t bytes = 0;
    struct base_error error;
    struct base_buf introduction = {0};
    struct event_ring *ring = event_ring_accept(connection, &bytes, &pid, &introduction, &error);
    close(connection);
    assert_non_null(ring);
    assert_int_equal(introduction.length, 10);
    assert_memory_equal(introduction.text, "RANK=3\0X=", 10);
    base_buf_fini(&introduction);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(pid, child);
    assert_int_equal(bytes, event_ring_bytes(64));
    struct base_buf out = {0};
    struct event_reader reader;
    assert_true(event_reader_init(&reader, ring, bytes));
    assert_int_equal(event_take(&reader, &out, true), EVENT_FUNCTION);
    assert_int_equal(out.length, sizeof(struct event_name) + 6);
    assert_memory_equal(out.text + sizeof(struct event_name), "cuInit", 6);
    assert_int_equal(event_take(&reader, &out, true), EVENT_NONE);
    base_buf_fini(&out);
    event_ring_release(ring, bytes);
}

// Otherwise SIGXFSZ would end the program.
static void a_limit_for_files_makes_the_ring_smaller_or_none(void **state)
{
    const struct fixture *fixture = *state;
    static const struct {
        rlim_t limit;
        uint32_t slots; // 0: no ring
    } cases[] = {{1 << 20, 8192}, {100000, 1024}, {65536, 0}, {0, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            size_t bytes = 0;
            const struct rlimit limit = {cases[i].limit, cases[i].limit};
            setrlimit(RLIMIT_FSIZE, &limit);
            struct event_ring *ring = event_ring_offer(
                fixture->address.sun_path, (struct base_str){0}, 1 << 18, 1024, &bytes, &refusal);
            _exit(cases[i].slots ? !ring || bytes != event_ring_bytes(cases[i].slots)
                                 : ring || errno != ENOSPC || refusal != EVENT_REFUSED_MEMORY);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

static void where_nobody_listens_nothing_is_made(void **state)
{
    (void)state;
    size_t bytes;
    char longest[300];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    assert_null(
        event_ring_offer("/nonexistent/socket", (struct base_str){0}, 64, 64, &bytes, &refusal));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(refusal, EVENT_REFUSED_CONNECTION);
    assert_null(event_ring_offer(longest, (struct base_str){0}, 64, 64, &bytes, &refusal));
    assert_int_equal(errno, ENAMETOOLONG);
}

// A stopped recorder accepts no connection. Its queue fills, and then an offer fails instead of
// waiting.
static void a_recorder_that_does_not_answer_is_not_waited_for(void **state)
{
    const struct fixture *fixture = *state;
    struct event_ring *ring;
    size_t bytes;
    int offers = 0;
    do {
        ring = event_ring_offer(fixture->address.sun_path, (struct base_str){0}, 64, 64, &bytes,
                                &refusal);
        event_ring_release(ring, bytes);
    } while (ring && ++offers < 1000);
    assert_null(ring);
    assert_int_equal(errno, EAGAIN);
    assert_true(offers > 0);
}

// Sends the descriptor (-1: none) with the text, and returns the recorder's result.
static struct event_ring *offered(struct fixture *fixture, int descriptor, const char *text,
                                  struct base_error *error)
{
    int from = socket(AF_UNIX, SOCK_STREAM, 0), pid;
    assert_int_equal(
        connect(from, (const struct sockaddr *)&fixture->address, sizeof(fixture->address)), 0);
    struct iovec part = {(void *)(uintptr_t)text, strlen(text) + 1};
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    }
    assert_true(sendmsg(from, &message, 0) > 0);
    int connection = accept(fixture->listener, NULL, NULL);
    size_t bytes;
    struct event_ring *ring = event_ring_accept(connection, &bytes, &pid, NULL, error);
    close(connection);
    close(from);
    return ring;
}

static int ring_memory(bool sealed)
{
    int memory = memfd_create("test", MFD_ALLOW_SEALING);
    size_t bytes = event_ring_bytes(64);
    assert_int_equal(ftruncate(memory, (off_t)bytes), 0);
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    assert_non_null(event_ring_make(mapped, bytes));
    munmap(mapped, bytes);
    if (sealed)
        assert_int_equal(fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    return memory;
}

static void what_is_no_ring_is_refused(void **state)
{
    struct fixture *fixture = *state;
    struct base_error error;
    int good = ring_memory(true), shrinks = ring_memory(false), pipes[2];
    assert_int_equal(pipe(pipes), 0);
    struct event_ring *ring = offered(fixture, good, "glint ring", &error);
    assert_non_null(ring);
    event_ring_release(ring, event_ring_bytes(64));
    assert_null(offered(fixture, shrinks, "glint ring", &error));
    assert_null(offered(fixture, pipes[0], "glint ring", &error));
    assert_null(offered(fixture, good, "hello", &error));
    assert_null(offered(fixture, -1, "glint ring", &error));
    close(good);
    close(shrinks);
    close(pipes[0]);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_ring_offered_is_the_ring_accepted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_limit_for_files_makes_the_ring_smaller_or_none, setup,
                                        teardown),
        cmocka_unit_test(where_nobody_listens_nothing_is_made),
        cmocka_unit_test_setup_teardown(a_recorder_that_does_not_answer_is_not_waited_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_no_ring_is_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
