// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of the conformance suite through whatever libcuda.so.1 is found, on a GPU or a
// simulated one, and records their results or compares them with recorded ones. It knows nothing of
// single instructions: a comment before each kernel says how to launch it, what to put in and how
// to compare what comes out.
//
//     //@ NAME grid=4 block=128 in=u32/shift*512,f32*512 out=f32*512 rule=ulp 2
//
// in     arrays for the parameters in0, in1, ...: TYPE[/CLASS]*COUNT, values made here; or a
// texture or surface
//        object, tex:DIM:TEXEL:FILTER:ADDRESS:COORDINATES or surf:DIM:TEXEL; DIM m2d is a mipmap;
// or a tensor
//        map of 128 bytes, map:WHERE:TYPE:SIZES:STEPS:SWIZZLING:FILL:BOX of tiles, or with
//        LOWER:UPPER:CHANNELS:PIXELS instead of BOX of pixels. WHERE is in, random bits, or out;
//        the numbers of SIZES and so on have x between them, swizzling and fill are those of the
//        driver
// out    arrays that lie one behind the other at the parameter out, zero before the launch. What a
// surface holds
//        after the launch is one more
// rule   exact | exact nan (any NaN will do) | any of: ulp N, rel E, abs E (one of them must hold)
// shared bytes of dynamic shared memory
// expect the CUresult that waiting for the kernel must give, instead of 0
// coop   launches cooperatively
//
// Parameters, of which a kernel may declare the first few: in0 .. in4, out (64 bits each), n (32
// bits, the count of the first output), extra (64 bytes, aligned to 16: 0x01, 0x02, ... 0x40).
//
// A recorded result is one line: NAME OUTPUT TYPE COUNT, then either "=" and all values
// (hexadecimal, VALUE*TIMES where it repeats) or a 128-bit hash of all values, the first 8 values,
// and letters, 6 bits of hash for each equal share of the values, from which a check tells where
// results part.

#include <dlfcn.h>
#include <math.h>
#include <regex.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_INPUTS = 5, MAX_OUTPUTS = 8, MAX_BYTES = 1 << 18, SECONDS = 20 };
enum { IN_CLEAR = 8, LETTERS = 256, FULL_TEXT = 400 }; // of recorded results

// --- The driver, as far as it is needed ----------------------------------------------------------

typedef int cu_result;
typedef int cu_device;
typedef unsigned long long cu_address;
typedef unsigned long long cu_object; // texture or surface

struct cu_array_descriptor {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};

struct cu_copy_end {
    size_t x_bytes, y, z, lod;
    int memory_type;
    void *host;
    cu_address device;
    void *array, *reserved;
    size_t pitch, height;
};

struct cu_copy {
    struct cu_copy_end from, to;
    size_t width_bytes, height, depth;
};

struct cu_resource {
    int type;
    union {
        void *array; // or a mipmap
        struct {
            cu_address address;
            int format;
            unsigned channels;
            size_t bytes;
        } memory;
        int reserved[32];
    } as;
    unsigned flags;
};

struct cu_texture {
    int address[3], filter;
    unsigned flags, max_anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_min, mipmap_max, border[4];
    int reserved[12];
};

enum {
    CU_HOST_MEMORY = 1,
    CU_RESOURCE_MIPMAP = 1,
    CU_RESOURCE_MEMORY = 2,
    CU_ARRAY_MEMORY = 3,
    CU_ARRAY_LAYERED = 1,
    CU_ARRAY_SURFACE = 2,
    CU_ARRAY_CUBE = 4,
    CU_TEXTURE_INTEGER = 1,
    CU_TEXTURE_UNIT = 2,
    CU_TEXTURE_SRGB = 16,
    CU_JIT_ERROR_TEXT = 5,
    CU_JIT_ERROR_SIZE = 6,
    CU_MAJOR = 75,
    CU_MINOR = 76,
    CU_DYNAMIC_SHARED = 8,
};

static struct {
    cu_result (*init)(unsigned);
    cu_result (*device_get)(cu_device *, int);
    cu_result (*device_name)(char *, int, cu_device);
    cu_result (*device_attribute)(int *, int, cu_device);
    cu_result (*context_retain)(void **, cu_device);
    cu_result (*context_use)(void *);
    cu_result (*synchronize)(void);
    cu_result (*module_load)(void **, const void *, unsigned, int *, void **);
    cu_result (*module_unload)(void *);
    cu_result (*module_function)(void **, void *, const char *);
    cu_result (*function_set)(void *, int, int);
    cu_result (*allocate)(cu_address *, size_t);
    cu_result (*release)(cu_address);
    cu_result (*to_device)(cu_address, const void *, size_t);
    cu_result (*to_host)(void *, cu_address, size_t);
    cu_result (*fill)(cu_address, unsigned char, size_t);
    cu_result (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, void *, void **, void **);
    cu_result (*launch_cooperative)(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                                    unsigned, unsigned, void *, void **);
    cu_result (*array_create)(void **, const struct cu_array_descriptor *);
    cu_result (*array_destroy)(void *);
    cu_result (*mipmap_create)(void **, const struct cu_array_descriptor *, unsigned);
    cu_result (*mipmap_level)(void **, void *, unsigned);
    cu_result (*mipmap_destroy)(void *);
    cu_result (*copy)(const struct cu_copy *);
    cu_result (*texture_create)(cu_object *, const struct cu_resource *, const struct cu_texture *,
                                const void *);
    cu_result (*texture_destroy)(cu_object);
    cu_result (*surface_create)(cu_object *, const struct cu_resource *);
    cu_result (*surface_destroy)(cu_object);
    cu_result (*encode_tiles)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *,
                              const unsigned *, const unsigned *, int, int, int, int);
    cu_result (*encode_pixels)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *,
                               const int *, const int *, unsigned, unsigned, const unsigned *, int,
                               int, int, int);
} cu;

static const struct {
    const char *name;
    void *function;
} cu_functions[] = {
    {"cuInit", &cu.init},
    {"cuDeviceGet", &cu.device_get},
    {"cuDeviceGetName", &cu.device_name},
    {"cuDeviceGetAttribute", &cu.device_attribute},
    {"cuDevicePrimaryCtxRetain", &cu.context_retain},
    {"cuCtxSetCurrent", &cu.context_use},
    {"cuCtxSynchronize", &cu.synchronize},
    {"cuModuleLoadDataEx", &cu.module_load},
    {"cuModuleUnload", &cu.module_unload},
    {"cuModuleGetFunction", &cu.module_function},
    {"cuFuncSetAttribute", &cu.function_set},
    {"cuMemAlloc_v2", &cu.allocate},
    {"cuMemFree_v2", &cu.release},
    {"cuMemcpyHtoD_v2", &cu.to_device},
    {"cuMemcpyDtoH_v2", &cu.to_host},
    {"cuMemsetD8_v2", &cu.fill},
    {"cuLaunchKernel", &cu.launch},
    {"cuLaunchCooperativeKernel", &cu.launch_cooperative},
    {"cuArray3DCreate_v2", &cu.array_create},
    {"cuArrayDestroy", &cu.array_destroy},
    {"cuMipmappedArrayCreate", &cu.mipmap_create},
    {"cuMipmappedArrayGetLevel", &cu.mipmap_level},
    {"cuMipmappedArrayDestroy", &cu.mipmap_destroy},
    {"cuMemcpy3D_v2", &cu.copy},
    {"cuTexObjectCreate", &cu.texture_create},
    {"cuTexObjectDestroy", &cu.texture_destroy},
    {"cuSurfObjectCreate", &cu.surface_create},
    {"cuSurfObjectDestroy", &cu.surface_destroy},
    {"cuTensorMapEncodeTiled", &cu.encode_tiles},
    {"cuTensorMapEncodeIm2col", &cu.encode_pixels},
};

