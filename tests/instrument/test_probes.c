// SPDX-License-Identifier: Apache-2.0
// Every probe template, filled with sample values, is valid PTX: the parser accepts it, and so does
// ptxas (check_probes.sh, for which `test_probes FOLDER` writes the modules). A fragment is put
// into a device function that declares all registers of clones and probes.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "instrument/fill.h"
#include "instrument/instrument.h"
#include "ptx/ptx.h"

enum { MOST_FIELDS = 16, MOST_SAMPLES = 2 };

// Sample values of fields. Conditions have both values; each label has its own number.
static const struct sample {
    const char *field;
    unsigned count;
    struct {
        const char *text;
        int64_t number;
    } values[MOST_SAMPLES];
} samples[] = {
    {"accesses", 1, {{.number = 2}}},
    {"address", 1, {{.text = "%glint$a"}}},
    {"again", 2, {{.number = 0}, {.number = 1}}},
    {"aligned", 2, {{.number = 0}, {.number = 1}}},
    {"allocates", 2, {{.number = 0}, {.number = 1}}},
    {"alone", 2, {{.number = 0}, {.number = 1}}},
    {"apart", 2, {{.number = 0}, {.number = 1}}},
    {"array", 1, {{.text = "glint$array"}}},
    {"at", 1, {{.number = 1}}},
    {"back", 1, {{.number = 908}}},
    {"bit", 2, {{.number = 0x80000000}, {.number = 0}}},
    {"bits", 2, {{.number = 0}, {.number = 48}}},
    {"bounds", 1, {{.number = 32}}},
    {"bytes", 1, {{.number = 8}}},
    {"chosen", 2, {{.number = 0}, {.number = 1}}},
    {"cluster", 2, {{.text = ""}, {.text = "::cluster"}}},
    {"clusters", 2, {{.number = 0}, {.number = 1}}},
    {"combine", 2, {{.number = 0}, {.number = 1}}},
    {"count", 1, {{.number = 4}}},
    {"counted", 1, {{.number = 907}}},
    {"counters", 1, {{.number = 48}}},
    {"counts", 2, {{.number = 0}, {.number = 1}}},
    {"descriptor", 1, {{.text = "%glint$a"}}},
    {"difference", 2, {{.number = 0}, {.number = 2}}},
    {"drains", 2, {{.number = 0}, {.number = 1}}},
    {"dynamic", 2, {{.number = 0}, {.number = 1}}},
    {"earlier", 1, {{.number = 0}}},
    {"elements", 2, {{.number = 0}, {.number = 2}}},
    {"extend", 2, {{.number = 0}, {.number = 24}}},
    {"first", 1, {{.number = 4}}},
    {"fixed", 1, {{.number = 1025}}},
    {"found", 1, {{.number = 908}}},
    {"from", 2, {{.number = 0}, {.number = 8}}},
    {"full", 1, {{.number = 901}}},
    {"function", 1, {{.text = "glint$leave"}}},
    {"high", 2, {{.number = 0}, {.number = 1}}},
    {"guard", 2, {{.text = ""}, {.text = "@%glint$p1 "}}},
    {"is_float", 2, {{.number = 0}, {.number = 1}}},
    {"is_signed", 2, {{.number = 0}, {.number = 1}}},
    {"j", 2, {{.text = NULL}, {.text = "%glint$lane"}}},
    {"k", 2, {{.number = 0}, {.number = 1}}},
    {"kept", 1, {{.number = 3}}},
    {"kernel", 2, {{.number = 0}, {.number = 1}}},
    {"key", 1, {{.number = 24}}},
    {"kind", 2, {{.number = 0}, {.number = 1}}},
    {"known", 1, {{.number = 902}}},
    {"lanes", 1, {{.number = 16}}},
    {"last", 1, {{.number = 4}}},
    {"left", 2, {{.number = 0}, {.number = 1}}},
    {"lines", 1, {{.number = 1}}},
    {"loads", 1, {{.number = 1}}},
    {"log", 1, {{.number = 1}}},
    {"look", 2, {{.number = 0}, {.number = 1}}},
    {"loop", 1, {{.number = 1}}},
    {"lost", 1, {{.number = 909}}},
    {"many", 2, {{.number = 0}, {.number = 1}}},
    {"mask", 1, {{.number = 0xff}}},
    {"match", 2, {{.number = 0}, {.number = 1}}},
    {"minus", 2, {{.number = 0}, {.number = 1}}},
    {"more", 2, {{.number = 0}, {.number = 12}}},
    {"name", 1, {{.text = "malloc"}}},
    {"negated", 2, {{.number = 0}, {.number = 1}}},
    {"next", 1, {{.number = 903}}},
    {"nobody", 2, {{.number = 0}, {.number = 2047}}},
    {"number", 1, {{.number = 1}}},
    {"offset", 1, {{.number = 4}}},
    {"one", 1, {{.number = 65536}}},
    {"once", 2, {{.number = 0}, {.number = 1}}},
    {"options", 1, {{.number = 3}}},
    {"other", 1, {{.number = 904}}},
    {"others", 1, {{.number = 96}}},
    {"page_bytes", 1, {{.number = 160}}},
    {"param_addresses", 2, {{.number = 0}, {.number = 1}}},
    {"part", 1, {{.number = 901}}},
    {"partial", 2, {{.number = 0}, {.number = 1}}},
    {"past", 1, {{.number = 905}}},
    {"pieces", 1, {{.number = 64}}},
    {"pointer", 1, {{.text = "%glint$a"}}},
    {"predicate", 1, {{.text = "%glint$p2"}}},
    {"previous", 2, {{.number = 0}, {.number = 1}}},
    {"quads", 2, {{.number = 0}, {.number = 1}}},
    {"racy", 2, {{.number = 0}, {.number = 1}}},
    {"reach", 1, {{.number = 128}}},
    {"ran", 2, {{.number = 0}, {.number = 1}}},
    {"read", 2, {{.number = 0}, {.number = 1}}},
    {"ready", 1, {{.number = 910}}},
    {"redux", 2, {{.number = 0}, {.number = 1}}},
    {"regular", 2, {{.number = 0}, {.number = 1}}},
    {"request", 1, {{.text = "glint$request"}}},
    {"row_bytes", 1, {{.number = 128}}},
    {"run", 1, {{.number = 64}}},
    {"sectors", 1, {{.number = 4}}},
    {"set", 1, {{.number = 906}}},
    {"several", 2, {{.number = 0}, {.number = 1}}},
    {"shift", 1, {{.number = 2}}},
    {"site", 2, {{.number = 0}, {.number = 7}}},
    {"size", 1, {{.number = 4}}},
    {"skips", 2, {{.number = 0}, {.number = 1}}},
    {"slot", 1, {{.number = 32}}},
    {"slots", 1, {{.number = 4}}},
    {"slow", 1, {{.number = 902}}},
    {"some", 1, {{.number = 907}}},
    {"span", 1, {{.number = 40}}},
    {"spare", 1, {{.text = "glint$array"}}},
    {"step", 1, {{.number = 4}}},
    {"stores", 2, {{.number = 0}, {.number = 1}}},
    {"sure", 2, {{.number = 0}, {.number = 1}}},
    {"tally", 1, {{.number = 2}}},
    {"threads", 1, {{.number = 128}}},
    {"times", 1, {{.number = 1}}},
    {"together", 2, {{.number = 0}, {.number = 1}}},
    {"transposed", 2, {{.number = 0}, {.number = 1}}},
    {"is_long", 2, {{.number = 0}, {.number = 1}}},
    {"is_wide", 2, {{.number = 0}, {.number = 1}}},
    {"twice", 1, {{.number = 2}}},
    {"under", 2, {{.number = 0}, {.text = "!%glint$p2"}}},
    {"unit", 2, {{.number = 0}, {.number = 1}}},
    {"view", 1, {{.number = 32}}},
    {"votes", 2, {{.number = 0}, {.number = 1}}},
    {"way", 2, {{.text = ""}, {.text = ".volatile"}}},
    {"what", 1, {{.number = 257}}},
    {"where", 1, {{.number = -123}}},
    {"wide", 2, {{.number = 0}, {.number = 1}}},
    {"width", 1, {{.number = 4}}},
    {"word", 1, {{.number = 1}}},
    {"words", 1, {{.number = 4}}},
    {"written", 2, {{.number = 0}, {.number = 1}}},
};
enum { SAMPLES = sizeof(samples) / sizeof(samples[0]) };

