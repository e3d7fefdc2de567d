# Times of the simulated GPU decide nothing: a program that is recorded twice, the second time on a much slower GPU,
# counts as the same. Counts are still compared, and a rule on time is refused.
head -c 4 "$GLINT" | grep -q ELF || { echo "SKIP: $GLINT is run by an emulator"; exit 77; }
wasteful=${GLINT_BUILD_DIR:-../../../build}/tests/fix/fix_wasteful
[ -x "$wasteful" ] || { echo "SKIP: libglint.so is not built"; exit 77; }
wasteful=$(cd "$(dirname "$wasteful")" && pwd)/fix_wasteful
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
export ASAN_OPTIONS
cd "$SCRATCH" || exit 1
record() { "$GLINT" record -q -o "$1" --analyses objects,sync --sync-tracking full --device sim -- "$wasteful" "$2" >/dev/null || exit 1; }
record fast.glint steps=6
GLINT_SIM_DELAY_US=5000
export GLINT_SIM_DELAY_US
record slow.glint steps=6
record more.glint steps=9
check() { "$GLINT" check "$@" 2>&1 | sed 's/^  - .*\/\(wasteful\.c\)/  - \1/'; }
check --fail-on new,worse --baseline fast.glint slow.glint
check --fail-on new,worse --baseline slow.glint fast.glint
echo "== what differs"
"$GLINT" diff fast.glint slow.glint
echo "== more waits"
check --fail-on worse --baseline slow.glint more.glint | head -n 3
echo "== a rule on time"
"$GLINT" check --fail-on 'unnecessary-sync>1ms' slow.glint 2>&1
echo "status $?"
