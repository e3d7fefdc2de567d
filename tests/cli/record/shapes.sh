# What requests take follows from where addresses begin, how far lanes are apart and which lanes there are. All of it may
# change between launches of one kernel; launches that have the same in common share what was found.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
cat >shapes.cu <<'END_OF_PROGRAM'
__global__ void fill(int *out, int stride)
{
    out[(blockIdx.x * blockDim.x + threadIdx.x) * stride] = 1;
}
int main()
{
    int *out;
    cudaMalloc(&out, 4096 * sizeof(*out));
    fill<<<2, 64>>>(out, 1);
    fill<<<2, 64>>>(out + 32, 1); // another line
    fill<<<2, 64>>>(out + 4, 1);  // in the middle of a sector
    fill<<<2, 64>>>(out, 2);
    fill<<<2, 64>>>(out, 2);
    fill<<<2, 48>>>(out, 2);
    fill<<<4, 64>>>(out, 2);
    fill<<<2, 64>>>(out, 1);
    return cudaDeviceSynchronize() != cudaSuccess;
}
END_OF_PROGRAM
"$nvcc" -o shapes.run shapes.cu -O3 -lineinfo -Wno-deprecated-gpu-targets -arch=compute_75 || exit 1
"$GLINT" record -q -o p.glint --device sim -a requests --no-cache -- ./shapes.run
echo "status $?"
"$GLINT" query p.glint "select l.number, r.requests, r.sectors, r.lines, r.needed from (select call, row_number() over (order by call)
    as number from v_launches) l left join v_requests r on r.call = l.call"