// The functions that templates call.
static const struct {
    const char *name, *head;
} functions[] = {
    {"free", "free (.param .b64 a)"},
    {"glint$piece", "(.param .b64 r) glint$piece (.param .b64 a, .param .b64 b)"},
    {"glint$block", "(.param .b64 r) glint$block (.param .b64 a, .param .b64 b)"},
    {"glint$given", "glint$given (.param .b64 a, .param .b64 b, .param .b64 c)"},
    {"glint$taken", "glint$taken (.param .b64 a, .param .b64 b)"},
    {"glint$heap", "(.param .b32 r) glint$heap (.param .b64 a, .param .b64 b, .param .b64 c, "
                   ".param .b32 d)"},
    {"glint$touch", "(.param .align 8 .b8 r[16]) glint$touch (.param .b64 a, .param .b64 b, "
                    ".param .b32 c)"},
    {"glint$leave", "glint$leave (.param .b64 a, .param .b64 b, .param .b64 c, .param .b64 d)"},
    {"glint$enter", "(.param .align 8 .b8 r[48]) glint$enter (.param .b64 a, .param .b64 b, "
                    ".param .b64 c, .param .b64 d, .param .b64 e)"},
    {"glint$access", "glint$access (.param .b64 a, .param .b64 b, .param .b64 c, .param .b32 d, "
                     ".param .b32 e, .param .b32 f)"},
    {"glint$count", "glint$count (.param .b64 a, .param .b64 b, .param .b32 c)"},
    {"glint$range", "glint$range (.param .b64 a, .param .b32 b, .param .b32 c, .param .b32 d)"},
    {"glint$stored", "glint$stored (.param .b64 a, .param .b64 b, .param .b64 c, .param .b64 d)"},
    {"glint$store", "(.param .align 8 .b8 r[16]) glint$store (.param .b64 a, .param .b64 b, "
                    ".param .b64 c, .param .b64 d, .param .b64 e)"},
    {"glint$match", "(.param .b32 r) glint$match (.param .b32 a)"},
    {"glint$request", "glint$request (.param .b64 a, .param .b64 b, .param .b32 c, .param .b32 d, "
                      ".param .b32 e)"},
    {"glint$look", "(.param .b32 r) glint$look (.param .b64 a)"},
    {"glint$reuse", "glint$reuse (.param .b64 a, .param .b64 b, .param .b32 c, .param .b32 d, "
                    ".param .b32 e)"},
    {"glint$sweep", "glint$sweep (.param .b64 a, .param .align 8 .b8 b[48], .param .b64 c, "
                    ".param .b64 d, .param .b32 e, .param .b32 f, .param .b32 g, .param .b32 h, "
                    ".param .b32 i)"},
};
_Static_assert(sizeof(struct instrument_slot) == 48, "as glint$sweep is declared above");

