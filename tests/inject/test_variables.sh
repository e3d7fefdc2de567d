#!/bin/sh
# Variables of nvcc's programs are objects with their names in the source, with either runtime and
# however the code is compressed. GLINT_TEST_DEVICE: where it runs.
set -eu
device=${GLINT_TEST_DEVICE:-sim}
command -v nvcc > /dev/null || { echo "SKIP: no nvcc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
compile() { nvcc -Wno-deprecated-gpu-targets -arch=compute_75 -code=compute_75 "$@" "$GLINT_SOURCE_DIR/tests/inject/variables.cu"; }
compile -o static
compile -cudart shared -o shared
compile -cudart shared --no-compress -o plain
compile -cudart shared -Xfatbin -compress-all -o packed

for program in static shared plain packed; do
    [ "$("$GLINT" record -q --device "$device" -f -o profile -- "./$program")" = '3 0' ]
    "$GLINT" query --csv profile "SELECT kind, name, bytes FROM v_objects WHERE allocated_by IS NULL ORDER BY name" > found
    diff -u - found <<END
kind,name,bytes
global,counter,4
managed,everywhere,16
global,inner::bytes,7
global,never_used,20
global,own,80
global,sized<9>,36
global,table,256
global,use(int*)::kept,8
END
done
echo "8 variables of every kind, static and shared runtime, code as it is and compressed"
