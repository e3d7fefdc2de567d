. ./sample
"$GLINT" query --json sample.glint "SELECT number, name, bytes, freed_by FROM v_objects ORDER BY number LIMIT 2"
"$GLINT" query --json sample.glint "SELECT 0.5 AS half, x'00ff' AS bytes, text FROM v_notes WHERE number = 2"
"$GLINT" query --json sample.glint "SELECT 1 AS x WHERE 0"
