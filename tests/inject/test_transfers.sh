#!/bin/sh
# test_transfers.sh PROGRAM CASE...: the data that copies between host and device move, case by
# case. The program prints what glint must record for its copies. It prints and ends the same
# whether it is watched or not. GLINT_TEST_DEVICE: where it runs.
set -eu
program=$1
shift
device=${GLINT_TEST_DEVICE:-sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

moved="SELECT CASE direction WHEN 'host-to-device' THEN 'to' ELSE 'from' END || ' ' || ifnull(hash, '-') || ' ' ||
    ifnull(same_before, '-') AS moved FROM v_copies ORDER BY call"
query() {
    "$GLINT" query --csv "$work/profile" "$1" | tail -n +2
}
check() { # CASE WHAT FOUND WANTED
    [ "$3" = "$4" ] || { echo "$1: $2 $3, not $4"; bad=1; }
}

for case in "$@"; do
    status=0
    "$GLINT" run --device "$device" -- "$program" "$case" >"$work/native" 2>"$work/native.err" || status=$?
    check "$case" "exit status" $status 0
    for tracking in off on; do
        status=0
        "$GLINT" record -q --device "$device" --sync-tracking $tracking -f -o "$work/profile" -- "$program" "$case" \
            >"$work/recorded" 2>"$work/recorded.err" || status=$?
        check "$case" "exit status with tracking $tracking" $status 0
        diff -u "$work/native" "$work/recorded" || { echo "$case: another output, tracking $tracking"; bad=1; }
        check "$case" "dropped" "$(query "SELECT count(*) FROM v_dropped")" 0
        if [ $tracking = off ]; then
            check "$case" "hashes without tracking" "$(query "SELECT count(hash) + count(host_memory) FROM v_copies")" 0
            continue
        fi
        grep -E '^(to|from) ' "$work/native" >"$work/wanted" || true
        query "$moved" >"$work/found"
        case $case in
        threads) check "$case" hashes "$(grep -c -v ' - ' "$work/found")" 160
            check "$case" different "$(sort -u "$work/found" | grep -c '^to')" 80 ;;
        *) diff -u "$work/wanted" "$work/found" || { echo "$case: other contents"; bad=1; } ;;
        esac
        check "$case" "hashed by" "$(query "SELECT count(*) FROM v_copies c WHERE hash IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM v_calls s WHERE s.number = c.hashed_by AND s.number >= c.call AND hash_ns >= 0)")" 0
        case $case in
        asynchronous) check "$case" "hashed at" "$(query "SELECT DISTINCT s.name FROM v_copies c JOIN v_calls s ON s.number = c.hashed_by
                WHERE c.direction = 'device-to-host' AND c.host_memory = 'pinned'")" cuStreamSynchronize ;;
        closed) check "$case" use "$(query "SELECT how || ' ' || offset FROM v_first_uses WHERE how <> 'unknown'")" "read 100" ;;
        esac
    done
done
exit $bad
