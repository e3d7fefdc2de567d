example=$PWD/../../../examples/saxpy/saxpy.ptx
cd "$SCRATCH" && "$GLINT" ptx -o out "$example" && sed 1d out && "$GLINT" ptx -o no/such/folder "$example"
