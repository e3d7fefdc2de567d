#!/bin/sh
# test_records.sh NAME [PROGRAM [ARGUMENT...]]: what a program does on the simulated GPU is recorded
# exactly. Compares the records with expected/NAME, and the program's output and exit status with
# those of a run without glint. Which calls waited is compared only if the program ensures it
# (expected/NAME says "waited"), because it depends on the speed of the GPU. Whether variables of
# modules reuse addresses ("where") depends on the C library's allocator. GLINT_TEST_UPDATE=1
# rewrites the expectation. GLINT_TEST_DRIVER: folder of a driver other than the simulated GPU's.
set -eu
name=$1
shift
here=$GLINT_SOURCE_DIR/tests/inject
programs=$GLINT_BUILD_DIR/tests/inject
[ $# -gt 0 ] || set -- "$programs/inject_program" "$name"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=${GLINT_TEST_DRIVER:-$GLINT_BUILD_DIR/lib/glint/sim}
export LD_LIBRARY_PATH

plain=0
"$programs/inject_watch" - - "$@" > "$work/plain.out" 2> "$work/plain.err" || plain=$?
watched=0
"$programs/inject_watch" "$work/records" "$GLINT_BUILD_DIR/lib/glint/libglint.so" "$@" \
    > "$work/watched.out" 2> "$work/watched.err" || watched=$?
unrecorded=0
"$programs/inject_watch" - "$GLINT_BUILD_DIR/lib/glint/libglint.so" "$@" \
    > "$work/unrecorded.out" 2> "$work/unrecorded.err" || unrecorded=$?

# names: the only functions whose results may differ when a program is recorded.
[ "$name" = names ] || cmp "$work/plain.out" "$work/watched.out"
cmp "$work/plain.err" "$work/watched.err"
cmp "$work/plain.out" "$work/unrecorded.out"
cmp "$work/plain.err" "$work/unrecorded.err"
if [ "$plain" != "$watched" ] || [ "$plain" != "$unrecorded" ]; then
    echo "exit status $plain, recorded $watched, with the library alone $unrecorded"
    exit 1
fi

case $name in
errno) normal=7 ;;
killed) normal=137 ;;
*) normal=0 ;;
esac
[ "$plain" = "$normal" ] || { echo "exit status $plain, not $normal"; cat "$work/plain.err"; exit 1; }

[ "$name" != variables ] || sed -i 's/ where [0-9]* was$//' "$work/records"
expected=$here/expected/$name
if [ "${GLINT_TEST_UPDATE:-}" = 1 ]; then
    cp "$work/records" "$expected"
    case $name in
    streams | waited) ;;
    *) sed -i 's/ waited\( ns\)\{0,1\}$//' "$expected" ;;
    esac
fi
grep -q waited "$expected" || sed -i 's/ waited\( ns\)\{0,1\}$//' "$work/records"
diff -u "$expected" "$work/records"
