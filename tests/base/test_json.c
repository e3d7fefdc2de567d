// SPDX-License-Identifier: Apache-2.0
// Tests of the JSON writer: known answers, misuse, sinks that fail, and a real parser that reads
// the output back.
#include "testing.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// Runs `calls` on a writer named json and expects the text.
#define WRITES(indent, expected, calls)            \
    do {                                           \
        struct base_buf buf = {0};                 \
        struct base_json writer, *json = &writer;  \
        base_json_init_buf(json, &buf, (indent));  \
        calls;                                     \
        assert_true(base_json_finish(json));       \
        assert_string_equal(buf.text, (expected)); \
        base_buf_fini(&buf);                       \
    } while (0)

static void scalars_are_documents(void **state)
{
    (void)state;
    WRITES(0, "null", base_json_null(json));
    WRITES(0, "true", base_json_bool(json, true));
    WRITES(0, "false", base_json_bool(json, false));
    WRITES(0, "0", base_json_u64(json, 0));
    WRITES(0, "18446744073709551615", base_json_u64(json, UINT64_MAX));
    WRITES(0, "-9223372036854775808", base_json_i64(json, INT64_MIN));
    WRITES(0, "9223372036854775807", base_json_i64(json, INT64_MAX));
    WRITES(0, "-1", base_json_i64(json, -1));
    WRITES(0, "\"text\"", base_json_string(json, "text"));
    WRITES(0, "\"\"", base_json_string(json, ""));
    WRITES(0, "null", base_json_string(json, NULL));
    WRITES(2, "null", base_json_null(json));
}

static void sample(struct base_json *json)
{
    base_json_begin_object(json);
    base_json_key(json, "a");
    base_json_u64(json, 1);
    base_json_key(json, "list");
    base_json_begin_array(json);
    base_json_i64(json, -2);
    base_json_begin_array(json);
    base_json_end_array(json);
    base_json_begin_object(json);
    base_json_end_object(json);
    base_json_begin_object(json);
    base_json_key_str(json, (struct base_str){"b and more", 1});
    base_json_null(json);
    base_json_end_object(json);
    base_json_string(json, "x");
    base_json_end_array(json);
    base_json_key(json, "z");
    base_json_bool(json, true);
    base_json_end_object(json);
}

static void containers_nest_with_commas_where_they_belong(void **state)
{
    (void)state;
    WRITES(0, "{\"a\":1,\"list\":[-2,[],{},{\"b\":null},\"x\"],\"z\":true}", sample(json));
    WRITES(0, "[]", (base_json_begin_array(json), base_json_end_array(json)));
    WRITES(3, "{}", (base_json_begin_object(json), base_json_end_object(json)));
}

static void indentation_follows_the_depth(void **state)
{
    (void)state;
    WRITES(2,
           "{\n"
           "  \"a\": 1,\n"
           "  \"list\": [\n"
           "    -2,\n"
           "    [],\n"
           "    {},\n"
           "    {\n"
           "      \"b\": null\n"
           "    },\n"
           "    \"x\"\n"
           "  ],\n"
           "  \"z\": true\n"
           "}",
           sample(json));
    WRITES(100, "[\n                1\n]", ({
               base_json_begin_array(json);
               base_json_u64(json, 1);
               base_json_end_array(json);
           }));
}

static void text_is_escaped(void **state)
{
    (void)state;
    WRITES(0, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\"",
           base_json_string(json, "\"\\/\b\f\n\r\t\x01\x1F\x7F"));
    WRITES(0, "\"a\\u0000b\"", base_json_str(json, (struct base_str){"a\0b", 3}));
    WRITES(0, "\"\\u009b\\u202e\\u2066\"",
           base_json_string(json, "\xC2\x9B\xE2\x80\xAE\xE2\x81\xA6"));
    WRITES(0, "\"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x92\xA1\"",
           base_json_string(json, "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x92\xA1"));
    WRITES(0, "{\"\\\"\\n\":1}", ({
               base_json_begin_object(json);
               base_json_key(json, "\"\n");
               base_json_u64(json, 1);
               base_json_end_object(json);
           }));
}

