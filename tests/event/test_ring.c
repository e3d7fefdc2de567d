// SPDX-License-Identifier: Apache-2.0
// Tests of the ring: sizes, wrapping, drops, many writers in threads and in processes, writers that
// die at any moment, and corrupted memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "event/event.h"

static uint64_t test_random(uint64_t *state)
{
    uint64_t bits = *state += 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

// A ring in memory shared with child processes, between inaccessible guard pages.
struct shared {
    unsigned char *mapped, *memory;
    size_t bytes, page;
    struct event_ring *ring;
    struct event_reader reader;
};

static void shared_init(struct shared *shared, uint32_t slots)
{
    shared->page = (size_t)sysconf(_SC_PAGESIZE);
    shared->bytes = event_ring_bytes(slots);
    size_t inside = (shared->bytes + shared->page - 1) / shared->page * shared->page;
    shared->mapped = mmap(NULL, inside + 2 * shared->page, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared->mapped != MAP_FAILED);
    assert_int_equal(mprotect(shared->mapped, shared->page, PROT_NONE), 0);
    assert_int_equal(mprotect(shared->mapped + shared->page + inside, shared->page, PROT_NONE), 0);
    shared->memory = shared->mapped + shared->page;
    shared->ring = event_ring_make(shared->memory, shared->bytes);
    assert_non_null(shared->ring);
    assert_true(event_reader_init(&shared->reader, shared->memory, shared->bytes));
}

static void shared_fini(const struct shared *shared)
{
    size_t inside = (shared->bytes + shared->page - 1) / shared->page * shared->page;
    munmap(shared->mapped, inside + 2 * shared->page);
}

// --- One writer ----------------------------------------------------------------------------------

static void fill(unsigned char *bytes, size_t length, uint64_t seed)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)(seed * 131 + i * 7 + (i >> 8));
}

static void assert_round_trip(struct shared *shared, size_t length)
{
    static unsigned char sent[EVENT_MOST_BYTES];
    fill(sent, length, length);
    size_t first = length / 3; // in two pieces
    assert_true(event_put(shared->ring, EVENT_CALL, sent, first, sent + first, length - first));
    struct base_buf got = {0};
    assert_int_equal(event_take(&shared->reader, &got, false), EVENT_CALL);
    assert_false(got.failed);
    assert_int_equal(got.length, length);
    assert_true(!length || !memcmp(got.text, sent, length));
    assert_int_equal(event_take(&shared->reader, &got, false), EVENT_NONE);
    base_buf_fini(&got);
}

static void records_of_every_size_come_back_whole(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared, 4096);
    for (size_t length = 0; length < 600; length++)
        assert_round_trip(&shared, length);
    for (size_t slots = 64; slots <= 4096; slots *= 2) {
        for (size_t around = 0; around < 3; around++) {
            // From one byte less than fills the slots to one byte more.
            size_t length = slots * 56 - 4 - 1 + around;
            if (length <= EVENT_MOST_BYTES)
                assert_round_trip(&shared, length);
        }
    }
    assert_round_trip(&shared, EVENT_MOST_BYTES);
    assert_int_equal(event_dropped(&shared.reader, EVENT_CALL), 0);
    shared_fini(&shared);
}

static void what_can_never_fit_is_dropped(void **state)
{
    (void)state;
    static unsigned char bytes[EVENT_MOST_BYTES + 1];
    struct shared shared;
    shared_init(&shared, 8192);
    assert_false(event_put(shared.ring, EVENT_NOTE, bytes, sizeof(bytes), NULL, 0));
    assert_int_equal(event_dropped(&shared.reader, EVENT_NOTE), 1);
    shared_fini(&shared);
    shared_init(&shared, 4); // smaller than the record
    assert_true(event_put(shared.ring, EVENT_NOTE, bytes, 4 * 56 - 4, NULL, 0));
    struct base_buf got = {0};
    assert_int_equal(event_take(&shared.reader, &got, false), EVENT_NOTE);
    assert_false(event_put(shared.ring, EVENT_NOTE, bytes, 4 * 56 - 3, NULL, 0));
    assert_int_equal(event_dropped(&shared.reader, EVENT_NOTE), 1);
    base_buf_fini(&got);
    shared_fini(&shared);
}