// --- Types ---------------------------------------------------------------------------------------

// A value of `lanes` numbers of equal width; floats have exponent and mantissa bits, integers none.
struct type {
    const char *name;
    unsigned bytes, lanes, exponent, mantissa;
};

static const struct type types[] = {
    {"pred", 4, 1, 0, 0},   {"u8", 1, 1, 0, 0},     {"s8", 1, 1, 0, 0},     {"b8", 1, 1, 0, 0},
    {"u16", 2, 1, 0, 0},    {"s16", 2, 1, 0, 0},    {"b16", 2, 1, 0, 0},    {"u32", 4, 1, 0, 0},
    {"s32", 4, 1, 0, 0},    {"b32", 4, 1, 0, 0},    {"u64", 8, 1, 0, 0},    {"s64", 8, 1, 0, 0},
    {"b64", 8, 1, 0, 0},    {"u8x4", 4, 4, 0, 0},   {"s8x4", 4, 4, 0, 0},   {"u16x2", 4, 2, 0, 0},
    {"s16x2", 4, 2, 0, 0},  {"f16", 2, 1, 5, 10},   {"f16x2", 4, 2, 5, 10}, {"bf16", 2, 1, 8, 7},
    {"bf16x2", 4, 2, 8, 7}, {"e4m3x2", 2, 2, 0, 0}, {"e5m2x2", 2, 2, 5, 2}, {"tf32", 4, 1, 8, 23},
    {"f32", 4, 1, 8, 23},   {"f64", 8, 1, 11, 52},
};

static const struct type *type_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strlen(types[i].name) == length && !memcmp(types[i].name, name, length))
            return &types[i];
    fprintf(stderr, "no type '%.*s'\n", (int)length, name);
    exit(2);
}

static unsigned lane_bits(const struct type *type)
{
    return type->bytes * 8 / type->lanes;
}

static uint64_t lane_mask(const struct type *type)
{
    return lane_bits(type) == 64 ? UINT64_MAX : ((uint64_t)1 << lane_bits(type)) - 1;
}

static uint64_t load_value(const void *from, size_t index, const struct type *type)
{
    uint64_t value = 0;
    memcpy(&value, (const char *)from + index * type->bytes, type->bytes); // little endian
    return value;
}

static void store_value(void *to, size_t index, const struct type *type, uint64_t value)
{
    memcpy((char *)to + index * type->bytes, &value, type->bytes);
}

static bool is_nan(uint64_t lane, const struct type *type)
{
    if (!type->exponent)
        return false;
    uint64_t infinity = (((uint64_t)1 << type->exponent) - 1) << type->mantissa;
    return (lane & (lane_mask(type) >> 1)) > infinity;
}

static double decode(uint64_t lane, const struct type *type)
{
    uint64_t sign = lane >> (lane_bits(type) - 1) & 1;
    uint64_t exponent = lane >> type->mantissa & (((uint64_t)1 << type->exponent) - 1);
    uint64_t mantissa = lane & (((uint64_t)1 << type->mantissa) - 1);
    int bias = (1 << (type->exponent - 1)) - 1;
    double value;
    if (exponent == ((uint64_t)1 << type->exponent) - 1)
        value = mantissa ? NAN : INFINITY;
    else if (exponent)
        value = ldexp((double)(mantissa | (uint64_t)1 << type->mantissa),
                      (int)exponent - bias - (int)type->mantissa);
    else
        value = ldexp((double)mantissa, 1 - bias - (int)type->mantissa);
    return sign ? -value : value;
}

// Truncates. Only for values that the type can represent, or where a nearby value is good enough.
static uint64_t encode(double value, const struct type *type)
{
    if (!type->exponent)
        return (uint64_t)(int64_t)value & lane_mask(type);
    uint64_t bits;
    if (type->bytes / type->lanes == 8) {
        memcpy(&bits, &value, 8);
        return bits;
    }
    float single = (float)value;
    uint32_t single_bits;
    memcpy(&single_bits, &single, 4);
    if (type->exponent == 8)
        return single_bits >> (23 - type->mantissa);
    if (single == 0 || fabs(value) < 6.2e-5)
        return single_bits >> 16 & 0x8000;
    if (fabs(value) > 65504)
        return (single_bits >> 16 & 0x8000) | 0x7bff;
    return (single_bits >> 16 & 0x8000) | ((((single_bits >> 23 & 0xff) - 112) & 31) << 10) |
           (single_bits >> 13 & 0x3ff);
}

// --- Inputs --------------------------------------------------------------------------------------

static uint64_t random_bits(uint64_t seed)
{
    seed += 0x9e3779b97f4a7c15;
    seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9;
    seed = (seed ^ seed >> 27) * 0x94d049bb133111eb;
    return seed ^ seed >> 31;
}

static const uint64_t edges_8[] = {0, 1, 2, 0x7e, 0x7f, 0x80, 0x81, 0xfe, 0xff, 0x55, 0xaa};
static const uint64_t edges_16[] = {0,      1,      2,      3,      7,      15,    16,
                                    17,     0x7f,   0x80,   0xff,   0x100,  0x101, 0x7ffe,
                                    0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff, 0x1234};
static const uint64_t edges_32[] = {0,          1,          2,          3,          7,
                                    31,         32,         33,         0xff,       0x8000,
                                    0xffff,     0x10000,    0x7ffffffe, 0x7fffffff, 0x80000000,
                                    0x80000001, 0xfffffffe, 0xffffffff, 0x12345678};
static const uint64_t edges_64[] = {0,
                                    1,
                                    2,
                                    3,
                                    63,
                                    64,
                                    0xffff,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    0x100000000,
                                    0x123456789abcdef0,
                                    0x7ffffffffffffffe,
                                    0x7fffffffffffffff,
                                    0x8000000000000000,
                                    0x8000000000000001,
                                    0xfffffffffffffffe,
                                    0xffffffffffffffff,
                                    0xffffffff80000000};
static const uint64_t edges_shift[] = {
    0,  1,  2,  7,   8,   15,  16,  17,  24,      31,         32,         33,         48, 63,
    64, 65, 96, 127, 128, 255, 256, 257, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 5};
static const uint64_t edges_pred[] = {0, 1};
// Zeros, ones and their neighbors, halfway cases of rounding to integers, subnormals, the largest,
// the first whole numbers that do not fit 16, 32 and 64 bits, infinities, NaNs quiet and signalling
// with payloads of both signs.
static const uint64_t edges_f16[] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x3e00,
                                     0xbe00, 0x3800, 0xb800, 0x4100, 0x0001, 0x8001, 0x03ff,
                                     0x0400, 0x8400, 0x7bff, 0xfbff, 0x6400, 0x6401, 0x5c00,
                                     0x7c00, 0xfc00, 0x7e00, 0x7d23, 0xfe45};
static const uint64_t edges_bf16[] = {0x0000, 0x8000, 0x3f80, 0xbf80, 0x3f81, 0x3f7f, 0x3fc0,
                                      0xbfc0, 0x3f00, 0xbf00, 0x4020, 0x0001, 0x8001, 0x007f,
                                      0x0080, 0x8080, 0x7f7f, 0xff7f, 0x4f00, 0xcf00, 0x5f00,
                                      0x7f80, 0xff80, 0x7fc0, 0x7f83, 0xffc5};
static const uint64_t edges_f32[] = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x3fc00000,
    0xbfc00000, 0x3f000000, 0xbf000000, 0x40200000, 0x40400000, 0x00000001, 0x80000001,
    0x007fffff, 0x00800000, 0x80800000, 0x7f7fffff, 0xff7fffff, 0x4b000001, 0x4f000000,
    0xcf000000, 0x5f000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f812345, 0xffc54321};
