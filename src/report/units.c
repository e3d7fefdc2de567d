// SPDX-License-Identifier: Apache-2.0
// Formats numbers and texts for people.
#include "units.h"

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
