#!/bin/sh
# The comparison of requests with ncu (bench/requests): its readers find the known numbers in what ncu and the simulated
# GPU print, it detects every difference, and the kernels of the benchmark take what the simulated GPU's log says.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${GLINT_BUILD_DIR:-$root/build}
export GLINT="${GLINT:-$build/bin/glint}"
here=$root/bench/requests
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# prints WHAT [STATUS]: compares the sorted file `printed` with standard input, blanks for tabs, and the exit status.
prints() {
    cat >wanted
    tr '\t' ' ' <printed | LC_ALL=C sort | diff wanted - || { echo "$1: see above"; exit 1; }
    [ "$status" = "${2-0}" ] || { echo "$1: exit status $status"; exit 1; }
}

# --- ncu -----------------------------------------------------------------------------------------

printf '%s\n' 'x_ld.sum load sectors' 'x_atom.sum atomic sectors' 'x_red.sum atomic sectors' >metrics
cat >ncu.csv <<'END'
==PROF== Connected to process 1
"ID","Kernel Name","Grid Size","x_ld.max","x_ld.sum","x_red.sum","x_atom.sum"
"","","block","sector","sector","sector","sector"
"0","void (anonymous namespace)::sum<(int)4, float>(const float *, int)","(1, 2, 3)","7","1,234,567","1","20"
"1","other(int)","(1, 1, 1)","7","3","0","0"
"2","void a::b::sum<(int)8, float>(const float *, int)","(1, 2, 3)","7","3","1","20.00"
END

# read_ncu [SED]: reads the table after sed has changed it.
read_ncu() {
    sed "${1-}" ncu.csv >changed.csv
    awk -f "$here/names.awk" -f "$here/csv.awk" -f "$here/ncu.awk" metrics changed.csv >printed && status=0 || status=$?
}
read_ncu
prints "ncu" <<'END'
other atomic sectors 0
other launches 1
other load sectors 3
sum atomic sectors 42
sum launches 2
sum load sectors 1234570
END
read_ncu 's/x_red\.sum/x_red.max/'
echo 'ncu: no column x_red.sum' | prints "a missing metric" 1
read_ncu '/other/s/"3"/"n\/a"/'
echo 'ncu: other: x_ld.sum is "n/a"' | prints "a metric without number" 1
read_ncu '/"ID"/,99d'
echo 'ncu: no table' | prints "no table" 1

# --- The simulated GPU ---------------------------------------------------------------------------

# 16 lanes load 4 bytes each from the middle of a sector on; the two objects of one request count once. A quarter of a
# warp stores 16 bytes a lane; pairs of words 16 apart conflict in each half warp, unless all lanes read the same ones.
cat >log <<'END'
object 1 device cudaMalloc address=0xffff93c21410 bytes=65536
object 2 device cudaMalloc address=0xffff93c31400 bytes=65536
launch 1 _ZN1a3sumILi3EEEvPKf call=1 stream=0x0
access launch=1 block=0 warp=0 mask=0000ffff load global bytes=4 object=1 offset=0 step=4 values=0 site=1 x ld.f32
access launch=1 block=0 warp=0 mask=00000003 load global bytes=4 object=1 offset=0 step=64 values=0 site=2 x ld.f32
access launch=1 block=0 warp=0 mask=00000004 load global bytes=4 object=2 offset=28 values=0 continued site=2 x ld.f32
access launch=1 block=0 warp=0 mask=00000007 reduction global bytes=8 object=2 offsets=0,0,96 before=0 after=1 site=3 x
access launch=1 block=0 warp=0 mask=00000007 atomic shared bytes=4 offsets=0,0,96 before=0 after=1 site=3 x
access launch=1 block=0 warp=0 mask=000000ff store shared bytes=16 offset=0 step=16 values=0 site=4 x
access launch=1 block=0 warp=0 mask=ffffffff load shared bytes=8 offset=0 step=64 values=0 site=4 x
access launch=1 block=0 warp=0 mask=ffffffff load shared bytes=8 offset=8 step=0 values=0 site=4 x
access launch=1 block=0 warp=0 mask=ffffffff load shared bytes=4 offset=0 step=128 values=0 site=4 x
access launch=1 block=0 warp=0 mask=80000001 load local bytes=4 offset=0 step=128 values=0 site=4 x
launch 1 ended
launch 2 _Z3sum3sum call=1 stream=0x0
END
awk -v limit=1 -f "$here/names.awk" -f "$here/log.awk" log >printed && status=0 || status=$?
prints "the log" <<'END'
sum atomic requests 1
sum launches 1
sum load instructions 3
sum load requests 2
sum load sectors 6
sum load wavefronts 49
sum store instructions 1
sum store wavefronts 1
END

