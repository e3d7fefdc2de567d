cd ../../.. && "$GLINT" ptx --kernels nosuchkernel examples/sgemm/sgemm.ptx
