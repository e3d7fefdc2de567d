// SPDX-License-Identifier: Apache-2.0
// core/layer.c starts layers and calls them as core/layer.h says. The test uses the template, which
// contributors copy, between two layers that log their calls.
#include "inject/template/template.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "inject/core/call.h"
#include "inject/core/object_records.h"
#include "inject/template/state.h"

// The state of core that core/layer.c uses.
struct core_state core_state;

static struct {
    char text[256];
    bool lower, upper; // whether the layer takes part
} heard;

static void hear(const char *what)
{
    strcat(heard.text, heard.text[0] ? " " : "");
    strcat(heard.text, what);
}

#define HEARD(name)                \
    static void lower_##name(void) \
    {                              \
        hear("lower_" #name);      \
    }                              \
    static void upper_##name(void) \
    {                              \
        hear("upper_" #name);      \
    }
HEARD(finish)
HEARD(ended)
HEARD(before_fork)
HEARD(forked)

static bool lower_start(const struct core_driver *driver)
{
    (void)driver;
    return heard.lower;
}

static bool upper_start(const struct core_driver *driver)
{
    (void)driver;
    return heard.upper;
}

static void lower_before(struct core_call *call)
{
    (void)call;
    hear("lower_before");
}

static void upper_before(struct core_call *call)
{
    (void)call;
    hear("upper_before");
}

static bool upper_touched(uint64_t low, uint64_t high)
{
    hear("touched");
    return low < 100 && high > 50;
}

static const struct inject_layer lower = {.name = "lower",
                                          .start = lower_start,
                                          .finish = lower_finish,
                                          .ended = lower_ended,
                                          .before_fork = lower_before_fork,
                                          .forked = lower_forked,
                                          .before = lower_before};
static const struct inject_layer upper = {.name = "upper",
                                          .start = upper_start,
                                          .finish = upper_finish,
                                          .ended = upper_ended,
                                          .before_fork = upper_before_fork,
                                          .forked = upper_forked,
                                          .before = upper_before,
                                          .touched = upper_touched};
const struct inject_layer *const inject_layers[] = {&lower, &template_layer, &upper, NULL};

// Announces a call as core/call.c and core/object_records.c do.
static void make_call(void)
{
    struct core_call call = {.kind = EVENT_CALL_OTHER};
    for (unsigned i = 0; i < core_state.layers.before_count; i++)
        core_state.layers.before[i](&call);
    for (unsigned i = 0; i < core_state.layers.after_count; i++)
        core_state.layers.after[i](&call);
}

static void end_object(void)
{
    for (unsigned i = 0; i < core_state.layers.ended_count; i++)
        core_state.layers.object_ended[i](7);
}

static bool start(bool low, const char *template, bool up)
{
    const struct core_driver driver = {.version = 12000};
    memset(&heard, 0, sizeof(heard));
    heard.lower = low;
    heard.upper = up;
    setenv("GLINT_TEMPLATE", template, 1);
    return core_layers_start(&driver);
}

static void the_template_takes_part_where_it_is_asked_for(void **state)
{
    (void)state;
    assert_false(start(false, "1", false)); // it has nothing to finish
    assert_true(template_state.on);
    make_call();
    make_call();
    end_object();
    assert_int_equal(atomic_load(&template_state.calls), 2);
    assert_int_equal(atomic_load(&template_state.ended), 1);
}

static void a_layer_that_takes_no_part_hears_nothing(void **state)
{
    (void)state;
    assert_false(start(false, "0", false));
    assert_false(template_state.on);
    make_call();
    end_object();
    core_layers_finish();
    core_layers_ended();
    assert_false(core_layers_touched(0, 1000));
    assert_int_equal(atomic_load(&template_state.calls), 0);
    assert_int_equal(atomic_load(&template_state.ended), 0);
    assert_string_equal(heard.text, "");
}

static void layers_start_bottom_up_and_finish_top_down(void **state)
{
    (void)state;
    assert_true(start(true, "1", true));
    make_call();
    core_layers_finish();
    core_layers_ended();
    assert_string_equal(heard.text, "lower_before upper_before upper_finish lower_finish "
                                    "upper_ended lower_ended");
}

static void forks_are_announced_to_all_layers(void **state)
{
    (void)state;
    start(false, "0", true);
    core_layers_before_fork();
    core_layers_forked();
    assert_string_equal(heard.text,
                        "upper_before_fork lower_before_fork upper_forked lower_forked");
}

static void an_unset_callback_answers_no(void **state)
{
    (void)state;
    start(true, "1", true);
    assert_true(core_layers_touched(0, 60));
    assert_false(core_layers_touched(100, 200));
    assert_false(core_layers_free_memory(NULL));
    assert_string_equal(heard.text, "touched touched");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_template_takes_part_where_it_is_asked_for),
        cmocka_unit_test(a_layer_that_takes_no_part_hears_nothing),
        cmocka_unit_test(layers_start_bottom_up_and_finish_top_down),
        cmocka_unit_test(forks_are_announced_to_all_layers),
        cmocka_unit_test(an_unset_callback_answers_no),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
