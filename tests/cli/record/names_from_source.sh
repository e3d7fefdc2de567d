# Objects have the names of the program's variables, also where it calls the driver through pointers; without debug
# information, its functions' names, and not the lines of a C library that has some.
. ./busy
for debug in -g -g0; do
    ${CC:-cc} -std=gnu11 $debug -O1 -o program "$root/examples/driver_api/driver_api.c" -ldl || exit
    "$GLINT" record -f -q -o p.glint --device sim -- ./program 16 "$root/examples/sgemm/sgemm.ptx"
    "$GLINT" query p.glint "select name, bytes from v_objects order by number"
done
