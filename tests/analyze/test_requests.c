// SPDX-License-Identifier: Apache-2.0
// poor-coalescing and bank-conflicts, on small models: which instructions are found, what is said
// about them, and what they are worth. Times are computed by hand: 100 multiprocessors have 198
// clocks in a nanosecond, in which 396 sectors or 198 wavefronts pass.
#include "last.h"

enum { MIB = 1 << 20, MULTIPROCESSORS = 100 };

static void begin(struct analyze_model *model)
{
    model_begin(model);
    model->multiprocessors = MULTIPROCESSORS;
    model->host.end_ns = 1000000;
}

// Adds an instruction that moves 4 bytes a thread, in another line than those before.
static uint32_t site(struct analyze_model *model, enum profile_site_access access)
{
    struct analyze_site *made = base_array_push(&model->sites);
    assert_non_null(made);
    const uint32_t number = (uint32_t)model->sites.count;
    *made = (struct analyze_site){.kernel = 1,
                                  .site = number,
                                  .line = {"a.cu", 10 * number, 1},
                                  .bytes = 4,
                                  .access = (uint8_t)access};
    return number - 1;
}

// Adds requests of the last call to global memory. The stride 0 is unknown.
static struct analyze_requests *takes(struct analyze_model *model, uint32_t place, uint32_t object,
                                      uint64_t taken, uint64_t needed, int64_t stride)
{
    struct analyze_requests *made = base_array_push(&model->requests);
    assert_non_null(made);
    *made = (struct analyze_requests){.call = (uint32_t)model->calls.count - 1,
                                      .object = object,
                                      .kernel = 1,
                                      .site = place == ANALYZE_NONE ? 100 : place + 1,
                                      .place = place,
                                      .requests = needed,
                                      .taken = taken,
                                      .needed = needed,
                                      .stride = stride,
                                      .has_stride = stride != 0};
    return made;
}

static struct analyze_requests *takes_shared(struct analyze_model *model, uint32_t place,
                                             uint64_t taken, uint64_t needed, int64_t stride)
{
    struct analyze_requests *made = takes(model, place, ANALYZE_NONE, taken, needed, stride);
    made->shared = true;
    return made;
}

static bool is_about_requests(const struct analyze_finding *finding)
{
    return analyze_describe(finding->pattern)->needs == ANALYZE_INPUT_REQUESTS;
}

static size_t count_found(void)
{
    size_t count = 0;
    for (size_t i = 0; i < last->finding_count; i++)
        count += is_about_requests(&last->findings[i]);
    return count;
}

// Returns the finding at that instruction; NULL if there is none.
static const struct analyze_finding *found_at(enum analyze_pattern pattern, uint32_t place)
{
    for (size_t i = 0; i < last->finding_count; i++) {
        const struct analyze_finding *finding = &last->findings[i];
        if (finding->pattern == pattern && analyze_line_at(finding).line == 10 * (place + 1))
            return finding;
    }
    return NULL;
}

static const struct analyze_finding *only(enum analyze_pattern pattern)
{
    const struct analyze_finding *found = NULL;
    assert_int_equal(count_found(), 1);
    for (size_t i = 0; i < last->finding_count; i++) {
        if (last->findings[i].pattern == pattern)
            found = &last->findings[i];
    }
    assert_non_null(found);
    return found;
}

static bool knows_stride(const struct analyze_finding *finding)
{
    return analyze_field_is_known(finding, analyze_find_field(finding->pattern, "stride", 6));
}

// --- What is found -------------------------------------------------------------------------------

// 32 lanes that are a row apart take 32 sectors where 4 would do.
static void a_walk_down_a_column_is_found(void **state)
{
    (void)state;
    struct analyze_model model;
    begin(&model);
    const uint32_t a = allocate(&model, MIB), at = site(&model, PROFILE_SITE_STORE);
    launch(&model, LEGACY, 1); // 1
    takes(&model, at, a, 3200, 400, -4096);
    run(&model);
    const struct analyze_finding *finding = only(ANALYZE_POOR_COALESCING);
    assert_int_equal(finding->object, 1);
    assert_int_equal(finding->call, 2);
    assert_int_equal(finding->kernel, 1);
    assert_int_equal(finding->times, 1);
    assert_int_equal(finding->traffic_bytes, 2800 * 32);
    assert_int_equal(value_of(finding, "sectors"), 3200);
    assert_int_equal(value_of(finding, "needed"), 400);
    assert_int_equal(value_of(finding, "requests"), 400);
    assert_int_equal(value_of(finding, "stride"), 4096);
    assert_int_equal(value_of(finding, "is_store"), 1);
    assert_int_equal(value_of(finding, "is_structure"), 0);
    assert_string_equal(analyze_line_at(finding).file, "a.cu");
    assert_int_equal(analyze_line_at(finding).line, 10);
}

