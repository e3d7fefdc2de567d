#!/bin/sh
# The measurement of many ranks at once (bench/ranks): on the simulated GPU, it measures both ways of recording, without
# MPI and with Open MPI, and every profile is complete. The numbers are not looked at.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${GLINT_BUILD_DIR:-$root/build}
export GLINT="${GLINT:-$build/bin/glint}"
[ -e "$build/lib/glint/sim/libcuda.so.1" ] || { echo "SKIP: the simulated GPU is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number='[0-9]+\.[0-9]+'
change="[+-]$number %"

# measures LAUNCHER: measures two ranks, and checks the lines that it prints.
measures() {
    "$root/bench/ranks/run" --device sim --ranks 2 --steps 20 --rounds 1 --launcher "$1" >"$work/printed" 2>&1 || {
        cat "$work/printed"
        echo "$1: exit status $?"
        exit 1
    }
    for kind in work whole; do
        for way in each all; do
            grep -Eq "^$kind, glint for $way: native $number ms alone, $number ms among 2; cost x $number alone, x $number among 2\$" \
                "$work/printed" || { cat "$work/printed"; echo "$1: no $kind, $way"; exit 1; }
        done
    done
    tail -n 1 "$work/printed" | grep -Eq "one alone: work each $change, work all $change, whole each $change, whole all $change " ||
        { cat "$work/printed"; echo "$1: no summary"; exit 1; }
    ! grep -q ' 0\.0 ms' "$work/printed" || { cat "$work/printed"; echo "$1: a time is 0"; exit 1; }
}
measures none
! mpirun --version 2>/dev/null | grep -q 'Open MPI' || measures mpirun
for wrong in '--ranks 0' '--ranks' '--launcher srun' '--unknown 1'; do
    # shellcheck disable=SC2086 # option and value
    "$root/bench/ranks/run" $wrong >"$work/printed" 2>&1 && status=0 || status=$?
    grep -q '^usage: bench/ranks/run' "$work/printed" || status=$status-unexplained
    [ "$status" = 2 ] || { echo "$wrong: exit status $status"; exit 1; }
done
