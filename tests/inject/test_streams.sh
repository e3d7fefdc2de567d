#!/bin/sh
# test_streams.sh PROGRAM: a program whose standard streams are closed, in all combinations, finds
# the same descriptors recorded as natively, and is recorded.
set -eu
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run CLOSED COMMAND...: runs the command with these streams closed.
run() {
    closed=$1 status=0
    shift
    (
        case $closed in *0*) exec <&- ;; *) exec </dev/null ;; esac
        case $closed in *1*) exec >&- ;; *) exec >/dev/null ;; esac
        case $closed in *2*) exec 2>&- ;; *) exec 2>/dev/null ;; esac
        exec "$@"
    ) || status=$?
    echo "status $status" >>"$work/found"
}

for closed in none 0 1 2 01 02 12 012; do
    run "$closed" "$GLINT" run --device sim -- "$program" "$work/found"
    mv "$work/found" "$work/native"
    for options in "" "-a objects,sync"; do
        # shellcheck disable=SC2086 # several options
        run "$closed" "$GLINT" record -q --device sim -f -o "$work/profile" $options -- "$program" "$work/found"
        diff "$work/native" "$work/found" || { echo "closed: $closed, not as natively with '$options'"; exit 1; }
        calls=$("$GLINT" query --csv "$work/profile" "SELECT count(*) FROM v_calls" | tail -n 1)
        [ "$calls" -gt 0 ] || { echo "closed: $closed, '$options': nothing is recorded"; exit 1; }
    done
    run "$closed" "$GLINT" fix -q --profile "$work/profile" --device sim -f -o "$work/fixed" -- "$program" "$work/found"
    diff "$work/native" "$work/found" || { echo "closed: $closed, not as natively by glint fix"; exit 1; }
    rm -f "$work/profile" "$work/fixed"
done
grep -q 'status 7' "$work/native" || { cat "$work/native"; exit 1; }