static void a_ring_is_busy_while_half_of_it_waits(void **state)
{
    (void)state;
    struct shared shared;
    struct base_buf got = {0};
    shared_init(&shared, 64);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 33; i++) {
            assert_false(event_is_busy(shared.ring));
            assert_true(event_put(shared.ring, EVENT_CALL, &i, sizeof(i), NULL, 0));
        }
        assert_true(event_is_busy(shared.ring));
        while (event_take(&shared.reader, &got, false) != EVENT_NONE)
            ;
        assert_false(event_is_busy(shared.ring));
    }
    base_buf_fini(&got);
    shared_fini(&shared);
}

static void the_ring_wraps_around(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared, 8);
    uint64_t random = 1;
    for (unsigned i = 0; i < 5000; i++)
        assert_round_trip(&shared, test_random(&random) % (8 * 56 - 4 + 1));
    shared_fini(&shared);
}

static void a_full_ring_counts_drops_by_kind_and_goes_on(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared, 8);
    for (unsigned i = 0; i < 8; i++)
        assert_true(event_put(shared.ring, EVENT_CALL, &i, sizeof(i), NULL, 0));
    assert_int_equal(event_waiting(&shared.reader), 8);
    assert_false(event_put(shared.ring, EVENT_CALL, "x", 1, NULL, 0));
    assert_false(event_put(shared.ring, EVENT_CALL, "x", 1, NULL, 0));
    assert_false(event_put(shared.ring, EVENT_STACK, "x", 1, NULL, 0));
    assert_int_equal(event_dropped(&shared.reader, EVENT_CALL), 2);
    assert_int_equal(event_dropped(&shared.reader, EVENT_STACK), 1);
    assert_int_equal(event_dropped(&shared.reader, EVENT_OBJECT), 0);
    struct base_buf got = {0};
    assert_int_equal(event_take(&shared.reader, &got, false), EVENT_CALL);
    unsigned char two_slots[60] = {0};
    assert_false(event_put(shared.ring, EVENT_OBJECT, two_slots, sizeof(two_slots), NULL, 0));
    unsigned next = 8;
    assert_true(event_put(shared.ring, EVENT_CALL, &next, sizeof(next), NULL, 0));
    for (unsigned i = 1; i <= 8; i++) {
        assert_int_equal(event_take(&shared.reader, &got, false), EVENT_CALL);
        assert_memory_equal(got.text, &i, sizeof(i));
    }
    assert_int_equal(event_take(&shared.reader, &got, false), EVENT_NONE);
    assert_int_equal(event_waiting(&shared.reader), 0);
    base_buf_fini(&got);
    shared_fini(&shared);
}

static void pieces_come_back_joined(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared, 16);
    const struct event_piece pieces[] = {{"abc", 3}, {NULL, 0}, {"defgh", 5}, {"", 0}};
    assert_true(event_put_pieces(shared.ring, EVENT_NOTE, pieces, 4));
    struct base_buf got = {0};
    assert_int_equal(event_take(&shared.reader, &got, true), EVENT_NOTE);
    assert_int_equal(got.length, 8);
    assert_memory_equal(got.text, "abcdefgh", 8);
    assert_int_equal(event_take(&shared.reader, &got, true), EVENT_NONE);
    assert_int_equal(shared.reader.unfinished, 0);
    base_buf_fini(&got);
    shared_fini(&shared);
}

static void another_version_and_other_sizes_are_refused(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared, 64);
    struct event_reader reader;
    assert_false(event_reader_init(&reader, shared.memory, event_ring_bytes(32)));
    assert_false(event_reader_init(&reader, shared.memory, event_ring_bytes(128)));
    assert_false(event_reader_init(&reader, shared.memory, 8));
    assert_null(event_ring_make(shared.memory, event_ring_bytes(64) + 64));
    assert_null(event_ring_make(shared.memory, event_ring_bytes(1)));
    assert_null(event_ring_make(shared.memory, 100));
    uint32_t version = EVENT_VERSION + 1;
    memcpy(shared.memory + 8, &version, sizeof(version)); // after the magic number
    assert_false(event_reader_init(&reader, shared.memory, shared.bytes));
    version = EVENT_VERSION;
    memcpy(shared.memory + 8, &version, sizeof(version));
    assert_true(event_reader_init(&reader, shared.memory, shared.bytes));
    shared.memory[0] ^= 1;
    assert_false(event_reader_init(&reader, shared.memory, shared.bytes));
    shared_fini(&shared);
}

// --- Many writers --------------------------------------------------------------------------------

enum { WRITERS = 4 };

