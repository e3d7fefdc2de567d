#!/bin/sh
# test_older.sh PROGRAM FOLDER: with the driver of CUDA 11.4 in FOLDER, which lacks all newer functions and knows no newer
# PTX, probes see the same as with a new driver.
set -eu
program=$1 folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is hidden is hidden: else this test shows nothing.
! readelf --dyn-syms -W "$folder/libcuda.so.1" | grep -qE ' cu(FuncGetParamInfo|LibraryLoadData|GetProcAddress_v2)(@|$)' ||
    { echo "the old driver exports new functions"; exit 1; }
readelf --dyn-syms -W "$folder/libcuda.so.1" | grep -qE ' cuGetProcAddress(@|$)' ||
    { echo "the old driver lacks old functions"; exit 1; }

# record NAME ANALYSES OPTION: records into NAME, and lists what was seen in NAME.rows.
# shellcheck disable=SC2086 # the option is two words
record() {
    "$GLINT" record $3 -q -f -o "$work/$1" -a "$2" --no-cache -- "$program" >"$work/out" || { cat "$work/out"; exit 1; }
    cmp "$work/plain" "$work/out"
    for view in v_accesses v_objects v_node_runs v_touches v_access_counts v_contents v_stores v_notes; do
        echo "$view"
        case $view in
        v_objects) "$GLINT" query "$work/$1" "select number, kind, bytes from v_objects" ;;
        *) "$GLINT" query "$work/$1" "select * from $view" ;;
        esac
    done | grep -v 'notes\|times are' >"$work/$1.rows"
}

"$GLINT" run --device sim -- "$program" >"$work/plain"
export GLINT_SIM_DRIVER=11.4
for analyses in objects elements counts values; do
    (unset GLINT_SIM_DRIVER && record new $analyses "--device sim")
    LD_LIBRARY_PATH=$folder record old $analyses "--device gpu"
    diff "$work/new.rows" "$work/old.rows" || { echo "$analyses: see above"; exit 1; }
    # Both see all four launches.
    seen=$("$GLINT" query "$work/old" "select count(*) from v_accesses where written and call in (select call from v_launches)
        or node is not null and written" | tail -n 1)
    [ "$seen" -ge 3 ] || { echo "$analyses: only $seen launches are seen"; exit 1; }
done
"$GLINT" report --verbose "$work/old" | grep -q 'CUDA 11\.4' || { echo "it was not the old driver"; exit 1; }
