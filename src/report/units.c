// SPDX-License-Identifier: Apache-2.0
// Formats numbers and texts for people.
#include "units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    double factor; // ratio to the unit before
};

// Writes the value with one decimal, in the largest unit in which it does not round to less than 1.
static void put_scaled(struct base_buf *out, uint64_t value, const struct unit *units, size_t count)
{
    double scaled = (double)value;
    size_t at = 0;
    while (at + 1 < count && scaled >= units[at + 1].factor - (at ? 0.05 : 0.0)) {
        at++;
        scaled /= units[at].factor;
    }
    if (at == 0)
        base_buf_u64(out, value);
    else
        base_buf_printf(out, "%.1f", scaled);
    base_buf_printf(out, " %s", units[at].name);
}

void report_put_bytes(struct base_buf *out, uint64_t bytes)
{
    static const struct unit units[] = {{"B", 1},      {"KiB", 1024}, {"MiB", 1024}, {"GiB", 1024},
                                        {"TiB", 1024}, {"PiB", 1024}, {"EiB", 1024}};
    put_scaled(out, bytes, units, sizeof(units) / sizeof(units[0]));
}

void report_put_ns(struct base_buf *out, uint64_t ns)
{
    static const struct unit units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000}, {"s", 1000}};
    put_scaled(out, ns, units, sizeof(units) / sizeof(units[0]));
}

void report_put_share(struct base_buf *out, uint64_t part, uint64_t whole)
{
    unsigned long long thousandths =
        (unsigned long long)((unsigned __int128)part * 1000 / (whole ? whole : 1));
    if (part >= whole || part == 0)
        base_buf_puts(out, part ? "100%" : "0%");
    else if (thousandths == 0)
        base_buf_puts(out, "<0.1%");
    else
        base_buf_printf(out, "%llu.%llu%%", thousandths / 10, thousandths % 10);
}

void report_put_text(struct base_buf *out, const char *text)
{
    base_buf_visible(out, text ? base_str(text) : (struct base_str){0}, "");
}

const char *report_base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

size_t report_text_width(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

// Returns whether the digits give the same number again, of a type with a smaller mantissa too.
static bool is_exact(const char *digits, double real, enum profile_value_type type)
{
    const double again = strtod(digits, NULL);
    return type == PROFILE_TYPE_F64 ? again == real : (float)again == (float)real;
}

void report_put_value(struct base_buf *out, struct analyze_value value)
{
    const enum profile_value_type type = (enum profile_value_type)value.type;
    char text[40];
    double real;
    memcpy(&real, &value.bits, sizeof(real));
    if (type == PROFILE_TYPE_RAW) {
        base_buf_printf(out, "0x%08llx", (unsigned long long)value.bits);
    } else if (type == PROFILE_TYPE_U8 || type == PROFILE_TYPE_U16 || type == PROFILE_TYPE_U32 ||
               type == PROFILE_TYPE_U64) {
        base_buf_printf(out, "%llu", (unsigned long long)value.bits);
    } else if (type < PROFILE_TYPE_F16) {
        base_buf_printf(out, "%lld", (long long)value.bits);
    } else if (isnan(real)) {
        base_buf_puts(out, "nan");
    } else {
        int digits = 1;
        do {
            snprintf(text, sizeof(text), "%.*g", digits, real);
        } while (digits++ < 17 && !is_exact(text, real, type));
        // 80 rather than 8e+01.
        if (strchr(text, 'e') && fabs(real) < 1e6 && real == (double)(long)real)
            snprintf(text, sizeof(text), "%.0f", real);
        base_buf_puts(out, text);
    }
}
