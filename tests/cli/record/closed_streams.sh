# glint runs without standard streams, with a pipe that has no reader, and with signals ignored that it needs.
. ./busy
"$GLINT" record -o a.glint --device sim -- "$busy" 3 <&- >&- 2>&-
echo "status $?"
{ { sleep 0.2; "$GLINT" record -o b.glint --device sim -- "$busy" 3; echo "status $?" >status; } 2>&1 | true; }
cat status
(
    trap '' CHLD INT TERM HUP PIPE XFSZ
    grep SigIgn /proc/self/status >natively
    "$GLINT" record -q -o c.glint --device sim -- sh -c '"$0" 3; exec grep SigIgn /proc/self/status' "$busy" >recorded
    echo "status $?"
    cmp natively recorded && grep -c SigIgn recorded
)
for profile in a b c-*; do
    "$GLINT" query ${profile%.glint}.glint "select complete, coalesce(code, 7) from v_meta" | tail -n 1
done