static const uint64_t edges_f64[] = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x3ff0000000000001, 0x3fefffffffffffff, 0x3ff8000000000000, 0xbff8000000000000,
    0x3fe0000000000000, 0xbfe0000000000000, 0x4004000000000000, 0x0000000000000001,
    0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000, 0x8010000000000000,
    0x7fefffffffffffff, 0xffefffffffffffff, 0x41e0000000000000, 0xc1e0000000000000,
    0x43e0000000000000, 0x47efffffefffffff, 0x36a0000000000001, 0x7ff0000000000000,
    0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000012345678, 0xfff8000000054321};

struct input {
    const struct type *type; // NULL for a texture or surface
    char class[16];
    char object[128]; // the specification of a texture, surface or tensor map
    size_t count;
};

struct edges {
    const uint64_t *values;
    size_t count;
};

#define EDGES(table) ((struct edges){table, sizeof(table) / sizeof(table[0])})

// The edge values of one lane; none if the class defines all values itself.
static struct edges edges_of(const struct input *input)
{
    const struct type *type = input->type;
    if (!strcmp(input->class, "shift"))
        return EDGES(edges_shift);
    if (input->class[0])
        return (struct edges){NULL, 0};
    if (!strcmp(type->name, "pred"))
        return EDGES(edges_pred);
    if (type->exponent == 5 && type->mantissa == 10)
        return EDGES(edges_f16);
    if (type->exponent == 8)
        return type->mantissa == 7 ? EDGES(edges_bf16) : EDGES(edges_f32);
    if (type->exponent == 11)
        return EDGES(edges_f64);
    switch (lane_bits(type)) {
    case 8: return EDGES(edges_8);
    case 16: return EDGES(edges_16);
    case 32: return EDGES(edges_32);
    default: return EDGES(edges_64);
    }
}

// A value of a class for element `index` of an array; `bits` is random.
static uint64_t class_value(const struct input *input, size_t index, uint64_t bits)
{
    const struct type *type = input->type;
    const char *class = input->class;
    double unit = (double)(bits >> 11) * 0x1p-53; // 0 to 1
    int64_t low = (int64_t)(bits & 0xffff);
    unsigned dimension, bytes;

    if (!strcmp(class, "shift"))
        return bits % 70;
    if (!strcmp(class, "lane"))
        return bits % 34;
    if (!strcmp(class, "offset"))
        return (uint64_t)(low % 67 - 33) & lane_mask(type);
    if (!strcmp(class, "segment")) // the clamp and segment mask of shfl: segments of 1 to 32 lanes
        return (uint64_t)(0x20 - (1 << low % 6)) << 8 | (low & 0x40 ? 0x1f : 0);
    if (!strcmp(class, "few"))
        return bits % 5 < 3 ? bits % 4 : edges_32[bits % 19];
    if (!strcmp(class, "same")) // equal within half of the warps
        return index / 32 % 2 ? 77 : bits % 4;
    if (!strcmp(class, "mixed"))
        return bits & 1;
    if (!strcmp(class, "mostly")) // all of some warps, all but one of others
        return index / 128 % 2 ? 1 : index % 41 != 0;
    if (!strcmp(class, "rarely"))
        return index / 128 % 2 ? 0 : index % 41 == 0;
    if (!strcmp(class, "whole"))
        return encode((double)(low % 17 - 8), type);
    if (!strcmp(class, "unit"))
        return encode(unit * 2 - 1, type);
    if (!strcmp(class, "spread")) // exponents from -8 to 7, so that sums lose some of their terms
        return (bits & ((UINT64_C(1) << type->mantissa) - 1)) |
               bits >> 63 << (lane_bits(type) - 1) |
               ((UINT64_C(1) << (type->exponent - 1)) - 9 + (bits >> 52 & 15)) << type->mantissa;
    if (!strcmp(class, "spread8")) // the same in each byte, as e4m3 or e5m2: finite, below 2
        return bits & 0xbfbfbfbfbfbfbfbf & lane_mask(type);
    if (!strcmp(class, "trig"))
        return encode((unit * 2 - 1) * 6.283185307179586, type);
    if (!strcmp(class, "exponent"))
        return index < 28 ? edges_f32[index] : encode((unit * 2 - 1) * (index % 2 ? 140 : 4), type);
    if (!strcmp(class, "divisor")) // 2^-124 to 2^124
        return (bits & 0x807fffff) | (3 + (bits >> 32) % 248) << 23;
    if (!strcmp(class, "texel")) // a multiple of 1/32 of a texel, or a whole number
        return type->exponent ? encode((double)(low % 1400 - 150) / 32, type)
                              : (uint64_t)(low % 44 - 5) & lane_mask(type);
    if (!strcmp(class, "middle")) // the middle between texels is a tie for a gather: a quarter off
        return encode((double)(low % 40 - 4) + (low & 0x4000 ? 0.25 : 0.75), type);
    if (!strcmp(class, "unitcoord"))
        return encode((double)(low % 4096 - 1536) / 1024, type);
    if (!strcmp(class, "direction"))
        return encode(unit * 2 - 1, type);
    if (!strcmp(class, "unitmid")) // the same, of 32 or 16 texels
        return encode(((double)(low % 80 - 24) + (low & 0x4000 ? 0.25 : 0.75)) / 32, type);
    if (!strcmp(class, "layer"))
        return bits % 6;
    if (!strcmp(class, "layer4"))
        return bits % 4;
    if (!strcmp(class, "level")) // of a mipmap: off the middle between two, which is a tie
        return encode((double)(low % 24 - 8) / 4 + 0.125, type);
    if (!strcmp(class, "slope")) // a power of 2, over texels that are 1/32 apart
        return encode(ldexp(1, low % 8 - 7), type);
    if (!strcmp(class, "texel4"))
        return (uint64_t)((low % 540 - 12) * 4) & lane_mask(type);
    // The coordinates of a thread's own texel in the surfaces below: x, scaled to bytes, y or z.
    if (sscanf(class, "x%ub%u", &dimension, &bytes) == 2)
        return index % (dimension == 1 ? 512 : dimension == 2 ? 32 : 16) * bytes;
    if (!strcmp(class, "y2"))
        return index / 32;
    if (!strcmp(class, "y3"))
        return index / 16 % 8;
    if (!strcmp(class, "z3"))
        return index / 128;
    fprintf(stderr, "no class '%s'\n", class);
    exit(2);
}

// Random numbers: any bits; half of the floats have exponents from -6 to 9, so that sums depend on
// both operands.
static uint64_t plain_value(const struct type *type, uint64_t bits)
{
    if (!type->exponent || bits >> 60 & 1)
        return bits & lane_mask(type);
    uint64_t bias = ((uint64_t)1 << (type->exponent - 1)) - 1;
    uint64_t exponent = bias - 6 + (bits >> 52 & 15);
    uint64_t sign = bits >> 59 & 1;
    return sign << (lane_bits(type) - 1) | exponent << type->mantissa |
           (bits & (((uint64_t)1 << type->mantissa) - 1));
}

