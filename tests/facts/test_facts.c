// SPDX-License-Identifier: Apache-2.0
// Known answers of the shared lists: profiles contain these values and words, so none may change. A
// new row of a list needs a new entry here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "event/event.h"
#include "instrument/instrument.h"
#include "plan/plan.h"
#include "profile/profile.h"

struct row {
    int value;
    const char *name, *word;
};

#define ROW(prefix, name, value, ...) {value, #name, "" __VA_ARGS__},
#define ROWS(list)        \
    (const struct row[])  \
    {                     \
        list(ROW, )       \
        {                 \
            0, NULL, NULL \
        }                 \
    }

struct known {
    const struct row *rows;
    const char *text; // "word=value"; for flags "NAME=value"
};

static const struct known known[] = {
    {ROWS(FACTS_CALL_KINDS),
     "other=0 alloc=1 free=2 copy=3 set=4 launch=5 graph-launch=6 sync=7 event-record=8 "
     "event-wait=9 host=10 stream=11 context=12 module=13 memory=14 "},
    {ROWS(FACTS_CALL_FLAGS), "ASYNC=1 WAITED=2 CAPTURED=4 REPLAYS=8 "},
    {ROWS(FACTS_OBJECT_KINDS),
     "device=1 pitched=2 array=3 managed=4 pool=5 mapping=6 global=7 pinned=8 registered=9 "
     "imported=10 graph=11 part=12 heap=13 tensor=14 "},
    {ROWS(FACTS_NODE_KINDS),
     "kernel=1 copy=2 set=3 alloc=4 free=5 event-record=6 event-wait=7 host=8 graph=9 empty=10 "
     "other=11 "},
    {ROWS(FACTS_MEMORIES), "pageable=1 pinned=2 device=3 managed=4 array=5 unknown=6 "},
    {ROWS(FACTS_DIRECTIONS), "host-to-device=1 device-to-host=2 device-to-device=3 "
                             "host-to-host=4 peer-to-peer=5 "},
    {ROWS(FACTS_HOSTS), "pageable=1 allocated=2 mapped=3 file=4 stack=5 static=6 pinned=7 "
                        "registered=8 managed=9 "},
    {ROWS(FACTS_STREAM_FLAGS), "NON_BLOCKING=1 LEGACY=2 PER_THREAD=4 "},
    {ROWS(FACTS_LAUNCH_FLAGS), "COOPERATIVE=1 WATCHED=2 PASSED=4 SAMPLED=8 "},
    {ROWS(FACTS_PROBE_FACTS), "OBJECTS=1 ELEMENTS=2 COUNTS=4 VALUES=8 ACCESSED=16 "
                              "ONLY_MEMORY=32 REQUESTS=64 SHARED=128 CACHE=256 "},
    {ROWS(FACTS_VALUE_TYPES), "raw=0 u8=1 s8=2 u16=3 s16=4 u32=5 s32=6 u64=7 s64=8 f16=9 bf16=10 "
                              "f32=11 f64=12 "},
    {ROWS(FACTS_CONTENTS_KINDS), "written=1 found=2 "},
    {ROWS(FACTS_CONTENTS_FLAGS), "CONCURRENT=1 "},
    {ROWS(FACTS_ACCESSED_WAYS), "read=1 written=2 "},
    {ROWS(FACTS_ACCESSED_FLAGS), "INCOMPLETE=1 "},
    {ROWS(FACTS_SHARED_FLAGS), "INCOMPLETE=1 AT_LEAST=2 "},
    {ROWS(FACTS_REUSE_FLAGS), "INCOMPLETE=1 LARGE=2 APART=4 "},
    {ROWS(FACTS_VALUE_SIZES), "FIELDS=8 CANDIDATES=8 ROUNDINGS=7 DISTINCT=256 "},
    {ROWS(FACTS_SITE_ACCESSES), "load=0 store=1 atomic=2 "},
    {ROWS(FACTS_MAP_KINDS), "touched=1 shared=2 "},
    {ROWS(FACTS_DOUBTS), "pointer=1 left=2 texture=3 wrapped=4 work=5 untold=6 "},
    {ROWS(FACTS_USE_KINDS), "read=1 write=2 system=3 unknown=4 unwatched=5 clock=6 "},
    {ROWS(FACTS_SAMES), "UNKNOWN=0 NO=1 YES=2 "},
    {ROWS(FACTS_REMEDIES), "drop-sync=1 async-copy=2 pool=3 back=4 last-use=5 "},
    {ROWS(FACTS_SEVERITIES), "info=1 warning=2 error=3 "},
    {ROWS(FACTS_ENDINGS), "recorder lost=0 exited=1 signalled=2 ended=3 replaced=4 "},
    {ROWS(FACTS_NAME_SOURCES), "path=1 place=2 source=3 program=4 "},
    {ROWS(FACTS_COUNT_SIZES), "COUNT_BINS=64 HOT_RANGES=8 "},
};

