// SPDX-License-Identifier: Apache-2.0
// Compares the output of a run with that of two native runs, line by line. Lines in which the
// native runs differ from each other (times, addresses, the order of threads) are not compared.
#ifndef GLINT_CLI_LINES_H
#define GLINT_CLI_LINES_H

#include <stdbool.h>
#include <stddef.h>

struct cli_lines_outcome {
    bool same;
    size_t ignored; // lines of the native runs that were not compared
    size_t line;    // the first line of the first native text that differs, counted from 1
};

// The three texts need not end with a newline and may contain any bytes. Returns false if memory
// runs out.
bool cli_lines_compare(const char *native, size_t native_bytes, const char *again,
                       size_t again_bytes, const char *other, size_t other_bytes,
                       struct cli_lines_outcome *outcome);

#endif
