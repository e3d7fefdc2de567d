// SPDX-License-Identifier: Apache-2.0
// The comparison of a profile with logs. A program whose rows are known by hand runs on the
// simulated GPU, as if recorded and plain; the comparison must accept the rows, and find each
// falsified number.
#include "../../gpusim/log_program.h"

#include "../../device/values_reference.h"
#include "compare.h"

enum { WORDS = 2048, THREADS = 64, ONES = 0x01010101 };

// p[tid] = v; the name of a clone ends in $glint.
#define KERNEL(name)                                                                            \
    ".version 8.0\n.target sm_70\n.address_size 64\n"                                           \
    ".visible .entry " name "(.param .u64 p, .param .u32 v) {\n"                                \
    ".reg .u64 %p, %a; .reg .u32 %v, %t; ld.param.u64 %p, [p]; ld.param.u32 %v, [v];\n"         \
    "mov.u32 %t, %tid.x; mul.wide.u32 %a, %t, 4; add.u64 %a, %a, %p; st.global.u32 [%a], %v;\n" \
    "ret; }\n"
static const struct {
    const char *name, *text;
} kernels[] = {{"put", KERNEL("put")}, {"put$glint0", KERNEL("put$glint0")}};
enum { STORE = 5 }; // index of its store

static void program(unsigned which)
{
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr memory;
    static uint32_t words[WORDS];
    memset(words, 1, sizeof(words));
    must(cuInit(0));
    must(cuDevicePrimaryCtxRetain(&context, 0));
    must(cuCtxSetCurrent(context));
    must(cuModuleLoadData(&module, kernels[which].text));
    must(cuModuleGetFunction(&function, module, kernels[which].name));
    must(cuMemAlloc_v2(&memory, sizeof(words)));
    must(cuMemcpyHtoD_v2(memory, words, sizeof(words)));
    for (unsigned i = 0; i < 2; i++) {
        uint32_t value = i ? 5 : ONES;
        void *params[] = {&memory, &value};
        must(cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, NULL, params, NULL));
    }
    must(cuCtxSynchronize());
}

static void run_plain(void)
{
    program(0);
}

static void run_recorded(void)
{
    program(1);
}

// --- The profile ---------------------------------------------------------------------------------

enum { COPY = 1, FIRST, SECOND }; // the calls
enum { COPIED, WRITTEN, FOUND, CHANGED, ROWS };

static uint64_t address; // of the object

static void set_hash(struct profile_contents *row, const uint32_t *words)
{
    const struct device_values_job job = {
        .base = address, .first = address, .end = address + WORDS * sizeof(uint32_t), .pieces = 2};
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t hash[2], share[2];
        values_reference_hash(&job, (const unsigned char *)words, i, hash);
        values_reference_share(i, hash, share);
        row->hash_low += share[0];
        row->hash_high += share[1];
    }
}

static void make_rows(struct profile_contents rows[ROWS])
{
    static uint32_t words[WORDS];
    const struct profile_contents common = {.object = 1,
                                            .pieces = 1,
                                            .bytes = 4096,
                                            .moved_bytes = 4096,
                                            .same_bytes = 4096,
                                            .known_pieces = 2,
                                            .all_pieces = 2,
                                            .stride = 4,
                                            .kind = PROFILE_CONTENTS_WRITTEN,
                                            .field_count = 1,
                                            .fields = {{.elements = 1024,
                                                        .least = ONES,
                                                        .greatest = ONES,
                                                        .any_bits = ONES,
                                                        .all_bits = ONES,
                                                        .distinct = 1,
                                                        .type = PROFILE_TYPE_U32,
                                                        .candidates = {{ONES, 1024}}}}};
    for (unsigned i = 0; i < ROWS; i++)
        rows[i] = common;
    rows[COPIED] = (struct profile_contents){.call = COPY,
                                             .object = 1,
                                             .pieces = 2,
                                             .bytes = 8192,
                                             .fresh_pieces = 2,
                                             .moved_bytes = 8192,
                                             .known_pieces = 2,
                                             .all_pieces = 2,
                                             .kind = PROFILE_CONTENTS_WRITTEN};
    rows[WRITTEN].call = FIRST;
    rows[FOUND].call = SECOND;
    rows[FOUND].kind = PROFILE_CONTENTS_FOUND;
    rows[CHANGED].call = SECOND;
    rows[CHANGED].same_bytes = 0;
    struct profile_value_field *field = &rows[CHANGED].fields[0];
    field->least = 5;
    field->any_bits = ONES | 5;
    field->all_bits = 1;
    field->distinct = 2;
    field->candidates[0].count = 1024 - THREADS;
    memset(words, 1, sizeof(words));
    for (unsigned i = 0; i < CHANGED; i++)
        set_hash(&rows[i], words);
    for (unsigned i = 0; i < THREADS; i++)
        words[i] = 5;
    set_hash(&rows[CHANGED], words);
}

