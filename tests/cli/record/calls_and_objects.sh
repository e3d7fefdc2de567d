busy=${GLINT_BUILD_DIR:-../../../build}/tests/record/record_busy
[ -x "$busy" ] || { echo "SKIP: libglint.so is not built"; exit 77; }
busy=$(cd "$(dirname "$busy")" && pwd)/record_busy
cd "$SCRATCH" || exit 1
"$GLINT" record -o p.glint --device sim -- "$busy" 3
echo "status $?"
"$GLINT" query p.glint "select kind, name, count(*), sum(result) from v_calls group by kind, name order by min(number)"
"$GLINT" query p.glint "select number, kind, bytes, freed_by - allocated_by as calls_alive, ended from v_objects order by number"
"$GLINT" query p.glint "select complete, ended, code from v_meta"
ls
