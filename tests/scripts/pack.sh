#!/bin/sh
# scripts/pack: what it packs works wherever it is unpacked, also in a folder with blanks in its name. The Debian package
# names what it needs, and both have the licence texts of everything that is linked. Packing again gives the same files.
set -eu
[ -f "$GLINT_BUILD_DIR/share.made" ] && [ -x "$GLINT_BUILD_DIR/examples/driver_api" ] ||
    { echo "$GLINT_BUILD_DIR is not built as a whole: run make first"; exit 1; }
for tool in dpkg-deb xz; do
    command -v $tool >/dev/null || { echo "SKIP: no $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$GLINT_SOURCE_DIR/scripts/pack" "$GLINT_BUILD_DIR" "$work/out" --fast >"$work/made"
tarball=$(grep '\.tar\.xz$' "$work/made")
package=$(grep '\.deb$' "$work/made")
bad=0
fail() { echo "$*"; bad=1; }

# --- The tarball ---------------------------------------------------------------------------------

here="$work/a folder/with blanks"
mkdir -p "$here"
tar -C "$here" -xf "$tarball"
unpacked="$here/$(basename "$tarball" .tar.xz)"
run() { # FOLDER: records an example with the glint in FOLDER
    (cd "$GLINT_SOURCE_DIR" && env -u LD_LIBRARY_PATH "$1/bin/glint" record -q --no-cache --device sim -f -o "$work/run.glint" -- \
        "$GLINT_BUILD_DIR/examples/driver_api" 128) >"$work/out.txt" 2>&1 || fail "record failed: $(cat "$work/out.txt")"
    "$1/bin/glint" report --verbose "$work/run.glint" >"$work/report" || fail "report failed"
    grep -q '[1-9][0-9]* kernel run' "$work/report" || fail "nothing was recorded: $(cat "$work/report")"
    [ "$("$1/bin/glint" query "$work/run.glint" 'select count(*) > 0 from v_accesses' | tail -n 1)" = 1 ] ||
        fail "there are no probes: $(cat "$work/out.txt")"
}
run "$unpacked"
# Also as a folder of libraries (RUNPATH), which another user may write on another machine.
! grep -rlF "$GLINT_BUILD_DIR" "$unpacked" || fail "these name the build folder"
[ "$(tar -tvf "$tarball" | awk '{ print $2 }' | sort -u)" = 0/0 ] || fail "files belong to somebody"

# --- Licences ------------------------------------------------------------------------------------

doc=$unpacked/share/doc/glint
for file in LICENSE NOTICE; do
    cmp "$GLINT_SOURCE_DIR/$file" "$doc/$file" || bad=1
done
# A phrase of each text.
has() { # WORK PHRASE
    grep -qF "$2" "$doc/licenses/$1" || fail "licenses/$1 does not say '$2'"
}
has glint 'Apache License'
grep -qE 'Facebook|Meta Platforms' "$doc/licenses/zstd" || fail "licenses/zstd is not Zstandard's"
has lz4 'Yann Collet'
has xxhash 'Yann Collet'
has sqlite 'public domain'
has elfutils 'source elfutils'
has zlib 'Jean-loup Gailly'
has xz 'public domain'
has bzip2 'Julian'
has gcc 'RUNTIME LIBRARY EXCEPTION'
has glibc 'GNU Lesser General Public'
has LGPL-3.txt 'Combined Works'
has GPL-3.txt 'GNU GENERAL PUBLIC LICENSE'
if "$unpacked/bin/glint" report --format html -o "$work/page.html" "$work/run.glint" 2>/dev/null; then
    has preact 'Jason Miller'
    grep -q 'Permission is hereby granted.*' "$work/page.html" && grep -q 'Jason Miller' "$work/page.html" ||
        fail "the page has no notice of preact"
fi
# Every library that CMakeLists.txt links has a row in NOTICE.
for library in $(sed -n 's/^set(GLINT_LIBRARIES_[a-z]* \([^)]*\)).*/\1/p' "$GLINT_SOURCE_DIR/CMakeLists.txt"); do
    case $library in
    zstd) name=Zstandard ;; lz4) name=LZ4 ;; sqlite3) name=SQLite ;; dw) name=libdw ;; elf) name=libelf ;;
    lzma) name=liblzma ;; bz2) name=libbz2 ;; z) name=zlib ;; stdc++) name='libstdc++' ;;
    *) name="($library)" ;;
    esac
    grep -qF "$name" "$GLINT_SOURCE_DIR/NOTICE" || fail "NOTICE does not name $library"
done

# --- The Debian package --------------------------------------------------------------------------

field() { dpkg-deb -f "$package" "$1"; }
[ "$(field Package)" = glint ] || fail "Package: $(field Package)"
[ "$(field Architecture)" = "$(dpkg --print-architecture)" ] || fail "Architecture: $(field Architecture)"
if [ -f "$GLINT_BUILD_DIR/glibc/libc.so" ]; then
    field Depends | grep -qF 'libc6 (>= 2.28)' || fail "Depends: $(field Depends)"
fi
for library in libgcc_s.so.1:libgcc-s1 libstdc++.so.6:libstdc++6; do
    ! readelf -dW "$unpacked/bin/glint" "$unpacked"/lib/glint/*.so | grep -qF "[${library%:*}]" ||
        field Depends | grep -qF "${library#*:}" || fail "Depends lacks ${library#*:}"
done
dpkg-deb -c "$package" | awk '$2 != "root/root" { print "belongs to " $2 ": " $6; bad = 1 } END { exit bad }' || bad=1
dpkg-deb -x "$package" "$work/system"
for file in usr/bin/glint usr/lib/glint/libglint.so usr/lib/glint/sim/libcuda.so.1 usr/share/doc/glint/copyright \
    usr/share/doc/glint/licenses/elfutils; do
    [ -f "$work/system/$file" ] || fail "the package lacks $file"
done
dpkg-deb -e "$package" "$work/control"
(cd "$work/system" && md5sum --quiet -c "$work/control/md5sums") || bad=1
run "$work/system/usr"

# --- Again ---------------------------------------------------------------------------------------

(umask 077 && "$GLINT_SOURCE_DIR/scripts/pack" "$GLINT_BUILD_DIR" "$work/again" --fast >/dev/null)
for file in "$tarball" "$package"; do
    cmp "$file" "$work/again/$(basename "$file")" || bad=1
done
exit $bad
