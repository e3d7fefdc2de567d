# Lines are cut to the width, down to 40 columns; numbers are not.
. ./sample
COLUMNS=60 "$GLINT" report --verbose loop.glint | sed -n '/^Kernels/,/el_9 /p'
COLUMNS=1 "$GLINT" report --verbose loop.glint | sed -n '/^Kernels/,/el_9 /p'
COLUMNS=200 "$GLINT" report --verbose loop.glint | sed -n '/^Kernels/,/el_9 /p'
unset COLUMNS
"$GLINT" report --verbose loop.glint | sed -n '/^Kernels/,/el_9 /p'
