# Where an object can reuse memory only if its initialization moves, too, the first screen says so: the copies of 2mm's
# inputs come first. Near miss: a program that initializes each object just before its use.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
cat >program.cu <<'END'
#include <cstdlib>
__global__ void twice(const float *in, float *out) { out[threadIdx.x] = 2 * in[threadIdx.x]; }
int main(int argc, char **)
{
    const size_t bytes = 1 << 16;
    float *host = (float *)calloc(1, bytes), *first, *second, *out;
    cudaMalloc(&first, bytes);
    cudaMalloc(&second, bytes);
    cudaMalloc(&out, bytes);
    cudaMemcpy(first, host, bytes, cudaMemcpyHostToDevice);
    if (argc == 1)
        cudaMemcpy(second, host, bytes, cudaMemcpyHostToDevice);
    twice<<<1, 256>>>(first, out);
    cudaMemcpy(host, out, 1024, cudaMemcpyDeviceToHost);
    if (argc > 1)
        host[0] = 1;
    if (argc > 1)
        cudaMemcpy(second, host, bytes, cudaMemcpyHostToDevice);
    twice<<<1, 256>>>(second, out);
    cudaMemcpy(host, out, 1024, cudaMemcpyDeviceToHost);
    cudaFree(first);
    cudaFree(second);
    cudaFree(out);
}
END
"$nvcc" -g -o program -O3 -lineinfo -Wno-deprecated-gpu-targets -arch=compute_75 program.cu || exit 1
for argument in "" late; do
    echo "== ${argument:-early}"
    "$GLINT" record -f -q -o p.glint --device sim --no-cache -- ./program $argument
    COLUMNS=80 "$GLINT" report p.glint | sed -n '2,/^     gain/p'
done
