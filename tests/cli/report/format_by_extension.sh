# The extension of -o chooses the format, unless --format does. An existing file needs -f; what is not a regular file
# does not, and stays what it is.
. ./sample
mkfifo pipe || exit
for name in a.html a.HTM a.json a.sarif a.sarif.json a.dot a.gv a.txt a.md a; do
    "$GLINT" report -o "$name" sample.glint && echo "$name: $(head -c 30 "$name" | head -n 1)"
done
"$GLINT" report -o a.pftrace sample.glint && [ "$(head -c 1 a.pftrace)" = "$(printf '\n')" ] && echo "a trace"
"$GLINT" report --format json -o b.html sample.glint && head -c 20 b.html && echo
"$GLINT" report -o a.json sample.glint
echo "$?"
"$GLINT" report -f -o a.json sample.glint && echo "replaced"
"$GLINT" report -o /dev/null sample.glint && [ -c /dev/null ] && echo "written to a device"
cat pipe >read & "$GLINT" report -o pipe sample.glint && wait && [ -p pipe ] && head -n 1 read
"$GLINT" diff -o d.json sample.glint sample.glint && head -c 9 d.json && echo
"$GLINT" diff -o d.json sample.glint sample.glint
"$GLINT" check --fail-on peak\>1TiB -o c.json loop.glint && head -c 9 c.json && echo
"$GLINT" check --fail-on peak\>1TiB -o c.json loop.glint
"$GLINT" check --fail-on peak\>1TiB -fo c.json loop.glint && echo "replaced"
