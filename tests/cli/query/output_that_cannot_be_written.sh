. ./sample
[ -w /dev/full ] || { echo "SKIP: no /dev/full"; exit 77; }
"$GLINT" query sample.glint "SELECT * FROM v_calls" >/dev/full
