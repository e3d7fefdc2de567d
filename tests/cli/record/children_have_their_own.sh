busy=${GLINT_BUILD_DIR:-../../../build}/tests/record/record_busy
[ -x "$busy" ] || { echo "SKIP: libglint.so is not built"; exit 77; }
busy=$(cd "$(dirname "$busy")" && pwd)/record_busy
cd "$SCRATCH" || exit 1
"$GLINT" record -q -o p.glint --device sim -- "$busy" 2 2
echo "status $?"
ls | sed 's/[0-9][0-9]*/PID/'
for profile in *.glint; do
    "$GLINT" query "$profile" "select count(*) from v_calls"
done
