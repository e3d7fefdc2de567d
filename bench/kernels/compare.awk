# SPDX-License-Identifier: Apache-2.0
# Compares what launches did, as told by probes or by the simulated GPU, with what the kernels
# expect: awk -v level=LEVEL -f compare.awk EXPECTED FOUND. EXPECTED is what `kernels --expect`
# prints; FOUND has fields between tabs:
#   launch NUMBER KERNEL
#   use NUMBER KERNEL OBJECT IS_READ IS_WRITTEN READ WRITTEN ELEMENTS ELEMENT_BYTES READ_ONCE WRITTEN_ONCE
# OBJECT is a name, or an address. Each launch must have just the uses that are expected of its
# kernel. level: objects compares who was read and written; elements also bytes, and elements in the
# size that they are told in; log bytes, and different bytes. Every difference is a line; the last
# line sums up. Exit status 1: something differs.

$1 == "expect" { # kernel, array, what the fields of a use must be, by their numbers there
    kernel = $2
    object = $3
    if (!(kernel in arrays)) {
        kernels++
        arrays[kernel] = ""
    }
    address[kernel, $11] = object
    if ($4 || $5) arrays[kernel] = arrays[kernel] " " object
    known[kernel, object] = 1
    wanted[kernel, object, "read", "objects"] = $4 > 0
    wanted[kernel, object, "written", "objects"] = $5 > 0
    wanted[kernel, object, "bytes read"] = $4
    wanted[kernel, object, "bytes written"] = $5
    wanted[kernel, object, "elements", 4] = $6
    wanted[kernel, object, "elements", 8] = $7
    wanted[kernel, object, "elements", 16] = $8
    wanted[kernel, object, "different bytes read"] = $9
    wanted[kernel, object, "different bytes written"] = $10
    next
}

function differs(text) {
    print text
    differences++
}

function same(what, found, want) {
    if (found != want) differs(sprintf("launch %s of %s, %s: %s %s, not %s", number, kernel, object, what, found, want))
}

FNR == 1 && NR != 1 { FS = "\t"; $0 = $0 }

$1 == "launch" {
    number = $2
    launch_of[number] = $3
    launches_of[$3]++
    launches++
    if (!($3 in arrays)) differs("launch " number " of " $3 ", which is none of the benchmark's")
}

$1 == "use" {
    number = $2
    kernel = $3
    object = $4
    if ((kernel, object) in address) object = address[kernel, object]
    if (!((kernel, object) in known)) {
        differs(sprintf("launch %s of %s: uses %s, which is not the kernel's", number, kernel, object))
        next
    }
    if (used[number, object]++) differs(sprintf("launch %s of %s, %s: told twice", number, kernel, object))
    uses++
    same("read", $5, wanted[kernel, object, "read", "objects"])
    same("written", $6, wanted[kernel, object, "written", "objects"])
    if (level == "objects") next
    same("bytes read", $7, wanted[kernel, object, "bytes read"])
    same("bytes written", $8, wanted[kernel, object, "bytes written"])
    if (level == "elements") {
        if ((kernel, object, "elements", $10) in wanted)
            same("elements of " $10 " bytes", $9, wanted[kernel, object, "elements", $10])
        else
            differs(sprintf("launch %s of %s, %s: elements of %s bytes", number, kernel, object, $10))
    } else {
        same("different bytes read", $11, wanted[kernel, object, "different bytes read"])
        same("different bytes written", $12, wanted[kernel, object, "different bytes written"])
    }
}

END {
    for (kernel in arrays)
        if (!launches_of[kernel]) differs("no launch of " kernel)
    for (number in launch_of) {
        count = split(arrays[launch_of[number]], names, " ")
        for (i = 1; i <= count; i++)
            if (!((number, names[i]) in used))
                differs(sprintf("launch %s of %s: does not use %s", number, launch_of[number], names[i]))
    }
    if (!kernels) differs("nothing is expected")
    if (differences) print differences " differences"
    else print kernels " kernels, " launches " launches, " uses " uses of arrays: as expected"
    exit differences > 0
}