// As keys and strings, but written without escaping; at every position of the writer's buffer.
static void names_and_raw_values_are_written_as_they_stand(void **state)
{
    (void)state;
#define LONG_NAME "a name that is longer than those which are copied in one go"
    for (unsigned indent = 0; indent <= 1; indent++) {
        WRITES(indent,
               indent ? "{\n \"a\": [1, 2],\n \"" LONG_NAME "\": 3\n}"
                      : "{\"a\":[1, 2],\"" LONG_NAME "\":3}",
               ({
                   base_json_begin_object(json);
                   base_json_name(json, BASE_JSON_NAME("a"));
                   base_json_raw(json, base_str("[1, 2]"));
                   base_json_name(json, BASE_JSON_NAME(LONG_NAME));
                   base_json_u64(json, 3);
                   base_json_end_object(json);
               }));
    }
    for (size_t before = BASE_JSON_BUFFER_BYTES - 80; before < BASE_JSON_BUFFER_BYTES + 2;
         before++) {
        struct base_buf buf = {0}, expected = {0};
        struct base_json json;
        char *text = calloc(before + 1, 1);
        assert_non_null(text);
        memset(text, 'x', before);
        base_json_init_buf(&json, &buf, 0);
        base_json_begin_object(&json);
        base_json_key(&json, "k");
        base_json_string(&json, text);
        base_json_name(&json, BASE_JSON_NAME("name"));
        base_json_u64(&json, UINT64_MAX);
        base_json_name(&json, BASE_JSON_NAME("other"));
        base_json_i64(&json, -1234567890123456789);
        base_json_end_object(&json);
        assert_true(base_json_finish(&json));
        base_buf_printf(&expected,
                        "{\"k\":\"%s\",\"name\":18446744073709551615,"
                        "\"other\":-1234567890123456789}",
                        text);
        assert_string_equal(buf.text, expected.text);
        base_buf_fini(&buf);
        base_buf_fini(&expected);
        free(text);
    }
}

static void integers_of_all_lengths_have_all_their_digits(void **state)
{
    (void)state;
    for (uint64_t power = 1, last = 0; power > last; last = power, power *= 10) {
        for (uint64_t value = power - 1; value <= power + 1; value++) {
            char expected[24];
            snprintf(expected, sizeof(expected), "%llu", (unsigned long long)value);
            WRITES(0, expected, base_json_u64(json, value));
        }
        if (power > UINT64_MAX / 10)
            break;
    }
}

#define FFFD "\xEF\xBF\xBD"

static void what_is_not_utf8_is_replaced(void **state)
{
    (void)state;
    WRITES(0, "\"a" FFFD "b\"",
           base_json_string(json, "a\x80"
                                  "b"));
    WRITES(0, "\"" FFFD FFFD "\"", base_json_string(json, "\xFE\xFF"));
    WRITES(0, "\"" FFFD FFFD "\"", base_json_string(json, "\xC0\x80"));          // overlong
    WRITES(0, "\"" FFFD FFFD FFFD "\"", base_json_string(json, "\xE0\x9F\xBF")); // overlong
    WRITES(0, "\"" FFFD FFFD FFFD FFFD "\"",
           base_json_string(json, "\xF0\x8F\xBF\xBF"));                          // overlong
    WRITES(0, "\"" FFFD FFFD FFFD "\"", base_json_string(json, "\xED\xA0\x80")); // surrogate
    WRITES(0, "\"" FFFD FFFD FFFD FFFD "\"",
           base_json_string(json, "\xF4\x90\x80\x80"));            // U+110000
    WRITES(0, "\"" FFFD "\"", base_json_string(json, "\xE2\x82")); // truncated
    WRITES(0, "\"" FFFD "x\"", base_json_string(json, "\xF0\x9F\x92x"));
    WRITES(0, "\"" FFFD "\\n\"", base_json_string(json, "\xC3\n"));
    WRITES(0, "\"" FFFD "\"", base_json_str(json, (struct base_str){"\xC3\xA4", 1}));
    // The first and last characters of each length are valid; the first of two bytes is a control
    // character, which is escaped.
    WRITES(
        0, "\"\\u0080\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF\"",
        base_json_string(json, "\xC2\x80\xDF\xBF\xE0\xA0\x80\xED\x9F\xBF\xEE\x80\x80\xEF\xBF\xBF"));
    WRITES(0, "\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\"",
           base_json_string(json, "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"));
}

