#!/bin/sh
# test_correct_seen.sh PROGRAM: what the tests correct.* rely on. A missing wait shows, a plan for
# another build applies nowhere and glint says so, and a plan that cannot be read corrects nothing.
set -eu
program=$1
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

expect() { # WHAT GOT WANTED
    [ "$2" = "$3" ] || {
        echo "$1: '$2', not '$3'"
        bad=1
    }
}
record() { # PLAN
    GLINT_PLAN=$1 "$GLINT" record --device sim -q -f --gpu-times off -a none --sync-tracking off -o "$work/b.glint" -- "$program" syncs \
        >"$work/out"
    expect "output with the plan $1" "$(cat "$work/out")" "$native"
}
ask() { "$GLINT" query --format csv "$work/b.glint" "$1" | sed 1d; }

expect "a missing wait" "$(GLINT_SIM_DELAY_US=20000 "$GLINT" run --device sim -- "$program" lacks_wait)" 0

native=$("$GLINT" record --device sim -q -f --gpu-times off -a none --sync-tracking off -o "$work/a.glint" -- "$program" syncs)
"$here/make_plan.sh" "$work/a.glint" >"$work/plan"
record "$work/plan"
expect "rows applied" "$(ask 'SELECT count(*) FROM v_corrections WHERE applied')" 5
# Two copies at the start, one at the end, twenty synchronizations of each kind.
expect "calls" "$(ask 'SELECT sum(applied + left_alone) BETWEEN 3 AND 43 FROM v_corrections')" 1

# Another first digit of the build id, whatever it is.
own="/$(basename "$program")\$/"
sed -e "${own}s/^image 0/image %/" -e "${own}s/^image [^%]/image 0/" -e "${own}s/^image %/image 1/" "$work/plan" >"$work/other"
record "$work/other"
expect "rows of another build" "$(ask 'SELECT count(*) FROM v_corrections WHERE applied')" 0
expect "notes" "$(ask "SELECT count(*) FROM v_notes WHERE text LIKE '%$(basename "$program") is a different build%'")" 1

sed '$d' "$work/plan" >"$work/cut"
record "$work/cut"
expect "rows of half a plan" "$(ask 'SELECT count(*) FROM v_corrections')" 0
expect "its note" "$(ask "SELECT count(*) FROM v_notes WHERE text LIKE '%the plan is truncated%'")" 1
record "$work/none"
expect "the note of no plan" "$(ask "SELECT count(*) FROM v_notes WHERE text LIKE '%it cannot be read%'")" 1
exit $bad
