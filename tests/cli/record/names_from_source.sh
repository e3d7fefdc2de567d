# Objects have the names of the program's variables, also if it calls the driver through pointers. Without debug
# information they have the names of its functions, and not the lines of a C library that has debug information.
. ./busy
for debug in -g -g0; do
    ${CC:-cc} -std=gnu11 $debug -O2 -o program "$root/examples/driver_api/driver_api.c" -ldl || exit
    "$GLINT" record -f -q -o p.glint --device sim -- ./program 16 "$root/examples/sgemm/sgemm.ptx"
    "$GLINT" query p.glint "select name, bytes from v_objects order by number"
    "$GLINT" query p.glint "select count(*) as lines_of_others from v_call_paths where function = '_start' and file is not null"
done
