// SPDX-License-Identifier: Apache-2.0
// Known answers about requests of warps: sectors and lines of global memory, wavefronts of shared
// memory, and the distances of lanes that follow from a site's address.
#include "testing.h"

// --- Requests ------------------------------------------------------------------------------------

// A request of the lanes at a fixed distance from each other.
static struct ptx_request apart(int64_t step, uint32_t bytes, uint64_t first, uint32_t lanes)
{
    struct ptx_request request = {.lanes = lanes, .bytes = bytes, .loads = true};
    for (uint32_t i = 0; i < PTX_WARP_LANES; i++)
        request.addresses[i] = first + (uint64_t)step * i;
    return request;
}

static void check_traffic(const struct ptx_request *request, uint32_t sectors, uint32_t least,
                          uint32_t lines)
{
    const struct ptx_traffic traffic = ptx_request_traffic(request);
    assert_int_equal(traffic.sectors, sectors);
    assert_int_equal(traffic.least_sectors, least);
    assert_int_equal(traffic.lines, lines);
}

static void sectors_of_steps(void **unused)
{
    (void)unused;
    static const struct {
        int64_t step;
        uint32_t bytes;
        uint64_t first;
        uint32_t lanes, sectors, least, lines;
    } cases[] = {
        {4, 4, 0, ~0u, 4, 4, 1},         // neighbours
        {4, 4, 4, ~0u, 5, 4, 2},         // that do not begin with a sector
        {4, 4, 32, ~0u, 4, 4, 2},        // nor with a line
        {-4, 4, 124, ~0u, 4, 4, 1},      // backwards
        {0, 4, 60, ~0u, 1, 1, 1},        // one word
        {8, 4, 0, ~0u, 8, 4, 2},         // every other word
        {12, 4, 0, ~0u, 12, 4, 3},       // structures of three
        {12, 4, 24, ~0u, 13, 4, 4},      // whose last one reaches into another sector
        {32, 4, 28, ~0u, 32, 4, 8},      // a sector each
        {128, 4, 0, ~0u, 32, 4, 32},     // a line each
        {1, 1, 0, ~0u, 1, 1, 1},         // bytes
        {1, 1, 16, ~0u, 2, 1, 1},        // across a border
        {8, 8, 0, ~0u, 8, 8, 2},         // doubles
        {16, 16, 0, ~0u, 16, 16, 4},     // vectors
        {16, 16, 16, ~0u, 17, 16, 5},    //
        {32, 16, 0, ~0u, 32, 16, 8},     // half a sector each
        {4, 4, 0, 1, 1, 1, 1},           // one lane
        {4, 4, 28, 3, 2, 1, 1},          // two, in two sectors
        {4, 4, 0, 0xffff, 2, 2, 1},      // half a warp
        {4, 4, 0, 0x55555555, 4, 2, 1},  // every other lane
        {32, 32, 0, ~0u, 32, 32, 8},     // as many bytes as a sector has
        {4, 4, 0, 0, 0, 0, 0},           // nobody
        {1 << 20, 4, 0, ~0u, 32, 4, 32}, // far apart
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct ptx_request request =
            apart(cases[i].step, cases[i].bytes, 1 << 20 | cases[i].first, cases[i].lanes);
        check_traffic(&request, cases[i].sectors, cases[i].least, cases[i].lines);
    }
}

static void check_wavefronts(const struct ptx_request *request, uint32_t count, uint32_t least)
{
    const struct ptx_wavefronts wavefronts = ptx_request_wavefronts(request);
    assert_int_equal(wavefronts.count, count);
    assert_int_equal(wavefronts.least, least);
}

