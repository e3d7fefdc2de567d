. ./busy
"$GLINT" record -o p.glint --device sim -- "$busy" 3
echo "status $?"
"$GLINT" query p.glint "select kind, name, count(*), sum(result) from v_calls group by kind, name order by min(number)"
"$GLINT" query p.glint "select number, kind, bytes, freed_by - allocated_by as calls_alive, ended from v_objects order by number"
"$GLINT" query p.glint "select complete, ended, code from v_meta"
ls