# --- The comparison ------------------------------------------------------------------------------

tr ' ' '\t' >expected <<'END'
p sum launches 2
p sum load_requests 100000
p sum load_sectors 10000
p sum load_wavefronts 5
p sum atomic_wavefronts 7
p copy launches 1
p copy store_requests 4
END
tr _ ' ' <expected >reference
printf 'p\tother\tst.u64: the space is unknown\n' >reasons

# compare STATUS LINE [SED]: compares after sed has changed what glint counted.
compare() {
    sed "${3-}" reference >found
    awk -v reference=ncu -v wanted=2 -f "$here/compare.awk" from=reasons reasons from=reference reference \
        from=glint found >printed && status=0 || status=$?
    if [ "$status" != "$1" ] || ! grep -F -x -q -e "$2" printed; then
        echo "compare $*: exit status $status, printed:"
        cat printed
        exit 1
    fi
}
tab=$(printf '\t')
within="2 kernels: requests within"
compare 0 "$within 0.0000 %, sectors within 0.0000 %, wavefronts equal in 1 of 1; 0 not compared"
compare 0 "$within 0.0100 %, sectors within 0.1000 %, wavefronts equal in 1 of 1; 0 not compared" \
    "s/${tab}100000/${tab}100010/; s/${tab}10000\$/${tab}9990/; s/${tab}7/${tab}9/"
compare 1 'p sum: requests of loads: 100000 according to ncu, 100011 according to glint (+0.0110 %)' \
    "s/${tab}100000/${tab}100011/"
compare 1 'p sum: sectors of loads: 10000 according to ncu, 9989 according to glint (-0.1100 %)' \
    "s/${tab}10000\$/${tab}9989/"
compare 1 'p sum: wavefronts of loads: 5 according to ncu, 6 according to glint (+20.0000 %)' "s/${tab}5\$/${tab}6/"
compare 1 'p sum: 2 launches according to ncu, 1 according to glint' "s/${tab}2\$/${tab}1/"
compare 1 'p copy: requests of stores: 4 according to ncu, 0 according to glint (-100.0000 %)' '/store/d'
compare 1 'p copy: 1 launches according to ncu, 0 according to glint' '/copy/d'
compare 1 "3 kernels: requests within 0.0000 %, sectors within 0.0000 %, wavefronts equal in 1 of 1; 0 not compared; \
beyond the bounds: p new" "\$s/.*/&\np${tab}new${tab}launches${tab}1/"
compare 1 'not compared: p sum: 8 loads of shared memory in the PTX are 0 in the machine code' \
    "s/.*load wavefronts.*/&\np${tab}sum${tab}load instructions${tab}8/; s/${tab}5\$/${tab}9/"
printf 'p\tcopy\tis not counted\np\tcopy\tis not counted\np\tcopy\tcalls\n' >reasons
compare 1 'not compared: p copy: is not counted; calls' "s/${tab}4/${tab}5/"
compare 1 "1 kernels: requests within 0.0000 %, sectors within 0.0000 %, wavefronts equal in 1 of 1; 1 not compared; \
at least 2 are wanted"

# --- The script ----------------------------------------------------------------------------------

# expect STATUS PATTERN [ARGUMENT...]: checks the exit status, and that the last line of the output matches.
expect() {
    wanted=$1 pattern=$2
    shift 2
    "$here/run" "$@" >printed 2>&1 && status=0 || status=$?
    if [ "$status" != "$wanted" ] || ! tail -n 1 printed | grep -E -q -e "$pattern"; then
        echo "run $*: exit status $status, expected $wanted and a line like '$pattern':"
        cat printed
        exit 1
    fi
}
expect 2 '^usage: ' --unknown
expect 2 '^usage: ' --launches 0
(export NVCC= && expect 77 '^SKIP: no nvcc' --device sim)

"$root/scripts/have" nvcc >/dev/null || exit 77
"$root/scripts/have" jq >/dev/null || exit 77
expect 1 '^0 kernels: .*; at least 1 are wanted; failed: none$' --device sim none.cu
expect 0 '^62 kernels: requests within 0.0000 %, .* equal in 19 of 19; 2 not compared$' --device sim \
    "$here/kernels.cu" "$root/examples/linked_list/linked_list.cu"
grep -F -q -e 'not compared: linked_list insert: it does more than access memory' printed
