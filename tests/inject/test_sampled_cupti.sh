#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# test_sampled_cupti.sh PROGRAM SANITIZER CUPTI HIDDEN: launches are sampled while CUPTI is only loaded. When the program
# gets CUPTI to work, it finds no subscriber of the Sanitizer API in its way, nothing is sampled from then on, and a note
# says so. A library of CUPTI's name that glint cannot follow keeps sampling off, and others do not matter.
set -eu
program=$1 library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
echo "the stand-in has its own" >code
cp "$3" libcupti.so.13
cp "$3" libother.so
mkdir hidden
cp "$4" hidden/libcupti.so.13
export GLINT_SAMPLED_PATCH="$work/code" FAKE_SUBSCRIBERS="$library" GLINT_SAMPLED_BUDGET=100

query() { "$GLINT" query profile "$1" | tail -n +2; }
check() { # WHAT WANTED IS
    [ "$2" = "$3" ] || { printf '%s:\nwanted: %s\nis:     %s\n' "$1" "$2" "$3"; exit 1; }
}
# with WHEN LIBRARY: records the program, which must not notice.
with() {
    "$GLINT" run --device sim -- "$program" cupti "$1" "$work/$2" >native
    GLINT_SANITIZER=$library "$GLINT" record --device sim -q -f -o profile -a objects --no-cache --no-probes . \
        --sample-native 1 -- "$program" cupti "$1" "$work/$2" >recorded || { cat recorded; exit 1; }
    cmp native recorded || { cat recorded; exit 1; }
    notes=$(query "select text from v_notes where text like '%sampled%'")
    sampled=$(query "select group_concat(known_by = 'sampled', '') from (select known_by from v_launches order by call)")
}
noted() { # TEXT
    echo "$notes" | grep -q "$1" || { echo "there is no note: $1"; echo "$notes"; exit 1; }
    check "notes" 1 "$(echo "$notes" | wc -l)"
}

with never libcupti.so.13
check "notes while CUPTI is only loaded" "" "$notes"
check "while CUPTI is only loaded" 1111111111 "$sampled"

with middle libcupti.so.13
grep -q "cuptiSubscribe returns 0" native
check "when CUPTI gets to work" 1111100000 "$sampled"
noted "no launches are sampled from here on: the program uses CUPTI now"

with start libcupti.so.13
check "when CUPTI was at work before" 0000000000 "$sampled"
noted "no launches are sampled: another tool follows CUDA in this process (libcupti.so, which is in use)"

# While another thread launches, in any order.
for i in 1 2 3; do
    with beside libcupti.so.13
    check "beside CUPTI" "11111 00000" "$(echo "$sampled" | sed 's/^\(.....\).*\(.....\)$/\1 \2/')"
    noted "no launches are sampled from here on: the program uses CUPTI now"
done

with never hidden/libcupti.so.13
check "with a CUPTI that is not understood" 0000000000 "$sampled"
noted "finds the driver in an unknown way"

# Lookups of another library do not matter: the subscriber stays, which the stand-in then meets.
with never libother.so
check "with another library" 1111111111 "$sampled"
"$GLINT" run --device sim -- "$program" cupti middle "$work/libother.so" >native
GLINT_SANITIZER=$library "$GLINT" record --device sim -q -f -o profile -a objects --no-cache --no-probes . \
    --sample-native 1 -- "$program" cupti middle "$work/libother.so" >recorded
grep -q "cuptiSubscribe returns 39" recorded
check "what another library looks up" 1111111111 \
    "$(query "select group_concat(known_by = 'sampled', '') from (select known_by from v_launches order by call)")"
