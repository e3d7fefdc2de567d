#!/bin/sh
# What `cmake --install` installs works: glint finds its libraries and runs a program on the
# simulated GPU, also after the folder has moved. Man pages and completions are in the standard
# folders.
set -eu
[ -f "$GLINT_BUILD_DIR/share.made" ] && [ -x "$GLINT_BUILD_DIR/examples/driver_api" ] ||
    { echo "$GLINT_BUILD_DIR is not built as a whole: run make first"; exit 1; }
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cmake --install "$GLINT_BUILD_DIR" --prefix "$tree/first" >"$tree/log" || { cat "$tree/log"; exit 1; }
mv "$tree/first" "$tree/moved"
cd "$tree/moved"
bad=0
for file in bin/glint lib/glint/libglint.so lib/glint/libglint-sync.so lib/glint/libglint-mpi.so lib/glint/sim/libcuda.so.1 lib/glint/sim/libglint-redirect.so include/glint/glint.h \
    share/doc/glint/patterns.md \
    share/bash-completion/completions/glint share/zsh/site-functions/_glint share/fish/vendor_completions.d/glint.fish; do
    [ -f $file ] || { echo "no $file"; bad=1; }
done
if command -v scdoc >/dev/null; then
    for verb in '' $(bin/glint generate verbs); do
        [ -s "share/man/man1/glint${verb:+-$verb}.1" ] || { echo "no man page of '$verb'"; bad=1; }
    done
fi
# Nothing from the build folder is needed.
! grep -q -F "$GLINT_BUILD_DIR" share -r || { echo "share names the build folder"; bad=1; }
(cd "$GLINT_SOURCE_DIR" && "$tree/moved/bin/glint" record -q --no-cache --device sim -o "$tree/run.glint" -- \
    "$GLINT_BUILD_DIR/examples/driver_api" 128) >"$tree/out" 2>&1 || { echo "record failed: $(cat "$tree/out")"; bad=1; }
bin/glint report --verbose "$tree/run.glint" >"$tree/report" && grep -q ' kernel run' "$tree/report" && ! grep -q ' 0 kernel runs' "$tree/report" ||
    { echo "nothing was recorded: $(cat "$tree/report")"; bad=1; }
exit $bad