// Nobody can change the instructions of cuBLAS.
static void instructions_in_kernels_of_libraries_are_not_found(void **state)
{
    (void)state;
    enum { OURS = 7, THEIRS };
    for (uint32_t path = OURS; path <= THEIRS; path++) {
        struct analyze_model model;
        begin(&model);
        assert_non_null(base_map_put(&model.of_libraries, THEIRS, NULL));
        const uint32_t a = allocate(&model, MIB), at = site(&model, PROFILE_SITE_STORE);
        launch(&model, LEGACY, 1);
        model.calls.items[model.calls.count - 1].path = path;
        takes(&model, at, a, 3200, 400, -4096);
        takes_shared(&model, at, 3200, 100, 128);
        run(&model);
        assert_int_equal(count_found(), path == OURS ? 2 : 0);
    }
}

// Rows and structures ask for different remedies.
static void structures_are_told_from_rows(void **state)
{
    (void)state;
    static const struct {
        int64_t stride;
        bool known, structure;
    } rows[] = {{8, true, true},
                {-12, true, true},
                {128, true, true},
                {132, true, false},
                {0, false, false}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct analyze_model model;
        begin(&model);
        const uint32_t a = allocate(&model, MIB), at = site(&model, PROFILE_SITE_LOAD);
        launch(&model, LEGACY, 1);
        takes(&model, at, a, 1600, 400, rows[i].stride);
        run(&model);
        const struct analyze_finding *finding = only(ANALYZE_POOR_COALESCING);
        assert_int_equal(knows_stride(finding), rows[i].known);
        assert_int_equal(value_of(finding, "is_structure"), rows[i].structure);
    }
}

