// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the machine: a device with one object of memory, and a function that loads
// a kernel and runs it with that object's address.
#ifndef GLINT_TESTS_GPUSIM_MACHINE_TESTING_H
#define GLINT_TESTS_GPUSIM_MACHINE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpusim/machine/sim.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

enum { WORDS = 4096 };

struct fixture {
    struct sim_device *device;
    struct sim_module *module;
    uint32_t *memory;     // one object of WORDS words
    struct sim_work work; // of the last launch
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct base_error error;
    fixture->memory = calloc(WORDS, sizeof(uint32_t));
    if (!fixture->memory ||
        sim_device_create(sim_preset_find("h200"), 2, NULL, &fixture->device, &error) != BASE_OK)
        return -1;
    *state = fixture;
    return sim_object_add(fixture->device, (uintptr_t)fixture->memory, WORDS * sizeof(uint32_t),
                          GPUSIM_OBJECT_DEVICE, "cudaMalloc", &error);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    sim_module_unload(fixture->module);
    sim_device_destroy(fixture->device);
    free(fixture->memory);
    free(fixture);
    return 0;
}

// Loads the text and runs its first kernel with the memory's address as its only parameter.
static inline struct sim_fault run_as(struct fixture *fixture, const char *text, uint32_t blocks,
                                      uint32_t threads, bool cooperative)
{
    struct sim_ptx ptx = {text, strlen(text), "test"};
    struct base_error error = {0};
    sim_module_unload(fixture->module);
    fixture->module = NULL;
    if (sim_module_load(fixture->device, &ptx, 1, &fixture->module, &error) != BASE_OK) {
        char message[512];
        base_error_text(&error, message, sizeof(message));
        fail_msg("%s", message);
    }
    uint64_t param = (uintptr_t)fixture->memory;
    struct sim_launch launch = {.kernel = sim_module_kernel_at(fixture->module, 0),
                                .grid = {blocks, 1, 1},
                                .block = {threads, 1, 1},
                                .params = &param,
                                .cooperative = cooperative,
                                .id = 1};
    struct sim_fault fault;
    fixture->work = (struct sim_work){0};
    sim_launch_run(fixture->device, &launch, &fixture->work, &fault);
    return fault;
}

static inline struct sim_fault run(struct fixture *fixture, const char *text, uint32_t blocks,
                                   uint32_t threads)
{
    return run_as(fixture, text, blocks, threads, false);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
