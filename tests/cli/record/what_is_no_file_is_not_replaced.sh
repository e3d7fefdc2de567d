# Only a regular file is replaced, also with -f, and a link to one stays a link. All errors come before the program
# runs.
. ./busy
mkdir folder
mkfifo pipe
command -v python3 >/dev/null || { echo "SKIP: no python3 to make a socket"; exit 77; }
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
ln -s pipe to-pipe
ln -s nothing to-nothing
echo old >old.glint
ln -s old.glint to-file
long=$(printf '%0250d' 0)
try() {
    echo "$1:"
    "$GLINT" record -q -f -o "$1" --device sim -- touch ran 2>&1 | sed "s/$long/LONG/g"
    [ ! -e ran ] || { echo "it ran"; rm ran; }
}
for name in folder pipe socket to-pipe to-nothing none/p.glint old.glint/p.glint; do try "$name"; done
try "$long" | sed "s/$long/LONG/g"
mknod device c 1 3 2>/dev/null && { try device >said; [ -c device ] || echo "the device is gone"; rm device; }
"$GLINT" record -q -f -o to-file --device sim -- touch ran # does not use CUDA: nothing is replaced
cat old.glint
"$GLINT" record -q -f -o to-file --device sim -- "$busy" 2
echo "status $?"
"$GLINT" query old.glint 'select count(*) from v_calls'
ls -ld folder pipe socket to-pipe to-nothing to-file | sed 's/^\(.\).*:[0-9]* /\1 /'
rm -rf said ran
ls
# The same for glint report: it writes to a pipe.
timeout 60 cat pipe >piped &
timeout 60 "$GLINT" report --format json -o pipe old.glint
wait
head -c 8 piped
