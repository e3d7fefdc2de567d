# Without -o a profile is PROGRAM-PID.glint. Existing profiles are replaced only with -f, also those of other
# processes.
. ./busy
cp "$busy" 'my program'
"$GLINT" record --device sim -- './my program' 2 2>said
name=$(sed -n 's/^glint: .* objects: //p' said)
"$GLINT" query "$name" "select 'my program-' || pid || '.glint' as name from v_program" | grep -x -F "$name" | sed 's/[0-9][0-9]*/PID/'
"$GLINT" record -q -o p.glint --device sim -- "$busy" 2
echo "status $?"
"$GLINT" record -q -o p.glint --device sim -- "$busy" 3
echo "status $?"
"$GLINT" query p.glint "select count(*) as calls from v_calls"
"$GLINT" record -q -f -o p.glint --device sim -- "$busy" 3
echo "status $?"
"$GLINT" query p.glint "select count(*) as calls from v_calls"
"$GLINT" report --verbose | sed -n "1p;/exited/p" | sed 's/ran for .*/ran for a while/; s|.*/||'
ls | sed 's/[0-9][0-9]*/PID/'