// The registers of clones, probes and groups.
static const char registers[] =
    ".reg .pred %glint$p<3>, %glint$left, %glint$rows, %glint$full, %glint$sure<2>;\n"
    ".reg .b64 %glint$to<2>;\n"
    ".reg .b32 %glint$r<12>, %glint$g<4>, %glint$n<4>, %glint$y<4>, %glint$k<4>, %glint$h<4>;\n"
    ".reg .b32 %glint$lane, %glint$shift, %glint$before, %glint$i, %glint$t, %glint$n, %glint$j;\n"
    ".reg .b32 %glint$keep, %glint$flip, %glint$mid, %glint$h, %glint$b<4>, %glint$v<4>;\n"
    ".reg .b64 %glint$a, %glint$d<5>, %glint$e, %glint$f, %glint$x, %glint$m<2>, %glint$bits;\n"
    ".reg .b64 %glint$counts, %glint$f<2>, %glint$x<2>, %glint$l<4>, %glint$q, %glint$o<4>, "
    "%glint$w<4>;\n"
    ".reg .pred %glint$in, %glint$look, %glint$same, %glint$go, %glint$far;\n"
    ".reg .b64 %glint$pieces, %glint$stored, %glint$silent;\n"
    ".reg .b16 %glint$half;\n"
    ".reg .b32 %glint$any1, %glint$none1, %glint$most1, %glint$u<6>;\n"
    ".reg .b32 %glint$seen_any1, %glint$seen_none1, %glint$seen_most1;\n"
    ".reg .b64 %glint$wide_any1, %glint$wide_none1, %glint$wide_most1;\n"
    ".reg .b32 %glint$piece, %glint$loads, %glint$old<8>, %glint$m;\n"
    ".reg .b32 %glint$at, %glint$to, %glint$end, %glint$near, %glint$spared, %glint$looked;\n"
    ".reg .b64 %glint$c, %glint$o, %glint$times;\n"
    ".reg .b32 %glint$k, %glint$tag, %glint$me, %glint$old;\n"
    ".reg .b32 %glint$ran<4>, %glint$mask, %glint$base, %glint$rounds, %glint$loop<4>;\n"
    ".reg .b32 %glint$chunk, %glint$chunks, %glint$steps;\n"
    ".reg .pred %glint$whole, %glint$only, %glint$did, %glint$busy;\n"
    ".reg .b32 %glint$own, %glint$unserved, %glint$vote, %glint$taken, %glint$lower;\n";

