#!/bin/sh
# Programs that ask NVRTC for a cubin get PTX on the simulated GPU in folder $1, also where they open the library.
set -eu
sim=$1
source=${GLINT_SOURCE_DIR:-$PWD}
nvcc=$("$source/scripts/have" nvcc) || exit 77
toolkit=$(cd "$(dirname "$(readlink -f "$nvcc")")/../lib64" && pwd)
library=$(find "$toolkit/" -maxdepth 1 -name 'libnvrtc.so.[0-9]*' | head -n 1)
[ -n "$library" ] || { echo "SKIP: no libnvrtc beside $nvcc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cc -I"$source/src" -o program "$source/tests/standins/nvrtc.c" -L"$sim" -l:libcuda.so.1 -ldl
cc -I"$source/src" -o linked "$source/tests/standins/nvrtc.c" -L"$sim" -l:libcuda.so.1 -ldl -Wl,--no-as-needed "$library" \
    -Wl,-rpath,"$toolkit"
[ "$("$GLINT" run --device sim -- ./program "$library")" = "4 9 16" ]
[ "$("$GLINT" run --device sim -- ./linked)" = "4 9 16" ]
# Without glint, the same program gets a cubin, which the simulated GPU refuses.
status=0
LD_LIBRARY_PATH=$sim ./program "$library" >/dev/null 2>&1 || status=$?
[ $status = 3 ]