static void write_profile(const char *to)
{
    struct base_error error = {0};
    struct profile_writer *writer;
    struct profile_contents rows[ROWS];
    const struct profile_kernel kernel = {.number = 1, .name = "put", .mangled = "put"};
    const struct profile_kernel_site site = {.kernel = 1,
                                             .number = 1,
                                             .instruction = STORE,
                                             .bytes = 4,
                                             .access = PROFILE_SITE_STORE,
                                             .function = "put",
                                             .opcode = "st.global.u32",
                                             .type = "u32"};
    const struct profile_object object = {
        .number = 1, .address = address, .bytes = 8192, .kind = PROFILE_OBJECT_DEVICE};
    assert_int_equal(profile_create(to, true, &writer, &error), BASE_OK);
    profile_add_kernel(writer, &kernel, &error);
    profile_add_kernel_site(writer, &site, &error);
    profile_add_object(writer, &object, &error);
    for (unsigned call = COPY; call <= SECOND; call++) {
        struct profile_call row = {.number = call, .kind = PROFILE_CALL_LAUNCH};
        row.launch.kernel = 1;
        if (call == COPY) {
            row.kind = PROFILE_CALL_COPY;
            row.copy = (struct profile_copy){.bytes = 8192,
                                             .to = address,
                                             .to_object = 1,
                                             .width_bytes = 8192,
                                             .height = 1,
                                             .depth = 1,
                                             .to_memory = PROFILE_MEMORY_DEVICE};
        }
        profile_add_call(writer, &row, &error);
    }
    make_rows(rows);
    for (unsigned i = 0; i < ROWS; i++)
        profile_add_contents(writer, &rows[i], &error);
    for (unsigned call = FIRST; call <= SECOND; call++) {
        const struct profile_stored stored = {.call = call,
                                              .object = 1,
                                              .stores = THREADS,
                                              .silent = call == FIRST ? THREADS : 0,
                                              .still = PROFILE_UNKNOWN,
                                              .kernel = 1,
                                              .site = 1,
                                              .bytes = 4};
        profile_add_stored(writer, &stored, &error);
    }
    assert_int_equal(profile_finish(writer, PROFILE_EXITED, 0, &error), BASE_OK);
}

// --- Comparing -----------------------------------------------------------------------------------

static char recorded[64], plain[64], profile[64];
static char complaint[256]; // the first

void complain(struct comparison *comparison, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!comparison->complaints++)
        vsnprintf(complaint, sizeof(complaint), format, arguments);
    va_end(arguments);
}

static void read_profile(struct comparison *comparison)
{
    *comparison = (struct comparison){0};
    complaint[0] = 0;
    assert_true(told_read(profile, &comparison->told));
    assert_int_equal(comparison->told.rows.count, ROWS);
    assert_int_equal(comparison->told.stores.count, 2);
    comparison->rows_seen = calloc(ROWS, sizeof(bool));
    comparison->stores_seen = calloc(2, sizeof(bool));
}

static uint64_t compare(struct comparison *comparison)
{
    assert_true(compare_contents(comparison, recorded));
    assert_true(compare_stores(comparison, plain));
    return comparison->complaints;
}

static void fini(struct comparison *comparison)
{
    free(comparison->rows_seen);
    free(comparison->stores_seen);
    told_fini(&comparison->told);
}

static void make_path(char out[64])
{
    strcpy(out, "/tmp/glint-compare-XXXXXX");
    assert_true(close(mkstemp(out)) == 0);
}

static int setup_all(void **state)
{
    (void)state;
    struct records records;
    make_path(recorded);
    make_path(plain);
    make_path(profile);
    strcpy(path, plain);
    assert_int_equal(run(run_plain, NULL), 0);
    strcpy(path, recorded);
    assert_int_equal(run(run_recorded, &records), 0);
    address = record_at(&records, GPUSIM_LOG_OBJECT, 0)->object->address;
    free_records(&records);
    write_profile(profile);
    return 0;
}

