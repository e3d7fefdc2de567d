#!/bin/sh
# test_host_blocks.sh PROGRAM SOURCE CASE...: host memory that copies use, case by case. The program
# prints what glint must record for each copy: the kind of memory, and for a block its bytes and the
# words on the source lines that allocate and free it. The program prints and ends the same whether
# it is watched or not. GLINT_TEST_DEVICE: where it runs.
set -eu
program=$1 source=$2
shift 2
device=${GLINT_TEST_DEVICE:-sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

ends="SELECT c.host_memory AS kind, ifnull(b.bytes, '-') AS bytes, ifnull(a.line, 0) AS allocated, ifnull(f.line, 0) AS freed
    FROM v_copies c LEFT JOIN v_host_blocks b ON b.number = c.host_block
    LEFT JOIN v_call_paths a ON a.id = b.call_path AND a.depth = 0
    LEFT JOIN v_call_paths f ON f.id = b.freed_call_path AND f.depth = 0 ORDER BY c.call"
query() {
    "$GLINT" query --csv "$work"/profile* "$1" | tail -n +2 # that of a child has another name
}
check() { # CASE WHAT FOUND WANTED
    [ "$3" = "$4" ] || { echo "$1: $2 $3, not $4"; bad=1; }
}

for case in "$@"; do
    "$GLINT" run --device "$device" -- "$program" "$case" >"$work/native"
    for tracking in off on; do
        status=0
        rm -f "$work"/profile*
        "$GLINT" record -q --device "$device" --sync-tracking $tracking -o "$work/profile" -- "$program" "$case" \
            >"$work/recorded" || status=$?
        check "$case" "exit status with tracking $tracking" $status 0
        diff -u "$work/native" "$work/recorded" || { echo "$case: another output, tracking $tracking"; bad=1; }
        if [ $tracking = off ]; then
            check "$case" "blocks without tracking" "$(query "SELECT count(*) FROM v_host_blocks")" 0
            continue
        fi
        query "$ends" | awk -F, '
            NR == FNR { if (match($0, /allocates: [^,]*/)) made[FNR] = substr($0, RSTART + 11, RLENGTH - 11)
                if (match($0, /frees: .*/)) freed[FNR] = substr($0, RSTART + 7)
                next }
            { print $1, $2, $3 ? made[$3] : "-", $4 ? freed[$4] : "-" }' "$source" - >"$work/found"
        grep -E ' .* .* ' "$work/native" >"$work/wanted" || true
        case $case in
        threads) check "$case" copies "$(sort "$work/found" | uniq | grep -c '^allocated [0-9]* malloc free$')" 50
            check "$case" all "$(grep -c '^allocated [0-9]* malloc free$' "$work/found")" 200
            check "$case" "freed by others" "$(query "SELECT count(*) FROM v_host_blocks b JOIN v_copies c ON c.host_block = b.number
                JOIN v_calls s ON s.number = c.call WHERE freed_thread <> s.thread OR freed_ns < c.end_ns OR allocated_ns > c.start_ns")" 0 ;;
        *) diff -u "$work/wanted" "$work/found" || { echo "$case: other ends of copies"; bad=1; } ;;
        esac
        case $case in
        allocated) check "$case" blocks "$(query "SELECT count(*) || ' ' || sum(freed) FROM v_host_blocks")" "4 2"
            check "$case" "before the first call" "$(query "SELECT bytes FROM v_host_blocks WHERE allocated_ns < 0")" 20000 ;;
        esac
    done
done
exit $bad
