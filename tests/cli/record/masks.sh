# Requests of lanes that are there in more ways than there is room for: they are unknown in the first launch, which
# says so, and counted in the next.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
cat >masks.cu <<'END'
__global__ void scattered(int *out, int step)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if ((threadIdx.x + 1) * (blockIdx.x * step + 1) * 2654435761u >> 31)
        out[i] = i;
}
int main()
{
    int *out;
    cudaMalloc(&out, 2000 * 32 * sizeof(*out));
    for (int step = 0; step < 2; step++) {
        scattered<<<2000, 32>>>(out, step);
        cudaDeviceSynchronize();
    }
    for (int step = 0; step < 2; step++)
        scattered<<<2000, 32>>>(out, step + 1);
    return cudaDeviceSynchronize() != cudaSuccess;
}
END
"$nvcc" -o masks.run masks.cu -O3 -lineinfo -Wno-deprecated-gpu-targets -arch=compute_75 || exit 1
"$GLINT" record -q -o p.glint --device sim -a requests --no-cache -- ./masks.run
echo "status $?"
"$GLINT" query p.glint "select l.number, r.requests, r.sectors, r.lines, r.needed from (select call, row_number() over (order by call)
    as number from v_launches) l left join v_requests r on r.call = l.call"
"$GLINT" query p.glint "select text from v_notes where text like '%lanes%'"
