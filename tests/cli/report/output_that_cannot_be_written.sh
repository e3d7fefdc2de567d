. ./sample
[ -w /dev/full ] || { echo "SKIP: no /dev/full"; exit 77; }
"$GLINT" report sample.glint >/dev/full
"$GLINT" report --format json loop.glint -o /dev/full
