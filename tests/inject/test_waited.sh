#!/bin/sh
# test_waited.sh PROGRAM: the profile says how long calls waited for the GPU. The kernels before the
# calls take 60 ms, and each wait begins within their first 30 ms, unless the system has preempted
# the program: then the test tries again. Without GPU times, the duration of the call's own work is
# unknown, so copies and sets have no waiting time. GLINT_TEST_DEVICE: where it runs.
set -eu
device=${GLINT_TEST_DEVICE:-sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ask() { "$GLINT" query --csv "$work/profile" "$1" | tail -n +2; }
is() { # QUERY NUMBER
    number=$(ask "$1")
    [ "$number" = "$2" ] || {
        echo "$1: $number, expected $2"
        return 1
    }
}

with_gpu_times() {
    "$GLINT" record --device "$device" -f -o "$work/profile" -- "$1" || return 1
    ask 'SELECT kind || " " || name, count(*) FROM v_calls WHERE waited AND kind <> "sync" AND waited_ns
        BETWEEN 30000000 AND end_ns - start_ns GROUP BY 1 ORDER BY 1' >"$work/found"
    diff -u - "$work/found" <<END || return 1
copy cuMemcpyDtoHAsync_v2,1
copy cuMemcpyDtoH_v2,1
copy cuMemcpyHtoD_v2,2
free cuArrayDestroy,1
free cuMemFreeHost,1
free cuMemFree_v2,2
memory cuMemHostUnregister,1
module cuModuleUnload,1
set cuMemsetD8_v2,2
END
    is 'SELECT count(*) FROM v_calls WHERE waited_ns AND NOT waited' 0
}

without_gpu_times() {
    "$GLINT" record --device "$device" --gpu-times off -f -o "$work/profile" -- "$1" || return 1
    is 'SELECT count(*) FROM v_calls WHERE waited AND kind IN ("copy", "set")' 6 || return 1
    is 'SELECT count(*) FROM v_calls WHERE waited_ns AND kind IN ("copy", "set")' 0 || return 1
    is 'SELECT count(*) FROM v_calls WHERE waited_ns > 30000000 AND kind = "free"' 4
}

for times in with without; do
    for attempt in 1 2 3 4; do
        ! ${times}_gpu_times "$1" || break
        [ "$attempt" -lt 4 ] || exit 1
    done
done
echo "frees, unloading, copies and fills that wait tell how long"
