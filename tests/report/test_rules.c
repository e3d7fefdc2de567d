// SPDX-License-Identifier: Apache-2.0
// Parsing of rules: amounts are exact, and errors name the invalid rule.
#include "testing.h"

#include "report/report.h"

static void amounts_are_exact(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum report_unit unit;
        uint64_t limit;
    } cases[] = {
        {"any>0B", REPORT_BYTES, 0},
        {"any>64MiB", REPORT_BYTES, 64u << 20},
        {"any > 1.5 GiB", REPORT_BYTES, 3u << 29},
        {"any>1.001KB", REPORT_BYTES, 1001},
        {"any>0.001KiB", REPORT_BYTES, 1},
        {"any>2TB", REPORT_BYTES, 2000000000000},
        {"any>16777215.999TiB", REPORT_BYTES, 0xffffffffbe76c8b4},
        {"any>5ms", REPORT_NS, 5000000},
        {"any>1.5us", REPORT_NS, 1500},
        {"any>2s", REPORT_NS, 2000000000},
        {"any>0.5%", REPORT_MILLIPERCENT, 500},
        {"any>100%", REPORT_MILLIPERCENT, 100000},
        {"peak>1B", REPORT_BYTES, 1},
        {"growth>5%", REPORT_MILLIPERCENT, 5000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct report_rules rules;
        struct base_error error = {0};
        report_rules_init(&rules);
        if (report_rules_add(&rules, cases[i].text, &error) != BASE_OK)
            fail_msg("%s: %s", cases[i].text, error.text[0]);
        assert_int_equal(rules.rules.count, 1);
        assert_true(rules.rules.items[0].has_limit);
        assert_int_equal(rules.rules.items[0].unit, cases[i].unit);
        assert_true(rules.rules.items[0].limit == cases[i].limit);
        report_rules_fini(&rules);
    }
}

static void rules_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"memory-lek", "unknown rule 'memory-lek' (did you mean 'memory-leak'?)"},
        {"frobnicate", "unknown rule 'frobnicate'"},
        {"any,,new", "a rule is missing: ''"},
        {"", "a rule is missing: ''"},
        {">5ms", "a rule is missing: '>5ms'"},
        {"any>", "'' is not an amount such as 64MiB, 1.5GB, 5ms or 10%"},
        {"any>5", "'5' is not an amount such as 64MiB, 1.5GB, 5ms or 10%"},
        {"any>-5ms", "'-5ms' is not an amount such as 64MiB, 1.5GB, 5ms or 10%"},
        {"any>5.ms", "'5.ms' is not an amount such as 64MiB, 1.5GB, 5ms or 10%"},
        {"any>1.2345s", "'1.2345s' is not an amount such as 64MiB, 1.5GB, 5ms or 10%"},
        {"any>5mib", "'5mib' is not an amount such as 64MiB, 1.5GB, 5ms or 10%"},
        {"any>99999999TiB", "'99999999TiB' is not an amount such as 64MiB, 1.5GB, 5ms or 10%"},
        {"any>99999999999999999999B",
         "'99999999999999999999B' is not an amount such as 64MiB, 1.5GB, 5ms or 10%"},
        {"peak", "'peak' needs an amount: peak>64MiB"},
        {"traffic", "'traffic' needs an amount: traffic>64MiB"},
        {"peak>5ms", "'peak' cannot be compared with '5ms'"},
        {"peak>5%", "'peak' cannot be compared with '5%'"},
        {"growth>5ms", "'growth' cannot be compared with '5ms'"},
        {"traffic>5%", "'traffic' cannot be compared with '5%'"},
        {"unused-suppression>1B", "'unused-suppression' cannot be compared with '1B'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct report_rules rules;
        struct base_error error = {0};
        report_rules_init(&rules);
        assert_int_equal(report_rules_add(&rules, cases[i].text, &error), BASE_SYNTAX);
        assert_string_equal(error.text[0], cases[i].message);
        report_rules_fini(&rules);
    }
}

