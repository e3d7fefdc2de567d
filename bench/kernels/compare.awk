# SPDX-License-Identifier: Apache-2.0
# Compares what probes or the simulated GPU report about launches with what the kernels expect:
# awk -v level=LEVEL -f compare.awk EXPECTED FOUND. EXPECTED is the output of `kernels --expect`;
# FOUND has fields that tabs separate:
#   launch NUMBER KERNEL
#   use NUMBER KERNEL OBJECT IS_READ IS_WRITTEN READ WRITTEN ELEMENTS ELEMENT_BYTES READ_ONCE WRITTEN_ONCE
#   counts NUMBER KERNEL OBJECT ELEMENT_BYTES SUM MAXIMUM MAXIMUM_AT
# OBJECT is a name or an address. Each launch must have exactly the uses that its kernel expects.
# Level `objects` compares which objects were read and written; `elements` also bytes, and elements
# of the reported size; `counts` also how often; `log` bytes, and distinct bytes. The output has a
# line per difference; the last line is a summary. The exit status is 1 if something differs.

# --- What is expected ----------------------------------------------------------------------------

NR == FNR && $1 == "expect" {
    kernel = $2
    object = $3
    if (!(kernel in arrays)) {
        kernels++
        arrays[kernel] = ""
    }
    if ($4 || $5) arrays[kernel] = arrays[kernel] " " object
    at_address[kernel, $11] = object
    is_known[kernel, object] = 1
    wanted[kernel, object, "read"] = $4 > 0
    wanted[kernel, object, "written"] = $5 > 0
    wanted[kernel, object, "bytes read"] = $4
    wanted[kernel, object, "bytes written"] = $5
    wanted[kernel, object, "elements of 4 bytes"] = $6
    wanted[kernel, object, "elements of 8 bytes"] = $7
    wanted[kernel, object, "elements of 16 bytes"] = $8
    wanted[kernel, object, "different bytes read"] = $9
    wanted[kernel, object, "different bytes written"] = $10
}

NR == FNR && $1 == "counts" {
    wanted[$2, $3, "sum of counts of " $4 " bytes"] = $5
    wanted[$2, $3, "highest count of " $4 " bytes"] = $6
    wanted[$2, $3, "first highest count of " $4 " bytes"] = $7
}

NR == FNR { next }

# --- What was found ------------------------------------------------------------------------------

FNR == 1 {
    FS = "\t"
    $0 = $0
}

function differs(text) {
    print text
    differences++
}

# Compares a number of the launch, kernel and object that the line describes.
function same(what, found) {
    if (!((kernel, object, what) in wanted))
        differs(sprintf("launch %s of %s, %s: %s: nothing is expected of that", number, kernel, object, what))
    else if (found != wanted[kernel, object, what])
        differs(sprintf("launch %s of %s, %s: %s %s, not %s", number, kernel, object, what, found,
            wanted[kernel, object, what]))
}

$1 == "launch" {
    kernel_of[$2] = $3
    launches_of[$3]++
    launches++
    if (!($3 in arrays)) differs("launch " $2 " of " $3 ", which is none of the benchmark's")
}

$1 == "use" || $1 == "counts" {
    number = $2
    kernel = $3
    object = $4
    if ((kernel, object) in at_address) object = at_address[kernel, object]
    if (!((kernel, object) in is_known)) {
        differs(sprintf("launch %s of %s: uses %s, which is not the kernel's", number, kernel, object))
        next
    }
    if (told[$1, number, object]++)
        differs(sprintf("launch %s of %s, %s: told twice", number, kernel, object))
}

$1 == "use" {
    uses++
    same("read", $5)
    same("written", $6)
    if (level != "objects") {
        same("bytes read", $7)
        same("bytes written", $8)
    }
    if (level == "elements" || level == "counts") same("elements of " $10 " bytes", $9)
    if (level == "log") {
        same("different bytes read", $11)
        same("different bytes written", $12)
    }
}

$1 == "counts" && level == "counts" {
    same("sum of counts of " $5 " bytes", $6)
    same("highest count of " $5 " bytes", $7)
    same("first highest count of " $5 " bytes", $8)
}

END {
    for (kernel in arrays)
        if (!launches_of[kernel]) differs("no launch of " kernel)
    for (number in kernel_of) {
        count = split(arrays[kernel_of[number]], names, " ")
        for (i = 1; i <= count; i++) {
            if (!(("use", number, names[i]) in told))
                differs(sprintf("launch %s of %s: does not use %s", number, kernel_of[number], names[i]))
            if (level == "counts" && !(("counts", number, names[i]) in told))
                differs(sprintf("launch %s of %s: does not count %s", number, kernel_of[number], names[i]))
        }
    }
    if (!kernels) differs("nothing is expected")
    if (differences) print differences " differences"
    else print kernels " kernels, " launches " launches, " uses " uses of arrays: as expected"
    exit differences > 0
}
