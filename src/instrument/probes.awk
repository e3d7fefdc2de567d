# SPDX-License-Identifier: Apache-2.0
# Turns the templates of src/instrument/probes/*.ptx into C: awk -v make=names|data -f probes.awk FILE...
#
# make=names prints the enumerators of templates and fields, probe_names.h; make=data prints the templates as tables
# for src/instrument/fill.c, probe_data.inc. A template is PTX with these additions:
#
#     //: text NAME        begins a template, which C code fills
#     //: part NAME        begins lines that templates use
#     //: use NAME         stands for the lines of that part
#     //: use NAME 4 2 1   the same once for each number, which {} stands for in that part
#     //: if [not] FIELD   the lines up to `else` or `end` are only written if the field is [not] 0 or NULL
#     //: else
#     //: end
#     {k}                  the value of field k
#     {k+8}, {k-1}         the same and a number
#     {TABLE.recent}       the offset of a member: TABLE(recent) in fill.c
#     {SLOT_BYTES}         a constant of fill.c
#     {view+VIEW.first}    a sum of at most one field and constants
#
# Other comments, empty lines and leading spaces are left out; tabs stay. An empty line is written before each function. A constant that fill.c does not define does
# not compile, and neither does C code that fills a field that no template has.

function fail(message) {
    print FILENAME ":" FNR ": " message > "/dev/stderr"
    failed = 1
    exit 1
}

function quote(text) {
    gsub(/["\\]/, "\\\\&", text)
    gsub(/\t/, "\\t", text)
    gsub(/\n/, "\\n", text)
    return "\"" text "\""
}

/^\/\/: (text|part) [a-z_]+$/ {
    if ($3 in lines) fail("there is already a template or part " $3)
    name = $3
    lines[name] = 0
    if ($2 == "text") order[++texts] = name
    next
}
/^\/\/: (use [a-z_]+( [0-9]+)*|if (not )?[a-z_]+|else|end)$/ {
    if (!name) fail("no template has begun")
    line[name, ++lines[name]] = $0
    next
}
/^\/\/:/ { fail("unknown directive") }
/^ *(\/\/|$)/ { next }
{
    if (!name) fail("no template has begun")
    sub(/^ +/, "")
    line[name, ++lines[name]] = $0
}

# Adds the lines of a template to `all`, with the parts that it uses.
function expand(name, depth, number,    i, k, n, words, own) {
    if (!(name in lines)) fail("there is no part " name)
    if (depth > 8) fail("part " name " uses itself")
    for (i = 1; i <= lines[name]; i++) {
        own = line[name, i]
        n = split(own, words, " ")
        if (words[1] == "//:" && words[2] == "use") {
            if (n == 3) expand(words[3], depth + 1, "")
            for (k = 4; k <= n; k++) expand(words[3], depth + 1, words[k])
        } else {
            if (gsub(/\{\}/, number, own) && number == "") fail("part " name " needs a number")
            all[++count] = own
        }
    }
}

# Returns the index of a field in the current template.
function field_of(field) {
    if (!(field in known)) { known[field] = fields; field_names[fields++] = field }
    if (!(field in own)) {
        if (own_count == 16) fail("a template has at most 16 fields")
        own[field] = own_count
        own_names[own_count++] = field
    }
    return own[field]
}

# Ends the current piece: its literal text, and what follows it.
function piece(what, field, number) {
    text[++pieces] = literal
    op[pieces] = what; of[pieces] = field; add[pieces] = number; skip[pieces] = 0
    literal = ""
}

function put_field(expression,    terms, n, i, term, field, number) {
    gsub(/-/, "+-", expression)
    n = split(expression, terms, "+")
    field = ""; number = ""
    for (i = 1; i <= n; i++) {
        term = terms[i]
        if (term ~ /^[a-z][a-z_]*$/) {
            if (field != "") fail("{" expression "}: a sum has at most one field")
            field = field_of(term)
        } else {
            if (term ~ /^[A-Z_]+\./) { sub(/\./, "(", term); term = term ")" }
            else if (term !~ /^(-?[0-9]+|[A-Z][A-Z_]*)$/) fail("{" expression "}: unknown term " term)
            number = number == "" ? term : number " + " term
        }
    }
    if (field == "") piece("NUMBER_OF", 0, number)
    else piece("FIELD_OF", field, number == "" ? 0 : number)
}

function put_line(rest) {
    if (rest ~ /^\.func/) literal = literal "\n"
    while (match(rest, /\{[A-Za-z_][][A-Za-z0-9_.+-]*\}/)) {
        literal = literal substr(rest, 1, RSTART - 1)
        field_text = substr(rest, RSTART + 1, RLENGTH - 2)
        rest = substr(rest, RSTART + RLENGTH)
        put_field(field_text)
    }
    literal = literal rest "\n"
}

function put_directive(words, n,    from) {
    if (words[2] == "if") {
        piece(words[3] == "not" ? "IF_NOT" : "IF", field_of(words[n]), 0)
        open[++opened] = pieces
    } else if (!opened) {
        fail("`" words[2] "` without `if`")
    } else {
        from = open[opened--]
        piece(words[2] == "else" ? "SKIP" : "NOTHING", 0, 0)
        skip[from] = pieces - from
        if (words[2] == "else") open[++opened] = pieces
    }
}

function print_template(name,    i, words, n) {
    count = pieces = own_count = opened = 0
    literal = ""
    split("", own)
    expand(name, 0, "")
    for (i = 1; i <= count; i++) {
        n = split(all[i], words, " ")
        if (words[1] == "//:") put_directive(words, n)
        else put_line(all[i])
    }
    if (opened) fail("template " name ": `if` without `end`")
    piece("NOTHING", 0, 0)
    if (make != "data") return
    print "static const struct instrument_piece pieces_" name "[] = {"
    for (i = 1; i <= pieces; i++)
        print "    {" quote(text[i]) ", " length(text[i]) ", " op[i] ", " of[i] ", " skip[i] ", " add[i] "},"
    print "};"
    if (own_count) {
        print "static const uint16_t fields_" name "[] = {"
        for (i = 0; i < own_count; i++) print "    FIELD_" own_names[i] ","
        print "};"
    }
    row[++rows] = "    [TEMPLATE_" name "] = {\"" name "\", pieces_" name ", " (own_count ? "fields_" name : "NULL") \
        ", " pieces ", " own_count "},"
}

END {
    if (failed) exit 1
    print "// Made by src/instrument/probes.awk."
    for (i = 1; i <= texts; i++) print_template(order[i])
    if (make == "data") {
        print "const struct instrument_template instrument_templates[INSTRUMENT_TEMPLATES] = {"
        for (i = 1; i <= rows; i++) print row[i]
        print "};\nconst char *const instrument_field_names[INSTRUMENT_FIELDS] = {"
        for (i = 0; i < fields; i++) print "    [FIELD_" field_names[i] "] = \"" field_names[i] "\","
        print "};"
    } else {
        print "enum instrument_template_id {"
        for (i = 1; i <= texts; i++) print "    TEMPLATE_" order[i] ","
        print "    INSTRUMENT_TEMPLATES\n};\nenum instrument_field {"
        for (i = 0; i < fields; i++) print "    FIELD_" field_names[i] ","
        print "    INSTRUMENT_FIELDS\n};"
    }
}