static void wavefronts_of_steps(void **unused)
{
    (void)unused;
    static const struct {
        int64_t step;
        uint32_t bytes;
        uint32_t lanes, count, least;
    } cases[] = {
        {4, 4, ~0u, 1, 1},     // a bank each
        {0, 4, ~0u, 1, 1},     // one word for all
        {8, 4, ~0u, 2, 1},     // every other bank
        {12, 4, ~0u, 1, 1},    // an odd number of words
        {64, 4, ~0u, 16, 1},   // two banks
        {128, 4, ~0u, 32, 1},  // one bank: a column of 32 words
        {132, 4, ~0u, 1, 1},   // the same with a word of padding
        {128, 4, 0xff, 8, 1},  // of some lanes
        {1, 1, ~0u, 1, 1},     // four lanes in a word
        {2, 2, ~0u, 1, 1},     // two lanes in a word
        {4, 1, ~0u, 1, 1},     //
        {128, 1, ~0u, 32, 1},  // bytes of different words
        {8, 8, ~0u, 2, 2},     // half a warp fills all banks
        {0, 8, ~0u, 1, 1},     // one pair for all
        {16, 8, ~0u, 4, 2},    // every other pair
        {24, 8, ~0u, 2, 2},    // an odd number of pairs
        {128, 8, ~0u, 32, 2},  // one pair of banks
        {16, 16, ~0u, 4, 4},   // a quarter fills all banks
        {0, 16, ~0u, 2, 2},    // one place for all: half a warp each
        {32, 16, ~0u, 8, 4},   //
        {128, 16, ~0u, 32, 4}, //
        {4, 4, 1, 1, 1},       // one lane
        {16, 16, 0xff, 1, 1},  // a quarter of the lanes
        {16, 16, 0x3ff, 2, 2}, // and two more
        {4, 4, 0, 0, 0},       // nobody
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        for (uint64_t first = 0; first < 2 * PTX_WAVEFRONT_BYTES; first += cases[i].bytes) {
            const struct ptx_request request =
                apart(cases[i].step, cases[i].bytes, 1 << 20 | first, cases[i].lanes);
            if (first % 4 == 0 || cases[i].step >= 4) // words do not begin elsewhere
                check_wavefronts(&request, cases[i].count, cases[i].least);
        }
    }
}

// The words that the worst bank has to deliver.
static void words_of_one_bank(void **unused)
{
    (void)unused;
    struct ptx_request request = apart(128, 4, 1 << 20, ~0u);
    struct ptx_wavefronts wavefronts = ptx_request_wavefronts(&request);
    assert_int_equal(wavefronts.word_count, 32);
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(wavefronts.words[i], (1 << 18) + 32 * i);
    request = apart(4, 4, 1 << 20, ~0u);
    request.addresses[7] += 256; // the bank of lane 7 has only that word
    request.addresses[8] = request.addresses[9] + 128;
    wavefronts = ptx_request_wavefronts(&request);
    assert_int_equal(wavefronts.word_count, 2);
    assert_int_equal(wavefronts.words[0], (1 << 18) + 9 + 32);
    assert_int_equal(wavefronts.words[1], (1 << 18) + 9);
    request = apart(32, 16, 0, ~0u); // a quarter has two of each bank
    wavefronts = ptx_request_wavefronts(&request);
    assert_int_equal(wavefronts.word_count, 2);
    assert_int_equal(wavefronts.words[1] - wavefronts.words[0], 32);
}

// Lanes that share words but are not in order.
static void wavefronts_of_any_lanes(void **unused)
{
    (void)unused;
    struct ptx_request request = apart(4, 4, 0, ~0u);
    for (uint32_t i = 0; i < PTX_WARP_LANES; i++)
        request.addresses[i] = 4 * (i * 7 % 32);
    check_wavefronts(&request, 1, 1);
    request.addresses[0] = 128; // bank 0, which lane 0 alone needed
    check_wavefronts(&request, 1, 1);
    request.addresses[1] = 256;
    check_wavefronts(&request, 2, 1);
    request.addresses[2] = 256;
    check_wavefronts(&request, 2, 1);
    request.addresses[3] = 384;
    check_wavefronts(&request, 3, 1);
}

// An H200 took as many wavefronts as this rule says for all of 360 random patterns of whole warps.
static void parts_served_together(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t bytes;
        uint32_t twice, step, turn; // lane i needs (i / twice % turn) * step
        uint32_t loaded, stored;
    } cases[] = {
        {8, 32, 1, 32, 1, 2},  // one for all
        {8, 2, 1, 32, 1, 2},   // pairs of lanes, all in one wavefront
        {8, 2, 11, 32, 1, 2},  //
        {8, 2, 4, 32, 4, 4},   // pairs, but four banks
        {8, 1, 4, 4, 2, 2},    // lane i is lane i ^ 4
        {8, 1, 9, 2, 1, 2},    // lane i is lane i ^ 2
        {8, 1, 1, 32, 2, 2},   //
        {16, 32, 1, 32, 2, 4}, // one for all
        {16, 1, 9, 2, 2, 4},   // lane i is lane i ^ 2
        {16, 2, 9, 32, 2, 4},  // pairs
        {16, 4, 9, 32, 2, 4},  // fours
        {16, 1, 11, 4, 4, 4},  // lane i is lane i ^ 4
        {16, 1, 4, 32, 16, 16},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ptx_request request = apart(0, cases[i].bytes, 0, ~0u);
        for (uint32_t lane = 0; lane < PTX_WARP_LANES; lane++)
            request.addresses[lane] =
                (uint64_t)(lane / cases[i].twice % cases[i].turn) * cases[i].step * cases[i].bytes;
        assert_int_equal(ptx_request_wavefronts(&request).count, cases[i].loaded);
        request.loads = false;
        assert_int_equal(ptx_request_wavefronts(&request).count, cases[i].stored);
    }
}

