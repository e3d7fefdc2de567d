# A folder that is not there, and one that goes away while the program runs.
. ./busy
"$GLINT" record -o nowhere/p.glint --device sim -- "$busy" 3
echo "status $?"
mkdir goes
"$GLINT" record -q -o goes/p.glint --device sim -- sh -c 'rmdir goes; exec "$0" 3' "$busy"
echo "status $?"
