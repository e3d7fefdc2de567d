#!/bin/sh
# test_undisturbed.sh PROGRAM [CASE[:note|:protected]...]: a program prints and ends as it does
# natively when it is recorded by default, recorded with sync, and run by glint fix; without CASE,
# in all cases. note: with sync, the profile says that first uses are not watched; protected: it
# says so if pages may be protected (GLINT_PROTECT_PAGES); otherwise it must not say so.
# By default, the profile has no first uses in any case. GLINT_TEST_DEVICE: where it runs.
set -eu
program=$1
shift
[ $# -gt 0 ] || set -- system_in_managed system_in_pinned locks_beside readers allocator weak_mpi blocked_by_attribute:protected \
    blocked_in_timer:protected blocked_in_sigsuspend:protected blocked_in_ppoll:protected \
    blocked_by_sighold:protected blocked_by_number:protected blocked_in_context:protected blocked_by_itself:protected blocked_in_thread blocked_the_usual_way own_faults \
    mapping_limit
device=${GLINT_TEST_DEVICE:-sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

run() { # OUTPUT COMMAND...
    output=$1
    shift
    status=0
    timeout 120 "$@" >"$output" 2>"$output.err" || status=$?
    echo "exit $status" >>"$output"
}
same() { # CASE HOW
    diff "$work/native" "$work/found" || { echo "$1: not as natively, $2"; cat "$work/found.err"; bad=1; }
}
count() { # SQL
    "$GLINT" query --csv "$work/profile" "SELECT count(*) FROM $1" | tail -n 1
}

for asked; do
    case=${asked%%:*}
    run "$work/native" "$GLINT" run --device "$device" -- "$program" "$case"
    ! grep -q SKIP "$work/native.err" || { cat "$work/native.err"; exit 77; }
    run "$work/found" "$GLINT" record -q --device "$device" -f -o "$work/profile" -- "$program" "$case"
    same "$case" "recorded by default"
    [ "$(count v_first_uses)" = 0 ] || { echo "$case: first uses by default"; bad=1; }
    case $case in
    allocator) continue ;; # with sync large blocks are mapped alone
    esac
    run "$work/found" "$GLINT" record -q --device "$device" -a objects,sync --sync-tracking full -f -o "$work/profile" -- \
        "$program" "$case"
    same "$case" "with sync"
    notes=$(count "v_notes WHERE text LIKE 'first uses are not watched:%'")
    case $asked:${GLINT_PROTECT_PAGES:-0} in
    *:note:* | *:protected:1) [ "$notes" = 1 ] || { echo "$case: nothing is noted"; bad=1; } ;;
    *) [ "$notes" = 0 ] || { echo "$case: given up"; bad=1; } ;;
    esac
    run "$work/found" "$GLINT" fix -q --device "$device" -- "$program" "$case"
    same "$case" "by glint fix"
done
exit $bad
