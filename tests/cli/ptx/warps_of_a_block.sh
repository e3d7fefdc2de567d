cd ../../.. && "$GLINT" ptx --block 16x16 --kernels sgemm examples/sgemm_tiled/sgemm_tiled.ptx | grep -A3 'a warp takes'
"$GLINT" ptx --block 32x8 --kernels tiled examples/transpose/transpose.ptx | grep -A2 'a warp takes'
for size in 0 1025 16x 16x16x16 x16 16,16 -1 2x2x2x2; do
    "$GLINT" ptx --block "$size" examples/transpose/transpose.ptx
done
