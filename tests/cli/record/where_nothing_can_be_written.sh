# A folder that is not there, and one that goes away while the program runs.
busy=${GLINT_BUILD_DIR:-../../../build}/tests/record/record_busy
[ -x "$busy" ] || { echo "SKIP: libglint.so is not built"; exit 77; }
busy=$(cd "$(dirname "$busy")" && pwd)/record_busy
cd "$SCRATCH" || exit 1
"$GLINT" record -o nowhere/p.glint --device sim -- "$busy" 3
echo "status $?"
mkdir goes
"$GLINT" record -q -o goes/p.glint --device sim -- sh -c 'rmdir goes; exec "$0" 3' "$busy"
echo "status $?"