// --- Sites ---------------------------------------------------------------------------------------

static const char kernels[] =
    HEAD ".entry k(.param .u64 p, .param .u32 n)\n{\n"
         ".reg .pred %p;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<2>;\n"
         ".shared .align 4 .b8 tile[4096];\n"
         "ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd1, %rd1;\nld.param.u32 %r1, [n];\n"
         "mov.u32 %r2, %tid.x;\nmov.u32 %r3, %tid.y;\nmov.u32 %r4, %ntid.x;\n"
         "mov.u32 %r5, %ctaid.x;\nmov.u32 %r6, %laneid;\nmov.u32 %r7, %tid.z;\n"
         // 0: p[ctaid.x * ntid.x + tid.x]
         "mad.lo.s32 %r8, %r5, %r4, %r2;\nmul.wide.s32 %rd2, %r8, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
         "ld.global.f32 %f1, [%rd3];\n"
         // 1: p[tid.y * ntid.x + tid.x]
         "mad.lo.s32 %r8, %r3, %r4, %r2;\nmul.wide.s32 %rd2, %r8, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
         "ld.global.f32 %f1, [%rd3];\n"
         // 2: p[tid.y * n + tid.x]
         "mad.lo.s32 %r8, %r3, %r1, %r2;\nmul.wide.s32 %rd2, %r8, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
         "ld.global.f32 %f1, [%rd3];\n"
         // 3: p[tid.x * n]
         "mul.lo.s32 %r8, %r2, %r1;\nmul.wide.s32 %rd2, %r8, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
         "ld.global.f32 %f1, [%rd3];\n"
         // 4: p[n]
         "mul.wide.s32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3];\n"
         // 5: p[laneid * 2 + tid.z]
         "mad.lo.s32 %r8, %r6, 2, %r7;\nmul.wide.s32 %rd2, %r8, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
         "ld.global.f32 %f1, [%rd3];\n"
         // 6: tile[tid.x * 32 + tid.y]
         "mad.lo.s32 %r8, %r2, 32, %r3;\nshl.b32 %r8, %r8, 2;\nmov.u32 %r9, tile;\n"
         "add.s32 %r9, %r9, %r8;\nld.shared.f32 %f1, [%r9];\n"
         // 7: p[what p[tid.x] holds]
         "mul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r8, [%rd3];\n"
         "mul.wide.u32 %rd2, %r8, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.f32 [%rd3], %f1;\n"
         // 9: p[tid.x * tid.y]
         "mul.lo.s32 %r8, %r2, %r3;\nmul.wide.s32 %rd2, %r8, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
         "ld.global.f32 %f1, [%rd3];\n"
         "ret;\n}\n";

// Returns the facts of kernel k, which has so many sites.
static struct ptx_facts *find_sites(struct ptx_module *module, uint32_t wanted,
                                    struct ptx_site **sites)
{
    struct ptx_facts *facts;
    struct base_error error = {0};
    uint32_t count;
    assert_int_equal(ptx_facts_create(find_function(module, "k"), 0, &facts, &error), BASE_OK);
    assert_int_equal(ptx_sites_find(facts, sites, &count, &error), BASE_OK);
    assert_int_equal(count, wanted);
    return facts;
}

static void strides_of_sites(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t site;
        struct ptx_block_size block;
        bool known;
        struct ptx_stride stride;
    } cases[] = {
        {0, {256, 1, 1}, true, {.x = 4}},
        {0, {16, 16, 1}, true, {.x = 4}},
        {1, {256, 1, 1}, true, {.x = 4}},
        {1, {16, 16, 1}, true, {.x = 4, .y = 64}},
        {1, {48, 4, 1}, true, {.x = 4, .y = 192}},
        {1, {64, 4, 1}, true, {.x = 4}}, // a warp has one row
        {2, {32, 8, 1}, true, {.x = 4}},
        {2, {16, 16, 1}, false, {0}}, // a warp has two rows
        {2, {16, 1, 1}, true, {.x = 4}},
        {3, {256, 1, 1}, false, {0}},
        {3, {1, 1, 1}, true, {0}},
        {4, {256, 1, 1}, true, {0}},
        {5, {32, 1, 1}, true, {.lane = 8}},
        {5, {8, 2, 4}, true, {.z = 4, .lane = 8}},
        {5, {8, 4, 4}, true, {.lane = 8}},
        {6, {32, 8, 1}, true, {.x = 128}},
        {6, {8, 8, 1}, true, {.x = 128, .y = 4}},
        {7, {256, 1, 1}, true, {.x = 4}},
        {8, {256, 1, 1}, false, {0}},
        {9, {32, 8, 1}, false, {0}},
        {9, {32, 1, 1}, false, {0}},
    };
    struct ptx_module *module = read_module(kernels);
    struct ptx_site *sites;
    struct ptx_facts *facts = find_sites(module, 10, &sites);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct ptx_stride stride;
        const bool known = ptx_site_stride(facts, &sites[cases[i].site], &cases[i].block, &stride);
        if (known != cases[i].known ||
            (known && memcmp(&stride, &cases[i].stride, sizeof(stride)) != 0))
            fail_msg("case %zu: %d: %lld %lld %lld %lld", i, known, (long long)stride.x,
                     (long long)stride.y, (long long)stride.z, (long long)stride.lane);
    }
    ptx_facts_destroy(facts);
    ptx_module_destroy(module);
}

