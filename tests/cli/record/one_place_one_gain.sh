# What can be gained in two ways is listed once: memory by freeing it rather than by reusing it, and a copy by removing
# the object that nothing reads rather than by leaving out a copy of the same bytes. Near miss: the same bytes in two
# objects that are both read.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
cat >program.cu <<'END'
#include <cstdio>
#include <vector>
__global__ void add(const int *one, const int *other, int *sum)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    sum[i] = one[i] + other[i];
}
static int sum_up(const std::vector<int> &host, bool reads_both)
{
    const size_t bytes = host.size() * sizeof(int);
    int *one, *other, *sum, result;
    cudaMalloc(&one, bytes);
    cudaMalloc(&other, bytes);
    cudaMalloc(&sum, bytes);
    cudaMemcpy(one, host.data(), bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(other, host.data(), bytes, cudaMemcpyHostToDevice);
    add<<<host.size() / 256, 256>>>(one, reads_both ? other : one, sum);
    cudaMemcpy(&result, sum + 77, sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(one);
    cudaFree(other);
    return result;
}
int main(int argc, char **)
{
    std::vector<int> host(8192);
    for (size_t i = 0; i < host.size(); i++)
        host[i] = (int)(i * i * 2654435761u);
    int result = 0;
    for (int i = 0; i < 3; i++) {
        for (auto &value : host)
            value += 12345;
        result += sum_up(host, argc > 1);
    }
    printf("%d\n", result);
}
END
"$nvcc" -g -o program -O3 -lineinfo -Wno-deprecated-gpu-targets -arch=compute_75 program.cu || exit 1
for argument in "" both; do
    echo "== ${argument:-one}"
    "$GLINT" record -f -q -o p.glint --device sim --no-cache --analyses objects,values,sync -- ./program $argument
    COLUMNS=80 "$GLINT" report p.glint | grep -E '^  [0-9]+\. |gain|worth|--verbose' | sed 's/[0-9]* findings* .*worth/... worth/'
done
