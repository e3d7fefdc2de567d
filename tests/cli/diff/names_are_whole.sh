# On a narrow terminal, places are cut at their start; names, by which things are recognized, are not.
. ./sample
command -v script >/dev/null || { echo "SKIP: no script(1) to make a terminal"; exit 77; }
TERM=dumb
export TERM
unset COLUMNS
script -qec "stty cols 60; \"$GLINT\" diff old.glint new.glint" /dev/null </dev/null | tr -d '\r' | sed -n '/^New/,/  - /p'
