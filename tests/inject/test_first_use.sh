#!/bin/sh
# test_first_use.sh PROGRAM [SOURCE [CASE...]]: first uses of data that the GPU gave a program, case
# by case; without CASE, all of them. The program prints and ends the same whether it is watched or
# not. Which thread used what first, where and how is compared exactly. A use is printed as "sync <
# copy: how offset word", where the word is in the comment of the source line that used the data.
# GLINT_TEST_DEVICE: where it runs.
set -eu
program=$1 source=${2:-$(dirname "$0")/first_use.c}
[ $# -ge 2 ] && shift 2 || shift
[ $# -gt 0 ] || set -- $(sed -n 's/^        {"\([a-z_]*\)", .*/\1/p' "$source")
device=${GLINT_TEST_DEVICE:-sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

uses='SELECT ifnull(f.line, 0) AS line, s.name || " < " || ifnull(c.name, "managed") || ifnull(" node " || u.node, "") || ": " ||
    u.how || " " || u.offset || " of " || u.bytes ||
    CASE WHEN u.unwatched_bytes THEN " but " || u.unwatched_bytes ELSE "" END ||
    CASE WHEN u.thread <> s.thread THEN ", another thread" ELSE "" END ||
    CASE WHEN u.address - u.offset <> x.to_address OR u.ns < s.end_ns THEN ", wrong" ELSE "" END AS use
    FROM v_first_uses u LEFT JOIN v_calls s ON s.number = u.sync LEFT JOIN v_calls c ON c.number = u.copy
    LEFT JOIN v_copies x ON x.call = u.copy LEFT JOIN v_call_paths f ON f.id = u.call_path AND f.depth = 0
    ORDER BY u.sync, u.copy, u.object'

expected() {
    both=cuMemcpyDtoH_v2
    case $1 in
    reads) echo "$both < $both: read 4000 of 1048576, read" ;;
    after_free) echo "$both < $both: read 0 of 1048576, read" ;;
    writes) echo "$both < $both: write 0 of 1048576, write" ;;
    asynchronous) echo "cuStreamSynchronize < cuMemcpyDtoHAsync_v2: read 1048572 of 1048576, read" ;;
    events) echo "cuEventSynchronize < cuMemcpyDtoHAsync_v2: read 20 of 1048576, read"
        echo "cuCtxSynchronize < cuMemcpyDtoHAsync_v2: read 24 of 1048576, read" ;;
    stream_waits) echo "cuStreamSynchronize < cuMemcpyDtoHAsync_v2: read 28 of 1048576, read" ;;
    never_used) ;;
    overwritten) echo "$both < $both: unknown 0 of 1048572 but 12" # not all of the block: its last page is not closed
        echo "$both < $both: read 4 of 1048576, read" ;;
    on_stack) echo "$both < $both: unknown 0 of 65536 but 65536" ;;
    in_heap) echo "$both < $both: unknown 0 of 64 but 64" ;;
    in_variable) echo "$both < $both: read 65536 of 131072 but 4096, read" ;;
    aligned) echo "$both < $both: read 0 of 1048576, read"
        echo "$both < $both: read 1048572 of 1048576, read" ;;
    registered) echo "$both < $both: read 52 of 1048576, read" ;;
    edges) echo "$both < $both: unknown 0 of 131072 but 4096" ;;
    part_of_block) echo "$both < $both: read 8192 of 16384 but 16, read" ;;
    # Pages that also hold other data are never closed.
    rows) echo "cuMemcpy2D_v2 < cuMemcpy2D_v2: unknown 0 of 6400 but 6400" ;;
    columns) echo "cuMemcpy2D_v2 < cuMemcpy2D_v2: unknown 0 of 3200 but 3200"
        echo "cuMemcpy2D_v2 < cuMemcpy2D_v2: unknown 0 of 6400 but 6400" ;;
    neighbours) for i in 1 2; do echo "$both < $both: unknown 0 of 1000 but 1000"; done ;;
    touched_beside) echo "$both < $both: unknown 0 of 1000 but 1000" ;;
    handed_beside) echo "$both < $both: unknown 0 of 12160 but 8064" ;;
    other_thread) echo "$both < $both: read 36 of 1048576, another thread, read" ;;
    host_function) echo "cuStreamSynchronize < cuMemcpyDtoHAsync_v2: read 12 of 1048576, read" ;;
    system_writes) echo "$both < $both: system 100 of 1048576, handed" ;;
    system_vectors) echo "$both < $both: system 524288 of 1048576, handed"
        echo "$both < $both: system 0 of 1048576, handed" ;;
    system_beside) echo "$both < $both: read 0 of 1048576, read"
        echo "$both < $both: read 4 of 1048576, read" ;;
    system_prints) echo "$both < $both: system 0 of 1048576, handed" ;;
    system_sends) echo "$both < $both: system 0 of 1048576, handed"
        echo "$both < $both: system 0 of 1044480 but 16, handed" ;;
    copied_back) echo "$both < $both: system 0 of 1048576, handed" ;;
    handler_before | handler_after) for i in 1 2 3; do echo "$both < $both: read 40 of 1048576, read"; done ;;
    dies) echo "$both < $both: read 4 of 1048576, read" ;;
    blocked) echo "$both < $both: read 44 of 1048576, read" ;;
    stack_overflow) echo "$both < $both: read 48 of 1048576, read" ;;
    forks) echo "$both < $both: read 84 of 1048576, read" ;;
    vforks) echo "$both < $both: read 88 of 1048576, read" ;;
    managed) for i in 1 2 3 4; do echo "cuCtxSynchronize < managed: unwatched 0 of 1048576 but 1048576"; done
        echo "cuMemFree_v2 < managed: unwatched 0 of 1048576 but 1048576" ;;
    graphs) echo "cuStreamSynchronize < cuGraphLaunch node 1: read 120 of 1048576, read"
        echo "cuStreamSynchronize < cuGraphLaunch node 1: read 124 of 1048576, read" ;;
    no_mpi) ;;
    mpi_sends) echo "$both < $both: system 100 of 1048576, handed" ;;
    mpi_reads) echo "$both < $both: read 4000 of 1048576, read" ;;
    mpi_columns) echo "$both < $both: system 64 of 1048576, handed" ;;
    mpi_of_root) echo "$both < $both: system 0 of 1048576, handed"
        echo "$both < $both: read 28 of 1048576, read" ;;
    mpi_gathers) echo "$both < $both: system 400 of 1048576, handed" ;;
    mpi_receives | mpi_in_place | mpi_by_name) echo "$both < $both: system 0 of 1048576, handed" ;;
    mpi_under_way) for i in 1 2; do echo "$both < $both: system 0 of 20480, handed"
        echo "$both < $both: read 40000 of 204800, read"; done
        echo "$both < $both: read 0 of 204800, read"
        echo "$both < $both: read 0 of 204800, read" ;;
    mpi_beside) echo "$both < $both: read 4 of 204800, read"
        echo "$both < $both: system 0 of 20480, handed" ;;
    mpi_puts) echo "$both < $both: system 0 of 1048576, handed"
        echo "$both < $both: read 24 of 1048576, read" ;;
    mpi_persistent) for i in 1 2; do echo "$both < $both: system 0 of 1048576, handed"; done
        echo "$both < $both: read 20 of 1048576, read" ;;
    esac
}

