# An unknown pattern, another argument, and a page that is not installed: one clear line, and status 2.
"$GLINT" explain early-alocation 2>&1
echo "status $?"
"$GLINT" explain xyz 2>&1
echo "status $?"
"$GLINT" explain dead-write memory-leak 2>&1
echo "status $?"
mkdir "$SCRATCH/bin"
cp "$GLINT" "$SCRATCH/bin/glint"
"$SCRATCH/bin/glint" explain dead-write >"$SCRATCH/out" 2>&1
echo "status $?"
sed "s|$SCRATCH|FOLDER|" "$SCRATCH/out"
mkdir -p "$SCRATCH/share/doc/glint"
echo "# A page" >"$SCRATCH/share/doc/glint/patterns.md"
"$SCRATCH/bin/glint" explain dead-write >"$SCRATCH/out" 2>&1
echo "status $?"
sed "s|$SCRATCH|FOLDER|" "$SCRATCH/out"
