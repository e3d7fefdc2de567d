# Processes that the program leaves behind are recorded to their end where they use CUDA soon, and waited for no
# longer where they do not. How one ended that is not its child glint may not know; never does it say another status.
. ./busy
"$GLINT" record --device sim -- sh -c '(sleep 0.2; "$0" 3) >/dev/null 2>&1 & exit 4' "$busy" 2>&1 | sed 's/-[0-9]*\./-PID./'
"$GLINT" query record_busy-*.glint "select complete, coalesce(code, 7) as code from v_meta"
"$GLINT" record --device sim -- sh -c 'sleep 100 >/dev/null 2>&1 & echo $! >number; exit 4'
echo "status $?"
kill "$(cat number)" && echo "it was left alone"
