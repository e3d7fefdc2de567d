# Kernels without probes are known by their arguments: an object is used where an argument points into it, to its end, or
# an element before it. Objects whose addresses lie in memory may be used by all such launches: they are copied to the
# GPU, lie in a variable, the host shares the memory, or textures read it. Patterns that depend on how objects are used find nothing.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
cat >program.cu <<'END_OF_PROGRAM'
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
enum { N = 1 << 16, BYTES = N * 4 };
struct pair { int n; float *a, *b; };
__device__ float *hidden;
__global__ void scale(float *a) { a[threadIdx.x] *= 2; }
__global__ void scale_pair(pair p) { p.a[threadIdx.x] += p.b[threadIdx.x]; }
__global__ void from_one(float *a) { a[threadIdx.x + 1] *= 2; }
__global__ void from_end(float *end) { end[-1 - (int)threadIdx.x] *= 2; }
__global__ void of_table(float **t) { t[0][threadIdx.x] *= t[1][threadIdx.x]; }
__global__ void of_texture(cudaTextureObject_t t, float *a) { a[threadIdx.x] += tex1Dfetch<float>(t, threadIdx.x); }
__global__ void of_hidden() { hidden[threadIdx.x] *= 2; }
static float *get() { float *a; cudaMalloc(&a, BYTES); cudaMemset(a, 0, BYTES); return a; }
static float *of_path(int which)
{
    switch (which) { // each object has its own line
    case 0: return get();
    case 1: return get();
    case 2: return get();
    default: return get();
    }
}
static void filter() // permits everything, but who reads memory by system calls cannot know that
{
    sock_filter rule = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    sock_fprog rules = {1, &rule};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &rules))
        printf("no filter\n");
}
int main(int, char **argv)
{
    float *a = of_path(0), *b = of_path(1), *other = of_path(2), *result;
    const char *how = argv[1];
    float **table;
    cudaMalloc(&table, 2 * sizeof(*table));
    if (strstr(how, "filtered"))
        filter();
    if (strstr(how, "first")) // the code is loaded before anything is copied
        scale<<<1, 32>>>(other);
    cudaTextureObject_t texture = 0; // it has a handle, so that arguments do not lead to its memory
    if (strstr(how, "texture")) {
        cudaResourceDesc from = {};
        cudaTextureDesc as = {};
        from.resType = cudaResourceTypeLinear;
        from.res.linear.devPtr = a;
        from.res.linear.desc = cudaCreateChannelDesc<float>();
        from.res.linear.sizeInBytes = BYTES;
        cudaCreateTextureObject(&texture, &from, &as, NULL);
    }
    if (strstr(how, "struct")) {
        scale_pair<<<1, 32>>>({N, a, b});
    } else if (strstr(how, "before")) {
        from_one<<<1, 32>>>(a - 1);
        from_one<<<1, 32>>>(b - 1);
    } else if (strstr(how, "end")) {
        from_end<<<1, 32>>>(a + N);
        from_end<<<1, 32>>>(b + N);
    } else if (strstr(how, "table")) {
        float *both[2] = {a, b};
        cudaMemcpy(table, both, sizeof(both), cudaMemcpyHostToDevice);
        of_table<<<1, 32>>>(table);
    } else if (strstr(how, "variable")) {
        cudaMemcpyToSymbol(hidden, &a, sizeof(a));
        of_hidden<<<1, 32>>>();
        cudaMemcpyToSymbol(hidden, &b, sizeof(b));
        of_hidden<<<1, 32>>>();
    } else if (strstr(how, "pinned")) {
        float **both;
        cudaMallocHost(&both, 2 * sizeof(*both));
        both[0] = a;
        both[1] = b;
        of_table<<<1, 32>>>(both);
        cudaDeviceSynchronize();
        cudaFreeHost(both);
    } else if (strstr(how, "graph")) {
        cudaStream_t stream;
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        cudaStreamCreate(&stream);
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
        if (texture)
            of_texture<<<1, 32, 0, stream>>>(texture, b);
        else
            scale<<<1, 32, 0, stream>>>(a);
        scale<<<1, 32, 0, stream>>>(b);
        cudaStreamEndCapture(stream, &graph);
        cudaGraphInstantiate(&exec, graph, 0);
        cudaGraphLaunch(exec, stream);
        cudaStreamSynchronize(stream);
    } else if (texture) {
        of_texture<<<1, 32>>>(texture, b);
    } else {
        scale<<<1, 32>>>(a);
        scale<<<1, 32>>>(b);
    }
    cudaMalloc(&result, BYTES);
    cudaMemcpy(result, b, BYTES, cudaMemcpyDeviceToDevice);
    scale<<<1, 32>>>(result);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(a);
    cudaFree(b);
    cudaFree(other);
    cudaFree(result);
    cudaFree(table);
}
END_OF_PROGRAM
"$nvcc" -g -o program -O3 -Wno-deprecated-gpu-targets -arch=compute_75 program.cu 2>nvcc.log || { cat nvcc.log; exit 1; }
for how in plain struct before end graph table filtered,table first,variable variable pinned texture texture,graph; do
    echo "== $how"
    "$GLINT" record -f -q -o p.glint --device sim --no-cache --no-probes '.*' -- ./program $how
    "$GLINT" query --csv p.glint "SELECT known_by, count(*) FROM v_launches GROUP BY known_by" | tr '\n' ' '
    echo
    "$GLINT" report --format json p.glint |
        jq -r '.findings[] | select(.pattern != "memory-leak") | "\(.pattern): \(.message)"' | sort
done
echo "== with probes"
"$GLINT" record -f -q -o p.glint --device sim --no-cache -- ./program plain
"$GLINT" report --format json p.glint | jq -r '.findings[] | "\(.pattern): \(.message)"' | sort
echo "== text"
"$GLINT" record -f -q -o p.glint --device sim --no-cache --no-probes 'scale' -a elements -- ./program first,before
COLUMNS=80 "$GLINT" report p.glint
"$GLINT" report --verbose p.glint | sed -n '/^Objects by use/,$p'
