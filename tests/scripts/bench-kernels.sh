#!/bin/sh
# The kernels of the benchmark of probes (bench/kernels): their expectations agree with the
# simulated GPU's log and with the probes at each level. The comparison detects every difference,
# whichever source has it.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${GLINT_BUILD_DIR:-$root/build}
export GLINT="${GLINT:-$build/bin/glint}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Two kernels: sum reads a, each element twice, and adds to b; copy reads c.
cat >expected <<'END'
kernel sum 0.1000 0123456789abcdef
expect sum sum.a 80 0 10 5 3 40 0 0x1000
expect sum sum.b 4 4 1 1 1 4 4 0x2000
expect sum sum.unused 0 0 0 0 0 0 0 0x3000
kernel copy 0.1000 0123456789abcdef
expect copy copy.c 16 0 4 2 1 16 0 0x1000
counts sum sum.a 4 20 2 0
counts sum sum.b 4 1 1 0
counts copy copy.c 4 4 1 0
END
tr ' ' '\t' >found <<'END'
launch 7 sum
launch 9 copy
launch 12 sum
use 7 sum sum.a 1 0 80 0 5 8 40 0
use 7 sum sum.b 1 1 4 4 1 4 4 4
use 9 copy copy.c 1 0 16 0 1 16 16 0
use 12 sum sum.b 1 1 4 4 1 8 4 4
use 12 sum sum.a 1 0 80 0 10 4 40 0
counts 7 sum sum.a 4 20 2 0
counts 7 sum sum.b 4 1 1 0
counts 9 copy copy.c 4 4 1 0
counts 12 sum sum.b 4 1 1 0
counts 12 sum sum.a 4 20 2 0
END

# compare LEVEL STATUS LINE [SED]: compares after sed has changed the findings.
compare() {
    sed "${4-}" found >changed
    awk -v level="$1" -f "$root/bench/kernels/compare.awk" expected changed >log && status=0 || status=$?
    if [ "$status" != "$2" ] || ! grep -F -x -q -e "$3" log; then
        echo "compare $*: exit status $status, printed:"
        cat log
        exit 1
    fi
}
tab=$(printf '\t')

for level in objects elements counts log; do
    compare $level 0 '2 kernels, 3 launches, 5 uses of arrays: as expected'
done
compare objects 0 '2 kernels, 3 launches, 5 uses of arrays: as expected' "s/${tab}80${tab}/${tab}-${tab}/"
compare objects 1 'launch 7 of sum, sum.b: written 0, not 1' "/use.7.*b/s/${tab}1${tab}1${tab}/${tab}1${tab}0${tab}/"
compare objects 1 'launch 7 of sum, sum.a: written 1, not 0' "/use.7.*a/s/${tab}1${tab}0${tab}/${tab}1${tab}1${tab}/"
compare objects 1 'launch 12 of sum: does not use sum.b' '/use.12.*b/d'
compare objects 1 'launch 7 of sum, sum.b: told twice' '/use.7.*b/p'
compare objects 1 "launch 9 of copy: uses sum.a, which is not the kernel's" 's/copy\.c/sum.a/'
compare objects 1 'no launch of copy' '/copy/d'
compare objects 1 "launch 9 of other, which is none of the benchmark's" '/^launch/s/copy/other/'
compare objects 1 'launch 7 of sum, sum.unused: read 1, not 0' '/use.7.*a/s/sum\.a/sum.unused/'
compare elements 1 'launch 7 of sum, sum.a: bytes read 40, not 80' "/use.7/s/${tab}80/${tab}40/"
compare elements 1 'launch 12 of sum, sum.b: bytes written 0, not 4' "/use.12.*b/s/4${tab}4${tab}1/4${tab}0${tab}1/"
compare elements 1 'launch 7 of sum, sum.a: elements of 8 bytes 6, not 5' "/use.7/s/${tab}5${tab}8/${tab}6${tab}8/"
compare elements 1 'launch 9 of copy, copy.c: elements of 32 bytes: nothing is expected of that' "/use.9/s/${tab}1${tab}16${tab}/${tab}1${tab}32${tab}/"
compare elements 1 'launch 7 of sum, sum.a: bytes read -, not 80' "/use.7/s/${tab}80/${tab}-/"
compare counts 1 'launch 7 of sum, sum.a: sum of counts of 4 bytes 19, not 20' "/counts.7/s/${tab}20/${tab}19/"
compare counts 1 'launch 12 of sum, sum.a: highest count of 4 bytes 3, not 2' "/counts.12/s/${tab}2${tab}0/${tab}3${tab}0/"
compare counts 1 'launch 7 of sum, sum.a: first highest count of 4 bytes 1, not 0' "/counts.7/s/2${tab}0/2${tab}1/"
compare counts 1 'launch 12 of sum: does not count sum.b' '/counts.12.*b/d'
compare elements 0 '2 kernels, 3 launches, 5 uses of arrays: as expected' '/counts.12.*b/d'
compare log 1 'launch 9 of copy, copy.c: different bytes read 12, not 16' "/use.9/s/16${tab}0\$/12${tab}0/"
compare log 0 '2 kernels, 3 launches, 5 uses of arrays: as expected' "s/sum\.a/0x1000/; s/copy\.c/0x1000/; s/sum\.b/0x2000/"
compare log 1 "launch 9 of copy: uses 0x2000, which is not the kernel's" "s/copy\.c/0x2000/"
: >expected
compare log 1 'nothing is expected'

# expect STATUS PATTERN [ARGUMENT...]: checks the exit status, and that the last line of the output
# matches.
expect() {
    wanted=$1 pattern=$2
    shift 2
    "$root/bench/kernels/run" "$@" >log 2>&1 && status=0 || status=$?
    if [ "$status" != "$wanted" ] || ! tail -n 1 log | grep -E -q -e "$pattern"; then
        echo "run $*: exit status $status, expected $wanted and a line like '$pattern':"
        cat log
        exit 1
    fi
}
expect 2 '^usage: ' --unknown
expect 2 '^usage: ' --scale
expect 2 '^usage: ' --device cpu
expect 77 '^SKIP: no GPU whose times' --cost --device sim
expect 77 '^SKIP: a GPU keeps no log' --log --device gpu
(export NVCC= && expect 77 '^SKIP: no nvcc' --log --device sim)

"$root/scripts/have" nvcc >/dev/null || exit 77
(GLINT=nothing && expect 1 '^no glint can be run here' --log --device sim)
all='18 kernels, 36 launches, 96 uses of arrays: as expected'
expect 0 "^objects,elements,counts,values,accesses,requests,shared,basic,cache,traces: $all\$" --log --compare --device sim
diff log - <<END
$all
objects: $all
elements: $all
counts: $all
values: $all
accesses: $all
requests: $all
shared: $all
basic: $all
cache: $all
traces: $all
objects,elements,counts,values,accesses,requests,shared,basic,cache,traces: $all
END
