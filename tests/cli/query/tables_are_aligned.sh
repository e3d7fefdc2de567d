. ./sample
"$GLINT" query -F table sample.glint "SELECT number, name, kind, bytes, freed_by FROM v_objects ORDER BY number"
echo
"$GLINT" query --format table sample.glint "SELECT 'ünïcödé' AS name, 1 AS x UNION ALL SELECT 'plain', 22"
echo
"$GLINT" query --format table sample.glint "SELECT name, bytes FROM v_objects WHERE 0"
