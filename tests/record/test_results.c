// SPDX-License-Identifier: Apache-2.0
// Whether code looks at the result of the call before it: pieces of machine code in this program,
// each of which stands behind a call.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include "record/results.h"

#ifdef __x86_64__
#define TEST      "test %eax, %eax\n"
#define STORE     "mov %eax, -8(%rsp)\n"
#define ZERO      "xor %eax, %eax\n"
#define CALL      "call "
#define JUMP      "jmp "
#define IF_OTHER  "cmp $1, %ecx\njne "
#define UNKNOWN   "cpuid\n"
#define ELSEWHERE "jmp *%rdx\n"
#define TRAP      "ud2\n"
#else
#define TEST      "cmp w0, #0\n"
#define STORE     "str w0, [sp, #-8]\n"
#define ZERO      "mov w0, wzr\n"
#define CALL      "bl "
#define JUMP      "b "
#define IF_OTHER  "cbnz w9, "
#define UNKNOWN   "mrs x0, tpidr_el0\n"
#define ELSEWHERE "br x9\n"
#define TRAP      "brk #1\n"
#endif
#define FUNCTION(name, code) \
    ".type " name ", %function\n" name ":\n" code "ret\n.size " name ", . - " name "\n"
// A label that is no function.
#define CODE(name, code) ".globl at_" name "\n.hidden at_" name "\nat_" name ":\n" code

__asm__(".text\n"                                                             //
        FUNCTION("cudaGetLastError", ZERO)                                    //
        FUNCTION("cudaFreeOther", ZERO)                                       //
        FUNCTION("nothing", ZERO)                                             //
        FUNCTION("asks", ZERO CALL "cudaGetLastError\n" TEST)                 //
        FUNCTION("asks_2", ZERO CALL "nothing\n" ZERO CALL "asks\n")          //
        FUNCTION("asks_3", ZERO CALL "asks_2\n")                              //
        FUNCTION("asks_4", ZERO CALL "asks_3\n")                              //
        CODE("test", TEST "ret\n")                                            //
        CODE("store", STORE "ret\n")                                          //
        CODE("zero", ZERO TEST "ret\n")                                       //
        CODE("call", CALL "nothing\n" TEST "ret\n")                           //
        CODE("jump", JUMP "at_test\n")                                        //
        CODE("tail", JUMP "nothing\n")                                        //
        CODE("one_way", IF_OTHER "1f\n" ZERO "ret\n1:\n" TEST "ret\n")        //
        CODE("other_way", IF_OTHER "1f\n" TEST "ret\n1:\n" ZERO "ret\n")      //
        CODE("no_way", IF_OTHER "1f\n" ZERO "ret\n1:\n" ZERO "ret\n")         //
        CODE("unknown_way", IF_OTHER "1f\n" ZERO "ret\n1:\n" UNKNOWN)         //
        CODE("unknown_and_test", IF_OTHER "1f\n" UNKNOWN "1:\n" TEST "ret\n") //
        CODE("loop", "1:\n" IF_OTHER "1b\n" ZERO JUMP "1b\n")                 //
        CODE("back", "ret\n")                                                 //
        CODE("zero_and_unknown", ZERO UNKNOWN)                                //
        CODE("unknown", UNKNOWN TEST "ret\n")                                 //
        CODE("elsewhere", ELSEWHERE)                                          //
        CODE("trap", TRAP TEST)                                               //
        "9:\n" ZERO CALL "nothing\n" UNKNOWN "ret\n"                          //
        CODE("nameless", ZERO CALL "9b\n"
                                   "ret\n")                //
        CODE("last_error", ZERO CALL "cudaGetLastError\n") //
        CODE("other_call", ZERO CALL "cudaFreeOther\n" CALL "cudaGetLastError\n"
                                     "ret\n") //
        CODE("asks", ZERO CALL "asks\n"
                               "ret\n") //
        CODE("asks_inside", ZERO CALL "asks_2\n"
                                      "ret\n") //
        CODE("asks_too_deep", ZERO CALL "asks_4\n"
                                        "ret\n") //
        CODE("asks_at_the_end", ZERO JUMP "asks\n"));

static struct record_symbols *symbols;
static uint32_t image;

#define AT(name)                                                                             \
    ({                                                                                       \
        extern const char name[] __asm__("at_" #name) __attribute__((visibility("hidden"))); \
        name;                                                                                \
    })

static struct record_results_place place_of(const char *code)
{
    Dl_info info;
    struct link_map *map = NULL;
    assert_int_not_equal(dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP), 0);
    return (struct record_results_place){image, (uintptr_t)code - map->l_addr};
}

