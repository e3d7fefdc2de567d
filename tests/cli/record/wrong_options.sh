"$GLINT" record
echo "status $?"
"$GLINT" record --gpu-times maybe -- true
echo "status $?"
try() { "$GLINT" record "$@" -- true; }
# Analyses that do not exist yet, unknown words, empty lists, none with others, and words that only begin right are
# refused.
for list in objects,caches everything '' objects,,sync objects, none,sync Objects object objectsync; do
    try --analyses "$list"
done
for pattern in 'a(' '[z-a]' '*' 'x{2,1}'; do
    try --kernels "$pattern"
done
for number in 0 -1 +1 '' ten 1.5 10x 4294967296 99999999999999999999; do
    try --sample "$number"
done
for bytes in 0 0M -1M M 1KB 1.5G 1GG 10x '' ' 1' 16777216T 18446744073709551616; do
    try --max-shadow "$bytes"
done
try --maps
try --values accesses
try --values all --analyses values
try --maps --analyses objects
try --cold-caches --analyses requests
: >"$SCRATCH/file"
cd "$SCRATCH"
try --cache file
try --cache no/such/folder
try --analyses
ls