static void values_and_words_are_those_of_profiles(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct base_buf text = {0};
        for (const struct row *row = known[i].rows; row->name; row++)
            base_buf_printf(&text, "%s=%d ", row->word[0] ? row->word : row->name, row->value);
        assert_string_equal(text.text, known[i].text);
        base_buf_fini(&text);
    }
}

// The word of a row is its name in lower case, with '-' for '_' ("recorder lost": ' ').
static void words_follow_from_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        for (const struct row *row = known[i].rows; row->name; row++)
            for (size_t k = 0; row->word[0] && k <= strlen(row->name); k++) {
                const char c = row->name[k];
                const char lower = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
                assert_true(row->word[k] == lower ||
                            (c == '_' && (row->word[k] == '-' || row->word[k] == ' ')));
            }
}

// The macros that generate a part's enumerators give each its row's value.
#define SAME(prefix, name, value, ...)             \
    assert_int_equal(EVENT_##prefix##name, value); \
    assert_int_equal(PROFILE_##prefix##name, value);
static void every_part_has_the_same_values(void **state)
{
    (void)state;
    FACTS_CALL_KINDS(SAME, CALL_)
    FACTS_CALL_FLAGS(SAME, CALL_)
    FACTS_OBJECT_KINDS(SAME, OBJECT_)
    FACTS_NODE_KINDS(SAME, NODE_)
    FACTS_MEMORIES(SAME, MEMORY_)
    FACTS_HOSTS(SAME, HOST_)
    FACTS_STREAM_FLAGS(SAME, STREAM_)
    FACTS_LAUNCH_FLAGS(SAME, LAUNCH_)
    FACTS_PROBE_FACTS(SAME, PROBE_)
    FACTS_SITE_ACCESSES(SAME, SITE_)
    FACTS_MAP_KINDS(SAME, MAP_)
    FACTS_DOUBTS(SAME, DOUBT_)
    FACTS_USE_KINDS(SAME, USE_)
    FACTS_SAMES(SAME, SAME_)
    assert_int_equal(EVENT_CALL_KINDS, PROFILE_CALL_KINDS);
    assert_int_equal(EVENT_OBJECT_KINDS, PROFILE_OBJECT_KINDS);
    assert_int_equal(EVENT_HOST_KINDS, PROFILE_HOST_KINDS);
    assert_int_equal(EVENT_DOUBT_KINDS, PROFILE_DOUBT_KINDS);
    assert_int_equal(EVENT_USE_KINDS, PROFILE_USE_KINDS);
    assert_int_equal(INSTRUMENT_COUNTS, PROFILE_PROBE_COUNTS);
    assert_int_equal(PLAN_REMEDIES, PROFILE_REMEDIES);
    for (int i = PLAN_NONE + 1; i < PLAN_REMEDIES; i++)
        assert_string_equal(plan_remedy_name((enum plan_remedy)i),
                            profile_remedy_word((enum profile_remedy)i));
}

// Records have no padding, which would copy bytes of the program's memory.
static void records_have_no_holes(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct event_launch), 9 * 4);
    assert_int_equal(sizeof(struct event_copy), 13 * 8 + 4 + 4);
    assert_int_equal(sizeof(struct event_set), 6 * 8 + 2 * 4);
    assert_int_equal(sizeof(struct event_call), 4 * 8 + 6 * 4 + 2 + 6);
    assert_int_equal(sizeof(struct event_alloc), 3 * 8 + 4 + 4);
    assert_int_equal(sizeof(struct event_object), 9 * 8 + 3 * 4 + 1 + 3);
    assert_int_equal(sizeof(struct event_site), 9 * 4 + 4);
    assert_int_equal(sizeof(struct event_access), 7 * 8 + 4 * 4);
    assert_int_equal(sizeof(struct event_map), 3 * 8 + 4 + 4);
    assert_int_equal(sizeof(struct event_use), 8 * 8 + 3 * 4 + 1 + 3);
    assert_int_equal(sizeof(struct event_hash), 5 * 8 + 1 + 7);
    assert_int_equal(sizeof(struct event_block), 4 * 8 + 4 + 1 + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_words_are_those_of_profiles),
        cmocka_unit_test(words_follow_from_names),
        cmocka_unit_test(every_part_has_the_same_values),
        cmocka_unit_test(records_have_no_holes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
