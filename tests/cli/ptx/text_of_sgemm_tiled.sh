cd ../../.. && "$GLINT" ptx examples/sgemm_tiled/sgemm_tiled.ptx