// Nothing is said where warps take what they need, or a sector more because the first address is
// not aligned; nor where few lanes of a warp access one small piece.
static void contiguous_accesses_are_not_found(void **state)
{
    (void)state;
    static const struct {
        uint64_t taken, needed;
        int64_t stride;
        bool found;
    } rows[] = {
        {400, 400, 4, false},  {500, 400, 4, false}, {500, 400, 0, false}, {600, 400, 8, false},
        {601, 400, 8, true},   {600, 400, 0, false}, {601, 400, 0, true},  {800, 400, 4, false},
        {800, 400, -4, false}, {800, 400, 2, false}, {800, 400, 5, true},  {3200, 400, 4096, true},
        {0, 0, 4096, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct analyze_model model;
        begin(&model);
        const uint32_t a = allocate(&model, MIB), at = site(&model, PROFILE_SITE_LOAD);
        launch(&model, LEGACY, 1);
        takes(&model, at, a, rows[i].taken, rows[i].needed, rows[i].stride);
        run(&model);
        if (count_found() != rows[i].found)
            fail_msg("row %zu: %zu findings", i, count_found());
    }
}

static void thresholds_decide(void **state)
{
    (void)state;
    static const char *const names[] = {"sectors-percent", "wavefronts-percent"};
    for (unsigned shared = 0; shared < 2; shared++) {
        for (unsigned strict = 0; strict < 2; strict++) {
            struct analyze_model model;
            struct analyze_thresholds thresholds = analyze_default_thresholds();
            *analyze_threshold(&thresholds, names[shared]) = strict ? 400 : 399;
            begin(&model);
            const uint32_t at = site(&model, PROFILE_SITE_LOAD);
            launch(&model, LEGACY, 1);
            takes(&model, at, ANALYZE_NONE, 1600, 400, 64)->shared = shared;
            forget(NULL);
            last = analyze(&model, thresholds);
            assert_int_equal(count_found(), !strict);
        }
    }
}

// --- Instructions --------------------------------------------------------------------------------

// Two launches of an unrolled loop: one instruction in the source.
static void launches_and_copies_of_an_instruction_are_one(void **state)
{
    (void)state;
    struct analyze_model model;
    begin(&model);
    const uint32_t a = allocate(&model, MIB);
    const uint32_t one = site(&model, PROFILE_SITE_LOAD), other = site(&model, PROFILE_SITE_LOAD);
    model.sites.items[other].line = model.sites.items[one].line;
    for (unsigned i = 1; i <= 2; i++) {
        launch(&model, LEGACY, 1);
        takes(&model, one, a, 800 * i, 100 * i, 4096 * i);
        takes(&model, other, a, 800 * i, 100 * i, 4096 * i);
    }
    run(&model);
    const struct analyze_finding *finding = only(ANALYZE_POOR_COALESCING);
    assert_int_equal(finding->count, 1);
    assert_int_equal(finding->times, 2);
    assert_int_equal(finding->call, 3); // the second launch takes more
    assert_int_equal(value_of(finding, "stride"), 8192);
    assert_int_equal(value_of(finding, "sectors"), 4800);
    assert_int_equal(value_of(finding, "needed"), 600);
}

// A launch that takes what it needs outweighs one that does not.
static void launches_are_judged_together(void **state)
{
    (void)state;
    struct analyze_model model;
    begin(&model);
    const uint32_t a = allocate(&model, MIB), at = site(&model, PROFILE_SITE_LOAD);
    launch(&model, LEGACY, 1);
    takes(&model, at, a, 3200, 400, 4096);
    launch(&model, LEGACY, 1);
    takes(&model, at, a, 40000, 40000, 4);
    run(&model);
    assert_int_equal(count_found(), 0);
}

static void other_instructions_are_apart(void **state)
{
    (void)state;
    struct analyze_model model;
    begin(&model);
    const uint32_t a = allocate(&model, MIB);
    uint32_t places[5];
    for (unsigned i = 0; i < 5; i++) {
        places[i] = site(&model, i == 1 ? PROFILE_SITE_STORE : PROFILE_SITE_LOAD);
        model.sites.items[places[i]].line = (struct analyze_line){"a.cu", 10, 1};
    }
    model.sites.items[places[2]].line.column = 7;
    model.sites.items[places[3]].line.line = 11;
    model.sites.items[places[4]].kernel = 2;
    launch(&model, LEGACY, 1);
    for (unsigned i = 0; i < 4; i++)
        takes(&model, places[i], a, 3200, 400, 4096);
    launch(&model, LEGACY, 2);
    takes(&model, places[4], a, 3200, 400, 4096)->kernel = 2;
    launch(&model, LEGACY, 3); // whose lines are unknown
    takes(&model, ANALYZE_NONE, a, 3200, 400, 4096)->kernel = 3;
    takes(&model, ANALYZE_NONE, a, 3200, 400, 4096)->site = 101;
    run(&model);
    assert_int_equal(count_found(), 7);
    for (size_t i = 0; i < last->finding_count; i++) {
        if (is_about_requests(&last->findings[i]))
            assert_int_equal(value_of(&last->findings[i], "sectors"), 3200);
    }
}

// Instructions whose lines are unknown are joined if they do the same to the same object, in the
// same way. Those that take what they need are not among them.
static void instructions_without_lines_are_joined(void **state)
{
    (void)state;
    struct analyze_model model;
    begin(&model);
    const uint32_t a = allocate(&model, MIB), b = allocate(&model, MIB);
    uint32_t places[8];
    for (unsigned i = 0; i < 8; i++) {
        places[i] = site(&model, i == 5 ? PROFILE_SITE_STORE : PROFILE_SITE_LOAD);
        model.sites.items[places[i]].line = (struct analyze_line){0};
    }
    launch(&model, LEGACY, 1);
    for (unsigned i = 0; i < 3; i++)
        takes(&model, places[i], a, 3200, 400, 4096);
    takes(&model, places[3], b, 3200, 400, 4096);  // another object
    takes(&model, places[4], a, 3200, 400, 8192);  // another distance
    takes(&model, places[5], a, 3200, 400, 4096);  // a store
    takes(&model, places[6], a, 400, 400, 4096);   // takes what it needs
    takes(&model, places[7], a, 3200, 400, -4096); // only its direction differs
    run(&model);
    assert_int_equal(count_found(), 4);
    size_t joined = 0;
    for (size_t i = 0; i < last->finding_count; i++) {
        const struct analyze_finding *finding = &last->findings[i];
        if (!is_about_requests(finding))
            continue;
        const uint64_t instructions = value_of(finding, "instructions");
        assert_int_equal(value_of(finding, "sectors"), 3200 * instructions);
        assert_int_equal(value_of(finding, "needed"), 400 * instructions);
        joined += instructions == 4;
    }
    assert_int_equal(joined, 1);
}

// Instructions without lines on other arrays of shared memory are apart, and arrays are named.
static void arrays_are_named(void **state)
{
    (void)state;
    static const char one[] = "tile", other[] = "rest";
    struct analyze_model model;
    begin(&model);
    launch(&model, LEGACY, 1);
    for (unsigned i = 0; i < 4; i++) {
        const uint32_t at = site(&model, PROFILE_SITE_LOAD);
        model.sites.items[at].line = (struct analyze_line){0};
        model.sites.items[at].array = i < 2 ? one : i == 2 ? other : NULL;
        takes_shared(&model, at, 320, 10, 128);
    }
    run(&model);
    assert_int_equal(count_found(), 3);
    unsigned named = 0;
    for (size_t i = 0; i < last->finding_count; i++) {
        const struct analyze_finding *finding = &last->findings[i];
        if (!is_about_requests(finding))
            continue;
        const char *array =
            analyze_field_word(finding, analyze_find_field(finding->pattern, "array", 5));
        assert_int_equal(array == one, value_of(finding, "instructions") == 2);
        named += array == one || array == other;
    }
    assert_int_equal(named, 2);
}

// An object is named only if all launches access it; the stride only if all that take too much have
// one.
static void what_differs_is_not_named(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct analyze_model model;
        begin(&model);
        const uint32_t a = allocate(&model, MIB), b = allocate(&model, MIB);
        const uint32_t at = site(&model, PROFILE_SITE_LOAD);
        launch(&model, LEGACY, 1);
        takes(&model, at, a, 3200, 400, 4096);
        launch(&model, LEGACY, 1);
        if (kind == 3) // takes what it needs
            takes(&model, at, a, 100, 100, 0);
        else
            takes(&model, at, kind == 1 ? b : a, 1600, 200, kind == 2 ? 0 : 4096);
        run(&model);
        const struct analyze_finding *finding = only(ANALYZE_POOR_COALESCING);
        assert_int_equal(finding->object, kind == 1 ? 0 : 1);
        assert_int_equal(finding->object_count, kind == 1 ? 0 : 1);
        assert_int_equal(knows_stride(finding), kind != 2);
    }
}

