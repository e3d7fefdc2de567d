#!/bin/sh
# test_asked.sh PROGRAM FOLDER: functions of the newer driver in FOLDER that the program asks for and that glint does not
# know are in the profile, each once, and the report names them. The program gets what it gets without glint.
set -eu
program=$1 folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LD_LIBRARY_PATH="$folder"
"$program" >"$work/plain"
"$GLINT" record -q --device gpu -a none -o "$work/profile" -- "$program" >"$work/out"
cmp "$work/plain" "$work/out"
"$GLINT" query "$work/profile" "select substr(text, 26) from v_notes where text like 'unknown driver function: %' order by 1" |
    tail -n +2 >"$work/names"
cat >"$work/wanted" <<END
cuFutureOther
cuFutureThing
cuFutureThird
cuMemFreeHost of CUDA 14.0
END
diff "$work/wanted" "$work/names"
"$GLINT" report --verbose "$work/profile" | tr -s ' \n' ' ' >"$work/report"
grep -qF 'the program asked for 4 driver functions newer than this glint (cuFuture' "$work/report" || { cat "$work/report"; exit 1; }