struct numbered {
    uint32_t writer, length; // of the bytes that follow
    uint64_t sequence;
};

struct writer {
    struct event_ring *ring;
    uint32_t number;
    uint64_t count; // 0: until killed
    size_t most_bytes;
};

static uint64_t content_seed(uint32_t writer, uint64_t sequence)
{
    return sequence * 1000003u + writer;
}

// Writes records in sequence, and retries each until it succeeds.
static void *write_sequence(void *argument)
{
    const struct writer *writer = argument;
    unsigned char *bytes = malloc(writer->most_bytes + 1);
    uint64_t random = writer->number;
    for (uint64_t i = 0; bytes && (!writer->count || i < writer->count); i++) {
        struct numbered head = {writer->number,
                                (uint32_t)(test_random(&random) % writer->most_bytes), i};
        if (test_random(&random) % 4)
            head.length %= 64;
        fill(bytes, head.length, content_seed(head.writer, i));
        while (!event_put(writer->ring, EVENT_CALL, &head, sizeof(head), bytes, head.length))
            sched_yield();
    }
    free(bytes);
    return NULL;
}

// Checks one record, and that it is the next one of its writer.
static void check_numbered(const struct base_buf *got, uint64_t next[WRITERS])
{
    struct numbered head;
    assert_true(got->length >= sizeof(head));
    memcpy(&head, got->text, sizeof(head));
    assert_true(head.writer < WRITERS);
    assert_int_equal(head.sequence, next[head.writer]);
    next[head.writer]++;
    assert_int_equal(got->length, sizeof(head) + head.length);
    unsigned char *wanted = malloc(head.length + 1);
    assert_non_null(wanted);
    fill(wanted, head.length, content_seed(head.writer, head.sequence));
    assert_memory_equal(got->text + sizeof(head), wanted, head.length);
    free(wanted);
}

// Takes `count` records.
static void take_numbered(struct event_reader *reader, uint64_t count, uint64_t next[WRITERS])
{
    struct base_buf got = {0};
    while (count) {
        if (event_take(reader, &got, false) == EVENT_NONE) {
            sched_yield();
            continue;
        }
        check_numbered(&got, next);
        count--;
    }
    assert_int_equal(event_take(reader, &got, true), EVENT_NONE);
    assert_int_equal(reader->unfinished, 0);
    base_buf_fini(&got);
}

static void threads_records_come_whole_and_in_order(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared, 256);
    pthread_t threads[WRITERS];
    struct writer writers[WRITERS];
    uint64_t next[WRITERS] = {0};
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){shared.ring, i, 20000, 3000};
        assert_int_equal(pthread_create(&threads[i], NULL, write_sequence, &writers[i]), 0);
    }
    take_numbered(&shared.reader, WRITERS * UINT64_C(20000), next);
    for (uint32_t i = 0; i < WRITERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(next[i], 20000);
    }
    shared_fini(&shared);
}

static void processes_records_come_whole_and_in_order(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared, 256);
    pid_t children[WRITERS];
    for (uint32_t i = 0; i < WRITERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (!children[i]) {
            struct writer writer = {shared.ring, i, 10000, 3000};
            write_sequence(&writer);
            _exit(0);
        }
    }
    uint64_t next[WRITERS] = {0};
    take_numbered(&shared.reader, WRITERS * UINT64_C(10000), next);
    for (uint32_t i = 0; i < WRITERS; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
        assert_int_equal(next[i], 10000);
    }
    shared_fini(&shared);
}

// A signal handler may write while the thread that it interrupts is writing.
static struct event_ring *handlers_ring;
static uint64_t handlers_sequence;

static void write_in_handler(int signal)
{
    (void)signal;
    struct numbered head = {1, 0, handlers_sequence};
    handlers_sequence += event_put(handlers_ring, EVENT_CALL, &head, sizeof(head), NULL, 0);
}

