// SPDX-License-Identifier: Apache-2.0
// Completions for bash, zsh and fish. Each script is a frame of fixed text around what the tables
// of verbs and options say.
#include <string.h>

#include "generate.h"

// Calls put for each option of the verb, and for --help.
static void each_option(const struct cli_verb *verb, struct base_buf *out,
                        void (*put)(const struct cli_verb *verb, const struct cli_option *option,
                                    struct base_buf *out))
{
    for (const struct cli_option *option = verb->options; option->name; option++)
        put(verb, option, out);
    put(verb, &cli_generate_help, out);
}

static void each_verb(struct base_buf *out,
                      void (*put)(const struct cli_verb *verb, struct base_buf *out))
{
    for (const struct cli_verb *const *verb = cli_verbs; *verb; verb++) {
        if (!(*verb)->hidden)
            put(*verb, out);
    }
}

// For the inside of single quotes; characters of `special` get a backslash.
static void put_quoted(struct base_buf *out, const char *text, const char *special,
                       const char *quote)
{
    for (; *text; text++) {
        if (*text == '\'') {
            base_buf_puts(out, quote);
            continue;
        }
        if (strchr(special, *text))
            base_buf_putc(out, '\\');
        base_buf_putc(out, *text);
    }
}

// --- bash ----------------------------------------------------------------------------------------

static void put_bash_option(const struct cli_verb *verb, const struct cli_option *option,
                            struct base_buf *out)
{
    (void)verb;
    base_buf_printf(out, " --%s", option->name);
    if (option->letter)
        base_buf_printf(out, " -%c", option->letter);
}

static void put_bash_argument(const struct cli_verb *verb, const struct cli_option *option,
                              struct base_buf *out)
{
    static const char *const kinds[] = {
        [CLI_GENERATE_ANY] = "any", [CLI_GENERATE_FILE] = "file", [CLI_GENERATE_FOLDER] = "folder"};
    if (!option->argument)
        return;
    base_buf_printf(out, "    %s--%s", verb->name, option->name);
    if (option->letter)
        base_buf_printf(out, " | %s-%c", verb->name, option->letter);
    base_buf_printf(out, ") echo '%s%s' ;;\n",
                    option->values ? "one "
                    : option->list ? "list "
                                   : kinds[cli_generate_argument_of(option)],
                    option->values ? option->values
                    : option->list ? option->list
                                   : "");
}

static void put_bash_arguments(const struct cli_verb *verb, struct base_buf *out)
{
    each_option(verb, out, put_bash_argument);
}

static void put_bash_verb(const struct cli_verb *verb, struct base_buf *out)
{
    static const char *const rests[] = {
        [CLI_GENERATE_ANY] = "", [CLI_GENERATE_FILE] = "file", [CLI_GENERATE_PROGRAM] = "program"};
    base_buf_printf(out, "    %s) options='", verb->name);
    each_option(verb, out, put_bash_option);
    base_buf_printf(out, "' rest='%s' ;;\n", rests[cli_generate_rest_of(verb)]);
}

static void put_name(const struct cli_verb *verb, struct base_buf *out)
{
    base_buf_printf(out, "%s ", verb->name);
}

