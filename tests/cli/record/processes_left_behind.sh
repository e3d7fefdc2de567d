# Processes that outlive the program are recorded to their end if they use CUDA soon, and not waited for if they do
# not. The exit status of a process that is not a child of glint may be unknown; glint never reports a wrong one.
. ./busy
"$GLINT" record --device sim -- sh -c '(sleep 0.2; "$0" 3) >/dev/null 2>&1 & exit 4' "$busy" 2>&1 | sed 's/-[0-9]*\./-PID./'
"$GLINT" query record_busy-*.glint "select complete, coalesce(code, 7) as code from v_meta"
"$GLINT" record --device sim -- sh -c 'sleep 100 >/dev/null 2>&1 & echo $! >number; exit 4'
echo "status $?"
kill "$(cat number)" && echo "it was left alone"
