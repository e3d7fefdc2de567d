. ./sample
"$GLINT" query sample.glint "SELECT number, severity, text, NULL AS none FROM v_notes ORDER BY number"
"$GLINT" query sample.glint "SELECT 'a' || char(10) || '\b' AS text, 0.1 AS tenth, 1e300 AS large, x'00ff' AS bytes"
