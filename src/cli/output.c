// SPDX-License-Identifier: Apache-2.0
// Writes reports to a file or to standard output.
#include "output.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { USUAL_WIDTH = 100, LEAST_WIDTH = 40, MOST_WIDTH = 1000 };

bool cli_output_put(void *user, const char *bytes, size_t length)
{
    struct cli_output *output = user;
    if (length && fwrite(bytes, length, 1, output->file) != 1) {
        output->error = errno;
        return false;
    }
    return true;
}

// Returns the width of lines in columns, or 0 if it is unknown.
static unsigned width_of(FILE *file)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    long width = columns ? strtol(columns, NULL, 10) : 0;
    if (width <= 0 && isatty(fileno(file)) && ioctl(fileno(file), TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    if (width <= 0)
        return 0;
    return width < LEAST_WIDTH ? LEAST_WIDTH : width > MOST_WIDTH ? MOST_WIDTH : (unsigned)width;
}

struct report_style cli_output_style(FILE *file)
{
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    const unsigned width = width_of(file);
    return (struct report_style){.width = width ? width : USUAL_WIDTH,
                                 .wrap = width > 0,
                                 .colour = isatty(fileno(file)) && !(no_colour && *no_colour) &&
                                           !(terminal && strcmp(terminal, "dumb") == 0)};
}

bool cli_output_is_file(const char *one, const char *other)
{
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

struct cli_extension cli_output_extension(const char *path)
{
    struct cli_extension extension = {""};
    const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;
    const char *dot = name ? strrchr(name, '.') : NULL;
    if (!dot || strlen(dot) > sizeof(extension.text))
        return extension;
    for (size_t i = 0; dot[1 + i]; i++)
        extension.text[i] = (char)tolower((unsigned char)dot[1 + i]);
    return extension;
}

bool cli_output_choose(const struct cli_verb *verb, const char *format, const char *output,
                       bool *json)
{
    static const char *const others[] = {"html", "htm", "sarif", "pftrace", "dot"};
    const struct cli_extension extension = cli_output_extension(output);
    *json = strcmp(format ? format : extension.text, "json") == 0;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) && !format; i++) {
        if (strcmp(extension.text, others[i]) == 0) {
            cli_message("%s writes text or json, not %s; --format text writes text anyway",
                        verb->name, extension.text);
            return false;
        }
    }
    return true;
}

bool cli_output_write(const char *path, bool force, const char *const *inputs, unsigned input_count,
                      cli_output_report *report, void *user)
{
    const bool to_stdout = !path || strcmp(path, "-") == 0;
    for (unsigned i = 0; i < input_count && !to_stdout; i++) {
        if (cli_output_is_file(path, inputs[i])) {
            cli_message("%s is the profile itself; choose another output file", path);
            return false;
        }
    }
    struct stat status;
    const bool existed = !to_stdout && stat(path, &status) == 0;
    struct cli_output output = {.file = cli_open_output(path, force)};
    if (!output.file)
        return false;
    const struct report_style style = cli_output_style(output.file);
    struct base_error error = {0};
    const enum base_code code = report(user, &style, cli_output_put, &output, &error);
    if ((to_stdout ? fflush(stdout) : fclose(output.file)) != 0 && !output.error)
        output.error = errno;
    if (output.error)
        cli_message("cannot write %s: %s", to_stdout ? "the output" : path, strerror(output.error));
    else if (code != BASE_OK)
        cli_error(&error);
    if ((output.error || code != BASE_OK) && !to_stdout && !existed)
        unlink(path);
    return code == BASE_OK && !output.error;
}