static void a_signal_handler_may_write_too(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared, 65536);
    handlers_ring = shared.ring;
    handlers_sequence = 0;
    struct sigaction action = {.sa_handler = write_in_handler}, before;
    sigaction(SIGALRM, &action, &before);
    timer_t timer;
    struct sigevent to = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    assert_int_equal(timer_create(CLOCK_MONOTONIC, &to, &timer), 0);
    struct itimerspec often = {{0, 20000}, {0, 20000}};
    timer_settime(timer, 0, &often, NULL);
    uint64_t next[WRITERS] = {0};
    for (unsigned round = 0; round < 20; round++) {
        struct base_buf got = {0};
        for (unsigned i = 0; i < 500; i++) {
            unsigned char bytes[2000];
            struct numbered head = {0, sizeof(bytes), round * 500 + i};
            fill(bytes, sizeof(bytes), content_seed(0, head.sequence));
            assert_true(
                event_put(shared.ring, EVENT_CALL, &head, sizeof(head), bytes, sizeof(bytes)));
        }
        while (event_take(&shared.reader, &got, false) != EVENT_NONE)
            check_numbered(&got, next);
        base_buf_fini(&got);
    }
    timer_delete(timer);
    sigaction(SIGALRM, &before, NULL);
    struct base_buf got = {0};
    while (event_take(&shared.reader, &got, true) != EVENT_NONE)
        check_numbered(&got, next);
    base_buf_fini(&got);
    assert_int_equal(next[0], 10000);
    assert_int_equal(next[1], handlers_sequence);
    assert_true(handlers_sequence > 0);
    assert_int_equal(shared.reader.unfinished, 0);
    shared_fini(&shared);
}

// --- Writers that die ----------------------------------------------------------------------------

// Makes a child that dies while it writes its record, because the bytes end at an unreadable page.
static void die_writing(const struct shared *shared, size_t before)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL);
        close(2);
        // The guard page after the ring, preceded by the last `before` bytes of the ring.
        const unsigned char *guard =
            shared->memory + (shared->bytes + shared->page - 1) / shared->page * shared->page;
        event_put(shared->ring, EVENT_CALL, "some bytes", 10, guard - before, before + 1000);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

static void unfinished_records_are_passed_over_and_counted(void **state)
{
    (void)state;
    struct shared shared;
    shared_init(&shared, 64);
    struct base_buf got = {0};
    for (unsigned round = 0; round < 20; round++) {
        uint64_t unfinished = shared.reader.unfinished;
        assert_true(event_put(shared.ring, EVENT_NOTE, "1", 1, NULL, 0));
        die_writing(&shared, round * 40);
        assert_true(event_put(shared.ring, EVENT_STACK, "2", 1, NULL, 0));
        assert_int_equal(event_take(&shared.reader, &got, false), EVENT_NOTE);
        assert_int_equal(event_take(&shared.reader, &got, false), EVENT_NONE);
        assert_int_equal(event_take(&shared.reader, &got, true), EVENT_STACK);
        assert_string_equal(got.text, "2");
        assert_int_equal(event_take(&shared.reader, &got, true), EVENT_NONE);
        assert_int_equal(shared.reader.unfinished, unfinished + 1);
        assert_int_equal(event_waiting(&shared.reader), 0);
        die_writing(&shared, 0); // the last record
        assert_int_equal(event_take(&shared.reader, &got, true), EVENT_NONE);
        assert_int_equal(shared.reader.unfinished, unfinished + 2);
        assert_int_equal(event_waiting(&shared.reader), 0);
    }
    base_buf_fini(&got);
    shared_fini(&shared);
}

static void write_in_threads_until_killed(struct event_ring *ring)
{
    pthread_t threads[WRITERS];
    struct writer writers[WRITERS];
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){ring, i, 0, 4000};
        if (i && pthread_create(&threads[i], NULL, write_sequence, &writers[i]))
            _exit(1);
    }
    write_sequence(&writers[0]);
}

static void killed_at_random_moments_all_whole_records_come(void **state)
{
    (void)state;
    enum { KILLS = 200 };
    uint64_t random = 42, records = 0, unfinished = 0;
    for (unsigned round = 0; round < KILLS; round++) {
        struct shared shared;
        shared_init(&shared, 1024);
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            write_in_threads_until_killed(shared.ring);
            _exit(0);
        }
        while (!event_waiting(&shared.reader)) // until the writers have started
            sched_yield();
        struct timespec now, end;
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_nsec += (long)(test_random(&random) % 4000000);
        end.tv_sec += end.tv_nsec / 1000000000;
        end.tv_nsec %= 1000000000;
        struct base_buf got = {0};
        uint64_t next[WRITERS] = {0};
        bool drain = round % 2; // otherwise the ring is full when the writers die
        do {
            while (drain && event_take(&shared.reader, &got, false) != EVENT_NONE)
                check_numbered(&got, next);
            clock_gettime(CLOCK_MONOTONIC, &now);
        } while (now.tv_sec < end.tv_sec ||
                 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
        kill(child, SIGKILL);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        while (event_take(&shared.reader, &got, true) != EVENT_NONE)
            check_numbered(&got, next);
        assert_int_equal(event_waiting(&shared.reader), 0);
        assert_true(shared.reader.unfinished <= WRITERS);
        unfinished += shared.reader.unfinished;
        for (unsigned i = 0; i < WRITERS; i++)
            records += next[i];
        base_buf_fini(&got);
        shared_fini(&shared);
    }
    assert_true(records > KILLS / 2);
    print_message("%d kills: %llu records, %llu rows of unfinished ones\n", KILLS,
                  (unsigned long long)records, (unsigned long long)unfinished);
}