// --- Shared memory -------------------------------------------------------------------------------

static void conflicts_name_the_words_between_threads(void **state)
{
    (void)state;
    static const struct {
        uint64_t taken;
        int64_t stride;
        uint32_t bytes;
        bool found;
        uint64_t words; // 0: padding is no remedy
    } rows[] = {
        {3200, 128, 4, true, 32}, {3200, -128, 4, true, 32}, {200, 8, 4, true, 2},
        {200, 24, 4, true, 6},    {150, 8, 4, false, 0},     {151, 8, 4, true, 2},
        {100, 132, 4, false, 0},  {200, 132, 4, true, 0},    {200, 0, 4, true, 0},
        {200, 130, 2, true, 0},   {3200, 128, 1, true, 32},  {200, 128, 0, true, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct analyze_model model;
        begin(&model);
        const uint32_t at = site(&model, PROFILE_SITE_LOAD);
        model.sites.items[at].bytes = rows[i].bytes;
        launch(&model, LEGACY, 1);
        takes_shared(&model, at, rows[i].taken, 100, rows[i].stride);
        run(&model);
        if (count_found() != rows[i].found)
            fail_msg("row %zu: %zu findings", i, count_found());
        if (!rows[i].found)
            continue;
        const struct analyze_finding *finding = only(ANALYZE_BANK_CONFLICTS);
        assert_int_equal(finding->object, 0);
        assert_int_equal(finding->traffic_bytes, (rows[i].taken - 100) * 128);
        assert_int_equal(value_of(finding, "wavefronts"), rows[i].taken);
        assert_int_equal(value_of(finding, "words"), rows[i].words);
        assert_int_equal(value_of(finding, "is_narrow"), rows[i].bytes < 4);
    }
}

// --- Worth ---------------------------------------------------------------------------------------

static void took(struct analyze_model *model, uint64_t ns, uint32_t blocks)
{
    model->calls.items[model->calls.count - 1].gpu_ns = ns;
    model->calls.items[model->calls.count - 1].blocks = blocks;
}

// A launch of few blocks has fewer multiprocessors. None saves more than the part of its time that
// is taken for nothing.
static void time_is_estimated_from_rates(void **state)
{
    (void)state;
    static const struct {
        uint64_t ns;
        uint32_t blocks;
        uint64_t sectors_ns, wavefronts_ns;
    } rows[] = {
        {1 << 20, 1000, 2094, 2010},
        {1 << 20, 0, 2094, 2010},
        {1 << 20, 50, 4189, 4020},
        {1 << 20, 100, 2094, 2010},
        {2750, 1000, 2062, 2010},
        {400, 1000, 300, 300},
        {0, 1000, 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (unsigned shared = 0; shared < 2; shared++) {
            struct analyze_model model;
            begin(&model);
            const uint32_t a = allocate(&model, MIB), at = site(&model, PROFILE_SITE_LOAD);
            launch(&model, LEGACY, 1);
            took(&model, rows[i].ns, rows[i].blocks);
            takes(&model, at, shared ? ANALYZE_NONE : a, 528000, 132000, 64)->shared = shared;
            run(&model);
            const struct analyze_finding *finding =
                only(shared ? ANALYZE_BANK_CONFLICTS : ANALYZE_POOR_COALESCING);
            assert_in_range(finding->gpu_ns + 1,
                            shared ? rows[i].wavefronts_ns : rows[i].sectors_ns,
                            (shared ? rows[i].wavefronts_ns : rows[i].sectors_ns) + 1);
            assert_true(finding->time_is_estimate);
        }
    }
}

// What another instruction needs of the same sectors, what is taken again, and what fits into L2
// does not come from memory. A row is one instruction, or two with the same requests.
static void memory_is_slower_than_caches(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes, taken; // an eighth of which is needed
        unsigned instructions;
        uint64_t
            recorded; // bytes that memory delivers in a nanosecond, by another call; 0: unknown
        uint64_t ns;  // of each instruction
    } rows[] = {
        {2048ull * MIB, 16 * MIB, 1, 0, 14ull * MIB * 32 / 4530},
        {512ull * MIB, 16 * MIB, 1, 0, 14ull * MIB * 32 / 4530},
        {2048ull * MIB, 16 * MIB, 2, 0, 14ull * MIB * 32 / 4530},
        {896ull * MIB, 16 * MIB, 2, 0, 12ull * MIB * 32 / 4530},
        {512ull * MIB, 16 * MIB, 2, 0, 14ull * MIB * 32 / 6050},
        {100ull * MIB, 16 * MIB, 1, 0, 14ull * MIB * 32 / 6050},
        {51ull * MIB, MIB, 1, 0, 7ull * MIB / 8 * 32 / 4530},
        {50ull * MIB, MIB, 1, 0, 7ull * MIB / 8 * 32 / 6050},
        {512ull * MIB, 16 * MIB, 1, 5461, 14 * 6144},
        {512ull * MIB, 16 * MIB, 1, 1024, 14ull * MIB * 32 / 4530},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct analyze_model model;
        begin(&model);
        const uint32_t a = allocate(&model, rows[i].bytes);
        if (rows[i].recorded) {
            set(&model, a, 0, 32 * MIB);
            took(&model, 32 * MIB / rows[i].recorded, 0);
        }
        launch(&model, LEGACY, 1);
        took(&model, 1u << 30, 1000);
        for (unsigned k = 0; k < rows[i].instructions; k++)
            takes(&model, site(&model, PROFILE_SITE_LOAD), a, rows[i].taken, rows[i].taken / 8, 64);
        run(&model);
        const struct analyze_finding *finding = found_at(ANALYZE_POOR_COALESCING, 0);
        assert_non_null(finding);
        assert_int_equal(finding->gpu_ns, rows[i].ns);
    }
}

// However many instructions take too much, together they save no more than the launch took.
static void findings_on_a_launch_save_at_most_its_time(void **state)
{
    (void)state;
    struct analyze_model model;
    uint64_t sum = 0;
    begin(&model);
    const uint32_t a = allocate(&model, MIB);
    launch(&model, LEGACY, 1);
    took(&model, 1000, 1000);
    for (unsigned i = 0; i < 10; i++)
        takes(&model, site(&model, PROFILE_SITE_LOAD), a, 8000000, 1000000, 64);
    run(&model);
    assert_int_equal(count_found(), 10);
    for (size_t i = 0; i < last->finding_count; i++)
        sum += last->findings[i].gpu_ns;
    assert_in_range(sum, 860, 875);
}

// Sectors that cost no time are not worth a place, however many bytes they are of what is copied.
// Without times, bytes have to do.
static void what_costs_nothing_is_not_worthwhile(void **state)
{
    (void)state;
    for (unsigned kind = 0; kind < 4; kind++) {
        struct analyze_model model;
        begin(&model);
        model.simulated = kind == 2;
        const uint32_t a = allocate(&model, MIB), at = site(&model, PROFILE_SITE_LOAD);
        const uint64_t count = kind == 1 ? 1000000 : kind == 3 ? 10 : 20000;
        copy_in(&model, a, 0, MIB);
        launch(&model, LEGACY, 1);
        took(&model, kind == 3 ? 0 : 100000, 1000);
        takes(&model, at, a, 8 * count, count, 64);
        run(&model);
        const struct analyze_finding *finding = only(ANALYZE_POOR_COALESCING);
        assert_int_equal(finding->gpu_ns, kind == 0 ? 740 : kind == 1 ? 37024 : 0);
        assert_int_equal(finding->traffic_bytes, 7 * count * 32);
        assert_int_equal(finding->worthwhile, kind == 1 || kind == 2);
    }
}

// The time of a graph is that of all its nodes.
static void nodes_of_a_graph_share_its_time(void **state)
{
    (void)state;
    struct analyze_model model;
    begin(&model);
    const uint32_t a = allocate(&model, MIB);
    const uint32_t one = site(&model, PROFILE_SITE_LOAD), other = site(&model, PROFILE_SITE_LOAD);
    const uint32_t call = add_call(&model, PROFILE_CALL_GRAPH_LAUNCH, LEGACY);
    model.calls.items[call].gpu_ns = 1000;
    takes(&model, one, a, 8000000, 1000000, 64);
    takes(&model, one, a, 8000000, 1000000, 64)->node = 1;
    takes(&model, other, a, 16000000, 2000000, 64)->node = 1;
    run(&model);
    const struct analyze_finding *first = found_at(ANALYZE_POOR_COALESCING, one);
    assert_non_null(first);
    assert_int_equal(first->times, 2);
    assert_in_range(first->gpu_ns, 437, 438);
    assert_in_range(found_at(ANALYZE_POOR_COALESCING, other)->gpu_ns, 437, 438);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_walk_down_a_column_is_found, forget),
        cmocka_unit_test_teardown(instructions_in_kernels_of_libraries_are_not_found, forget),
        cmocka_unit_test_teardown(structures_are_told_from_rows, forget),
        cmocka_unit_test_teardown(contiguous_accesses_are_not_found, forget),
        cmocka_unit_test_teardown(thresholds_decide, forget),
        cmocka_unit_test_teardown(launches_and_copies_of_an_instruction_are_one, forget),
        cmocka_unit_test_teardown(launches_are_judged_together, forget),
        cmocka_unit_test_teardown(other_instructions_are_apart, forget),
        cmocka_unit_test_teardown(instructions_without_lines_are_joined, forget),
        cmocka_unit_test_teardown(arrays_are_named, forget),
        cmocka_unit_test_teardown(what_differs_is_not_named, forget),
        cmocka_unit_test_teardown(conflicts_name_the_words_between_threads, forget),
        cmocka_unit_test_teardown(time_is_estimated_from_rates, forget),
        cmocka_unit_test_teardown(memory_is_slower_than_caches, forget),
        cmocka_unit_test_teardown(findings_on_a_launch_save_at_most_its_time, forget),
        cmocka_unit_test_teardown(what_costs_nothing_is_not_worthwhile, forget),
        cmocka_unit_test_teardown(nodes_of_a_graph_share_its_time, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
