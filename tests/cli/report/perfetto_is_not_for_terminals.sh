# Nothing is written to a terminal.
. ./sample
command -v script >/dev/null || { echo "SKIP: no script(1) to make a terminal"; exit 77; }
script -qec "\"$GLINT\" report --format perfetto sample.glint" /dev/null </dev/null | tr -d '\r'
"$GLINT" report --format perfetto -o /dev/null sample.glint && echo "a file gets them"