// Rows of matrices are at the addresses of the first lanes; a matrix has eight of 16 bytes.
static void wavefronts_of_matrices(void **unused)
{
    (void)unused;
    static const struct {
        const char *instr;
        uint32_t step; // bytes from row to row
        bool known;
        uint32_t count, least;
    } cases[] = {
        {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}", 16, true, 1, 1},
        {"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r3, %r4}", 16, true, 2, 2},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}", 16, true, 4, 4},
        {"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}", 128, true, 8, 1},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}", 128, true, 32, 4},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r3, %r4, %r5, %r6}", 144, true, 4, 4},
        {"ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r3, %r4}", 16, false, 0, 0},
    };
    const struct ptx_block_size block = {32, 1, 1};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 HEAD ".entry k()\n{\n.reg .b32 %%r<9>;\n.shared .b8 s[4096];\nmov.u32 %%r1, "
                      "%%tid.x;\nmov.u32 %%r2, s;\nmad.lo.u32 %%r2, %%r1, %u, %%r2;\n"
                      "%s, [%%r2];\nret;\n}\n",
                 cases[i].step, cases[i].instr);
        struct ptx_module *module = read_module(text);
        struct ptx_site *sites;
        struct ptx_facts *facts = find_sites(module, 1, &sites);
        struct ptx_site_costs costs;
        assert_int_equal(ptx_site_costs(facts, sites, &block, &costs), cases[i].known);
        if (cases[i].known) {
            assert_int_equal(costs.count.from, cases[i].count);
            assert_int_equal(costs.count.to, cases[i].count);
            assert_int_equal(costs.least.to, cases[i].least);
        }
        ptx_facts_destroy(facts);
        ptx_module_destroy(module);
    }
}

// Requests of the warps of blocks whose rows are shorter or longer than a warp.
static void requests_of_warps(void **unused)
{
    (void)unused;
    const struct ptx_stride row = {.x = 4, .y = 1024};
    const struct ptx_block_size square = {16, 16, 1}, odd = {48, 2, 1}, small = {5, 5, 1};
    struct ptx_request request = ptx_warp_request(&row, &square, 3, 4096, 4);
    assert_int_equal(request.lanes, ~0u);
    assert_int_equal(request.addresses[0], 4096);
    assert_int_equal(request.addresses[15], 4096 + 60);
    assert_int_equal(request.addresses[16], 4096 + 1024);
    assert_int_equal(request.addresses[31], 4096 + 1024 + 60);
    check_traffic(&request, 4, 4, 2);
    request = ptx_warp_request(&row, &odd, 1, 4096 + 128, 4);
    assert_int_equal(request.addresses[15], 4096 + 128 + 60);
    assert_int_equal(request.addresses[16], 4096 + 1024);
    check_traffic(&request, 4, 4, 2);
    request = ptx_warp_request(&row, &small, 0, 4096, 4);
    assert_int_equal(request.lanes, (1u << 25) - 1);
    assert_int_equal(request.addresses[24], 4096 + 4 * 1024 + 16);
    check_traffic(&request, 5, 4, 5);
    // A tile of 32 columns that is read by columns, without and with padding.
    const struct ptx_stride column = {.x = 128, .y = 4}, padded = {.x = 132, .y = 4};
    const struct ptx_block_size tile = {32, 8, 1};
    request = ptx_warp_request(&column, &tile, 2, 64, 4);
    check_wavefronts(&request, 32, 1);
    request = ptx_warp_request(&padded, &tile, 2, 64, 4);
    check_wavefronts(&request, 1, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sectors_of_steps),      cmocka_unit_test(wavefronts_of_steps),
        cmocka_unit_test(words_of_one_bank),     cmocka_unit_test(wavefronts_of_any_lanes),
        cmocka_unit_test(parts_served_together), cmocka_unit_test(strides_of_sites),
        cmocka_unit_test(requests_of_warps),     cmocka_unit_test(wavefronts_of_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
