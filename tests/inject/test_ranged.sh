#!/bin/sh
# test_ranged.sh PROGRAM: with --capture-range profiler, launches between cuProfilerStart and cuProfilerStop are watched,
# and no others, also in graphs. What the others access is unknown: an object that no watched launch uses is not said to
# be unused, as it is without the option.
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$GLINT" run --device sim -- "$program" >"$work/plain"
count() { "$GLINT" query "$work/profile" "$1" | tail -n 1; }
record() { # OPTION...
    "$GLINT" record --device sim -q -f -o "$work/profile" --no-cache "$@" -- "$program" >"$work/out"
    cmp "$work/plain" "$work/out"
    "$GLINT" report --verbose --format json "$work/profile" >"$work/json"
}
is() { [ "$2" = "$3" ] || { echo "$1: $2, not $3"; exit 1; }; }
for analyses in objects elements values; do
    record -a $analyses
    is "$analyses, all: objects that launches touch" "$(count 'select count(distinct object) from v_accesses')" 4
    is "$analyses, all: accesses" "$(count 'select count(*) from v_accesses')" 7
    grep -q '"unused-allocation"' "$work/json" || { echo "the unused objects are not found"; exit 1; }
    record -a $analyses --capture-range profiler
    is "$analyses, range: objects that launches touch" "$(count 'select count(distinct object) from v_accesses')" 2
    is "$analyses, range: accesses" "$(count 'select count(*) from v_accesses')" 2
    is "$analyses, range: objects" "$(count "select count(*) from v_objects where bytes = 256")" 6
    is "$analyses, range: launches" "$(count "select count(*) from v_launches")" 4
    if grep -oE '"pattern": *"(unused-allocation|dead-write|early-allocation|late-deallocation|temporary-idleness|redundant-allocation|overallocation|redundant-values)"' "$work/json"; then
        echo "$analyses: advice on what was not seen"
        exit 1
    fi
    grep -q 'between cudaProfilerStart and cudaProfilerStop' "$work/json" || { echo "no note"; exit 1; }
done
! "$GLINT" record --capture-range other -- "$program" 2>"$work/err" || { echo "other is taken"; exit 1; }
grep -q -- '--capture-range takes profiler, nvtx:NAME' "$work/err"
