#!/bin/sh
# glint's libraries import nothing but the C library. libglint.so exports only its entry points, its
# hooks, and the functions that glint.h, NVTX and glint's other libraries look up; of the C
# library's names it exports only those that look up functions, and describe addresses. libglint-sync.so exports functions of the C
# library, and libglint-mpi.so functions of MPI.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$GLINT_BUILD_DIR/lib/glint

names() { # LIBRARY: what it shows
    readelf --dyn-syms -W "$1" | awk '($5 == "GLOBAL" || $5 == "WEAK") && $7 != "UND" { sub(/@.*/, "", $8); print $8 }' | sort -u
}

for library in libglint.so libglint-sync.so libglint-mpi.so; do
    needed=$(readelf -dW "$folder/$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p')
    for name in $needed; do
        case $name in
        libc.so.6 | libdl.so.2 | libm.so.6 | libgcc_s.so.1 | libpthread.so.0 | ld-linux-*) ;;
        *) echo "$library needs $name"; exit 1 ;;
        esac
    done
done

shown=$(names "$folder/libglint.so")
other=$(echo "$shown" | grep -v -E '^(cu[A-Z][A-Za-z0-9_]*|dlsym|dlvsym|dladdr|dladdr1|glint_v1_(name|suballoc|subfree|join_libc|join_mpi)|InitializeInjectionNvtx(2|Extension))$' || true)
[ -z "$other" ] || { echo "libglint.so shows $other"; exit 1; }

c_library=$(ldd "$folder/libglint.so" | awk '$1 == "libc.so.6" { print $3 }')
readelf --dyn-syms -W "$c_library" | awk '$7 != "UND" { sub(/@.*/, "", $8); print $8 }' | sort -u >"$work/libc"
names "$folder/libglint-sync.so" >"$work/sync"
other=$(comm -23 "$work/sync" "$work/libc")
[ -z "$other" ] || { echo "libglint-sync.so shows $other, which the C library does not have"; exit 1; }
for name in read write fwrite send sigaction free munmap sigsuspend timer_create dlopen; do
    grep -qx "$name" "$work/sync" || { echo "libglint-sync.so does not show $name"; exit 1; }
done

# libglint-mpi.so exports all functions of its table, by both names, and none by which a program
# tests for MPI.
awk -F'[(,] *' '
    function show(name) { print "MPI_" name; print "PMPI_" name }
    function both(name) { show(name); show(name "_c") }
    /^ROW/ { show($3) }
    /^SIZED/ { both($3) }
    /^COLLECTIVE/ { both($3); both($5); both($3 "_init") }
    /^TO_AND_FRO\(/ { both("File_read" $3); both("File_write" $3) }
    /^TO_AND_FRO_AT_ONCE/ { both("File_iread" $3); both("File_iwrite" $3) }' \
    "$GLINT_SOURCE_DIR/src/inject/mpi/mpi.def" | sort >"$work/mpi"
names "$folder/libglint-mpi.so" | diff -u "$work/mpi" - || { echo "not what mpi.def has"; exit 1; }
! grep -xE 'P?MPI_(Init.*|Finalized?|Comm_rank|Comm_size|Get_version|Get_library_version)' "$work/mpi" ||
    { echo "what a program looks for an MPI by"; exit 1; }

# libglint.so exports all driver functions of its table and no others.
hooked=$(sed -n -e 's/^HOOK(\([^,]*\), [0-9]*, \([^,]*\),.*/\2/p' \
    -e 's/^HOOK_BOTH(\([^,]*\), [0-9]*, \([^,]*\), \([^,]*\),.*/\2 \2\3/p' \
    "$GLINT_SOURCE_DIR/src/inject/core/hooks.def" | tr ' ' '\n' | sort)
exported=$(echo "$shown" | grep '^cu' | sort)
[ "$hooked" = "$exported" ] || { echo "the hooks are not those of hooks.def"; exit 1; }

# The table agrees with the export map of the driver that it was made for.
sed -n -e 's/^HOOK(\([^,]*\), \([0-9]*\), \([^,]*\),.*/PROC(\1, \2, \3, NONE)/p' \
    -e 's/^HOOK_BOTH(\([^,]*\), \([0-9]*\), \([^,]*\), \([^,]*\),.*/PROC(\1, \2, \3, \3\4)/p' \
    "$GLINT_SOURCE_DIR/src/inject/core/hooks.def" | while read -r line; do
    grep -qxF "$line" "$GLINT_SOURCE_DIR/src/gpusim/driver/procs.def" || { echo "no $line"; exit 1; }
done

# Every version of a hooked name is hooked, so that a program never gets an unhooked version.
sed -n 's/^HOOK\(_BOTH\)*(\([^,]*\),.*/\2/p' "$GLINT_SOURCE_DIR/src/inject/core/hooks.def" | sort | uniq -c |
    while read -r count name; do
        [ "$(grep -c "^PROC($name," "$GLINT_SOURCE_DIR/src/gpusim/driver/procs.def")" = "$count" ] ||
            { echo "$name: not all versions"; exit 1; }
    done
