// SPDX-License-Identifier: Apache-2.0
// Every field of calls of NCCL is written and read back, and the view agrees: what is unknown is
// NULL there.
#include "testing.h"

#include "sample.h"

static bool see_collective(void *user, const struct profile_collective *row)
{
    const struct profile_collective *wanted = &sample_collectives[(*(size_t *)user)++];
    assert_int_equal(row->call, wanted->call);
    assert_int_equal(row->start_ns, wanted->start_ns);
    assert_int_equal(row->end_ns, wanted->end_ns);
    assert_int_equal(row->from, wanted->from);
    assert_int_equal(row->to, wanted->to);
    assert_int_equal(row->from_object, wanted->from_object);
    assert_int_equal(row->to_object, wanted->to_object);
    assert_int_equal(row->count, wanted->count);
    assert_int_equal(row->sent_bytes, wanted->sent_bytes);
    assert_int_equal(row->received_bytes, wanted->received_bytes);
    assert_int_equal(row->communicator, wanted->communicator);
    assert_int_equal(row->rank, wanted->rank);
    assert_int_equal(row->ranks, wanted->ranks);
    assert_int_equal(row->peer, wanted->peer);
    assert_int_equal(row->status, wanted->status);
    assert_int_equal(row->type, wanted->type);
    return true;
}

static void collectives_are_read_back_and_seen_in_their_view(void **state)
{
    (void)state;
    struct base_error error = {0};
    struct profile *profile;
    size_t seen = 0;
    check_good(sample_write(test_path, &error), &error);
    check_good(profile_open(test_path, &profile, &error), &error);
    check_good(profile_each_collective(profile, see_collective, &seen, &error), &error);
    assert_int_equal(seen, SAMPLE_COUNT(sample_collectives));
    check_query(profile,
                "SELECT call, communicator, rank, ranks, peer, count, type, sent_bytes,"
                " received_bytes, from_address, to_address, from_object, to_object, status,"
                " start_ns, end_ns FROM v_collectives ORDER BY call",
                "3|1|0|8||256|float32|1024|1024|65536|131072|1|2|0|3000|4500\n"
                "4|2|||3|10||0|||131072|||7|5000|5001\n");
    profile_close(profile);
}

static void types_have_the_numbers_of_nccl(void **state)
{
    (void)state;
    assert_int_equal(PROFILE_COLLECTIVE_INT8, 1 + 0);
    assert_int_equal(PROFILE_COLLECTIVE_FLOAT16, 1 + 6);
    assert_int_equal(PROFILE_COLLECTIVE_FLOAT32, 1 + 7);
    assert_int_equal(PROFILE_COLLECTIVE_BFLOAT16, 1 + 9);
    assert_int_equal(PROFILE_COLLECTIVE_TYPES, 1 + 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(collectives_are_read_back_and_seen_in_their_view,
                                        make_folder, remove_folder),
        cmocka_unit_test(types_have_the_numbers_of_nccl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
