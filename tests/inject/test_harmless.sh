#!/bin/sh
# test_harmless.sh PROGRAM [ARGUMENT...]: a program behaves the same when it is recorded, with any
# analyses. Its output and exit status are those of a plain run, and it ends in time, although the
# simulated GPU starts its work late. HARMLESS_LIMIT_S: time limit of a run in seconds.
# GLINT_TEST_DEVICE: where it runs.
set -eu
device=${GLINT_TEST_DEVICE:-sim}
limit=${HARMLESS_LIMIT_S:-30}
GLINT_SIM_DELAY_US=${GLINT_SIM_DELAY_US:-4000}
export GLINT_SIM_DELAY_US
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# run NAME GLINT_COMMAND...: keeps the program's output and status, without messages of the
# simulated GPU.
run() {
    name=$1 status=0
    shift
    timeout "$limit" "$GLINT" "$@" >"$work/$name" 2>"$work/told" || status=$?
    echo "status $status" >>"$work/$name"
}

run plain run --device "$device" -- "$@"
case $status in 12[4-7])
    cat "$work/plain" "$work/told"
    exit 1
    ;;
esac
for options in "-a objects" "-a elements" "-a counts" "-a elements --maps" "-a counts --maps --gpu-times off"; do
    # shellcheck disable=SC2086 # several options
    run recorded record --device "$device" -q -f -o "$work/profile" $options -- "$@"
    cmp -s "$work/plain" "$work/recorded" || {
        echo "$options: not as in a plain run:"
        diff "$work/plain" "$work/recorded" || bad=1
        tail -n 5 "$work/told"
    }
done
[ "$bad" = 0 ] || exit 1
cat "$work/plain"