static size_t greatest_divisor(size_t a, size_t b)
{
    while (b) {
        size_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// Fills the input arrays. Up to three quarters of the elements combine edge values of all operands:
// all combinations, or an even selection of them. The remaining elements are random.
static void make_inputs(const struct input *inputs, size_t number, void *const *buffers)
{
    size_t combinations = 1;
    for (size_t k = 0; k < number; k++)
        if (inputs[k].type && edges_of(&inputs[k]).count)
            combinations *= edges_of(&inputs[k]).count;
    size_t divisor = 1;
    for (size_t k = 0; k < number; k++) {
        const struct input *input = &inputs[k];
        if (!input->type)
            continue;
        const struct type *type = input->type;
        struct edges edges = edges_of(input);
        size_t from_edges = input->count / 4 * 3;
        size_t step = 1;
        if (combinations < from_edges)
            from_edges = combinations;
        else
            for (step = combinations * 618 / 1000 + 1; greatest_divisor(step, combinations) != 1;)
                step++;
        for (size_t i = 0; i < input->count; i++) {
            uint64_t value = 0;
            for (unsigned lane = 0; lane < type->lanes; lane++) {
                uint64_t bits = random_bits(i * 64 + k * 8 + lane);
                size_t combination = (i * step + lane * 7) % combinations / divisor;
                uint64_t number_of_lane;
                if (edges.count && i < from_edges)
                    number_of_lane = edges.values[combination % edges.count];
                else if (input->class[0])
                    number_of_lane = class_value(input, i, bits);
                else if (!strcmp(type->name, "pred"))
                    number_of_lane = bits & 1;
                else
                    number_of_lane = plain_value(type, bits);
                value |= (number_of_lane & lane_mask(type)) << lane * lane_bits(type) % 64;
            }
            store_value(buffers[k], i, type, value);
        }
        if (edges.count)
            divisor *= edges.count;
    }
}

// --- Tests ---------------------------------------------------------------------------------------

struct rule {
    bool exact, any_nan;
    double ulp, relative, absolute; // negative: not given
};

struct output {
    const struct type *type;
    size_t count;
};

struct test {
    char name[128];
    unsigned grid[3], block[3], shared;
    bool cooperative;
    cu_result expect;
    struct input inputs[MAX_INPUTS];
    struct output outputs[MAX_OUTPUTS];
    size_t number_of_inputs, number_of_outputs;
    struct rule rule;
    const char *text; // of this kernel, up to the next one
    size_t length;
};

static void bad_line(const char *line)
{
    fprintf(stderr, "cannot read: %.*s\n", (int)strcspn(line, "\n"), line);
    exit(2);
}

static void parse_sizes(const char *text, unsigned *sizes)
{
    sizes[0] = sizes[1] = sizes[2] = 1;
    sscanf(text, "%u,%u,%u", &sizes[0], &sizes[1], &sizes[2]);
}

static void parse_input(struct test *test, char *text)
{
    struct input *input = &test->inputs[test->number_of_inputs++];
    if (!strncmp(text, "tex:", 4) || !strncmp(text, "surf:", 5) || !strncmp(text, "map:", 4)) {
        snprintf(input->object, sizeof(input->object), "%s", text);
        return;
    }
    size_t length = strcspn(text, "/*");
    input->type = type_find(text, length);
    if (text[length] == '/')
        sscanf(text + length + 1, "%15[^*]", input->class);
    char *star = strchr(text, '*');
    input->count = star ? strtoul(star + 1, NULL, 10) : 1;
}

static void parse_output(struct test *test, const char *text)
{
    struct output *output = &test->outputs[test->number_of_outputs++];
    output->type = type_find(text, strcspn(text, "*"));
    const char *star = strchr(text, '*');
    output->count = star ? strtoul(star + 1, NULL, 10) : 1;
}

static struct rule parse_rule(const char *text)
{
    struct rule rule = {.ulp = -1, .relative = -1, .absolute = -1};
    char word[16];
    int used;
    while (sscanf(text, " %15[^ \n]%n", word, &used) == 1) {
        text += used;
        double *bound = !strcmp(word, "ulp")   ? &rule.ulp
                        : !strcmp(word, "rel") ? &rule.relative
                        : !strcmp(word, "abs") ? &rule.absolute
                                               : NULL;
        if (bound && sscanf(text, "%lf%n", bound, &used) == 1)
            text += used;
        else if (!strcmp(word, "exact"))
            rule.exact = true;
        else if (!strcmp(word, "nan"))
            rule.any_nan = true;
        else
            bad_line(text);
    }
    return rule;
}

// Reads the comment that text begins with.
static struct test parse_test(const char *text, size_t length)
{
    struct test test = {.text = text, .length = length};
    char line[1024];
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\n"), text);
    parse_sizes("1", test.grid);
    parse_sizes("1", test.block);
    char *rule = strstr(line, " rule=");
    if (!rule)
        bad_line(line);
    *rule = '\0';
    test.rule = parse_rule(rule + 6);
    char *rest = line;
    strtok_r(rest, " ", &rest); // the //@
    snprintf(test.name, sizeof(test.name), "%s", strtok_r(NULL, " ", &rest));
    for (char *word; (word = strtok_r(NULL, " ", &rest));) {
        char *value = strchr(word, '=');
        char *parts;
        if (!strcmp(word, "coop")) {
            test.cooperative = true;
            continue;
        }
        if (!value)
            bad_line(text);
        *value++ = '\0';
        if (!strcmp(word, "grid"))
            parse_sizes(value, test.grid);
        else if (!strcmp(word, "block"))
            parse_sizes(value, test.block);
        else if (!strcmp(word, "shared"))
            test.shared = (unsigned)strtoul(value, NULL, 10);
        else if (!strcmp(word, "expect"))
            test.expect = atoi(value);
        else if (!strcmp(word, "in"))
            for (char *part = strtok_r(value, ",", &parts); part;
                 part = strtok_r(NULL, ",", &parts))
                parse_input(&test, part);
        else if (!strcmp(word, "out"))
            for (char *part = strtok_r(value, ",", &parts); part;
                 part = strtok_r(NULL, ",", &parts))
                parse_output(&test, part);
        else
            bad_line(text);
    }
    return test;
}

// --- Textures and surfaces -----------------------------------------------------------------------

struct texel {
    const char *name;
    int format;
    unsigned bytes;
    bool integer;
};

static const struct texel texels[] = {
    {"u8", 1, 1, true},
    {"u16", 2, 2, true},
    {"u32", 3, 4, true},
    {"s8", 8, 1, true},
    {"s16", 9, 2, true},
    {"s32", 10, 4, true},
    {"f16", 16, 2, false},
    {"f32", 32, 4, false},
    {"n8", 1, 1, false},
    {"n16", 2, 2, false}, // integers that are read as fractions of their
                          // largest
    {"g8", 1, 1, false},  // the same, of sRGB
};

enum { MIPMAP_LEVELS = 4 };

struct object {
    void *array;
    void *mipmap;      // instead of an array
    cu_address memory; // instead of an array, for a texture on memory
    cu_object handle;
    struct cu_array_descriptor shape;
    size_t texel_bytes;
    bool surface;
};

static size_t at_least_one(size_t number)
{
    return number ? number : 1;
}

static size_t object_bytes(const struct object *object)
{
    return object->shape.width * at_least_one(object->shape.height) *
           at_least_one(object->shape.depth) * object->texel_bytes;
}

static cu_result object_copy(const struct object *object, void *host, bool to_host)
{
    struct cu_copy_end array = {.memory_type = CU_ARRAY_MEMORY, .array = object->array};
    struct cu_copy_end memory = {.memory_type = CU_HOST_MEMORY,
                                 .host = host,
                                 .pitch = object->shape.width * object->texel_bytes,
                                 .height = at_least_one(object->shape.height)};
    struct cu_copy copy = {.from = to_host ? array : memory,
                           .to = to_host ? memory : array,
                           .width_bytes = object->shape.width * object->texel_bytes,
                           .height = at_least_one(object->shape.height),
                           .depth = at_least_one(object->shape.depth)};
    return cu.copy(&copy);
}

static int index_of(const char *word, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (!strcmp(word, words[i]))
            return i;
    fprintf(stderr, "no texture mode '%s'\n", word);
    exit(2);
}

// Each level of a mipmap has different texels.
static unsigned char *make_texels(const struct object *object, const struct texel *texel,
                                  unsigned level)
{
    size_t count = object_bytes(object) / texel->bytes;
    unsigned char *data = malloc(count * texel->bytes);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = random_bits(i + 5000 * level);
        if (texel->format >= 16) // quarters, 0 to 15.75: filtering them is exact
            value = encode((double)(value % 64) / 4, type_find(texel->name, 3));
        memcpy(data + i * texel->bytes, &value, texel->bytes);
    }
    return data;
}

static cu_result fill_array(const struct object *object, const struct texel *texel, unsigned level)
{
    unsigned char *data = make_texels(object, texel, level);
    cu_result result = object_copy(object, data, false);
    free(data);
    return result;
}

static cu_result make_memory(struct object *object, const struct texel *texel,
                             struct cu_resource *resource)
{
    size_t bytes = object_bytes(object);
    unsigned char *data = make_texels(object, texel, 0);
    cu_result result = cu.allocate(&object->memory, bytes);
    if (!result)
        result = cu.to_device(object->memory, data, bytes);
    free(data);
    resource->type = CU_RESOURCE_MEMORY;
    resource->as.memory.address = object->memory;
    resource->as.memory.format = texel->format;
    resource->as.memory.channels = object->shape.channels;
    resource->as.memory.bytes = bytes;
    return result;
}

static cu_result make_mipmap(struct object *object, const struct texel *texel,
                             struct cu_resource *resource)
{
    cu_result result = cu.mipmap_create(&object->mipmap, &object->shape, MIPMAP_LEVELS);
    for (unsigned i = 0; i < MIPMAP_LEVELS && !result; i++) {
        struct object level = *object;
        level.shape.width >>= i;
        level.shape.height >>= i;
        result = cu.mipmap_level(&level.array, object->mipmap, i);
        if (!result)
            result = fill_array(&level, texel, i);
    }
    resource->type = CU_RESOURCE_MIPMAP;
    resource->as.array = object->mipmap;
    return result;
}

static struct cu_array_descriptor shape_of(const char *dimension, bool surface)
{
    if (!strcmp(dimension, "1d"))
        return (struct cu_array_descriptor){.width = surface ? 512 : 32};
    if (!strcmp(dimension, "memory"))
        return (struct cu_array_descriptor){.width = 32};
    if (!strcmp(dimension, "2d") || !strcmp(dimension, "m2d"))
        return (struct cu_array_descriptor){.width = 32, .height = 16};
    if (!strcmp(dimension, "a1d"))
        return (struct cu_array_descriptor){.width = 32, .depth = 4};
    if (strstr(dimension, "cube"))
        return (struct cu_array_descriptor){
            .width = 8, .height = 8, .depth = dimension[0] == 'a' ? 24 : 6};
    return (struct cu_array_descriptor){.width = 16, .height = 8, .depth = 4};
}

static cu_result object_create(const char *description, struct object *object)
{
    char dimension[8], format[8], filter[8] = "point", address[8] = "clamp",
                                  coordinates[8] = "texel";
    unsigned channels;
    object->surface = description[0] == 's';
    sscanf(strchr(description, ':') + 1, "%7[^:]:%7[^x]x%u:%7[^:]:%7[^:]:%7s", dimension, format,
           &channels, filter, address, coordinates);
    struct cu_array_descriptor *shape = &object->shape;
    *shape = shape_of(dimension, object->surface);
    shape->channels = channels;
    shape->flags = (dimension[0] == 'a' ? CU_ARRAY_LAYERED : 0) |
                   (strstr(dimension, "cube") ? CU_ARRAY_CUBE : 0) |
                   (object->surface ? CU_ARRAY_SURFACE : 0);
    const struct texel *texel = texels;
    while (strcmp(texel->name, format))
        texel++;
    shape->format = texel->format;
    object->texel_bytes = texel->bytes * channels;

    cu_result result;
    struct cu_resource resource = {0};
    if (!strcmp(dimension, "memory")) {
        result = make_memory(object, texel, &resource);
    } else if (dimension[0] == 'm') {
        result = make_mipmap(object, texel, &resource);
    } else {
        result = cu.array_create(&object->array, shape);
        if (!result)
            result = fill_array(object, texel, 0);
        resource.as.array = object->array;
    }
    if (result)
        return result;
    if (object->surface)
        return cu.surface_create(&object->handle, &resource);
    int mode = index_of(address, (const char *[]){"wrap", "clamp", "mirror", "border", NULL});
    // In one dimension the second mode is clamp: a border would be mixed in from there, too.
    struct cu_texture texture = {
        .address = {mode, strstr(dimension, "1d") ? 1 : mode, mode},
        .filter = !strcmp(filter, "linear"),
        .flags = (texel->integer ? CU_TEXTURE_INTEGER : 0) |
                 (!strcmp(coordinates, "unit") ? CU_TEXTURE_UNIT : 0) |
                 (texel->name[0] == 'g' ? CU_TEXTURE_SRGB : 0),
        .mipmap_filter = !strcmp(filter, "linear"),
        .mipmap_max = object->mipmap ? MIPMAP_LEVELS - 1 : 0,
    };
    return cu.texture_create(&object->handle, &resource, &texture, NULL);
}

static void object_destroy(const struct object *object)
{
    if (object->handle && object->surface)
        cu.surface_destroy(object->handle);
    else if (object->handle)
        cu.texture_destroy(object->handle);
    if (object->array)
        cu.array_destroy(object->array);
    if (object->mipmap)
        cu.mipmap_destroy(object->mipmap);
    if (object->memory)
        cu.release(object->memory);
}

// --- Tensor maps ---------------------------------------------------------------------------------

enum { MAP_BYTES = 128, MOST_RANK = 5, LEAST_FIELDS = 8 };

// Element types, by the number that the driver has for them.
static const struct {
    const char *name;
    unsigned bytes;
} map_types[] = {{"u8", 1},  {"u16", 2}, {"u32", 4}, {"s32", 4}, {"u64", 8},
                 {"s64", 8}, {"f16", 2}, {"f32", 4}, {"f64", 8}, {"bf16", 2}};

// Reads numbers with x between them; returns how many.
static unsigned read_numbers(const char *text, long long numbers[MOST_RANK])
{
    unsigned count = 0;
    for (char *rest; count < MOST_RANK; text = rest + 1) {
        numbers[count++] = strtoll(text, &rest, 10);
        if (*rest != 'x')
            break;
    }
    return count;
}

// Fills the map of a tensor whose rows have no gaps, but for a multiple of 16 bytes.
static cu_result map_create(const char *description, cu_address in, cu_address out, void *map)
{
    char copy[128], *fields[16], *rest = copy;
    unsigned count = 0, type = 0;
    snprintf(copy, sizeof(copy), "%s", description);
    while (count < 16 && (fields[count] = strtok_r(NULL, ":", &rest)) != NULL)
        count++;
    if (count < LEAST_FIELDS)
        bad_line(description);
    while (strcmp(map_types[type].name, fields[2]))
        type++;
    long long numbers[MOST_RANK];
    uint64_t sizes[MOST_RANK], strides[MOST_RANK], bytes = map_types[type].bytes;
    unsigned steps[MOST_RANK], box[MOST_RANK];
    int lower[MOST_RANK], upper[MOST_RANK];
    const unsigned rank = read_numbers(fields[3], numbers);
    for (unsigned i = 0; i < rank; i++) {
        sizes[i] = (uint64_t)numbers[i];
        bytes = (bytes * sizes[i] + 15) / 16 * 16;
        strides[i] = bytes;
    }
    read_numbers(fields[4], numbers);
    for (unsigned i = 0; i < rank; i++)
        steps[i] = (unsigned)numbers[i];
    void *address = (void *)(uintptr_t)(fields[1][0] == 'i' ? in : out);
    const int swizzling = atoi(fields[5]), fill = atoi(fields[6]);
    read_numbers(fields[7], numbers);
    if (count == LEAST_FIELDS) {
        for (unsigned i = 0; i < rank; i++)
            box[i] = (unsigned)numbers[i];
        return cu.encode_tiles(map, (int)type, rank, address, sizes, strides, box, steps, 0,
                               swizzling, 0, fill);
    }
    for (unsigned i = 0; i + 2 < rank; i++)
        lower[i] = (int)numbers[i];
    read_numbers(fields[8], numbers);
    for (unsigned i = 0; i + 2 < rank; i++)
        upper[i] = (int)numbers[i];
    return cu.encode_pixels(map, (int)type, rank, address, sizes, strides, lower, upper,
                            (unsigned)atoi(fields[9]), (unsigned)atoi(fields[10]), steps, 0,
                            swizzling, 0, fill);
}

// --- Recorded results ----------------------------------------------------------------------------

static unsigned __int128 hash_value(unsigned __int128 hash, uint64_t value)
{
    const unsigned __int128 prime = ((unsigned __int128)1 << 88) + 0x13b; // FNV-1a
    for (int i = 0; i < 8; i++)
        hash = (hash ^ (value >> i * 8 & 0xff)) * prime;
    return hash;
}

static const unsigned __int128 hash_start =
    (unsigned __int128)0x6c62272e07bb0142 << 64 | 0x62b821756295c58d;

static size_t letter_share(size_t count)
{
    return (count + LETTERS - 1) / LETTERS;
}

// The hash of the values that letter number `letter` covers: equal shares, the last one smaller.
static char check_letter(const uint64_t *values, size_t count, size_t letter)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t share = letter_share(count);
    uint64_t hash = 0;
    for (size_t i = letter * share; i < (letter + 1) * share && i < count; i++)
        hash = random_bits(hash ^ values[i]);
    return letters[hash & 63];
}

