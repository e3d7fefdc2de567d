# The report says if a program has no waste, in every format and for every recording; findings that gain nothing are
# shown on request.
nvcc=$(../../../scripts/have nvcc) || exit 77
cd ../../../examples || exit 1
"$nvcc" -O2 -g -Wno-deprecated-gpu-targets -arch=compute_75 saxpy/saxpy.cu -o "$SCRATCH/saxpy" || exit 1
cd "$SCRATCH" || exit 1
COLUMNS=100
export COLUMNS
for analyses in objects objects,sync; do
    "$GLINT" record -q -f -o s.glint --no-cache --device sim --analyses $analyses -- ./saxpy >/dev/null || exit 1
    # How many there are depends on time: cudaFree waits only if it is called before the kernel has ended.
    count=$("$GLINT" report --format json s.glint | grep -o '"worthwhile":false' | wc -l)
    [ "$count" -ge 1 ] || echo "there is no finding that gains nothing"
    "$GLINT" report s.glint | sed -n "/^What to fix/,/^\$/ s/^  $count findings* \(is\|are\)/  COUNT \1/; /^What to fix/,/^\$/p"
    [ "$("$GLINT" report --verbose s.glint | grep -c '^  [0-9]*\. ')" = "$count" ] || echo "--verbose lists others"
    "$GLINT" report --format json s.glint | grep -o '"worthwhile":0'
    "$GLINT" report --format sarif s.glint | grep -o '"results":\[[^]]*\]'
    "$GLINT" report --format github s.glint | sed -n '/^::/p; /^## /p'
done
