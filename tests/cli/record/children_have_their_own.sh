. ./busy
"$GLINT" record -q -o p.glint --device sim -- "$busy" 2 2
echo "status $?"
ls | sed 's/[0-9][0-9]*/PID/'
for profile in *.glint; do
    "$GLINT" query "$profile" "select count(*) from v_calls"
done
