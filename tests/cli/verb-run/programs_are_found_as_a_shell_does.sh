cd "$SCRATCH" || exit 1
mkdir first second third
mkdir first/tool
echo 'echo not executable' >second/tool
printf '#!/bin/sh\necho third "$@"\n' >third/tool
chmod +x third/tool
PATH=$SCRATCH/first:$SCRATCH/second:$SCRATCH/third:$PATH
"$GLINT" run --device sim -- tool a 'b  c'
echo 'echo no interpreter named "$@"' >script
chmod +x script
"$GLINT" run --device sim -- ./script a
PATH=$SCRATCH/second "$GLINT" run --device sim -- tool
echo "$?"
