// SPDX-License-Identifier: Apache-2.0
// The stand-in for cuRAND: known answers of cuRAND 10.4 and of the generators' publications, the
// same results on host and device and however calls divide them, and the moments of distributions.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cudaabi/cudaabi.h"

enum { XORWOW = 101, MRG32K3A = 121, PHILOX = 161, LEGACY = 103, MOST = 400000 };
static const int types[] = {XORWOW, MRG32K3A, PHILOX};

int curandCreateGenerator(void **generator, int type);
int curandCreateGeneratorHost(void **generator, int type);
int curandDestroyGenerator(void *generator);
int curandSetPseudoRandomGeneratorSeed(void *generator, unsigned long long seed);
int curandSetGeneratorOffset(void *generator, unsigned long long offset);
int curandSetGeneratorOrdering(void *generator, int ordering);
int curandGenerate(void *generator, void *out, size_t count);
int curandGenerateUniform(void *generator, void *out, size_t count);
int curandGenerateUniformDouble(void *generator, void *out, size_t count);
int curandGenerateNormal(void *generator, void *out, size_t count, float mean, float deviation);
int curandGenerateNormalDouble(void *generator, void *out, size_t count, double mean,
                               double deviation);
int curandGenerateLogNormal(void *generator, void *out, size_t count, float mean, float deviation);
int curandGeneratePoisson(void *generator, void *out, size_t count, double lambda);
int curandGenerateLongLong(void *generator, void *out, size_t count);

#define CALL(...) assert_int_equal(__VA_ARGS__, 0)

static CUdeviceptr memory;
static uint32_t bits[MOST], others[MOST];

static void *make(int type, unsigned long long seed, bool on_device)
{
    void *generator;
    CALL((on_device ? curandCreateGenerator : curandCreateGeneratorHost)(&generator, type));
    CALL(curandSetPseudoRandomGeneratorSeed(generator, seed));
    return generator;
}

static void *on_device(void)
{
    return (void *)(uintptr_t)memory;
}

static void fetch(void *to, size_t size_bytes)
{
    CALL(cuMemcpyDtoH_v2(to, memory, size_bytes));
}

static void results_are_those_of_curand(void **unused)
{
    (void)unused;
    static const size_t places[] = {0, 1, 2, 3, 4095, 4096, 81919, 81920, 262143, 262144, 399999};
    static const struct {
        int type;
        uint32_t bits[11];
        double normal[4];
        double uniform[4];
    } known[] = {
        {XORWOW,
         {624778773u, 3522650202u, 2363946744u, 1266286439u, 3856448218u, 1867875844u, 3254008947u,
          3316345055u, 2765171587u, 1080851290u, 2628187419u},
         {0.780973554, -1.80157816, -0.280848563, 0.563546598},
         {0.43489880438841294, 0.92641692020243771, 0.81184521113001917, 0.30855542463539803}},
        {MRG32K3A,
         {3379073520u, 653317650u, 4012281984u, 4237272334u, 2824556536u, 2648318237u, 928654669u,
          2521876100u, 2970643545u, 1448855913u, 3023638496u},
         {-0.360653788, -0.591281295, -1.7185365, -0.901611984},
         {0.78675186271572939, 0.15211236914421553, 0.93418219691237425, 0.9865668449067676}},
        {PHILOX,
         {546353992u, 3665621163u, 1140953199u, 3419031310u, 984438016u, 2053518784u, 3171951514u,
          3228641574u, 2385104922u, 2666454581u, 3369657303u},
         {-1.61649048, 1.22915542, -1.56054044, 0.464621365},
         {0.85346899543001431, 0.79605514883270523, 0.11227557330034327, 0.080060631323720377}},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        void *generator = make(known[i].type, 1234, true);
        CALL(curandGenerate(generator, on_device(), MOST));
        fetch(bits, sizeof(bits));
        for (size_t k = 0; k < sizeof(places) / sizeof(places[0]); k++)
            assert_int_equal(bits[places[k]], known[i].bits[k]);
        float normal[4];
        CALL(curandSetPseudoRandomGeneratorSeed(generator, 1234));
        CALL(curandGenerateNormal(generator, on_device(), 4, 0, 1));
        fetch(normal, sizeof(normal));
        double uniform[4];
        CALL(curandSetPseudoRandomGeneratorSeed(generator, 1234));
        CALL(curandGenerateUniformDouble(generator, on_device(), 4));
        fetch(uniform, sizeof(uniform));
        for (int k = 0; k < 4; k++) {
            assert_true(fabs((double)normal[k] - known[i].normal[k]) < 1e-6);
            assert_true(uniform[k] == known[i].uniform[k]);
        }
        CALL(curandDestroyGenerator(generator));
    }
}