static enum profile_result_use use_at(const char *code)
{
    const struct record_results_place place = place_of(code);
    return record_results_use(symbols, &place, 1);
}

static int setup(void **state)
{
    (void)state;
    symbols = record_symbols_create(NULL);
    assert_non_null(symbols);
    image = record_symbols_image(symbols, "/proc/self/exe", strlen("/proc/self/exe"), NULL, 0);
    assert_int_not_equal(image, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    record_symbols_destroy(symbols);
    return 0;
}

#define EXPECT(name, use) assert_int_equal(use_at(AT(name)), PROFILE_RESULT_##use)

static void a_result_that_is_read_is_looked_at(void **state)
{
    (void)state;
    EXPECT(test, LOOKED_AT);
    EXPECT(store, LOOKED_AT);
    EXPECT(jump, LOOKED_AT);
}

static void a_result_that_is_overwritten_is_ignored(void **state)
{
    (void)state;
    EXPECT(zero, IGNORED);
    EXPECT(call, IGNORED);
    EXPECT(tail, IGNORED);
    EXPECT(loop, IGNORED);
    EXPECT(trap, IGNORED);
}

static void one_of_several_ways_is_enough(void **state)
{
    (void)state;
    EXPECT(one_way, LOOKED_AT);
    EXPECT(other_way, LOOKED_AT);
    EXPECT(no_way, IGNORED);
    EXPECT(unknown_way, UNKNOWN);
    EXPECT(unknown_and_test, LOOKED_AT);
}

static void what_cannot_be_read_is_unknown(void **state)
{
    (void)state;
    EXPECT(unknown, UNKNOWN);
    EXPECT(elsewhere, UNKNOWN);
    EXPECT(zero_and_unknown, IGNORED);
    assert_int_equal(record_results_use(symbols, NULL, 0), PROFILE_RESULT_UNKNOWN);
    const struct record_results_place places[] = {
        {0, 0x1000}, {image, 1}, {image, UINT64_MAX - 1}, {image, UINT64_MAX}};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
        assert_int_equal(record_results_use(symbols, &places[i], 1), PROFILE_RESULT_UNKNOWN);
    const uint32_t no_file = record_symbols_image(symbols, "/no/such/file", 13, NULL, 0);
    const struct record_results_place nowhere = {no_file, place_of(AT(test)).return_address};
    assert_int_equal(record_results_use(symbols, &nowhere, 1), PROFILE_RESULT_UNKNOWN);
}

static void a_result_that_is_returned_is_left_to_the_caller(void **state)
{
    (void)state;
    EXPECT(back, UNKNOWN);
    const struct record_results_place looks[] = {place_of(AT(back)), place_of(AT(back)),
                                                 place_of(AT(test))};
    const struct record_results_place ignores[] = {place_of(AT(back)), place_of(AT(zero)),
                                                   place_of(AT(test))};
    const struct record_results_place asks[] = {place_of(AT(zero)), place_of(AT(last_error))};
    assert_int_equal(record_results_use(symbols, looks, 3), PROFILE_RESULT_LOOKED_AT);
    assert_int_equal(record_results_use(symbols, looks, 2), PROFILE_RESULT_UNKNOWN);
    assert_int_equal(record_results_use(symbols, ignores, 3), PROFILE_RESULT_IGNORED);
    assert_int_equal(record_results_use(symbols, asks, 2), PROFILE_RESULT_LOOKED_AT);
}

static void asking_for_the_last_error_next_is_looking_at_it(void **state)
{
    (void)state;
    EXPECT(last_error, LOOKED_AT);
    EXPECT(asks, LOOKED_AT);
    EXPECT(asks_inside, LOOKED_AT);
    EXPECT(asks_at_the_end, LOOKED_AT);
    EXPECT(other_call, IGNORED);    // another CUDA call comes first
    EXPECT(asks_too_deep, IGNORED); // three functions are entered
    EXPECT(nameless, UNKNOWN);      // the function may be cudaGetLastError
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_that_is_read_is_looked_at),
        cmocka_unit_test(a_result_that_is_overwritten_is_ignored),
        cmocka_unit_test(one_of_several_ways_is_enough),
        cmocka_unit_test(what_cannot_be_read_is_unknown),
        cmocka_unit_test(a_result_that_is_returned_is_left_to_the_caller),
        cmocka_unit_test(asking_for_the_last_error_next_is_looking_at_it),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
