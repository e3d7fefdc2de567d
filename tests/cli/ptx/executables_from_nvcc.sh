# The same kernels are found in every kind of file that nvcc makes, with every compression.
nvcc=$(../../../scripts/have nvcc) || exit 77
cd ../../../examples
kernels() { "$GLINT" ptx --kernels saxpy "$1" | grep -v -e ': PTX [0-9]' -e '^$'; }
"$nvcc" -ptx -lineinfo -arch=compute_80 saxpy/saxpy.cu -o "$SCRATCH/saxpy.ptx"
kernels "$SCRATCH/saxpy.ptx" >"$SCRATCH/want"
check() {
    "$nvcc" -lineinfo -gencode arch=compute_80,code=compute_80 "$@" saxpy/saxpy.cu -o "$SCRATCH/out" || exit 1
    kernels "$SCRATCH/out" | cmp -s - "$SCRATCH/want" && echo "same: $*" || echo "differs: $*"
}
cat "$SCRATCH/want"
check
check --compress-mode=speed
check --compress-mode=none
check --compress-mode=size
check -cudart shared
check -rdc=true
check -c
check -fatbin
check -lib
check -shared -Xcompiler -fPIC
"$nvcc" -lineinfo -arch=sm_80 -cubin saxpy/saxpy.cu -o "$SCRATCH/saxpy.cubin"
"$GLINT" ptx "$SCRATCH/saxpy.cubin" | grep -c 'global *4 *f32'
"$nvcc" -gencode arch=compute_80,code=sm_80 saxpy/saxpy.cu -o "$SCRATCH/out"
cd "$SCRATCH" && "$GLINT" ptx out
