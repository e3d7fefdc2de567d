#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What probes count in kernels and in the kernels that they launch is what the simulated GPU's log says of the
# program without probes: for each launch of the host and each object, the bytes that were read and written.
set -eu
glint=${GLINT:-${GLINT_BUILD_DIR:-build}/bin/glint}
root=${GLINT_SOURCE_DIR:-.}
nvcc=$("$root/scripts/have" nvcc) || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
NVCC=$nvcc "$root/tests/compile" "$work/program" "$root/tests/matrix/children.cu" -O2 -g -Wno-deprecated-gpu-targets \
    -arch=compute_75 -rdc=true -lcudadevrt
for mode in sort fan tails order; do
    "$glint" run -q --device sim --sim-log "$work/log" -- "$work/program" $mode >"$work/native"
    # The buffers of parameters are no memory of the program.
    "$glint" sim-log --objects "$work/log" | awk '/ cudaMalloc /{print $2}' | sort >"$work/objects"
    "$glint" sim-log --summary "$work/log" | awk '
        NR == FNR { program[$1] = 1; next }
        / global / { for (i = 1; i <= NF; i++) { split($i, pair, "="); value[pair[1]] = pair[2] }
            if (program[value["object"]]) print value["launch"], value["bytes_read"], value["bytes_written"] }
    ' "$work/objects" - | sort >"$work/expected"
    "$glint" record -q -f --device sim --analyses elements -o "$work/profile" -- "$work/program" $mode >"$work/recorded"
    cmp "$work/native" "$work/recorded"
    # Launches are numbered by calls in the profile, in the order of the log.
    "$glint" query "$work/profile" "
        select (select count(distinct other.call) from v_accesses other where other.call <= a.call), bytes_read,
               bytes_written
        from v_accesses a where known_by = 'probes'" | tail -n +2 | tr '\t' ' ' | sort >"$work/counted"
    diff "$work/expected" "$work/counted" || { echo "$mode: the log and the probes disagree"; exit 1; }
    [ -s "$work/counted" ] || { echo "$mode: nothing was counted"; exit 1; }
    unknown=$("$glint" query "$work/profile" "select count(*) from v_unknown_launches" | tail -n 1)
    [ "$unknown" = 0 ] || { echo "$mode: $unknown launches are unknown"; exit 1; }
done
