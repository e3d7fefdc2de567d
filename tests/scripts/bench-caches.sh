#!/bin/sh
# The comparison of modelled caches with ncu (bench/caches): its reader finds the numbers of each launch in what ncu
# prints, launches are matched by their numbers and names, and kernels that are off are named and fail the bounds.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/bench/caches
requests=$root/bench/requests
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# prints WHAT [STATUS]: compares the file `printed` with standard input, blanks for tabs, and the exit status.
prints() {
    cat >wanted
    tr '\t' ' ' <printed | diff wanted - || { echo "$1: see above"; exit 1; }
    [ "$status" = "${2-0}" ] || { echo "$1: exit status $status"; exit 1; }
}

# --- ncu -----------------------------------------------------------------------------------------

cat >ncu.csv <<'END'
==PROF== Connected to process 1
"ID","Kernel Name","Grid Size","b.sum","a.sum"
"","","block","sector","sector"
"0","void ns::sum<(int)4>(const float *, int)","(1, 2, 3)","1,234","7"
"1","other(int)","(1, 1, 1)","3","0"
END
read_ncu() {
    awk -v metrics="$1" -f "$requests/names.awk" -f "$requests/csv.awk" -f "$here/counts.awk" "$2" >printed &&
        status=0 || status=$?
}
read_ncu a.sum,b.sum ncu.csv
prints "ncu" <<'END'
1 sum 7 1234
2 other 0 3
END
read_ncu a.sum,c.sum ncu.csv
echo 'ncu: no column c.sum' | prints "a missing metric" 1
read_ncu a.sum /dev/null
echo 'ncu: no table' | prints "no table" 1

# --- The comparison ------------------------------------------------------------------------------

# rows SED: two launches of each of two kernels. Of warm caches the last counts, of cold ones the first.
rows() {
    tr ' ' '\t' <<'END' | sed "$1"
p cold model 1 one(int) 0.0625 10000 5000 5000 2500 4000
p cold model 2 one(int) 0.0625 10000 0 5000 0 9000
p cold model 3 few(int) 0.0625 2999 0 5000 0 9000
p warm model 1 one(int) 0.0625 10000 0 5000 0 9000
p warm model 2 one(int) 0.0625 10000 5000 5000 2500 4000
p cold ncu 1 one 10000 5100 5000 2400 3000 1100
p cold ncu 2 one 10000 5100 5000 2400 3000 1100
p cold ncu 3 few 2999 1 2 2 3000 1100
p cold ncu 4 never 10000 5100 5000 2400 3000 1100
p warm ncu 1 one 10000 5100 5000 2400 3000 1100
p warm ncu 2 one 10000 5100 5000 2400 3000 1100
END
}
compare() {
    rows "$1" >rows.txt
    awk -F '\t' -v seed="$2" -f "$requests/names.awk" -f "$here/compare.awk" rows.txt >printed && status=0 || status=$?
}

# With one of these seeds, kernel `one` is set aside.
aside='' fitted=''
for seed in 1 2 3 4 5 6 7 8 9 10; do
    compare '' "$seed"
    if grep -q '^cold, set aside' printed; then aside=$seed; else fitted=$seed; fi
done
if [ -z "$aside" ] || [ -z "$fitted" ]; then echo "the seed chooses nothing" && exit 1; fi

compare '' "$aside"
prints "close" <<'END'
program kernel caches kernels share L1 modelled L1 counted L2 modelled L2 counted DRAM modelled DRAM counted
p one cold set aside 0.0625 50.0 51.0 50.0 48.0 4000 4100
p one warm set aside 0.0625 50.0 51.0 50.0 48.0 4000 4100
not modelled: p cold never
cold, set aside: 1 kernels, L1 off by 1.00 points in the mean, L2 by 2.00, DRAM sectors by 2.4 % (1 within 10 %)
warm, set aside: 1 kernels, L1 off by 1.00 points in the mean, L2 by 2.00, DRAM sectors by 2.4 % (1 within 10 %)
END
# A hit rate, or memory, that is off by more than the bounds fails, but not for kernels that the model was fitted to.
for change in 's/^p	cold	ncu	1	one	10000	5100/p	cold	ncu	1	one	10000	5300/' \
    's/^p	cold	ncu	1	one	10000	5100	5000	2400/p	cold	ncu	1	one	10000	5100	5000	2200/' \
    's/^\(p	cold	ncu	1	one.*\)1100$/\12000/'; do
    compare "$change" "$aside"
    [ "$status" = 1 ] || { echo "$change: not found"; exit 1; }
    compare "$change" "$fitted"
    [ "$status" = 0 ] || { echo "$change: fails for a fitted kernel"; exit 1; }
done
compare 's/^p	cold	ncu	1	one	10000	5100/p	cold	ncu	1	one	10000	9000/' "$fitted"
grep -q '^far: one of p, cold: L1 -40.0, L2 +2.0 points, DRAM -2 %$' printed || { echo "far kernels are not named"; exit 1; }
# Hardly any memory: 400 sectors are 2 % of what L2 was asked for, however much more that is than 310. Near miss: much.
few='s/^\(p	cold	ncu	1	one	10000	5100\)	5000	2400	3000	1100/\1	20000	9600	310	0/'
compare "$few;s/^\(p	cold	model	1.*\)4000/\1340/" "$aside"
[ "$status" = 0 ] || { echo "hardly any memory counts as much: $(cat printed)"; exit 1; }
compare "$few;s/^\(p	cold	model	1.*\)4000/\1800/" "$aside"
[ "$status" = 1 ] || { echo "memory that is not there is not found"; exit 1; }
compare 's/^p	cold	ncu	1	one/p	cold	ncu	1	two/' "$fitted"
grep -q '^launch 1 of p is not the same kernel for both: two$' printed || { echo "another kernel is not found"; exit 1; }
[ "$status" = 1 ] || { echo "another kernel does not fail"; exit 1; }
echo "launches are matched, and what is off is found"
