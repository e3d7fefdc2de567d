# If resolving source lines takes long, a terminal shows the progress; without a terminal nothing is shown.
. ./busy
command -v script >/dev/null || { echo "SKIP: no script(1) to make a terminal"; exit 77; }
clock=${busy%/*}/librecord_fast_clock.so
[ -e "$clock" ] || { echo "SKIP: nothing is preloaded before a sanitizer"; exit 77; }
export clock
script -qec 'LD_PRELOAD=$clock "$GLINT" record -q -o p.glint --device sim -- "$busy" 3' /dev/null </dev/null >seen
echo "status $?"
tr '\r' '\n' <seen | sed -n 's/[0-9][0-9]* of [0-9][0-9]*/N of N/p' | cat -v | sort -u
LD_PRELOAD=$clock "$GLINT" record -q -o q.glint --device sim -- "$busy" 3 2>&1
echo "status $?"
