// SPDX-License-Identifier: Apache-2.0
// Rewrites the device code for drivers that do not know PTX 7.7 (CUDA 11.7). Of its instructions
// only cvta.param is that new: a function gets the address of its kernel's parameters. Here the
// kernel first copies its parameters to shared memory, and functions get the address of the copy.
// Newer drivers keep the parameters where they are, which is faster.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "device.h"

static const char convert[] = "cvta.param.u64";

// The text between two places.
struct piece {
    const char *from, *to;
};

static const char *find(struct piece in, const char *what)
{
    return memmem(in.from, (size_t)(in.to - in.from), what, strlen(what));
}

// Copies the parameters: each thread takes some words. glint$shift is what to add to an address
// among the parameters.
static void put_copy(struct base_buf *out, const char *name, unsigned bytes)
{
    base_buf_printf(out,
                    "\t.shared .align 16 .b8 glint$about[%u];\n"
                    "\t.reg .b64 %%glint$shift;\n"
                    "\t{\n"
                    "\t.reg .pred %%glint$end;\n"
                    "\t.reg .b32 %%glint$i, %%glint$step, %%glint$word;\n"
                    "\t.reg .b64 %%glint$from, %%glint$to, %%glint$at, %%glint$wide;\n"
                    "\tmov.u64 %%glint$from, %s_param_0;\n"
                    "\tmov.u64 %%glint$to, glint$about;\n"
                    "\tmov.u32 %%glint$i, %%tid.x;\n"
                    "\tmov.u32 %%glint$step, %%ntid.x;\n"
                    "\tshl.b32 %%glint$i, %%glint$i, 2;\n"
                    "\tshl.b32 %%glint$step, %%glint$step, 2;\n"
                    "$glint$copy:\n"
                    "\tsetp.ge.u32 %%glint$end, %%glint$i, %u;\n"
                    "\t@%%glint$end bra $glint$copied;\n"
                    "\tcvt.u64.u32 %%glint$wide, %%glint$i;\n"
                    "\tadd.s64 %%glint$at, %%glint$from, %%glint$wide;\n"
                    "\tld.param.u32 %%glint$word, [%%glint$at];\n"
                    "\tadd.s64 %%glint$at, %%glint$to, %%glint$wide;\n"
                    "\tst.shared.u32 [%%glint$at], %%glint$word;\n"
                    "\tadd.s32 %%glint$i, %%glint$i, %%glint$step;\n"
                    "\tbra $glint$copy;\n"
                    "$glint$copied:\n"
                    "\tbar.sync 0;\n"
                    "\tcvta.shared.u64 %%glint$shift, %%glint$to;\n"
                    "\tsub.s64 %%glint$shift, %%glint$shift, %%glint$from;\n"
                    "\t}\n",
                    bytes, name, bytes);
}

// Writes a kernel's body, which begins after its brace.
static void put_body(struct base_buf *out, struct piece body)
{
    for (const char *at; (at = find(body, convert));) {
        const char *operands = at + strlen(convert);
        const char *end = memchr(operands, ';', (size_t)(body.to - operands));
        if (!end)
            break;
        base_buf_add(out, body.from, (size_t)(at - body.from));
        base_buf_puts(out, "add.s64");
        base_buf_add(out, operands, (size_t)(end - operands));
        base_buf_puts(out, ", %glint$shift");
        body.from = end;
    }
    base_buf_add(out, body.from, (size_t)(body.to - body.from));
}

// Writes a function of the text, from its name to its closing brace. Returns what follows.
static const char *put_function(struct base_buf *out, struct piece rest)
{
    char name[64];
    unsigned bytes = 0;
    const char *brace = find(rest, "\n{\n"), *end = find(rest, "\n}\n");
    if (!brace || !end)
        return rest.from;
    const struct piece body = {brace + 3, end + 3};
    base_buf_add(out, rest.from, (size_t)(body.from - rest.from));
    const bool converts = find(body, convert) != NULL;
    if (converts && sscanf(rest.from, ".entry %63[a-z_](", name) == 1) {
        const char *size = find((struct piece){rest.from, brace}, "_param_0[");
        if (size && sscanf(size, "_param_0[%u]", &bytes) == 1)
            put_copy(out, name, bytes);
    }
    put_body(out, body);
    return body.to;
}

void device_for_older(const char *ptx, struct base_buf *out)
{
    static const char version[] = ".version ", entry[] = ".entry ";
    struct piece rest = {ptx, ptx + strlen(ptx)};
    const char *at = find(rest, version);
    if (at) {
        base_buf_add(out, rest.from, (size_t)(at - rest.from));
        base_buf_printf(out, "%s7.4", version);
        rest.from = strchr(at, '\n');
    }
    while ((at = find(rest, entry))) {
        base_buf_add(out, rest.from, (size_t)(at - rest.from));
        rest.from = at;
        const char *next = put_function(out, rest);
        if (next == at)
            break;
        rest.from = next;
    }
    base_buf_add(out, rest.from, (size_t)(rest.to - rest.from));
}
