# The program and other processes end by exit, signal and exec. On older systems, the end of a process that is not a
# child of glint may be unknown; then no wrong status is recorded.
. ./busy
tell() {
    "$GLINT" query "$1" "select ended, code from v_meta" | tail -n 1
}
"$GLINT" record -q -o own.glint --device sim -- "$busy" 2
tell own.glint
"$GLINT" record -q -o exec.glint --device sim -- "$busy" 2 0 "$busy" 3
tell exec.glint
tell exec-2.glint
"$GLINT" report --verbose exec.glint | sed -n '/became/s/,.*//p'
"$GLINT" record -q -o none.glint --device sim -- "$busy" 2 0 /bin/sh -c 'exit 5' # does not use CUDA: it is the process that ended
tell none.glint
"$GLINT" record -q -o child.glint --device sim -- sh -c '"$busy" 2; "$busy" 0 & sleep 0.3; kill -KILL $!; wait; exit 4'
echo "status $?"
for profile in child-*.glint; do
    "$GLINT" query "$profile" "select case when ended = 'ended' and code is null and complete then
        iif((select end_ns from v_program), 'exited 7', 'signalled 9') else ended || ' ' || code end from v_meta" | tail -n 1
done | sort
