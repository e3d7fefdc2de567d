# Without -g the report says so once, and its places are functions with offsets, and addresses in the file, for which
# addr2line finds the lines of the calls, here in a copy with debug information.
nvcc=$(../../../scripts/have nvcc) || exit 77
addr2line=$(../../../scripts/have addr2line) || exit 77
cd "$SCRATCH" || exit 1
cat >places.cu <<'END'
#include <cuda_runtime.h>
#include <thrust/device_vector.h>
int main()
{
    float *a, *b;
    cudaMalloc(&a, 40000);
    cudaMalloc(&b, 40000);
    thrust::device_vector<int> c(10000);
    cudaFree(a);
    cudaFree(b);
}
END
"$nvcc" -O2 -g -Wno-deprecated-gpu-targets -arch=compute_75 -o debug places.cu || exit 1
objcopy --strip-debug debug places || exit 1
"$GLINT" record -q --device sim -o p.glint -- ./places || exit 1
"$GLINT" report p.glint | grep -c 'no line numbers: build with -g'
"$GLINT" report --verbose p.glint | grep -c 'no line numbers: build with -g'
"$GLINT" report --verbose p.glint | sed -n 's/.*at \(cuda[A-Za-z]*\) .*places+\(0x[0-9a-f]*\)).*/\1 \2/p' | sort -u | while read -r name address; do
    echo "$name $("$addr2line" -ie debug "$address" | grep -o 'places.cu:[0-9]*')"
done | sort -u
"$GLINT" report --verbose p.glint | sed -n 's/.*do not allocate `.*` (\(main+0x[0-9a-f]*\))$/\1/p' | head -n 1 |
    while read -r place; do "$addr2line" -ie debug "$place" | grep -o 'places.cu:[0-9]*'; done
"$GLINT" query p.glint "SELECT name FROM v_objects WHERE kind = 'device'" | sort | uniq -c | sed 's/^ *//'
"$GLINT" report --verbose p.glint | grep -o 'do not allocate `[^`]*`' | sort
"$GLINT" record -q -f --device sim -o p.glint -- ./debug || exit 1
"$GLINT" report p.glint | grep -c 'no line numbers'
"$GLINT" query p.glint "SELECT name FROM v_objects WHERE kind = 'device'"
"$GLINT" report --verbose p.glint | sed -n 's/^ *at \(.*\)/\1/p' | sort -u