static void a_file_has_rules_suppressions_and_thresholds(void **state)
{
    (void)state;
    struct report_rules rules;
    struct base_error error = {0};
    report_rules_init(&rules);
    assert_int_equal(report_rules_read(&rules,
                                       base_str("fail-on = ['memory-leak', 'peak>1GiB']\n"
                                                "baseline = \"main.glint\"\n"
                                                "[thresholds]\nidle-apis = 5\n"
                                                "[[suppress]]\npattern = 'dead-write'\n"
                                                "object = 'a*'\npath = 'f'\nreason = 'r'\n"
                                                "[[suppress]]\nobject = 'b'\nreason = 's'\n"),
                                       &error),
                     BASE_OK);
    assert_int_equal(rules.rules.count, 2);
    assert_int_equal(rules.rules.items[0].kind, REPORT_RULE_FINDING);
    assert_int_equal(rules.rules.items[0].pattern, ANALYZE_MEMORY_LEAK);
    assert_false(rules.rules.items[0].has_limit);
    assert_int_equal(rules.rules.items[1].kind, REPORT_RULE_PEAK);
    assert_string_equal(rules.rules.items[1].text, "peak>1GiB");
    assert_string_equal(rules.baseline, "main.glint");
    assert_int_equal(*analyze_threshold(&rules.thresholds, "idle-apis"), 5);
    struct analyze_thresholds usual = analyze_default_thresholds();
    assert_int_equal(*analyze_threshold(&rules.thresholds, "slices"),
                     *analyze_threshold(&usual, "slices"));
    assert_int_equal(rules.suppressions.count, 2);
    assert_int_equal(rules.suppressions.items[0].pattern, ANALYZE_DEAD_WRITE);
    assert_string_equal(rules.suppressions.items[0].object, "a*");
    assert_string_equal(rules.suppressions.items[0].path, "f");
    assert_string_equal(rules.suppressions.items[0].reason, "r");
    assert_int_equal(rules.suppressions.items[0].line, 5);
    assert_int_equal(rules.suppressions.items[1].pattern, ANALYZE_PATTERNS);
    assert_null(rules.suppressions.items[1].path);
    report_rules_fini(&rules);
}

static void files_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"\nfail-onn = []", "line 2: unknown key 'fail-onn' (did you mean 'fail-on'?)"},
        {"fail-on = 'any'", "line 1: 'fail-on' takes an array of strings, not a string"},
        {"fail-on = [\n'any',\n'peek>1B']", "line 3: unknown rule 'peek' (did you mean 'peak'?)"},
        {"baseline = 1", "line 1: 'baseline' takes a string, not a number"},
        {"[supress]", "line 1: unknown table 'supress' (did you mean 'suppress'?)"},
        {"[suppress]\nobject = 'a'\nreason = 'b'",
         "line 1: a suppression begins with [[suppress]]"},
        {"[[thresholds]]", "line 1: thresholds begin with [thresholds]"},
        {"[thresholds]\nidle = 1", "line 2: unknown key 'idle' (did you mean 'idle-apis'?)"},
        {"[thresholds]\nidle-api = 1",
         "line 2: unknown key 'idle-api' (did you mean 'idle-apis'?)"},
        {"[thresholds]\nidle-apis = -1", "line 2: 'idle-apis' takes a number from 0 to 2147483647"},
        {"[thresholds]\nidle-apis = true", "line 2: 'idle-apis' takes a number, not true or false"},
        {"\n[[suppress]]\nobject = 'a'", "line 2: a suppression needs a 'reason'"},
        {"[[suppress]]\nreason = 'a'",
         "line 1: a suppression needs a 'pattern', an 'object' or a 'path'"},
        {"[[suppress]]\nobject = 'a'\nreason = ''", "line 3: 'reason' is empty"},
        {"[[suppress]]\nobject = ''\nreason = 'a'", "line 2: 'object' is empty"},
        {"[[suppress]]\npattern = 'any'\nreason = 'a'", "line 2: unknown pattern 'any'"},
        {"[[suppress]]\npattern = 'leak'\nreason = 'a'",
         "line 2: unknown pattern 'leak' (did you mean 'memory-leak'?)"},
        {"[[suppress]]\npatern = 'a'", "line 2: unknown key 'patern' (did you mean 'pattern'?)"},
        {"a = {}", "line 1: inline tables are not supported"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct report_rules rules;
        struct base_error error = {0};
        report_rules_init(&rules);
        assert_int_equal(report_rules_read(&rules, base_str(cases[i].text), &error), BASE_SYNTAX);
        assert_string_equal(error.text[0], cases[i].message);
        report_rules_fini(&rules);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_are_exact),
        cmocka_unit_test(rules_that_make_no_sense_are_refused),
        cmocka_unit_test(a_file_has_rules_suppressions_and_thresholds),
        cmocka_unit_test(files_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
