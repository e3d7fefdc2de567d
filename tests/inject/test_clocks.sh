#!/bin/sh
# test_clocks.sh PROGRAM: waits after which the program reads a clock. A recording marks them, so
# that glint fix does not plan to drop them. If a plan drops them anyway, glint waits before the
# clock is read, which shows in the number of waits made up for.
set -eu
program=$1
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

expect() { # WHAT GOT CONDITION
    # shellcheck disable=SC2086
    test "$2" $3 || {
        echo "$1: $2, which is not $3"
        bad=1
    }
}
ask() { "$GLINT" query --format csv "$work/$1.glint" "$2" | sed 1d; }

for way in clock_gettime gettimeofday timespec_get time clock times getrusage ftime getitimer syscall before later none \
    thread thread_later thread_none; do
    case $way in before | *later | *none) told=0 paid='-le 1' ;; *) told=3 paid='-ge 2' ;; esac
    # A clock that the program reads while a wait is owed is right, too.
    [ $way = none ] || [ $told != 0 ] || paid='-ge 0'
    case $way in thread*) paid='-ge 0' ;; esac # another thread does not wait instead: it might be what the GPU waits for
    "$GLINT" record --device sim -q -f -o "$work/a.glint" --sync-tracking on -- "$program" $way >/dev/null
    expect "$way: waits told to be timed" "$(ask a "SELECT count(*) FROM v_first_uses WHERE how = 'clock'")" "-eq $told"
    "$here/make_plan.sh" "$work/a.glint" >"$work/plan"
    GLINT_PLAN=$work/plan GLINT_SIM_DELAY_US=100000 "$GLINT" record --device sim -q -f --gpu-times off -a none --sync-tracking off \
        -o "$work/b.glint" -- "$program" $way >/dev/null
    expect "$way: waits paid" "$(ask b 'SELECT coalesce(sum(paid), 0) FROM v_corrections')" "$paid"
done
exit $bad
