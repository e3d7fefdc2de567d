// SPDX-License-Identifier: Apache-2.0
// Finds the readable name of a function in its mangled name. libglint.so does not use the C++
// library, whose complete demangler allocates with the program's allocator.
#include "plain_name.h"

#include <stdlib.h>
#include <string.h>

bool util_plain_name(const char *mangled, char *out, size_t room)
{
    size_t used = 0;
    if (strncmp(mangled, "_Z", 2) != 0)
        return false;
    const char *at = mangled + 2;
    const bool nested = *at == 'N';
    at += nested;
    for (;;) {
        at += *at == 'L'; // static
        if (*at < '1' || *at > '9')
            break;
        char *name;
        const size_t length = strtoul(at, &name, 10);
        if (length >= room || strnlen(name, length) < length || used + length + 3 > room)
            return false;
        if (used) {
            memcpy(out + used, "::", 2);
            used += 2;
        }
        memcpy(out + used, name, length);
        used += length;
        at = name + length;
        if (!nested)
            break;
    }
    out[used] = '\0';
    return used > 0;
}
