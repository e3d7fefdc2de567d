# On a terminal the result is a table.
. ./sample
command -v script >/dev/null || { echo "SKIP: no script(1) to make a terminal"; exit 77; }
script -qec "\"$GLINT\" query sample.glint 'SELECT number, name FROM v_kernels ORDER BY number'" /dev/null | tr -d '\r'
