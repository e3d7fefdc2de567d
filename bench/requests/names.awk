# For the other scripts of this folder: the name by which a kernel is known to all of them, and the rows that they
# print: KERNEL, MEASURE and VALUE, separated by tabs. A measure is "launches", or a way and what is counted, such as
# "load sectors".

# Returns the kernel's name without result, namespaces, template arguments and parameters.
function base_name(name) {
    if (name ~ /^_Z/)
        return mangled_base(substr(name, 3))
    gsub(/\(anonymous namespace\)/, "", name)
    sub(/[<(].*/, "", name)
    sub(/.*[: ]/, "", name)
    return name
}

# The same of a mangled name without _Z: the first name with a length, or the last of those of nested scopes.
function mangled_base(rest,    nested, digits, last) {
    nested = rest ~ /^N/
    sub(/^[^0-9]*/, "", rest)
    while (match(rest, /^[0-9]+/)) {
        digits = RLENGTH
        last = substr(rest, digits + 1, substr(rest, 1, digits))
        rest = nested ? substr(rest, digits + 1 + length(last)) : ""
    }
    return last
}

function add(kernel, measure, value) {
    sum[kernel "\t" measure] += value
}

function print_rows(    row) {
    for (row in sum)
        printf "%s\t%.0f\n", row, sum[row]
}