// --- Corrupted memory ----------------------------------------------------------------------------

// Takes all apparent records: at most one per slot, none longer than the limit.
static void drain_garbage(struct shared *shared)
{
    struct base_buf got = {0};
    for (unsigned abandoned = 0; abandoned < 2; abandoned++) {
        uint64_t taken = 0;
        enum event_kind kind;
        while ((kind = event_take(&shared->reader, &got, abandoned)) != EVENT_NONE) {
            assert_true(kind < EVENT_KINDS);
            assert_true(got.length <= EVENT_MOST_BYTES);
            assert_true(++taken <= shared->reader.slot_count);
        }
        assert_true(event_waiting(&shared->reader) <= shared->reader.slot_count);
    }
    base_buf_fini(&got);
}

static void garbage_never_stops_or_misleads_the_reader(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (unsigned round = 0; round < 3000; round++) {
        struct shared shared;
        shared_init(&shared, 1u << (1 + test_random(&random) % 7));
        uint64_t records = test_random(&random) % 100;
        for (uint64_t i = 0; i < records; i++)
            event_put(shared.ring, EVENT_CALL, shared.memory, test_random(&random) % 150, NULL, 0);
        uint64_t *words = (uint64_t *)(void *)shared.memory;
        size_t count = shared.bytes / 8, slots = (shared.bytes - 4096) / 64;
        uint64_t stains = test_random(&random) % 40;
        for (uint64_t i = 0; i < stains; i++) {
            size_t slot = test_random(&random) % slots;
            uint64_t bits = test_random(&random);
            switch (test_random(&random) % 5) {
            case 0: words[test_random(&random) % count] = bits; break;
            case 1: words[test_random(&random) % 80] = bits; break; // magic, counts, head, tail
            case 2: words[512 + slot * 8] = (slot + 1) << 24 | bits >> 40; break; // a valid mark
            case 3: words[512 + slot * 8] ^= bits & 0xFFFFFF; break;
            default: words[512 + slot * 8 + 1] = bits; break; // the length
            }
        }
        drain_garbage(&shared);
        shared_fini(&shared);
    }
}

static void a_head_far_away_ends_too(void **state)
{
    (void)state;
    const uint64_t heads[] = {UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 40, 0};
    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
        struct shared shared;
        shared_init(&shared, 64);
        assert_true(event_put(shared.ring, EVENT_CALL, "x", 1, NULL, 0));
        struct base_buf got = {0};
        assert_int_equal(event_take(&shared.reader, &got, false), EVENT_CALL);
        memcpy(shared.memory + 64, &heads[i], 8); // the head is in the second cache line
        assert_int_equal(event_take(&shared.reader, &got, true), EVENT_NONE);
        assert_int_equal(shared.reader.unfinished, 1);
        base_buf_fini(&got);
        shared_fini(&shared);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_every_size_come_back_whole),
        cmocka_unit_test(what_can_never_fit_is_dropped),
        cmocka_unit_test(a_ring_is_busy_while_half_of_it_waits),
        cmocka_unit_test(the_ring_wraps_around),
        cmocka_unit_test(a_full_ring_counts_drops_by_kind_and_goes_on),
        cmocka_unit_test(pieces_come_back_joined),
        cmocka_unit_test(another_version_and_other_sizes_are_refused),
        cmocka_unit_test(processes_records_come_whole_and_in_order),
        cmocka_unit_test(unfinished_records_are_passed_over_and_counted),
        cmocka_unit_test(killed_at_random_moments_all_whole_records_come),
        cmocka_unit_test(a_signal_handler_may_write_too),
        cmocka_unit_test(threads_records_come_whole_and_in_order),
        cmocka_unit_test(garbage_never_stops_or_misleads_the_reader),
        cmocka_unit_test(a_head_far_away_ends_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