// Words are taken from the line itself: bash cuts them at = and :, which values have.
void cli_generate_bash(struct base_buf *out)
{
    base_buf_puts(out, "# Completions of glint for bash, made by 'glint generate bash'.\n\n"
                       "# What the argument of an option is: _glint_argument VERB--OPTION.\n"
                       "_glint_argument() {\n    case $1 in\n");
    each_verb(out, put_bash_arguments);
    base_buf_puts(out, "    esac\n}\n\n"
                       "_glint() {\n"
                       "    local line=${COMP_LINE:0:COMP_POINT} words=() options rest kind\n"
                       "    read -ra words <<<\"$line\"\n"
                       "    [[ $line == *[[:space:]] ]] && words+=('')\n"
                       "    local count=${#words[@]} given=0 i\n"
                       "    local current=${words[count - 1]} verb=${words[1]-} before='' kept=''\n"
                       "    COMPREPLY=()\n"
                       "    if ((count <= 2)); then\n"
                       "        mapfile -t COMPREPLY < <(compgen -W '");
    each_verb(out, put_name);
    base_buf_puts(out, "--help --version' -- \"$current\")\n"
                       "        return\n"
                       "    fi\n"
                       "    case $verb in\n");
    each_verb(out, put_bash_verb);
    base_buf_puts(
        out,
        "    *) return ;;\n"
        "    esac\n"
        "    # What the word before the current one asks for, and how many are no options.\n"
        "    for ((i = 2; i < count - 1; i++)); do\n"
        "        if [[ $before ]]; then\n"
        "            before=''\n"
        "        elif [[ ${words[i]} == -- ]]; then\n"
        "            given=1\n"
        "            [[ $rest != program ]] || break\n"
        "        elif [[ ${words[i]} == -?* ]]; then\n"
        "            before=$(_glint_argument \"$verb${words[i]}\")\n"
        "        else\n"
        "            given=1\n"
        "            [[ $rest != program ]] || break\n"
        "        fi\n"
        "    done\n"
        "    kind=$before\n"
        "    if [[ ! $kind && $current == --*=* ]]; then\n"
        "        kind=$(_glint_argument \"$verb${current%%=*}\")\n"
        "        current=${current#*=}\n"
        "    elif [[ ! $kind && $rest == program && $given == 1 ]]; then\n"
        "        if [[ ${words[count - 2]} == -- ]]; then\n"
        "            mapfile -t COMPREPLY < <(compgen -c -f -- \"$current\")\n"
        "        else\n"
        "            mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
        "        fi\n"
        "        compopt -o filenames 2>/dev/null\n"
        "        return\n"
        "    elif [[ ! $kind && $current == -* ]]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
        "        return\n"
        "    elif [[ ! $kind ]]; then\n"
        "        kind=$rest\n"
        "    fi\n"
        "    case $kind in\n"
        "    'one '*) mapfile -t COMPREPLY < <(compgen -W \"${kind#one }\" -- \"$current\") ;;\n"
        "    'list '*)\n"
        "        [[ $current != *,* ]] || kept=${current%,*},\n"
        "        mapfile -t COMPREPLY < <(compgen -P \"$kept\" -W \"${kind#list }\" -- "
        "\"${current##*,}\")\n"
        "        ;;\n"
        "    file) mapfile -t COMPREPLY < <(compgen -f -- \"$current\") && compopt -o filenames "
        "2>/dev/null "
        ";;\n"
        "    folder) mapfile -t COMPREPLY < <(compgen -d -- \"$current\") && compopt -o filenames "
        "2>/dev/null "
        ";;\n"
        "    program) mapfile -t COMPREPLY < <(compgen -c -f -- \"$current\") ;;\n"
        "    esac\n"
        "    # bash replaces only what stands behind the last colon.\n"
        "    if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then\n"
        "        COMPREPLY=(\"${COMPREPLY[@]#\"${current%:*}:\"}\")\n"
        "    fi\n"
        "}\n\n"
        "complete -F _glint glint\n");
}

// --- zsh -----------------------------------------------------------------------------------------

static void put_zsh_text(struct base_buf *out, const char *text)
{
    put_quoted(out, text, "[]:\\", "'\\''");
}

static void put_zsh_option(const struct cli_verb *verb, const struct cli_option *option,
                           struct base_buf *out)
{
    (void)verb;
    base_buf_puts(out, "            ");
    if (option->letter)
        base_buf_printf(out, "'(-%c --%s)'{-%c,--%s%s}'", option->letter, option->name,
                        option->letter, option->name, option->argument ? "=" : "");
    else
        base_buf_printf(out, "'--%s%s", option->name, option->argument ? "=" : "");
    base_buf_putc(out, '[');
    put_zsh_text(out, option->help);
    base_buf_putc(out, ']');
    if (option->argument) {
        base_buf_putc(out, ':');
        put_zsh_text(out, option->argument);
        base_buf_putc(out, ':');
        const enum cli_generate_argument argument = cli_generate_argument_of(option);
        if (option->values) {
            base_buf_putc(out, '(');
            put_zsh_text(out, option->values);
            base_buf_putc(out, ')');
        } else if (option->list) {
            base_buf_printf(out, "_values -s , %s %s", option->name, option->list);
        } else {
            base_buf_puts(out, argument == CLI_GENERATE_FILE     ? "_files"
                               : argument == CLI_GENERATE_FOLDER ? "_files -/"
                                                                 : " ");
        }
    }
    base_buf_puts(out, "' \\\n");
}

