# The libraries are found relative to glint, also in a folder with a blank in its name.
head -c 4 "$GLINT" | grep -q ELF || { echo "SKIP: $GLINT is run by an emulator"; exit 77; }
[ -f "$(dirname "$GLINT")/../lib/glint/sim/libglint-redirect.so" ] || { echo "SKIP: no libraries beside $GLINT"; exit 77; }
cd "$SCRATCH" || exit 1
mkdir -p 'a b/bin' 'a b/lib/glint/sim' alone/bin
cp "$GLINT" 'a b/bin/glint'
cp "$GLINT" alone/bin/glint
cp "$(dirname "$GLINT")/../lib/glint/sim/libglint-redirect.so" 'a b/lib/glint/sim'
'a b/bin/glint' run --device sim -- sh -c 'echo "$LD_PRELOAD $LD_LIBRARY_PATH"' | sed "s|$SCRATCH|SCRATCH|g"
ln -s '../a b/bin/glint' alone/glint
alone/glint run --device sim -- echo by a link
alone/bin/glint run --device sim -- echo without 2>&1 | sed "s|$SCRATCH|SCRATCH|g"