// The first vector of the known answers that come with Random123, and the steps of Marsaglia's and
// L'Ecuyer's papers.
static void sequences_are_those_of_their_publications(void **unused)
{
    (void)unused;
    static const uint32_t random123[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    void *generator = make(PHILOX, 0, true);
    CALL(curandGenerate(generator, on_device(), 4));
    fetch(bits, sizeof(random123));
    assert_memory_equal(bits, random123, sizeof(random123));
    CALL(curandDestroyGenerator(generator));

    generator = make(MRG32K3A, 0, true); // all numbers of its state are 12345
    CALL(curandGenerateUniformDouble(generator, on_device(), 3 * 81920));
    static double uniform[3 * 81920];
    fetch(uniform, sizeof(uniform));
    double x[3] = {12345, 12345, 12345}, y[3] = {12345, 12345, 12345};
    for (int i = 0; i < 3; i++) { // the first column; cuRAND divides by m1, not by m1 + 1
        const double m1 = 4294967087.0, m2 = 4294944443.0;
        double p = fmod(1403580.0 * x[1] - 810728.0 * x[0], m1),
               q = fmod(527612.0 * y[2] - 1370589.0 * y[0], m2);
        p += p < 0 ? m1 : 0;
        q += q < 0 ? m2 : 0;
        x[0] = x[1], x[1] = x[2], x[2] = p;
        y[0] = y[1], y[1] = y[2], y[2] = q;
        assert_true(fabs(uniform[(size_t)i * 81920] - (p <= q ? p - q + m1 : p - q) / m1) < 1e-15);
    }
    CALL(curandDestroyGenerator(generator));

    generator = make(XORWOW, 99, true);
    CALL(curandGenerate(generator, on_device(), 16 * 4096));
    fetch(bits, 16 * 4096 * sizeof(bits[0]));
    for (int column = 0; column < 4096;
         column += 97) { // a word of the state is a result without the counter
        const uint32_t seeds[2] = {99 ^ 0xaad26b49u, 0xf7dcefddu};
        const uint32_t start = 6615241u + 2591861531u * seeds[1] + 1099087573u * seeds[0];
        uint32_t v[16];
        for (uint32_t i = 0; i < 16; i++)
            v[i] = bits[i * 4096 + (uint32_t)column] - (start + (i + 1) * 362437);
        for (int i = 5; i < 16; i++) {
            const uint32_t t = v[i - 5] ^ v[i - 5] >> 2;
            assert_int_equal(v[i], (v[i - 1] ^ v[i - 1] << 4) ^ (t ^ t << 1));
        }
    }
    CALL(curandDestroyGenerator(generator));
}

static void calls_continue_the_sequence_on_host_and_device(void **unused)
{
    (void)unused;
    enum { COUNT = 100000 };
    static const size_t parts[] = {1, 3, 4096, 5, 60000, COUNT - 1 - 3 - 4096 - 5 - 60000};
    for (int which = 0; which < 3 * 2; which++) {
        void *const whole = make(types[which / 2], 5, true), *const host =
                                                                 make(types[which / 2], 5, false);
        if (which % 2) {
            CALL(curandSetGeneratorOrdering(whole, LEGACY));
            CALL(curandSetGeneratorOrdering(host, LEGACY));
        }
        CALL(curandGenerate(whole, on_device(), COUNT));
        fetch(bits, COUNT * sizeof(bits[0]));
        size_t done = 0;
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
            CALL(curandGenerate(host, others + done, parts[i]));
            done += parts[i];
        }
        assert_memory_equal(bits, others, COUNT * sizeof(bits[0]));
        CALL(curandSetGeneratorOffset(whole, 70003));
        CALL(curandGenerate(whole, on_device(), 1000));
        fetch(others, 1000 * sizeof(bits[0]));
        assert_memory_equal(bits + 70003, others, 1000 * sizeof(bits[0]));
        CALL(curandDestroyGenerator(whole));
        CALL(curandDestroyGenerator(host));
    }
}

