# The profile that was probably meant is named: with other letters, without its extension, or with a process added. Near
# misses: other names, other files, other folders, and names that would disturb a terminal.
cd "$SCRATCH" && mkdir folder || exit 1
try() { "$GLINT" report "$@" 2>&1; }
try no-such.glint
touch folder/program.glint folder/ranks-17.glint folder/notes.txt "folder/odd$(printf '\033')name.glint"
try folder/progam.glint
try folder/program
try folder/ranks.glint
try folder/something-else.glint
try folder/notes.tx
try folder/oddname.glint
try program.glint
try nowhere/program.glint
cd folder && try porgram.glint
