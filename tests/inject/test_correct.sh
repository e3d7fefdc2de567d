#!/bin/sh
# test_correct.sh PROGRAM CASE[:REMEDY...]...: a program that is corrected behaves as before. The
# plan contains all of its explicit synchronizations and copies, needed or not. The simulated GPU
# starts its work late, so that a wait that is not made up for in time shows. The case prints and
# ends as it does without a plan, and the named remedies are applied. REMEDY `off`: a note must say
# that corrections have stopped; without it, no note may say so.
set -eu
program=$1
shift
device=${GLINT_TEST_DEVICE:-sim}
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

run() { # PLAN DELAY PROFILE OUTPUT CASE
    status=0
    GLINT_PLAN=$1 GLINT_SIM_DELAY_US=$2 timeout 60 "$GLINT" record --device "$device" -q -f --gpu-times off -a none --sync-tracking off \
        -o "$3" -- "$program" "$5" >"$4" 2>&1 || status=$?
    echo "status $status" >>"$4"
}

for asked; do
    case=${asked%%:*} wanted=
    [ "$case" = "$asked" ] || wanted=$(echo "${asked#*:}" | tr : ' ')
    run '' 0 "$work/native.glint" "$work/native" "$case"
    "$here/make_plan.sh" "$work/native.glint" >"$work/plan"
    run "$work/plan" 25000 "$work/corrected.glint" "$work/corrected" "$case"
    if ! cmp -s "$work/native" "$work/corrected"; then
        echo "$case: not as without a plan:"
        diff "$work/native" "$work/corrected" || bad=1
    fi
    off=$("$GLINT" query --format csv "$work/corrected.glint" "SELECT count(*) FROM v_notes WHERE text LIKE '%nothing is corrected:%'" | sed 1d)
    case " $wanted " in *" off "*) expected=1 ;; *) expected=0 ;; esac
    [ "$off" = $expected ] || {
        echo "$case: $off notes say that nothing is corrected, not $expected"
        bad=1
    }
    for remedy in $wanted; do
        [ "$remedy" != off ] || continue
        "$GLINT" query --format csv "$work/corrected.glint" "SELECT remedy FROM v_corrections WHERE row AND applied" |
            grep -q "$remedy" || {
            echo "$case: $remedy is not applied"
            bad=1
        }
    done
    errors=$("$GLINT" query --format csv "$work/corrected.glint" "SELECT count(*) FROM v_notes WHERE severity = 'error'" | sed 1d)
    [ "$errors" = 0 ] || {
        echo "$case: errors are noted"
        bad=1
    }
done
exit $bad