static void distributions_have_their_moments(void **unused)
{
    (void)unused;
    enum { COUNT = 100000 };
    static float values[COUNT];
    static const double lambdas[] = {0.5, 3.5, 100, 2000};
    for (int which = 0; which < 3 * 6; which++) {
        const int kind = which / 3;
        void *const generator = make(types[which % 3], 7, true);
        double mean = 3, deviation = 2, sum = 0, squares = 0;
        if (kind == 0)
            CALL(curandGenerateNormal(generator, on_device(), COUNT, 3, 2));
        else if (kind == 1)
            CALL(curandGenerateLogNormal(generator, on_device(), COUNT, 0, 0.5f));
        else
            CALL(curandGeneratePoisson(generator, on_device(), COUNT, lambdas[kind - 2]));
        if (kind == 1) {
            mean = exp(0.125);
            deviation = mean * sqrt(exp(0.25) - 1);
        } else if (kind > 1) {
            mean = lambdas[kind - 2];
            deviation = sqrt(mean);
        }
        fetch(values, sizeof(values));
        for (int i = 0; i < COUNT; i++) {
            uint32_t whole;
            memcpy(&whole, &values[i], sizeof(whole));
            const double value = kind > 1 ? (double)whole : (double)values[i];
            sum += value;
            squares += (value - mean) * (value - mean);
        }
        assert_true(fabs(sum / COUNT - mean) < 5 * deviation / sqrt(COUNT));
        assert_true(fabs(sqrt(squares / COUNT) / deviation - 1) < 0.02);
        CALL(curandDestroyGenerator(generator));
    }
}

static void wrong_arguments_are_rejected(void **unused)
{
    (void)unused;
    enum {
        NOT_INITIALIZED = 101,
        TYPE_ERROR = 103,
        OUT_OF_RANGE = 104,
        LENGTH_NOT_MULTIPLE = 105,
        SOBOL32 = 201
    };
    void *generator;
    assert_int_equal(curandCreateGenerator(&generator, 7), TYPE_ERROR);
    assert_int_equal(curandCreateGenerator(&generator, SOBOL32), TYPE_ERROR);
    assert_int_equal(curandGenerate(NULL, on_device(), 1), NOT_INITIALIZED);
    generator = make(XORWOW, 1, true);
    assert_int_equal(curandGenerateNormal(generator, on_device(), 3, 0, 1), LENGTH_NOT_MULTIPLE);
    assert_int_equal(curandGeneratePoisson(generator, on_device(), 3, -1), OUT_OF_RANGE);
    assert_int_equal(curandSetGeneratorOrdering(generator, 7), OUT_OF_RANGE);
    assert_int_equal(curandGenerateLongLong(generator, on_device(), 2), TYPE_ERROR);
    CALL(curandDestroyGenerator(generator));
}

static int open_device(void **unused)
{
    (void)unused;
    CUdevice device;
    CUcontext context;
    CALL(cuInit(0));
    CALL(cuDeviceGet(&device, 0));
    CALL(cuDevicePrimaryCtxRetain(&context, device));
    CALL(cuCtxSetCurrent(context));
    CALL(cuMemAlloc_v2(&memory, MOST * sizeof(double)));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_curand),
        cmocka_unit_test(sequences_are_those_of_their_publications),
        cmocka_unit_test(calls_continue_the_sequence_on_host_and_device),
        cmocka_unit_test(distributions_have_their_moments),
        cmocka_unit_test(wrong_arguments_are_rejected),
    };
    return cmocka_run_group_tests(tests, open_device, NULL);
}
