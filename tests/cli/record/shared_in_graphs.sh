# Words of shared memory are counted for each launch: with other sizes of dynamic shared memory, on several streams, and
# for each replay of a graph's node.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
cat >program.cu <<'END'
#include <cstdio>
__global__ void rotate(int *out)
{
    __shared__ int all[64];
    extern __shared__ int some[];
    all[threadIdx.x] = threadIdx.x;
    some[threadIdx.x * 2] = out[threadIdx.x];
    __syncthreads();
    if (out[threadIdx.x] >= 0)
        out[threadIdx.x] = all[63 - threadIdx.x] + some[threadIdx.x & ~1];
}
int main()
{
    int *out;
    cudaStream_t streams[2];
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaMalloc(&out, 256);
    for (int i = 0; i < 2; i++)
        cudaStreamCreate(&streams[i]);
    for (int i = 0; i < 4; i++)
        rotate<<<3, 64, 512 << i / 2, streams[i % 2]>>>(out);
    cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal);
    rotate<<<2, 64, 512, streams[0]>>>(out);
    rotate<<<1, 64, 1024, streams[0]>>>(out);
    cudaStreamEndCapture(streams[0], &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, streams[0]);
    cudaGraphLaunch(exec, streams[0]);
    puts(cudaDeviceSynchronize() == cudaSuccess ? "done" : "failed");
}
END
"$nvcc" -o program -O3 -Wno-deprecated-gpu-targets -arch=compute_75 program.cu || exit 1
for analyses in shared shared,values,counts; do
    "$GLINT" record -q -f -o p.glint --device sim -a $analyses --no-cache -- ./program
    echo "$analyses: status $?"
    "$GLINT" query p.glint "select call - min(call) over () as launch, node, name, bytes, dynamic, blocks,
        touched_words, untouched_bytes, loads, stores, lost, complete from v_shared_arrays" >rows
    "$GLINT" query p.glint "select count(distinct counts) from shared_words"
    "$GLINT" query p.glint "select text from v_notes"
    [ $analyses != shared ] || cp rows first
    cmp rows first
done
cat first