static void put_zsh_verb(const struct cli_verb *verb, struct base_buf *out)
{
    static const char *const rests[] = {
        [CLI_GENERATE_ANY] = "            && return\n",
        [CLI_GENERATE_FILE] = "            '*:file:_files' && return\n",
        [CLI_GENERATE_PROGRAM] = "            '(-):program:_command_names -e' "
                                 "'*::argument:_normal' && return\n"};
    base_buf_printf(out, "    %s)\n        _arguments -s \\\n", verb->name);
    each_option(verb, out, put_zsh_option);
    base_buf_printf(out, "%s        ;;\n", rests[cli_generate_rest_of(verb)]);
}

static void put_zsh_name(const struct cli_verb *verb, struct base_buf *out)
{
    base_buf_printf(out, "        '%s:", verb->name);
    put_zsh_text(out, verb->summary);
    base_buf_puts(out, "'\n");
}

void cli_generate_zsh(struct base_buf *out)
{
    base_buf_puts(out, "#compdef glint\n"
                       "# Completions of glint for zsh, made by 'glint generate zsh'.\n\n"
                       "_glint() {\n"
                       "    local curcontext=$curcontext state line\n"
                       "    local -a verbs\n"
                       "    verbs=(\n");
    each_verb(out, put_zsh_name);
    base_buf_puts(out, "    )\n"
                       "    _arguments -C '(- *)--help[show the verbs]' '(- *)--version[show the "
                       "version]' \\\n"
                       "        '1:verb:->verb' '*::argument:->rest' && return\n"
                       "    if [[ $state == verb ]]; then\n"
                       "        _describe -t verbs verb verbs\n"
                       "        return\n"
                       "    fi\n"
                       "    curcontext=${curcontext%:*}-$words[1]:\n"
                       "    case $words[1] in\n");
    each_verb(out, put_zsh_verb);
    base_buf_puts(out, "    esac\n}\n\n_glint \"$@\"\n");
}

// --- fish ----------------------------------------------------------------------------------------

static void put_fish_text(struct base_buf *out, const char *text)
{
    put_quoted(out, text, "\\", "\\'");
}

static void put_fish_option(const struct cli_verb *verb, const struct cli_option *option,
                            struct base_buf *out)
{
    base_buf_printf(out, "complete -c glint -n '__glint_verb %s' -l %s", verb->name, option->name);
    if (option->letter)
        base_buf_printf(out, " -s %c", option->letter);
    const enum cli_generate_argument argument = cli_generate_argument_of(option);
    if (option->values) {
        base_buf_puts(out, " -x -a '");
        put_fish_text(out, option->values);
        base_buf_putc(out, '\'');
    } else if (option->list) {
        base_buf_printf(out, " -x -a '(__fish_append , %s)'", option->list);
    } else if (argument == CLI_GENERATE_FILE) {
        base_buf_puts(out, " -r -F");
    } else if (argument == CLI_GENERATE_FOLDER) {
        base_buf_puts(out, " -x -a '(__fish_complete_directories)'");
    } else if (option->argument) {
        base_buf_puts(out, " -x");
    } else {
        base_buf_puts(out, " -f");
    }
    base_buf_puts(out, " -d '");
    put_fish_text(out, option->help);
    base_buf_puts(out, "'\n");
}

static void put_fish_verb(const struct cli_verb *verb, struct base_buf *out)
{
    base_buf_printf(out, "complete -c glint -n __glint_no_verb -f -a %s -d '", verb->name);
    put_fish_text(out, verb->summary);
    base_buf_puts(out, "'\n");
    each_option(verb, out, put_fish_option);
    if (cli_generate_rest_of(verb) == CLI_GENERATE_PROGRAM)
        base_buf_printf(out,
                        "complete -c glint -n '__glint_verb %s' -a '(__fish_complete_command)'\n",
                        verb->name);
    else if (cli_generate_rest_of(verb) == CLI_GENERATE_ANY)
        base_buf_printf(out, "complete -c glint -n '__glint_verb %s' -f\n", verb->name);
}

void cli_generate_fish(struct base_buf *out)
{
    base_buf_puts(out,
                  "# Completions of glint for fish, made by 'glint generate fish'.\n\n"
                  "function __glint_no_verb\n"
                  "    test (count (commandline -opc)) -eq 1\n"
                  "end\n\n"
                  "function __glint_verb\n"
                  "    set -l words (commandline -opc)\n"
                  "    test (count $words) -gt 1; and test $words[2] = $argv[1]\n"
                  "end\n\n"
                  "complete -c glint -n __glint_no_verb -f -l help -d 'show the verbs'\n"
                  "complete -c glint -n __glint_no_verb -f -l version -d 'show the version'\n");
    each_verb(out, put_fish_verb);
}
