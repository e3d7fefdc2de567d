// SPDX-License-Identifier: Apache-2.0
// Tests the log of the runtime's functions, for each version of the library. The log distinguishes
// the program's calls from the driver calls that the runtime makes for them. Each test runs its
// program in a child process, because a process loads only one version.
#include "../log_testing.h"

#include <dlfcn.h>
#include <sys/wait.h>

#include "cudaabi/cudaabi.h"

static char path[64];
static void *library;

static void *function(const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        abort();
    return found;
}

#define CALL(name, type, ...) ((cudaError_t(*) type)function(name))(__VA_ARGS__)

// Functions that all versions have.
static void program(void)
{
    void *memory;
    uint32_t word = 5;
    if (CALL("cudaMalloc", (void **, size_t), &memory, 1000) ||
        CALL("cudaMemcpy", (void *, const void *, size_t, int), memory, &word, 4, 1) ||
        CALL("cudaSetDevice", (int), 99) != cudaErrorInvalidDevice ||
        CALL("cudaGetLastError", (void)) != cudaErrorInvalidDevice ||
        CALL("cudaGLSetGLDevice", (int), 0) != cudaErrorNotSupported ||
        CALL("cudaFree", (void *), memory) || CALL("cudaDeviceSynchronize", (void)))
        abort();
    ((const char *(*)(cudaError_t))function("cudaGetErrorName"))(cudaErrorInvalidDevice);
}

static void older_program(void)
{
    program();
    struct cudaExtent extent = {100, 2, 3};
    struct cudaPitchedPtr pitched;
    if (CALL("cudaThreadSynchronize", (void)) ||
        CALL("cudaMalloc3D", (struct cudaPitchedPtr *, struct cudaExtent), &pitched, extent))
        abort();
}

static struct records run(const char *name, void (*what)(void))
{
    int status;
    strcpy(path, "/tmp/glint-log-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
    pid_t child = fork();
    if (child == 0) {
        char whole[4096];
        setenv("GLINT_SIM_LOG", path, 1);
        unsetenv("GLINT_SIM_DEVICE");
        snprintf(whole, sizeof(whole), "%s/lib/glint/sim/%s", getenv("GLINT_BUILD_DIR"), name);
        library = dlopen(whole, RTLD_NOW);
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            abort();
        }
        what();
        exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct records records = read_records(path);
    unlink(path);
    return records;
}

// One of the program's own calls and its result; compare() checks them in order.
struct expected {
    const char *name, *arguments;
    int result;
};

static void compare(const struct records *records, const struct expected *expected, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < records->all.count; i++) {
        const struct gpusim_log_record *record = &records->all.items[i];
        if (record->type == GPUSIM_LOG_CALL && !record->call.inside) {
            assert_true(at < count);
            assert_string_equal(record->call.name, expected[at].name);
            if (expected[at].arguments)
                assert_string_equal(record->call.arguments, expected[at].arguments);
            // It ends before the next begins.
            bool ended = false;
            for (size_t k = i + 1; k < records->all.count && !ended; k++) {
                const struct gpusim_log_record *later = &records->all.items[k];
                if (later->type == GPUSIM_LOG_CALL)
                    assert_int_not_equal(later->call.inside, 0);
                ended = later->type == GPUSIM_LOG_RETURN &&
                        later->returned.number == record->call.number;
                if (ended)
                    assert_int_equal(later->returned.result, expected[at].result);
            }
            assert_true(ended);
            at++;
        }
    }
    assert_int_equal(at, count);
}

#define COMMON                                                                   \
    {"cudaMalloc", "size=1000", 0}, {"cudaMemcpy", NULL, 0},                     \
        {"cudaSetDevice", "device=99", cudaErrorInvalidDevice},                  \
        {"cudaGetLastError", "", cudaErrorInvalidDevice},                        \
        {"cudaGLSetGLDevice", "", cudaErrorNotSupported}, {"cudaFree", NULL, 0}, \
        {"cudaDeviceSynchronize", "", 0},                                        \
    {                                                                            \
        "cudaGetErrorName", "error=101", 0                                       \
    }

static void only_the_programs_calls_are_inside_no_other(void **state)
{
    (void)state;
    static const struct expected expected[] = {COMMON};
    struct records records = run("libcudart.so.13", program);
    compare(&records, expected, sizeof(expected) / sizeof(expected[0]));
    // The runtime's driver calls are nested in the program's call: cuMemAlloc_v2 in cudaMalloc,
    // with its result.
    const struct gpusim_log_call *outer = NULL, *inner = NULL;
    char text[100] = "", outputs[100] = "";
    for (size_t i = 0; i < records.all.count; i++) {
        const struct gpusim_log_record *record = &records.all.items[i];
        if (record->type == GPUSIM_LOG_CALL && !strcmp(record->call.name, "cudaMalloc"))
            outer = &record->call;
        if (record->type == GPUSIM_LOG_CALL && !strcmp(record->call.name, "cuMemAlloc_v2"))
            inner = &record->call;
        if (record->type == GPUSIM_LOG_RETURN && inner && record->returned.number == inner->number)
            snprintf(text, sizeof(text), "devPtr=%s", record->returned.outputs + strlen("dptr="));
        if (record->type == GPUSIM_LOG_RETURN && outer && record->returned.number == outer->number)
            snprintf(outputs, sizeof(outputs), "%s", record->returned.outputs);
        if (record->type == GPUSIM_LOG_CALL)
            assert_string_not_equal(record->call.name, "cuGetExportTable");
    }
    assert_true(outer && inner);
    assert_int_equal(inner->inside, outer->number);
    assert_string_equal(inner->arguments, "bytesize=1000");
    assert_string_equal(outputs, text);
    free_records(&records);
}

static void older_versions_log_their_own_functions(void **state)
{
    (void)state;
    static const struct expected expected[] = {
        COMMON,
        {"cudaThreadSynchronize", "", 0},
        {"cudaMalloc3D", "extent.width=100 extent.height=2 extent.depth=3", 0}};
    static const char *const libraries[] = {"libcudart.so.12", "libcudart.so.11.0"};
    for (int i = 0; i < 2; i++) {
        struct records records = run(libraries[i], older_program);
        compare(&records, expected, sizeof(expected) / sizeof(expected[0]));
        free_records(&records);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_programs_calls_are_inside_no_other),
        cmocka_unit_test(older_versions_log_their_own_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