// The bits of a value that are recorded and compared. If any NaN is accepted, one represents all.
static uint64_t canonical(uint64_t value, const struct type *type, const struct rule *rule)
{
    if (!rule->any_nan || !type->exponent)
        return value;
    uint64_t result = 0;
    for (unsigned lane = 0; lane < type->lanes; lane++) {
        uint64_t bits = value >> lane * lane_bits(type) & lane_mask(type);
        result |= (is_nan(bits, type) ? lane_mask(type) >> 1 : bits) << lane * lane_bits(type) % 64;
    }
    return result;
}

static void write_values(FILE *file, const uint64_t *values, size_t count)
{
    for (size_t i = 0, same; i < count; i += same) {
        for (same = 1; i + same < count && values[i + same] == values[i];)
            same++;
        fprintf(file, " %llx", (unsigned long long)values[i]);
        if (same > 1)
            fprintf(file, "*%zu", same);
    }
}

static void record(FILE *file, const struct test *test, size_t number, const struct output *output,
                   const uint64_t *values)
{
    fprintf(file, "%s %zu %s %zu", test->name, number, output->type->name, output->count);
    char *full = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&full, &length);
    write_values(text, values, output->count);
    fclose(text);
    if (!test->rule.exact || length < FULL_TEXT) {
        fprintf(file, " =%s\n", full);
        free(full);
        return;
    }
    free(full);
    unsigned __int128 hash = hash_start;
    for (size_t i = 0; i < output->count; i++)
        hash = hash_value(hash, values[i]);
    fprintf(file, " %016llx%016llx", (unsigned long long)(hash >> 64), (unsigned long long)hash);
    for (size_t i = 0; i < IN_CLEAR; i++)
        fprintf(file, " %llx", (unsigned long long)values[i]);
    fputc(' ', file);
    for (size_t i = 0; i * letter_share(output->count) < output->count; i++)
        fputc(check_letter(values, output->count, i), file);
    fputc('\n', file);
}