for case in "$@"; do
    status=0
    "$GLINT" run --device "$device" -- "$program" "$case" >"$work/native" 2>"$work/native.err" || status=$?
    echo "exit $status" >>"$work/native"
    case $case in mpi_*) head -n 1 "$work/native" | grep -q '^0 ' ||
        { echo "SKIP: a process may not read another's memory here"; exit 77; } ;;
    esac
    case $case in
    many_threads) modes="off full" ;; # what it costs is bounded else, and a busy machine comes to that
    *) modes="off on" ;;
    esac
    for tracking in $modes; do
        status=0
        "$GLINT" record -q --device "$device" --sync-tracking $tracking -f -o "$work/profile" -- "$program" "$case" \
            >"$work/recorded" 2>"$work/recorded.err" || status=$?
        echo "exit $status" >>"$work/recorded"
        diff -u "$work/native" "$work/recorded" || { echo "$case: another output, tracking $tracking"; bad=1; }
        [ $tracking != off ] || continue
        "$GLINT" query --csv "$work/profile" "$uses" | tail -n +2 | awk -F, -v OFS=, '
            NR == FNR { if (match($0, /\/\/ used: .*/)) word[FNR] = substr($0, RSTART + 9); next }
            { line = $1; sub(/^[0-9]*,/, ""); gsub(/"/, ""); print line ? $0 ", " word[line] : $0 }' "$source" - >"$work/found"
        notes=$("$GLINT" query --csv "$work/profile" "SELECT text FROM v_notes WHERE text LIKE 'first uses%'" | tail -n +2)
        [ -z "$notes" ] || { echo "$case: $notes"; bad=1; }
        case $case in
        many_threads) rows=$(wc -l <"$work/found")
            [ "$rows" -ge 60 ] || { echo "$case: $rows uses"; bad=1; } ;;
        often) rows=$(wc -l <"$work/found")
            [ "$rows" -ge 64 ] && [ "$rows" -le 100 ] || { echo "$case: $rows uses of 1000"; bad=1; } ;;
        *) expected "$case" >"$work/wanted"
            # The driver may call it on any thread.
            [ "$case" != host_function ] || sed -i 's/, another thread//' "$work/found"
            diff -u "$work/wanted" "$work/found" || { echo "$case: other uses"; bad=1; } ;;
        esac
    done
done
exit $bad