static const struct sample *sample_of(uint16_t field)
{
    for (size_t i = 0; i < SAMPLES; i++) {
        if (strcmp(samples[i].field, instrument_field_names[field]) == 0)
            return &samples[i];
    }
    return NULL;
}

// Fills the template with the combination of samples that the number selects. Returns false if
// there are no more.
static bool fill(struct base_buf *out, const struct instrument_template *template, unsigned number)
{
    struct instrument_value values[MOST_FIELDS] = {{0}};
    for (uint16_t i = 0; i < template->field_count; i++) {
        const struct sample *sample = sample_of(template->fields[i]);
        assert_non_null(sample);
        values[i].field = (enum instrument_field) template->fields[i];
        values[i].text = sample->values[number % sample->count].text;
        values[i].number = sample->values[number % sample->count].number;
        number /= sample->count;
    }
    if (number)
        return false;
    instrument_fill(out, (enum instrument_template_id)(template - instrument_templates), values,
                    template->field_count);
    return true;
}

static unsigned count_lines(const char *text, const char *line)
{
    unsigned found = 0;
    for (const char *at = text; (at = strstr(at, line)) != NULL; at += strlen(line))
        found += at == text || at[-1] == '\n';
    return found;
}

// Adds the labels to which the fragment only branches, and closes the scopes that it opens.
static void complete(struct base_buf *out, const char *fragment)
{
    for (unsigned label = 900; label < 911; label++) {
        char name[32], line[40];
        snprintf(name, sizeof(name), "$glint$%u", label);
        snprintf(line, sizeof(line), "%s:\n", name);
        if (strstr(fragment, name) && !count_lines(fragment, line))
            base_buf_puts(out, line);
    }
    for (unsigned open = count_lines(fragment, "{\n"), closed = count_lines(fragment, "}\n");
         closed < open; closed++)
        base_buf_puts(out, "}\n");
}

static void put_module(struct base_buf *out, const char *text)
{
    const bool is_function = strncmp(text, "\n.func", 6) == 0;
    const char *target = strstr(text, "::cluster")                       ? "sm_90"
                         : strstr(text, "redux") || strstr(text, ".NaN") ? "sm_80"
                                                                         : "sm_75";
    base_buf_printf(out, ".version 8.3\n.target %s\n.address_size 64\n", target);
    // The sample of an allocating function, with and without an alignment.
    base_buf_printf(out, ".extern .func (.param .b64 r) malloc (.param .b64 a%s);\n",
                    strstr(text, "malloc, (a1, a2)") ? ", .param .b64 b" : "");
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        char definition[40];
        snprintf(definition, sizeof(definition), " %s (\n", functions[i].name);
        if (!is_function || !strstr(text, definition))
            base_buf_printf(out, ".extern .func %s;\n", functions[i].head);
    }
    if (is_function) {
        base_buf_puts(out, text);
        return;
    }
    base_buf_puts(out, ".extern .shared .align 16 .b8 glint$spare[];\n");
    base_buf_printf(out,
                    ".func fragment (.param .b64 glint$table, .param .align 8 .b8 "
                    "glint$context[512])\n{\n.shared .align 4 .b8 glint$array[64];\n%s%s",
                    registers, text);
    complete(out, text);
    base_buf_puts(out, "ret;\n}\n");
}