static double ulp_distance(uint64_t a, uint64_t b, const struct type *type)
{
    int64_t magnitude = (int64_t)(lane_mask(type) >> 1);
    int64_t x = (int64_t)a & magnitude, y = (int64_t)b & magnitude;
    x = a >> (lane_bits(type) - 1) & 1 ? -x : x;
    y = b >> (lane_bits(type) - 1) & 1 ? -y : y;
    return fabs((double)x - (double)y);
}

static bool agrees(uint64_t got, uint64_t expected, const struct type *type,
                   const struct rule *rule)
{
    if (rule->exact || !type->exponent)
        return got == expected;
    for (unsigned lane = 0; lane < type->lanes; lane++) {
        uint64_t a = got >> lane * lane_bits(type) & lane_mask(type);
        uint64_t b = expected >> lane * lane_bits(type) & lane_mask(type);
        if (a == b || (is_nan(a, type) && is_nan(b, type)))
            continue;
        if (is_nan(a, type) || is_nan(b, type))
            return false;
        double x = decode(a, type), y = decode(b, type);
        bool near = rule->ulp >= 0 && ulp_distance(a, b, type) <= rule->ulp;
        near |= rule->absolute >= 0 && fabs(x - y) <= rule->absolute;
        near |= rule->relative >= 0 && fabs(x - y) <= rule->relative * fabs(y);
        if (!near)
            return false;
    }
    return true;
}

struct difference {
    size_t index;
    bool known; // whether the file contains the expected value itself, not only a hash
    uint64_t expected;
};

// Compares results with a recorded line, after its COUNT. Returns false and where, if they differ.
static bool check(const char *recorded, const struct test *test, const struct output *output,
                  const uint64_t *values, struct difference *difference)
{
    char *rest;
    while (*recorded == ' ')
        recorded++;
    if (*recorded == '=') {
        recorded++;
        for (size_t i = 0; i < output->count;) {
            uint64_t expected = strtoull(recorded, &rest, 16);
            size_t times = 1;
            if (*rest == '*')
                times = strtoul(rest + 1, &rest, 10);
            if (rest == recorded)
                bad_line(recorded);
            recorded = rest;
            for (; times && i < output->count; times--, i++)
                if (!agrees(values[i], expected, output->type, &test->rule)) {
                    *difference = (struct difference){i, true, expected};
                    return false;
                }
        }
        return true;
    }
    char recorded_hash[33], own_hash[33];
    sscanf(recorded, "%32s", recorded_hash);
    recorded += strcspn(recorded, " ");
    uint64_t clear[IN_CLEAR];
    for (size_t i = 0; i < IN_CLEAR; i++) {
        clear[i] = strtoull(recorded, &rest, 16);
        recorded = rest;
    }
    recorded++;
    unsigned __int128 hash = hash_start;
    for (size_t i = 0; i < output->count; i++)
        hash = hash_value(hash, values[i]);
    snprintf(own_hash, sizeof(own_hash), "%016llx%016llx", (unsigned long long)(hash >> 64),
             (unsigned long long)hash);
    if (!strcmp(own_hash, recorded_hash))
        return true;
    size_t i = 0;
    while (i < IN_CLEAR && clear[i] == values[i])
        i++;
    if (i < IN_CLEAR) {
        *difference = (struct difference){i, true, clear[i]};
        return false;
    }
    size_t share = letter_share(output->count);
    for (i = 0; i * share < output->count; i++)
        if (recorded[i] != check_letter(values, output->count, i))
            break;
    *difference = (struct difference){.index = i * share};
    return false;
}

// Finds the line of an output in a file of recorded results; returns what follows its COUNT, or
// NULL.
static const char *find_recorded(const char *text, const struct test *test, size_t number,
                                 const struct output *output)
{
    char start[192];
    int length = snprintf(start, sizeof(start), "\n%s %zu %s %zu ", test->name, number,
                          output->type->name, output->count);
    const char *found = text ? strstr(text, start) : NULL;
    return found ? found + length : NULL;
}

// --- Running -------------------------------------------------------------------------------------

