// SPDX-License-Identifier: Apache-2.0
// The functions of frames.h, named by FRAMES_TABLE. Each goes on through walk->next and does
// something afterwards, so that its frame stays.
#include "frames.h"

#include <alloca.h>
#include <stdarg.h>
#include <string.h>

static volatile long sink;

static long plain(struct frames_walk *walk, unsigned depth)
{
    return walk->next(walk, depth) + 1;
}

static long large(struct frames_walk *walk, unsigned depth)
{
    volatile char bytes[20000];
    bytes[depth] = (char)depth;
    return walk->next(walk, depth) + bytes[depth];
}

static long dynamic(struct frames_walk *walk, unsigned depth)
{
    volatile char *bytes = alloca(depth * 16 + 1);
    bytes[depth] = (char)depth;
    return walk->next(walk, depth) + bytes[depth];
}

static long many_registers(struct frames_walk *walk, unsigned depth)
{
    long a = sink, b = sink, c = sink, d = sink, e = sink, f = sink, g = sink, h = sink, i = sink,
         j = sink, k = sink;
    long got = walk->next(walk, depth);
    return got + a * 3 + b * 5 + c * 7 + d * 11 + e * 13 + f * 17 + g * 19 + h * 23 + i * 29 +
           j * 31 + k * 37;
}

// The stack is realigned: x86_64 needs an expression for it.
static long aligned(struct frames_walk *walk, unsigned depth)
{
    _Alignas(64) volatile char bytes[128];
    volatile char *more = alloca(depth + 1);
    bytes[depth % 128] = 1;
    more[depth] = 2;
    return walk->next(walk, depth) + bytes[depth % 128] + more[depth];
}

static long variadic_inner(struct frames_walk *walk, ...)
{
    va_list arguments;
    va_start(arguments, walk);
    unsigned depth = va_arg(arguments, unsigned);
    long got = walk->next(walk, depth) + (long)va_arg(arguments, double);
    va_end(arguments);
    return got;
}

static long variadic(struct frames_walk *walk, unsigned depth)
{
    return variadic_inner(walk, depth, 1.0, 2, 3, 4, 5, 6, 7, 8, 9, 10) + 1;
}

static void clean(long *value)
{
    sink = *value;
}

// With -fexceptions: a personality routine and a language-specific area.
static long cleaned(struct frames_walk *walk, unsigned depth)
{
    __attribute__((cleanup(clean))) long value = depth;
    value += walk->next(walk, depth);
    return value;
}

// Only one way through it has a frame: compilers move the prologue there.
static long shrunk(struct frames_walk *walk, unsigned depth)
{
    if (!walk)
        return 1;
    long before = sink;
    long got = walk->next(walk, depth);
    return got + before;
}

frames_function *const FRAMES_TABLE[FRAMES_SHAPES] = {
    plain, large, dynamic, many_registers, aligned, variadic, cleaned, shrunk,
};