// Calls the function with the module of each combination of each template.
static unsigned for_each(void (*use)(const char *name, unsigned number, const struct base_buf *,
                                     void *),
                         void *user)
{
    unsigned used = 0;
    for (unsigned id = 0; id < INSTRUMENT_TEMPLATES; id++) {
        struct base_buf text = {0}, module = {0};
        for (unsigned number = 0; fill(&text, &instrument_templates[id], number); number++) {
            put_module(&module, text.text);
            assert_false(text.failed || module.failed);
            use(instrument_templates[id].name, number, &module, user);
            base_buf_clear(&text);
            base_buf_clear(&module);
            used++;
        }
        base_buf_fini(&text);
        base_buf_fini(&module);
    }
    return used;
}

static void parse(const char *name, unsigned number, const struct base_buf *module, void *user)
{
    struct ptx_module *parsed;
    struct base_error error = {0};
    char message[512];
    (void)user;
    if (ptx_parse(module->text, module->length, name, &parsed, &error) != BASE_OK) {
        base_error_text(&error, message, sizeof(message));
        fail_msg("%s %u: %s\n%s", name, number, message, module->text);
    }
    ptx_module_destroy(parsed);
}

static void every_template_is_ptx(void **state)
{
    (void)state;
    assert_true(for_each(parse, NULL) > INSTRUMENT_TEMPLATES);
}

static void every_field_has_a_sample(void **state)
{
    (void)state;
    for (uint16_t i = 0; i < INSTRUMENT_FIELDS; i++) {
        if (!sample_of(i))
            fail_msg("no sample for {%s}", instrument_field_names[i]);
    }
}

static void numbers_are_written_with_what_is_added(void **state)
{
    (void)state;
    struct base_buf out = {0};
    FILL(&out, in_entry, NUMBER(width, 16));
    assert_non_null(strstr(out.text, "add.u64 %glint$d1, %glint$d0, 15;\n"));
    base_buf_clear(&out);
    FILL(&out, counter, NUMBER(view, 1000));
    char line[80];
    snprintf(line, sizeof(line), "[glint$context+%zu];\n",
             1000 + offsetof(struct instrument_view, slot.counts));
    assert_non_null(strstr(out.text, line));
    base_buf_fini(&out);
}

static void conditions_choose_lines(void **state)
{
    (void)state;
    struct base_buf out = {0};
    FILL(&out, run, NUMBER(several, 0), NUMBER(alone, 1), NUMBER(k, 3));
    assert_string_equal(out.text, "shf.l.wrap.b32 %glint$b3, 0, -1, %glint$i;\n"
                                  "xor.b32 %glint$b3, %glint$b3, %glint$flip;\n");
    base_buf_clear(&out);
    FILL(&out, word, NUMBER(k, 0), STRING(j, "%glint$j"), NUMBER(chosen, 1), NUMBER(view, 0));
    assert_string_equal(out.text, "shr.u32 %glint$t, %glint$i, 5;\n"
                                  "add.u32 %glint$t, %glint$t, %glint$j;\n"
                                  "mad.wide.u32 %glint$w0, %glint$t, 4, %glint$q;\n");
    base_buf_fini(&out);
}

// Runs in a child process, which the assertion ends.
static void a_missing_or_needless_value_is_an_error(void **state)
{
    (void)state;
    for (int needless = 0; needless < 2; needless++) {
        const pid_t child = fork();
        if (child == 0) {
            struct base_buf out = {0};
            const struct rlimit none = {0, 0};
            setrlimit(RLIMIT_CORE, &none);
            signal(SIGABRT, SIG_DFL);
            if (!freopen("/dev/null", "w", stderr))
                _exit(2);
            if (needless)
                FILL(&out, counter, NUMBER(view, 0), NUMBER(k, 0));
            else
                FILL(&out, element, NUMBER(k, 0), NUMBER(shift, 2), NUMBER(view, 0));
            _exit(out.failed ? 3 : 0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) ||
                    (WIFEXITED(status) && WEXITSTATUS(status) == 3));
    }
}

static void write_module(const char *name, unsigned number, const struct base_buf *module,
                         void *user)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s-%u.ptx", (const char *)user, name, number);
    FILE *file = fopen(path, "w");
    if (!file || fwrite(module->text, 1, module->length, file) != module->length ||
        fclose(file) != 0) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_has_a_sample),
        cmocka_unit_test(every_template_is_ptx),
        cmocka_unit_test(numbers_are_written_with_what_is_added),
        cmocka_unit_test(conditions_choose_lines),
        cmocka_unit_test(a_missing_or_needless_value_is_an_error),
    };
    if (argc == 2)
        return for_each(write_module, argv[1]) ? 0 : 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
