# Reads three files whose lines begin with PROGRAM and KERNEL, separated by tabs: why kernels are not compared
# (from=reasons), what the reference counted (from=reference), and what glint counted (from=glint), both as rows of
# names.awk. Prints a row of a table for each kernel, what differs, and a summary. Fails if a bound is broken, or if
# fewer than `wanted` kernels were compared. `reference` is the name of the reference.

BEGIN {
    FS = "\t"
    bound["requests"] = 0.01 # percent
    bound["sectors"] = 0.1
    bound["wavefronts"] = 0
    ways = split("load store atomic", way, " ")
    kinds = split("requests sectors wavefronts", kind, " ")
}

{ name = $1 " " $2 }
from == "reasons" {
    if (!(name in reason))
        reason[name] = $3
    else if (index("; " reason[name] "; ", "; " $3 "; ") == 0)
        reason[name] = reason[name] "; " $3
    next
}
!(name in known) { order[++kernels] = name; known[name] }
from == "reference" { theirs[name, $3] = $4 }
from == "glint" { ours[name, $3] = $4 }

function off(found, expected) {
    return found == expected ? 0 : expected == 0 ? 100 : 100 * (found - expected) / expected
}

function size(number) { return number < 0 ? -number : number }

function percent(number) { return number == 0 ? "0" : sprintf("%+.4f %%", number) }

function differs(name, what) {
    if (!(name in bad))
        listed[++broken] = name
    bad[name]
    line[++lines] = name ": " what
}

# Compares one measure of a kernel; what differs too much is noted for the end.
function judge(name, w, k,    expected, found, by) {
    expected = theirs[name, way[w] " " kind[k]] + 0
    found = ours[name, way[w] " " kind[k]] + 0
    by = off(found, expected)
    if (size(by) > most[kind[k]])
        most[kind[k]] = size(by)
    expected_sum[kind[k]] += expected
    found_sum[kind[k]] += found
    if (size(by) > bound[kind[k]])
        differs(name, sprintf("%s of %ss: %.0f according to %s, %.0f according to glint (%s)", kind[k], way[w],
            expected, reference, found, percent(by)))
    return by
}

function compare(name,    k, w, row, by, equal) {
    row = "| " name " | " ours[name, "launches"] " |"
    if (theirs[name, "launches"] != ours[name, "launches"])
        differs(name, (theirs[name, "launches"] + 0) " launches according to " reference ", " \
            (ours[name, "launches"] + 0) " according to glint")
    for (k = 1; k <= kinds; k++) {
        expected_sum[kind[k]] = found_sum[kind[k]] = 0
        equal = 1
        for (w = 1; w <= ways; w++)
            if (kind[k] == "requests" || way[w] != "atomic")
                equal = judge(name, w, k) == 0 && equal
        by = off(found_sum[kind[k]], expected_sum[kind[k]])
        row = row sprintf(" %.0f | %.0f | %s |", expected_sum[kind[k]], found_sum[kind[k]], percent(by))
    }
    if (expected_sum["wavefronts"] || found_sum["wavefronts"]) {
        in_shared++
        equal_in += equal
    }
    compared++
    print row
}

# The compiler may make one instruction of several loads, or of several stores, of neighbouring words.
function joined(name,    w, theirs_are, ours_are) {
    for (w = 1; w <= 2; w++) {
        theirs_are = theirs[name, way[w] " instructions"] + 0
        ours_are = ours[name, way[w] " instructions"] + 0
        if (theirs_are < ours_are)
            return sprintf("%d %ss of shared memory in the PTX are %d in the machine code", ours_are, way[w],
                theirs_are)
    }
}

END {
    for (i = 1; i <= kernels; i++)
        if (!(order[i] in reason) && joined(order[i]) != "")
            reason[order[i]] = joined(order[i])
    print "| program and kernel | launches | requests, " reference " | glint | difference | sectors, " reference \
        " | glint | difference | wavefronts, " reference " | glint | difference |"
    print "|---|---|---|---|---|---|---|---|---|---|---|"
    for (i = 1; i <= kernels; i++)
        if (!(order[i] in reason))
            compare(order[i])
    print ""
    for (i = 1; i <= kernels; i++)
        if (order[i] in reason) {
            print "not compared: " order[i] ": " reason[order[i]]
            left_out++
        }
    for (i = 1; i <= lines; i++)
        print line[i]
    summary = sprintf("%d kernels: requests within %.4f %%, sectors within %.4f %%, ", compared, most["requests"],
        most["sectors"]) sprintf("wavefronts equal in %d of %d; %d not compared", equal_in, in_shared, left_out)
    for (i = 1; i <= broken; i++)
        summary = summary (i == 1 ? "; beyond the bounds: " : ", ") listed[i]
    if (compared < wanted)
        summary = summary "; at least " wanted " are wanted"
    print summary
    exit broken > 0 || compared < wanted
}
