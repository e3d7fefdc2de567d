cd ../../.. && "$GLINT" ptx -v examples/sgemm/sgemm.ptx
