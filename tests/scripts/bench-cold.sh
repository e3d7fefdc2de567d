#!/bin/sh
# The measurement of first recordings (bench/cold): on the simulated GPU, it measures examples and programs of a list,
# each natively and at every level, with caches that are empty each time. The numbers are not looked at.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${GLINT_BUILD_DIR:-$root/build}
export GLINT="${GLINT:-$build/bin/glint}"
[ -e "$build/lib/glint/sim/libcuda.so.1" ] || { echo "SKIP: the simulated GPU is not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number='[0-9]+\.[0-9]+'

# cold STATUS PATTERN ARGUMENT...: checks the exit status, and that a line of the output matches.
cold() {
    wanted=$1 pattern=$2
    shift 2
    "$root/bench/cold/run" "$@" >"$work/printed" 2>&1 </dev/null && status=0 || status=$?
    if [ "$status" != "$wanted" ] || ! grep -Eq -e "$pattern" "$work/printed"; then
        echo "bench/cold/run $*: exit status $status, expected $wanted and a line like '$pattern':"
        cat "$work/printed"
        exit 1
    fi
}

# A program that looks at its caches: that of glint has no entry when it begins, and its last argument has a space.
cat >"$work/program" <<'END'
#!/bin/sh
[ "$*" = "3 with spaces" ] || exit 9
[ -d "$CUDA_CACHE_PATH" ] && [ -z "$(ls -A "$CUDA_CACHE_PATH")" ] || exit 8
[ -z "$(find "$(dirname "$CUDA_CACHE_PATH")/cache" -type f)" ] || exit 7
touch "$CUDA_CACHE_PATH/used" "$(dirname "$CUDA_CACHE_PATH")/cache/used"
exit 3
END
chmod +x "$work/program"
printf '# comment\n\nlooks %s 3 "with spaces"\n' "$work/program" >"$work/list"
cold 0 "^\\| looks \\| [0-9]+ ms \\| $number \\| $number \\|\$" --device sim --rounds 2 --levels default,objects+sync \
    --programs "$work/list"
line="default x $number \\(worst looks $number; wanted 1.05, 1.25; under a second x $number\\)"
grep -Eq "^1 programs, 1 of them under a second: $line, objects\\+sync x $number \\(worst looks $number; under" "$work/printed" ||
    { cat "$work/printed"; echo "no summary"; exit 1; }

# What does not end as natively fails, and so does what cannot be run.
cat >"$work/differs" <<'END'
#!/bin/sh
[ -z "${GLINT_SOCKET-}" ]
END
chmod +x "$work/differs"
echo "differs $work/differs" >"$work/list"
cold 1 '^differs, default: exit status 1, and natively 0' --device sim --rounds 1 --programs "$work/list"
echo "missing $work/missing" >"$work/list"
cold 1 '^missing cannot be run' --device sim --rounds 1 --programs "$work/list"
echo "alone" >"$work/list"
cold 1 'alone has no command$' --device sim --rounds 1 --programs "$work/list"
: >"$work/list"
cold 1 '^no program was measured$' --device sim --rounds 1 --programs "$work/list"

cold 1 '^there is no examples/unknown' --device sim unknown
for wrong in '--rounds 0' '--rounds' '--unknown 1' "--programs $work/list saxpy"; do
    # shellcheck disable=SC2086 # option and value
    cold 2 '^usage: bench/cold/run' $wrong
done
cold 2 'cannot read' --programs "$work/nothing"

"$root/scripts/have" nvcc >/dev/null 2>&1 || exit 0
cold 0 "^\\| saxpy \\| [0-9]+ ms \\| $number \\| $number \\| $number \\|\$" --device sim --rounds 1 saxpy
