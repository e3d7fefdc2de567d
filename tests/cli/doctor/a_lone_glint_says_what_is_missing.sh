# Without its libraries glint cannot record on any machine.
head -c 4 "$GLINT" | grep -q ELF || { echo "SKIP: $GLINT is run by an emulator"; exit 77; }
mkdir "$SCRATCH/bin" && cp "$GLINT" "$SCRATCH/bin/glint" && cd "$SCRATCH" || exit 1
TMPDIR=$SCRATCH/no-such bin/glint doctor >out
status=$?
sed -e "s|$SCRATCH|SCRATCH|g" -e 's|^glint .*)|glint VERSION|' out | grep -E 'watching|temporary|simulated|^glint'
exit $status
