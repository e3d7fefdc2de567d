#!/bin/sh
# Programs that nvcc compiled, with the static and the shared runtime and with per-thread default
# streams. Their output is the same with and without glint, and their kernels are recorded by name.
set -eu
command -v nvcc > /dev/null || { echo "SKIP: no nvcc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
PATH=$GLINT_SOURCE_DIR/scripts:$PATH
compile() { nvcc -Wno-deprecated-gpu-targets -arch=compute_75 -code=compute_75 -I "$GLINT_SOURCE_DIR/examples" "$@"; }
streams=$GLINT_SOURCE_DIR/examples/streams/streams.cu
compile -o static "$streams"
compile -cudart shared -o shared "$streams"
compile -cudart shared --default-stream per-thread -o own_streams "$GLINT_SOURCE_DIR/examples/saxpy/saxpy.cu"

for program in static shared own_streams; do
    "$GLINT" run --device sim -- "./$program" > plain 2>&1 && plain=0 || plain=$?
    "$GLINT_BUILD_DIR/tests/inject/inject_watch" "$program.records" "$GLINT_BUILD_DIR/lib/glint/libglint.so" \
        "$GLINT" run --device sim -- "./$program" > watched 2>&1 && watched=0 || watched=$?
    cmp plain watched
    [ "$plain" = "$watched" ] || { echo "$program: exit status $watched, not $plain"; exit 1; }
    grep -q '^finish$' "$program.records" || { echo "$program: records are missing"; exit 1; }
    ! grep -E 'DROPPED|ERROR|^note' "$program.records" || exit 1
done
# Both runtimes make the same driver calls, except that they load modules at different times.
for program in static shared; do
    grep -E '^(kernel|object|end)|launch' "$program.records" | sed 's/call [0-9]*//' > "$program.short"
done
diff -u static.short shared.short
grep -q '^kernel 1 module 1 _Z6filteriPKfS0_Pf$' static.records
grep -q 'per-thread' own_streams.records