static int teardown_all(void **state)
{
    (void)state;
    return unlink(recorded) | unlink(plain) | unlink(profile);
}

static void rows_that_are_right_are_accepted(void **state)
{
    (void)state;
    struct comparison comparison;
    read_profile(&comparison);
    const uint64_t complaints = compare(&comparison);
    assert_string_equal(complaint, "");
    assert_int_equal(complaints, 0);
    assert_int_equal(comparison.rows, ROWS);
    assert_int_equal(comparison.hashes, ROWS);
    assert_int_equal(comparison.fields, 3);
    assert_int_equal(comparison.stores, 2);
    assert_int_equal(comparison.unknown, 0);
    for (unsigned i = 0; i < ROWS; i++)
        assert_true(comparison.rows_seen[i]);
    assert_true(comparison.stores_seen[0] && comparison.stores_seen[1]);
    fini(&comparison);
}

static uint64_t *number_at(struct comparison *comparison, unsigned n)
{
    struct profile_contents *row = &comparison->told.rows.items[n % ROWS];
    struct profile_stored *stored = &comparison->told.stores.items[n % 2];
    uint64_t *const numbers[] = {&row->pieces,
                                 &row->bytes,
                                 &row->fresh_pieces,
                                 &row->moved_bytes,
                                 &row->same_bytes,
                                 &row->known_pieces,
                                 &row->all_pieces,
                                 &row->hash_low,
                                 &row->hash_high,
                                 &stored->stores,
                                 &stored->silent,
                                 &row->fields[0].elements,
                                 &row->fields[0].zeros,
                                 &row->fields[0].nans,
                                 &row->fields[0].least,
                                 &row->fields[0].greatest,
                                 &row->fields[0].any_bits,
                                 &row->fields[0].all_bits,
                                 &row->fields[0].linear,
                                 &row->fields[0].integral,
                                 &row->fields[0].narrow,
                                 &row->fields[0].brief,
                                 &row->fields[0].candidates[0].value,
                                 &row->fields[0].candidates[0].count,
                                 &row->fields[0].candidates[1].count,
                                 &row->fields[0].roundings[0].value,
                                 &row->fields[0].roundings[0].count,
                                 &row->fields[0].roundings[6].linear};
    const unsigned count = sizeof(numbers) / sizeof(numbers[0]), which = n / ROWS;
    if (which < count && which > 10 && !row->field_count)
        return &row->pieces;
    return which < count ? numbers[which] : NULL;
}

static void each_falsified_number_is_found(void **state)
{
    (void)state;
    struct comparison comparison;
    unsigned tried = 0;
    for (bool more = true; more; tried++) {
        read_profile(&comparison);
        uint64_t *number = number_at(&comparison, tried);
        more = number != NULL;
        if (more) {
            *number ^= 1;
            if (!compare(&comparison))
                fail_msg("number %u of row %u was not found", tried / ROWS, tried % ROWS);
        }
        fini(&comparison);
    }
    assert_int_equal(tried, 28 * ROWS + 1);
}

// Numbers of another size.
static void each_falsified_type_is_found(void **state)
{
    (void)state;
    struct comparison comparison;
    for (unsigned which = 0; which < 3; which++) {
        read_profile(&comparison);
        struct profile_contents *row = &comparison.told.rows.items[CHANGED];
        row->fields[0].distinct += which == 0;
        row->fields[0].type = which == 1 ? PROFILE_TYPE_U16 : PROFILE_TYPE_U32;
        row->stride *= which == 2 ? 2 : 1;
        if (!compare(&comparison))
            fail_msg("number %u was not found", which);
        fini(&comparison);
    }
}

// Without the row of the last launch, the object's pieces would have other contents than are known.
static void a_row_that_is_missing_is_found(void **state)
{
    (void)state;
    struct comparison comparison;
    read_profile(&comparison);
    comparison.told.rows.items[CHANGED].call = 99;
    assert_int_equal(compare(&comparison), 1);
    assert_non_null(strstr(complaint, "has no row"));
    assert_false(comparison.rows_seen[CHANGED]);
    fini(&comparison);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_are_right_are_accepted),
        cmocka_unit_test(each_falsified_number_is_found),
        cmocka_unit_test(each_falsified_type_is_found),
        cmocka_unit_test(a_row_that_is_missing_is_found),
    };
    return cmocka_run_group_tests(tests, setup_all, teardown_all);
}