struct session {
    cu_device device;
    char target[8]; // "" or the target that replaces sm_90 on an older GPU
    void *host[MAX_INPUTS];
    void *results;
    cu_address inputs[MAX_INPUTS], output;
    FILE *record;         // NULL when comparing
    const char *recorded; // the text of the file of recorded results
    bool dump;
};

// Loads preamble and kernel; on failure, returns the driver's first complaint in `log`.
static cu_result load(const struct session *session, const char *preamble, size_t preamble_length,
                      const struct test *test, void **module, char *log, size_t log_size)
{
    size_t size = preamble_length + test->length + 1;
    char *text = malloc(size);
    snprintf(text, size, "%.*s%.*s", (int)preamble_length, preamble, (int)test->length, test->text);
    char *target = strstr(text, "sm_90");
    if (session->target[0] && target)
        memcpy(target, session->target, 5);
    int options[] = {CU_JIT_ERROR_TEXT, CU_JIT_ERROR_SIZE};
    void *values[] = {log, (void *)log_size};
    log[0] = '\0';
    cu_result result = cu.module_load(module, text, 2, options, values);
    log[strcspn(log, "\n")] = '\0';
    free(text);
    return result;
}

static bool is_map(const struct input *input)
{
    return !input->type && input->object[0] == 'm';
}

static cu_result launch(const struct session *session, const struct test *test, void *module,
                        const struct object *objects)
{
    static unsigned char maps[MAX_INPUTS][MAP_BYTES] __attribute__((aligned(64)));
    static const unsigned char extra[64] __attribute__((aligned(16))) = {
        1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
        23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
        45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64};
    cu_address inputs[MAX_INPUTS];
    cu_address output = session->output;
    unsigned n = test->number_of_outputs ? (unsigned)test->outputs[0].count : 0;
    void *parameters[MAX_INPUTS + 4] = {NULL};
    for (size_t k = 0; k < MAX_INPUTS; k++) {
        inputs[k] = k < test->number_of_inputs && !test->inputs[k].type ? objects[k].handle
                                                                        : session->inputs[k];
        parameters[k] = &inputs[k];
        if (k >= test->number_of_inputs || !is_map(&test->inputs[k]))
            continue;
        const cu_result made =
            map_create(test->inputs[k].object, session->inputs[k], output, maps[k]);
        if (made)
            return made;
        parameters[k] = maps[k];
    }
    parameters[MAX_INPUTS] = &output;
    parameters[MAX_INPUTS + 1] = &n;
    parameters[MAX_INPUTS + 2] = (void *)extra;

    void *function;
    cu_result result = cu.module_function(&function, module, test->name);
    if (!result && test->shared > 48 * 1024)
        result = cu.function_set(function, CU_DYNAMIC_SHARED, (int)test->shared);
    if (result)
        return result;
    if (test->cooperative)
        result = cu.launch_cooperative(function, test->grid[0], test->grid[1], test->grid[2],
                                       test->block[0], test->block[1], test->block[2], test->shared,
                                       NULL, parameters);
    else
        result = cu.launch(function, test->grid[0], test->grid[1], test->grid[2], test->block[0],
                           test->block[1], test->block[2], test->shared, NULL, parameters, NULL);
    return result ? result : cu.synchronize();
}

static void print_inputs(const struct session *session, const struct test *test, size_t index,
                         size_t count)
{
    for (size_t k = 0; k < test->number_of_inputs; k++)
        if (test->inputs[k].type)
            printf(" %s:%llx", test->inputs[k].type->name,
                   (unsigned long long)load_value(session->host[k],
                                                  index * test->inputs[k].count / count,
                                                  test->inputs[k].type));
}

// Records or compares one output; false if it differs.
static bool judge(struct session *session, const struct test *test, size_t number,
                  const struct output *output, const void *data)
{
    uint64_t *values = malloc(output->count * sizeof(*values));
    for (size_t i = 0; i < output->count; i++)
        values[i] = canonical(load_value(data, i, output->type), output->type, &test->rule);
    bool good = true;
    if (session->dump)
        for (size_t i = 0; i < output->count; i++) {
            printf("%s %zu %zu", test->name, number, i);
            print_inputs(session, test, i, output->count);
            printf(" -> %llx\n", (unsigned long long)load_value(data, i, output->type));
        }
    if (session->record) {
        record(session->record, test, number, output, values);
    } else if (!session->dump) {
        const char *recorded = find_recorded(session->recorded, test, number, output);
        struct difference difference;
        good = recorded && check(recorded, test, output, values, &difference);
        if (!recorded) {
            printf("FAIL %s: output %zu has no recorded result\n", test->name, number);
        } else if (!good) {
            printf("FAIL %s: output %zu,", test->name, number);
            size_t last = difference.known ? difference.index
                                           : difference.index + letter_share(output->count) - 1;
            // The file has no value, only a letter: the error is among the values that it covers.
            for (size_t i = difference.index; i <= last && i < difference.index + 4; i++) {
                if (i >= output->count)
                    break;
                printf("%s [%zu] is %llx", i > difference.index ? "; or" : "", i,
                       (unsigned long long)values[i]);
                if (difference.known)
                    printf(", recorded %llx", (unsigned long long)difference.expected);
                if (test->number_of_inputs)
                    printf(", of");
                print_inputs(session, test, i, output->count);
            }
            printf("\n");
        }
    }
    free(values);
    return good;
}

static cu_result fill_tensor(cu_address to, void *host)
{
    for (size_t i = 0; i < MAX_BYTES / sizeof(uint64_t); i++)
        ((uint64_t *)host)[i] = random_bits(i);
    return cu.to_device(to, host, MAX_BYTES);
}

// Runs a test whose module is loaded; returns false if it fails. If the kernel has an error, the
// context is unusable and `broken` is set.
static bool execute(struct session *session, const struct test *test, void *module, bool *broken)
{
    struct object objects[MAX_INPUTS] = {{0}};
    size_t bytes = 0;
    for (size_t j = 0; j < test->number_of_outputs; j++)
        bytes += test->outputs[j].count * test->outputs[j].type->bytes;
    make_inputs(test->inputs, test->number_of_inputs, session->host);
    cu_result result = cu.fill(session->output, 0, MAX_BYTES);
    for (size_t k = 0; k < test->number_of_inputs && !result; k++) {
        const struct input *input = &test->inputs[k];
        if (input->type)
            result = cu.to_device(session->inputs[k], session->host[k],
                                  input->count * input->type->bytes);
        else if (is_map(input))
            result = fill_tensor(session->inputs[k], session->host[k]);
        else
            result = object_create(input->object, &objects[k]);
    }
    if (!result)
        result = launch(session, test, module, objects);
    *broken = result != 0;
    if (result != test->expect)
        printf("FAIL %s: error %d, expected %d\n", test->name, result, test->expect);
    if (result || test->expect)
        return result == test->expect;
    bool good = !cu.to_host(session->results, session->output, bytes);
    const char *at = session->results;
    for (size_t j = 0; j < test->number_of_outputs; j++) {
        good &= judge(session, test, j, &test->outputs[j], at);
        at += test->outputs[j].count * test->outputs[j].type->bytes;
    }
    for (size_t k = 0; k < test->number_of_inputs; k++) {
        if (objects[k].surface) {
            struct output output = {type_find("u32", 3), object_bytes(&objects[k]) / 4};
            good &= !object_copy(&objects[k], session->results, true) &&
                    judge(session, test, test->number_of_outputs, &output, session->results);
        }
        object_destroy(&objects[k]);
    }
    return good;
}

// --- Files and the command line ------------------------------------------------------------------

// A file of kernels, with the file that holds their results.
struct file {
    char *text;
    size_t preamble; // length of what precedes the first kernel
    char recorded_path[4096];
    char *recorded; // NULL if there are no recorded results
};

struct item {
    struct test test;
    const struct file *file;
};

