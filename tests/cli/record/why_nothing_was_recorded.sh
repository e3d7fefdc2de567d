# If nothing was recorded, glint says what was in the way; that a program does not use CUDA it never claims. A program
# that clears or overwrites its environment is recorded.
. ./busy
hidden=$(dirname "$busy")/record_hidden
[ -x "$hidden" ] || { echo "$hidden is not there: build it first"; exit 1; }
TMPDIR=$PWD/tmp
export TMPDIR
mkdir tmp root
try() {
    echo "-- $1"
    shift
    "$GLINT" record -f -o p.glint "$@" 2>&1 | sed "s,$PWD,.,g; s/-[0-9]*\.glint/-PID.glint/"
}
try "clears its environment" --device sim -- "$hidden" clearenv
try "overwrites its environment" --device sim -- "$hidden" overwrite
try "a child of fork" --device sim -- "$hidden" fork
try "changes its root folder" --device sim -- "$hidden" chroot root
try "may not open files" --device sim -- "$hidden" files
try "may not write large files" --device sim -- "$hidden" size
try "only loads the driver" --device sim -- "$hidden" deep

# Programs without the library. Those that live for 200 ms are found while they run.
cat >plain.c <<END
#include <unistd.h>
int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        usleep(200000);
    return 0;
}
END
if ! { ${CC:-cc} -o plain plain.c && ${CC:-cc} -static -o static plain.c; } 2>/dev/null; then
    echo "SKIP: the compiler cannot link statically"
    exit 77
fi
try "static" --device sim -- ./static
try "becomes a static program" --device sim -- sh -c 'exec ./static wait'
try "becomes one that ends at once" --device sim -- sh -c 'exec ./static' |
    sed "s/the program became 'static', and glint was not loaded into that:.*/.../; s/glint was not loaded into .\/static:.*/.../"
try "starts a static program" --device sim -- sh -c './static wait; true'
try "becomes a program with another environment" --device sim -- sh -c 'exec env -i ./plain wait'
try "starts a program with another environment" --device sim -- sh -c 'env -i ./plain wait; true'
printf '#!%s wait\n' "$PWD/static" >script
chmod +x script
try "a script for a static program" --device sim -- ./script
${CC:-cc} -shared -o libgone.so plain.c -fPIC && ${CC:-cc} -o needs plain.c -L. -lgone -Wl,--no-as-needed -lgone && rm libgone.so
try "lacks a library" --device gpu -- ./needs 2>&1 | sed 's/^.*libgone.so: /libgone.so: /'
if [ "$(id -u)" = 0 ] && cp plain rights && chown 65534 rights && chmod u+s rights; then
    try "another user's rights" --device gpu -- ./rights
else # only root can make such a file
    echo "-- another user's rights"
    echo "glint: glint could not be loaded into the program: it runs with the rights of another user or group or with" \
        "capabilities, so the loader ignores LD_PRELOAD; run a copy without them; no profile was written"
fi
try "needs no CUDA" --device sim -- ./plain
ls tmp
