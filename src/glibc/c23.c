// SPDX-License-Identifier: Apache-2.0
// Functions of C23, which the headers of glibc 2.38 and later call instead of C11's. They differ in
// numbers that begin with 0b, which nothing here reads.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

// The names for the linker of what the macros below define and call.
#define READS_INTEGER(type, name)                                                         \
    type glibc_old_##name(const char *text, char **end, int base) __asm__(#name);         \
    type glibc_##name(const char *text, char **end, int base) __asm__("__isoc23_" #name); \
    type glibc_##name(const char *text, char **end, int base)                             \
    {                                                                                     \
        return glibc_old_##name(text, end, base);                                         \
    }

READS_INTEGER(long, strtol)
READS_INTEGER(unsigned long, strtoul)
READS_INTEGER(long long, strtoll)
READS_INTEGER(unsigned long long, strtoull)

int glibc_old_vsscanf(const char *text, const char *format,
                      va_list list) __asm__("__isoc99_vsscanf");
int glibc_vsscanf(const char *text, const char *format, va_list list) __asm__("__isoc23_vsscanf");
int glibc_vsscanf(const char *text, const char *format, va_list list)
{
    return glibc_old_vsscanf(text, format, list);
}

int glibc_sscanf(const char *text, const char *format, ...) __asm__("__isoc23_sscanf");
int glibc_sscanf(const char *text, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int read = glibc_old_vsscanf(text, format, list);
    va_end(list);
    return read;
}

int glibc_old_vfscanf(FILE *file, const char *format, va_list list) __asm__("__isoc99_vfscanf");
int glibc_fscanf(FILE *file, const char *format, ...) __asm__("__isoc23_fscanf");
int glibc_fscanf(FILE *file, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int read = glibc_old_vfscanf(file, format, list);
    va_end(list);
    return read;
}