// Memory that parent and child share. A failed kernel makes the context of its process unusable, so
// kernels run in a child process. After such a failure, a new child continues.
struct progress {
    size_t next; // the test that is running, or else the next one to run
    unsigned passed, failed, unsupported;
    bool greeted;
};

// Returns a newline and the text of a file, so that every line begins with one; NULL if it
// cannot be read.
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *copy = open_memstream(&text, &size);
    fputc('\n', copy);
    char buffer[1 << 16];
    for (size_t got; (got = fread(buffer, 1, sizeof(buffer), file)) > 0;)
        fwrite(buffer, 1, got, copy);
    fclose(copy);
    fclose(file);
    return text;
}

static bool driver_open(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        printf("SKIP: %s\n", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof(cu_functions) / sizeof(cu_functions[0]); i++) {
        void *function = dlsym(library, cu_functions[i].name);
        if (!function) {
            printf("SKIP: libcuda.so.1 has no %s\n", cu_functions[i].name);
            return false;
        }
        memcpy(cu_functions[i].function, &function, sizeof(function));
    }
    return true;
}

static bool session_open(struct session *session, struct progress *progress)
{
    cu_result result = cu.init(0);
    if (!result)
        result = cu.device_get(&session->device, 0);
    if (result) {
        printf("SKIP: no CUDA device, error %d\n", result);
        return false;
    }
    int major = 0, minor = 0;
    char name[128] = "";
    cu.device_attribute(&major, CU_MAJOR, session->device);
    cu.device_attribute(&minor, CU_MINOR, session->device);
    cu.device_name(name, sizeof(name), session->device);
    if (major < 9)
        snprintf(session->target, sizeof(session->target), "sm_%d%d", major % 10, minor % 10);
    if (!progress->greeted)
        printf("%s, compute capability %d.%d\n", name, major, minor);
    progress->greeted = true;
    void *context;
    result = cu.context_retain(&context, session->device);
    if (!result)
        result = cu.context_use(context);
    for (size_t k = 0; k < MAX_INPUTS; k++) {
        session->host[k] = calloc(1, MAX_BYTES);
        if (!result)
            result = cu.allocate(&session->inputs[k], MAX_BYTES);
    }
    session->results = calloc(1, MAX_BYTES);
    if (!result)
        result = cu.allocate(&session->output, MAX_BYTES);
    if (result)
        printf("SKIP: the device cannot be used, error %d\n", result);
    return !result;
}

static void run_item(struct session *session, const struct item *item, struct progress *progress,
                     bool recording, bool *broken)
{
    char log[1024];
    void *module;
    const struct test *test = &item->test;
    *broken = false;
    cu_result result =
        load(session, item->file->text, item->file->preamble, test, &module, log, sizeof(log));
    if (result && session->target[0]) {
        progress->unsupported++;
        return;
    }
    if (result) {
        printf("FAIL %s: refused, error %d: %s\n", test->name, result, log);
        progress->failed++;
        return;
    }
    session->recorded = item->file->recorded;
    session->record = recording ? fopen(item->file->recorded_path, "a") : NULL;
    if (execute(session, test, module, broken))
        progress->passed++;
    else
        progress->failed++;
    if (session->record)
        fclose(session->record);
    if (!*broken)
        cu.module_unload(module);
}

// The child: runs tests until one breaks the context. Returns its exit status.
static int run_some(struct session *session, const struct item *items, size_t count,
                    struct progress *progress, bool recording)
{
    if (!driver_open() || !session_open(session, progress))
        return 77;
    for (bool broken = false; !broken && progress->next < count; progress->next++) {
        alarm(SECONDS); // ends the process if the test hangs
        run_item(session, &items[progress->next], progress, recording, &broken);
    }
    return 0;
}

static int run_all(struct session *session, const struct item *items, size_t count, bool recording)
{
    struct progress *progress =
        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        return 2;
    while (progress->next < count) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            int status = run_some(session, items, count, progress, recording);
            fflush(stdout);
            _exit(status); // skips destructors: after an error, the driver's may hang
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) < 0)
            return 2;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
            return 77;
        if (WIFSIGNALED(status) || WEXITSTATUS(status)) {
            const char *name = items[progress->next].test.name;
            if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
                printf("FAIL %s: does not end\n", name);
            else
                printf("FAIL %s: ended its process, %s %d\n", name,
                       WIFSIGNALED(status) ? "signal" : "status",
                       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            progress->failed++;
            progress->next++;
        }
    }
    if (progress->unsupported)
        printf("%u not supported by this device\n", progress->unsupported);
    printf("%u passed, %u failed\n", progress->passed, progress->failed);
    return progress->failed ? 1 : 0;
}

// Adds the tests of a file whose name matches. `folder` holds FOLDER/NAME.txt for .../NAME.ptx.
static void read_file(struct file *file, const char *path, const char *folder, bool recording,
                      const regex_t *only, struct item **items, size_t *count)
{
    file->text = read_text(path);
    if (!file->text) {
        perror(path);
        exit(2);
    }
    if (folder) {
        const char *name = strrchr(path, '/');
        name = name ? name + 1 : path;
        snprintf(file->recorded_path, sizeof(file->recorded_path), "%s/%.*s.txt", folder,
                 (int)strcspn(name, "."), name);
        if (!recording)
            file->recorded = read_text(file->recorded_path);
        else if (truncate(file->recorded_path, 0) && access(folder, W_OK)) {
            perror(file->recorded_path);
            exit(2);
        }
    }
    const char *start = strstr(file->text, "\n//@ ");
    file->preamble = start ? (size_t)(start - file->text) : 0;
    while (start) {
        const char *next = strstr(start + 1, "\n//@ ");
        struct test test =
            parse_test(start + 1, next ? (size_t)(next - start - 1) : strlen(start + 1));
        if (!only || !regexec(only, test.name, 0, NULL, 0)) {
            *items = realloc(*items, (*count + 1) * sizeof(**items));
            if (!*items)
                exit(2);
            (*items)[(*count)++] = (struct item){test, file};
        }
        start = next;
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: runner --record FOLDER FILE.ptx...\n"
                    "       runner --check FOLDER | --dump | --list [--only REGEX] FILE.ptx...\n");
    return 2;
}

int main(int count, char **arguments)
{
    const char *folder = NULL;
    bool recording = false, list = false;
    regex_t pattern;
    const regex_t *only = NULL;
    struct session session = {0};
    int i = 1;
    for (; i < count && arguments[i][0] == '-'; i++) {
        const char *option = arguments[i];
        if (!strcmp(option, "--list")) {
            list = true;
        } else if (!strcmp(option, "--dump")) {
            session.dump = true;
        } else if (i + 1 == count) {
            return usage();
        } else if (!strcmp(option, "--record") || !strcmp(option, "--check")) {
            recording = option[2] == 'r';
            folder = arguments[++i];
        } else if (!strcmp(option, "--only")) {
            if (regcomp(&pattern, arguments[++i], REG_EXTENDED | REG_NOSUB))
                return usage();
            only = &pattern;
        } else {
            return usage();
        }
    }
    if (i == count || (!folder && !list && !session.dump) || (recording && only))
        return usage();
    setvbuf(stdout, NULL, _IOLBF, 0);

    struct file *files = calloc((size_t)(count - i), sizeof(*files));
    struct item *items = NULL;
    size_t number = 0;
    for (int k = 0; files && k < count - i; k++)
        read_file(&files[k], arguments[i + k], folder, recording, only, &items, &number);
    int status = 0;
    if (!list)
        status = run_all(&session, items, number, recording);
    for (size_t k = 0; list && k < number; k++)
        printf("%s\n", items[k].test.name);
    for (int k = 0; files && k < count - i; k++) {
        free(files[k].text);
        free(files[k].recorded);
    }
    free(files);
    free(items);
    return status;
}