static void numbers_with_a_point_are_short_and_exact(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {-1.0, "-1.0"},
        {0.1, "0.1"},
        {0.5, "0.5"},
        {100.0, "100.0"},
        {123.456, "123.456"},
        {-1234.5, "-1234.5"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {9007199254740993.0, "9007199254740992.0"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e16"},
        {1.5e16, "1.5e16"},
        {1e300, "1e300"},
        {1e-5, "0.00001"},
        {1.25e-5, "0.0000125"},
        {1e-6, "1e-6"},
        {1.5e-7, "1.5e-7"},
        {DBL_MAX, "1.7976931348623157e308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {0x1p-1074, "5e-324"},
        {NAN, "null"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        WRITES(0, cases[i].text, base_json_double(json, cases[i].value));
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void every_finite_double_reads_back_the_same(void **state)
{
    (void)state;
    uint64_t random = 21;
    for (size_t i = 0; i < 20000; i++) {
        uint64_t bits = test_random(&random);
        if (i % 4 == 0)
            bits &= ~(uint64_t)0 << (bits % 52); // few binary digits
        if (i % 16 == 1)
            bits &= 0x800FFFFFFFFFFFFFu; // below DBL_MIN
        double value = double_of(bits);
        struct base_buf buf = {0};
        struct base_json json;
        base_json_init_buf(&json, &buf, 0);
        base_json_double(&json, value);
        assert_true(base_json_finish(&json));
        if (isfinite(value)) {
            double back = strtod(buf.text, NULL);
            if (memcmp(&back, &value, sizeof(value)) != 0)
                fail_msg("%a was written as %s", value, buf.text);
            assert_true(buf.length <= 24);
        } else {
            assert_string_equal(buf.text, "null");
        }
        base_buf_fini(&buf);
    }
}

static void the_locale_does_not_change_numbers(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE",
                                        "ps_AF"};
    size_t tried = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!setlocale(LC_NUMERIC, names[i]))
            continue;
        tried++;
        WRITES(0, "[-1.5,1.25e-30]", ({
                   base_json_begin_array(json);
                   base_json_double(json, -1.5);
                   base_json_double(json, 1.25e-30);
                   base_json_end_array(json);
               }));
    }
    setlocale(LC_NUMERIC, "C");
    if (!tried)
        skip(); // this machine has no locale that writes a comma
}

// --- Sinks ---------------------------------------------------------------------------------------

struct slow_sink {
    struct base_buf text;
    size_t calls;
    size_t calls_taken; // before it fails
};

static bool take_piece(void *user, const char *bytes, size_t length)
{
    struct slow_sink *sink = user;
    if (sink->calls++ >= sink->calls_taken)
        return false;
    assert_int_not_equal(length, 0);
    base_buf_add(&sink->text, bytes, length);
    return !sink->text.failed;
}

static void write_much(struct base_json *json)
{
    static char text[3 * BASE_JSON_BUFFER_BYTES];
    memset(text, 't', sizeof(text));
    base_json_begin_array(json);
    for (uint64_t i = 0; i < 3000; i++)
        base_json_u64(json, i);
    for (size_t length = 0; length < sizeof(text); length += 1021)
        base_json_str(json, (struct base_str){text, length});
    base_json_end_array(json);
}

static void a_long_document_arrives_whole_in_few_pieces(void **state)
{
    (void)state;
    struct base_buf expected = {0};
    base_buf_putc(&expected, '[');
    for (uint64_t i = 0; i < 3000; i++)
        base_buf_printf(&expected, i ? ",%" PRIu64 : "%" PRIu64, i);
    for (size_t length = 0; length < 3 * BASE_JSON_BUFFER_BYTES; length += 1021) {
        base_buf_puts(&expected, ",\"");
        for (size_t i = 0; i < length; i++)
            base_buf_putc(&expected, 't');
        base_buf_putc(&expected, '"');
    }
    base_buf_putc(&expected, ']');

    struct slow_sink sink = {.calls_taken = SIZE_MAX};
    struct base_json json;
    base_json_init(&json, take_piece, &sink, 0);
    write_much(&json);
    assert_true(base_json_finish(&json));
    assert_int_equal(sink.text.length, expected.length);
    assert_string_equal(sink.text.text, expected.text);
    assert_true(sink.calls < 3 * expected.length / BASE_JSON_BUFFER_BYTES);
    base_buf_fini(&sink.text);
    base_buf_fini(&expected);
}

static void a_sink_that_refuses_is_not_asked_again(void **state)
{
    (void)state;
    for (size_t taken = 0; taken < 4; taken++) {
        struct slow_sink sink = {.calls_taken = taken};
        struct base_json json;
        base_json_init(&json, take_piece, &sink, 0);
        write_much(&json);
        assert_true(json.failed);
        assert_false(base_json_finish(&json));
        assert_int_equal(sink.calls, taken + 1);
        base_buf_fini(&sink.text);
    }
    struct slow_sink sink = {.calls_taken = 0};
    struct base_json json;
    base_json_init(&json, take_piece, &sink, 0);
    base_json_null(&json);
    assert_false(base_json_finish(&json)); // only this call flushes a short document
}

static void a_buffer_that_failed_fails_the_document(void **state)
{
    (void)state;
    struct base_buf buf = {.failed = true};
    struct base_json json;
    base_json_init_buf(&json, &buf, 0);
    base_json_null(&json);
    assert_false(base_json_finish(&json));
    base_buf_fini(&buf);
}

// --- Misuse --------------------------------------------------------------------------------------

static void value_without_key(struct base_json *json)
{
    base_json_begin_object(json);
    base_json_null(json);
}

static void key_in_array(struct base_json *json)
{
    base_json_begin_array(json);
    base_json_key(json, "a");
}

static void key_at_top(struct base_json *json)
{
    base_json_key(json, "a");
}

static void two_keys(struct base_json *json)
{
    base_json_begin_object(json);
    base_json_key(json, "a");
    base_json_key(json, "b");
}

static void key_without_value(struct base_json *json)
{
    base_json_begin_object(json);
    base_json_key(json, "a");
    base_json_end_object(json);
}

static void object_ended_as_array(struct base_json *json)
{
    base_json_begin_object(json);
    base_json_end_array(json);
}

static void array_ended_as_object(struct base_json *json)
{
    base_json_begin_object(json);
    base_json_key(json, "a");
    base_json_begin_array(json);
    base_json_end_object(json);
}

static void end_of_nothing(struct base_json *json)
{
    base_json_end_array(json);
}

static void two_documents(struct base_json *json)
{
    base_json_null(json);
    base_json_null(json);
}

static void finish_in_the_middle(struct base_json *json)
{
    base_json_begin_array(json);
    base_json_finish(json);
}

static void finish_of_nothing(struct base_json *json)
{
    base_json_finish(json);
}

static void too_deep(struct base_json *json)
{
    for (int i = 0; i <= BASE_JSON_DEPTH; i++)
        base_json_begin_array(json);
}

static void misuse_is_caught(void **state)
{
    (void)state;
    static void (*const misuses[])(struct base_json *) = {
        value_without_key,     key_in_array,          key_at_top,     two_keys,
        key_without_value,     object_ended_as_array, end_of_nothing, two_documents,
        array_ended_as_object, finish_in_the_middle,  too_deep,       finish_of_nothing,
    };
    for (size_t i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++) {
        pid_t child = fork();
        if (child == 0) {
            struct base_buf buf = {0};
            struct base_json json;
            close(STDERR_FILENO);
            signal(SIGABRT, SIG_DFL);
            base_json_init_buf(&json, &buf, 0);
            misuses[i](&json);
            _exit(json.failed ? 3 : 0);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
#ifdef NDEBUG
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 3);
#else
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
#endif
    }
}

static void the_deepest_level_is_still_right(void **state)
{
    (void)state;
    struct base_buf buf = {0};
    struct base_json json;
    base_json_init_buf(&json, &buf, 0);
    for (int i = 0; i < BASE_JSON_DEPTH / 2; i++) {
        base_json_begin_array(&json);
        base_json_begin_object(&json);
        base_json_key(&json, "");
    }
    base_json_u64(&json, 7);
    for (int i = 0; i < BASE_JSON_DEPTH / 2; i++) {
        base_json_end_object(&json);
        base_json_end_array(&json);
    }
    assert_true(base_json_finish(&json));
    assert_int_equal(buf.length, BASE_JSON_DEPTH / 2 * 7 + 1);
    assert_memory_equal(buf.text, "[{\"\":[{\"\":", 10);
    assert_memory_equal(buf.text + buf.length - 4, "}]}]", 4);
    base_buf_fini(&buf);
}

// --- A real parser -------------------------------------------------------------------------------

// An array of [kind, input, output].
static void write_pairs(struct base_json *json)
{
    uint64_t random = 33;
    base_json_begin_array(json);
    for (size_t i = 0; i < 4000; i++) {
        unsigned char bytes[24];
        char hex[sizeof(bytes) * 2 + 1] = "";
        size_t length = test_random(&random) % sizeof(bytes);
        for (size_t k = 0; k < length; k++) {
            // Bytes that start or continue characters occur more often than by chance.
            uint64_t dice = test_random(&random);
            bytes[k] = (unsigned char)(dice >> 8);
            if (dice % 3 == 0)
                bytes[k] = (unsigned char)(0x80 | (dice >> 8 & 0x3F));
            else if (dice % 3 == 1)
                bytes[k] = (unsigned char)(0xE0 | (dice >> 8 & 0x1F));
            snprintf(hex + 2 * k, 3, "%02x", bytes[k]);
        }
        base_json_begin_array(json);
        base_json_string(json, "text");
        base_json_string(json, hex);
        base_json_str(json, (struct base_str){(const char *)bytes, length});
        base_json_end_array(json);
    }
    for (size_t i = 0; i < 4000; i++) {
        uint64_t bits = test_random(&random);
        char text[32];
        base_json_begin_array(json);
        base_json_string(json, "double");
        snprintf(text, sizeof(text), "%016" PRIx64, bits);
        base_json_string(json, text);
        base_json_double(json, double_of(bits));
        base_json_end_array(json);

        bits >>= bits % 64;
        base_json_begin_array(json);
        base_json_string(json, "int");
        snprintf(text, sizeof(text), i % 2 ? "%" PRIu64 : "%" PRId64, bits);
        base_json_string(json, text);
        if (i % 2)
            base_json_u64(json, bits);
        else
            base_json_i64(json, (int64_t)bits);
        base_json_end_array(json);
    }
    base_json_end_array(json);
}

static const char python_check[] =
    "python3 -c '\n"
    "import json, math, struct, sys\n"
    "pairs = json.loads(sys.stdin.buffer.read().decode(\"utf-8\"), strict=True)\n"
    "assert len(pairs) == 12000\n"
    "for kind, wanted, got in pairs:\n"
    "    if kind == \"text\":\n"
    "        assert got == bytes.fromhex(wanted).decode(\"utf-8\", \"replace\"), (wanted, got)\n"
    "    elif kind == \"double\":\n"
    "        value = struct.unpack(\">d\", bytes.fromhex(wanted))[0]\n"
    "        if math.isfinite(value):\n"
    "            assert type(got) is float and struct.pack(\">d\", got).hex() == wanted, (wanted, "
    "got)\n"
    "        else:\n"
    "            assert got is None\n"
    "    else:\n"
    "        assert type(got) is int and str(got) == wanted, (wanted, got)\n"
    "'";

// jq does not preserve large integers and does not know the original bytes, so it only checks the
// form.
static const char jq_check[] = "jq -e 'length == 12000 and all(length == 3)' >/dev/null";

static bool write_to_file(void *user, const char *bytes, size_t length)
{
    return fwrite(bytes, 1, length, user) == length;
}

static void a_real_parser_reads_the_same_back(void **state)
{
    (void)state;
    const char *command = NULL;
    if (system("python3 -c 'import json' >/dev/null 2>&1") == 0)
        command = python_check;
    else if (system("jq -n 1 >/dev/null 2>&1") == 0)
        command = jq_check;
    if (!command)
        skip();
    for (unsigned indent = 0; indent <= 2; indent += 2) {
        FILE *parser = popen(command, "w");
        assert_non_null(parser);
        struct base_json json;
        base_json_init(&json, write_to_file, parser, indent);
        write_pairs(&json);
        assert_true(base_json_finish(&json));
        assert_int_equal(pclose(parser), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_are_documents),
        cmocka_unit_test(containers_nest_with_commas_where_they_belong),
        cmocka_unit_test(indentation_follows_the_depth),
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(names_and_raw_values_are_written_as_they_stand),
        cmocka_unit_test(integers_of_all_lengths_have_all_their_digits),
        cmocka_unit_test(what_is_not_utf8_is_replaced),
        cmocka_unit_test(numbers_with_a_point_are_short_and_exact),
        cmocka_unit_test(every_finite_double_reads_back_the_same),
        cmocka_unit_test(the_locale_does_not_change_numbers),
        cmocka_unit_test(a_long_document_arrives_whole_in_few_pieces),
        cmocka_unit_test(a_sink_that_refuses_is_not_asked_again),
        cmocka_unit_test(a_buffer_that_failed_fails_the_document),
        cmocka_unit_test(misuse_is_caught),
        cmocka_unit_test(the_deepest_level_is_still_right),
        cmocka_unit_test(a_real_parser_reads_the_same_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
