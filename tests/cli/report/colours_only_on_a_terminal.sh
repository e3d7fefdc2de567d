# On a terminal headings are bold, unless NO_COLOR is set.
. ./sample
command -v script >/dev/null || { echo "SKIP: no script(1) to make a terminal"; exit 77; }
unset COLUMNS
TERM=xterm
export TERM
script -qec "\"$GLINT\" report empty.glint" /dev/null </dev/null | tr -d '\r' | cat -v
unset NO_COLOR
script -qec "\"$GLINT\" report empty.glint" /dev/null </dev/null | tr -d '\r' | cat -v
"$GLINT" report empty.glint
