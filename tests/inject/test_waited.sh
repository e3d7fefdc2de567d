#!/bin/sh
# test_waited.sh PROGRAM: the profile says how long calls waited for the GPU. The kernels before the
# calls take 60 ms, and each wait begins within their first 30 ms. Without GPU times, the duration
# of the call's own work is unknown, so copies and sets have no waiting time. GLINT_TEST_DEVICE:
# where it runs.
set -eu
device=${GLINT_TEST_DEVICE:-sim}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ask() { "$GLINT" query --csv "$work/profile" "$1" | tail -n +2; }

"$GLINT" record --device "$device" -o "$work/profile" -- "$1"
waited='SELECT kind || " " || name, count(*) FROM v_calls WHERE waited AND kind <> "sync" AND waited_ns
    BETWEEN 30000000 AND end_ns - start_ns GROUP BY 1 ORDER BY 1'
ask "$waited" > "$work/found"
diff -u - "$work/found" <<END
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
[ "$(ask 'SELECT count(*) FROM v_calls WHERE waited_ns AND NOT waited')" = 0 ]

"$GLINT" record --device "$device" --gpu-times off -f -o "$work/profile" -- "$1"
[ "$(ask 'SELECT count(*) FROM v_calls WHERE waited AND kind IN ("copy", "set")')" = 6 ]
[ "$(ask 'SELECT count(*) FROM v_calls WHERE waited_ns AND kind IN ("copy", "set")')" = 0 ]
[ "$(ask 'SELECT count(*) FROM v_calls WHERE waited_ns > 30000000 AND kind = "free"')" = 4 ]
echo "frees, unloading, copies and fills that wait tell how long"
