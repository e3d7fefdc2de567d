# Turns our headers, as clang-format lays them out, into lines that a C file can include: VALUE(name)
# for an enumerator or a constant, TYPE(name) for a type, FIELD(type, path) for a member at any depth.
# It relies on one declaration or one brace per line; compare.sh checks that it found enough names.

function clean(name) {
    gsub(/\[[^]]*\]/, "", name)
    sub(/ *:.*/, "", name)
    return name
}

# Adds member `name` at the current depth.
function member(name) {
    paths[depth] = paths[depth] " " name
}

# Names declared by "type name;", "type (*name)(...);", "type name[4];".
function declared(text) {
    if (match(text, /\(\*[A-Za-z0-9_]+\)/))
        return substr(text, RSTART + 2, RLENGTH - 3)
    sub(/;.*/, "", text)
    text = clean(text)
    return match(text, /[A-Za-z0-9_]+ *$/) ? substr(text, RSTART) : ""
}

/^#define [A-Za-z]/ && $2 !~ /^GLINT_/ && NF >= 3 {
    if ($0 ~ /\(\(/ && $0 !~ /\(\((int|CUdevice)\)/)
        print "POINTER(" $2 ")"
    else if ($3 ~ /^cudaLaunchAttribute(ID|Value)$/)
        print "TYPE(" $2 ")"
    else
        print "VALUE(" $2 ")"
    next
}

/^(typedef )?enum .*\{$/ { in_enum = 1; next }
in_enum && /^}/ {
    in_enum = 0
    if ($2 != "")
        print "TYPE(" declared($0) ")"
    next
}
in_enum { sub(/^ */, ""); sub(/ =.*/, ""); print "VALUE(" $0 ")"; next }

depth == 0 && /^(typedef )?(struct|union)( [A-Za-z0-9_]+)? \{$/ {
    line = $0
    is_typedef = sub(/^typedef /, "", line)
    sub(/ \{$/, "", line)
    whole = line
    depth = 1
    paths[1] = ""
    next
}
depth > 0 && /(struct|union)( [A-Za-z0-9_]+)? \{$/ { depth++; paths[depth] = ""; next }
depth > 0 && /^ *\}/ {
    name = declared($0)
    count = split(paths[depth], inner, " ")
    depth--
    if (depth == 0) {
        type = is_typedef ? name : whole
        print "TYPE(" type ")"
        for (i = 1; i <= count; i++)
            print "FIELD(" type ", " inner[i] ")"
        next
    }
    dot = ""
    if (name != "") {
        member(name)
        dot = name "."
    }
    for (i = 1; i <= count; i++)
        member(dot inner[i])
    next
}
depth > 0 {
    text = text $0
    if (text !~ /;/)
        next
    member(declared(text))
    text = ""
    next
}

/^typedef / { statement = "" ; in_typedef = 1 }
in_typedef {
    statement = statement $0
    if ($0 ~ /;$/) {
        in_typedef = 0
        print "TYPE(" declared(statement) ")"
    }
}
