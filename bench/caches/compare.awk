# Compares what glint models with what ncu counts. Lines are PROGRAM, cold or warm, then "model" and the columns of
# bench/caches/run, or "ncu" and those of counts.awk. The variable `seed` chooses the kernels that are set aside. Needs
# bench/requests/names.awk.

function percent(hits, sectors) {
    return sectors ? 100 * hits / sectors : 0
}

function absolute(number) {
    return number < 0 ? -number : number
}

# Returns whether the kernel is set aside: a hash of its name, which is the same for all awks.
function is_aside(kernel,    i, hash) {
    hash = seed
    for (i = 1; i <= length(kernel); i++)
        hash = (hash * 31 + index("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", substr(kernel, i, 1))) \
            % 65521
    return int(hash / 8) % 2
}

$3 == "model" {
    number = $4
    for (i = 5; i <= NF; i++)
        model[$1, $2, number, i] = $i
    has_model[$1, $2, number] = 1
}

$3 == "ncu" { lines[++line_count] = $0 }

# Of each kernel, the first launch that was modelled counts if caches are cold, and the last if they are warm.
END {
    for (i = 1; i <= line_count; i++) {
        split(lines[i], field, "\t")
        key = field[1] "\t" field[2] "\t" field[5]
        if (!(key in counted))
            names[++name_count] = key
        counted[key]
        if (!((field[1], field[2], field[4]) in has_model))
            continue
        if (base_name(model[field[1], field[2], field[4], 5]) != field[5]) {
            print "launch " field[4] " of " field[1] " is not the same kernel for both: " field[5]
            failed = 1
            continue
        }
        if (!(key in chosen))
            order[++kernels] = key
        if (!(key in chosen) || field[2] == "warm")
            chosen[key] = i
    }
    print "program\tkernel\tcaches\tkernels\tshare\tL1 modelled\tL1 counted\tL2 modelled\tL2 counted\tDRAM modelled\t" \
        "DRAM counted"
    for (k = 1; k <= kernels; k++)
        compare(order[k])
    for (k = 1; k <= far_count; k++)
        print "far: " far[k]
    for (k = 1; k <= name_count; k++)
        if (!(names[k] in chosen))
            print "not modelled: " names[k]
    for (s = 1; s <= 4; s++)
        summarize(s < 3 ? "cold" : "warm", s % 2 ? "fitted" : "set aside")
    exit failed
}

function greatest(one, other) {
    return one > other ? one : other
}

# Sectors of memory are compared in percent of what was counted, or of a fiftieth of the sectors that L2 was asked for,
# whichever is more: if all but a few of those hit, the few are made by whatever else the GPU does.
function compare(key,    field, at, l1, l2, dram, l1_ncu, l2_ncu, dram_ncu, group, off) {
    split(lines[chosen[key]], field, "\t")
    at = field[1] SUBSEP field[2] SUBSEP field[4] SUBSEP
    if (field[6] < 3000 || field[10] + field[11] < 300)
        return
    l1 = percent(model[at 8], model[at 7])
    l2 = percent(model[at 10], model[at 9])
    dram = model[at 11]
    l1_ncu = percent(field[7], field[6])
    l2_ncu = percent(field[9], field[8])
    dram_ncu = field[10] + field[11]
    group = field[2] " " (is_aside(field[5]) ? "set aside" : "fitted")
    printf "%s\t%s\t%s\t%s\t%.4f\t%.1f\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\n", field[1], field[5], field[2],
        is_aside(field[5]) ? "set aside" : "fitted", model[at 6], l1, l1_ncu, l2, l2_ncu, dram, dram_ncu
    count[group]++
    l1_sum[group] += absolute(l1 - l1_ncu)
    l2_sum[group] += absolute(l2 - l2_ncu)
    off = (dram - dram_ncu) / greatest(dram_ncu, field[8] / 50)
    dram_sum[group] += absolute(off)
    dram_within[group] += absolute(off) <= 0.1
    if (absolute(l1 - l1_ncu) > 10 || absolute(l2 - l2_ncu) > 10 || absolute(off) > 0.1)
        far[++far_count] = sprintf("%s of %s, %s: L1 %+.1f, L2 %+.1f points, DRAM %+.0f %%", field[5], field[1], field[2],
            l1 - l1_ncu, l2 - l2_ncu, 100 * off)
}

function summarize(state, set,    group, n) {
    group = state " " set
    n = count[group]
    if (!n)
        return
    printf "%s, %s: %d kernels, L1 off by %.2f points in the mean, L2 by %.2f, DRAM sectors by %.1f %% (%d within 10 %%)\n",
        state, set, n, l1_sum[group] / n, l2_sum[group] / n, 100 * dram_sum[group] / n, dram_within[group]
    if (set == "set aside" && (l1_sum[group] / n > 2 || l2_sum[group] / n > 4 || dram_sum[group] / n > 0.1))
        failed = 1
}
