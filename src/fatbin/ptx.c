// SPDX-License-Identifier: Apache-2.0
// Recognises PTX text by the two directives with which it must begin, .version and .target. src/ptx
// parses PTX.
#include "reader.h"

struct scanner {
    const unsigned char *text;
    size_t length;
    size_t at;
    bool nul_is_newline;
};

// Returns the current character; 0 at the end.
static int peek(const struct scanner *scanner)
{
    if (scanner->at >= scanner->length)
        return 0;
    int c = scanner->text[scanner->at];
    return c == 0 && scanner->nul_is_newline ? '\n' : c;
}

static bool take(struct scanner *scanner, const char *word)
{
    const size_t start = scanner->at;
    for (; *word; word++, scanner->at++) {
        if (peek(scanner) != (unsigned char)*word) {
            scanner->at = start;
            return false;
        }
    }
    return true;
}

static void skip_blanks(struct scanner *scanner)
{
    for (;;) {
        int c = peek(scanner);
        if (c == ' ' || (c >= '\t' && c <= '\r')) {
            scanner->at++;
        } else if (take(scanner, "//")) {
            while (peek(scanner) && peek(scanner) != '\n')
                scanner->at++;
        } else if (take(scanner, "/*")) {
            while (peek(scanner) && !take(scanner, "*/"))
                scanner->at++;
        } else {
            return;
        }
    }
}

static bool take_number(struct scanner *scanner, unsigned *number)
{
    const size_t start = scanner->at;
    *number = 0;
    for (int c; c = peek(scanner), c >= '0' && c <= '9' && *number < 10000; scanner->at++)
        *number = *number * 10 + (unsigned)(c - '0');
    return scanner->at > start;
}

bool fatbin_describe_ptx(const unsigned char *text, size_t length, bool nul_is_newline,
                         struct fatbin_entry *entry)
{
    struct scanner scanner = {text, length, 0, nul_is_newline};
    unsigned major;
    unsigned minor;
    unsigned arch;
    skip_blanks(&scanner);
    if (!take(&scanner, ".version"))
        return false;
    skip_blanks(&scanner);
    if (!take_number(&scanner, &major) || !take(&scanner, ".") || !take_number(&scanner, &minor))
        return false;
    entry->version_major = major;
    entry->version_minor = minor;
    skip_blanks(&scanner);
    if (!take(&scanner, ".target"))
        return true;
    skip_blanks(&scanner);
    if (take(&scanner, "sm_") && take_number(&scanner, &arch)) {
        entry->arch = arch;
        int suffix = peek(&scanner);
        entry->arch_suffix = suffix == 'a' || suffix == 'f' ? (char)suffix : '\0';
    }
    return true;
}
