# A file size limit applies to program and recorder, and neither dies of it. 6000 blocks of 1024 or 512 bytes are less
# than the profile, and less than the ring that is used without a limit.
. ./busy
(
    ulimit -f 6000
    "$GLINT" record -o p.glint --device sim -- "$busy" 120000
    echo "status $?"
    "$GLINT" record -q -o q.glint --device sim -- sh -c 'kill -XFSZ $$' # the program's own signals are not touched
    echo "status $?"
) 2>&1 | grep -v -e 'lacks [0-9]* records' -e 'File size limit exceeded'
"$GLINT" query p.glint "select count(*) > 100 and count(*) < 480000 as some_calls from v_calls"
ls *.glint
