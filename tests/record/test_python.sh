#!/bin/sh
# Python frames in call paths are those that the program finds itself, in functions, generators, coroutines, threads,
# handlers, code that is made at run time, callbacks and children, with each version of Python that is here.
# Without Python nothing is said of it; with a Python that glint does not know, a note says so.
set -eu
here=$(cd "$(dirname "$0")" && pwd)/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="$folder/cache" PYTHONDONTWRITEBYTECODE=1
unset PYTHONPATH PYTHONHOME
status=0

fail() {
    echo "$*"
    status=1
}

# record NAME PYTHON [ARG...]: records, into $folder/NAME.glint.
record() {
    name=$1
    shift
    "$GLINT" record -o "$folder/$name.glint" --device sim -- "$@" >"$folder/$name.out" 2>"$folder/$name.err" ||
        { cat "$folder/$name.err"; fail "$name failed"; }
}

notes() {
    "$GLINT" query "$folder/$1.glint" "SELECT text FROM v_notes WHERE text LIKE 'Python frames%'" | tail -n +2
}

# The interpreters by their versions; PATH may lead to one that is not Debian's.
pythons=
for python in /usr/bin/python3 $(command -v python3 || true) ${GLINT_TEST_PYTHONS-}; do
    python=$("$python" -c 'import ctypes, json, sys; print(sys.executable)' 2>/dev/null) || continue
    case " $pythons " in
    *" $python "*) ;;
    *) pythons="$pythons $python" ;;
    esac
done
[ -n "$pythons" ] || { echo "SKIP: no python3 with ctypes"; exit 77; }

tried=0
for python in $pythons; do
    tried=$((tried + 1))
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    minor=${version#*.}
    record "p$tried" "$python" "$here/program.py" "$folder/said$tried"
    if [ "$minor" -ge 9 ] && [ "$minor" -le 14 ]; then
        "$python" "$here/compare.py" "$GLINT" "$folder/p$tried.glint" "$folder/said$tried" >"$folder/compared" ||
            { cat "$folder/compared"; fail "$python: frames differ"; }
        [ -z "$(notes "p$tried")" ] || fail "$python: there is a note: $(notes "p$tried")"
        echo "$version: $(tail -1 "$folder/compared")"
    else
        notes "p$tried" | grep -q 'glint knows Python 3.9 to 3.14' || fail "$python: no note"
        "$GLINT" query "$folder/p$tried.glint" 'SELECT count(*) FROM v_frames WHERE python' | grep -qx 0 ||
            fail "$python: there are frames"
    fi
    if [ "$minor" -ge 9 ] && [ "$minor" -le 14 ]; then
        # Objects have the names of variables, and findings the lines of the helper's callers.
        record "named$tried" "$python" "$here/named.py"
        names=$("$GLINT" query "$folder/named$tried.glint" 'SELECT name FROM v_objects' | tail -n +2 | tr '\n' ' ')
        [ "$names" = 'weights unused pointer pointer ' ] || fail "$python: objects are named $names"
        "$GLINT" report "$folder/named$tried.glint" >"$folder/report"
        grep -q 'at cuMemAlloc < allocate named.py:17 < step named.py:22 < <module> named.py:30$' "$folder/report" ||
            { cat "$folder/report"; fail "$python: the report leads elsewhere"; }
        "$GLINT" report --format sarif "$folder/named$tried.glint" | tr -d ' \n' >"$folder/sarif"
        grep -q 'named.py"[^{}]*},"region":{"startLine":22}' "$folder/sarif" ||
            fail "$python: SARIF has no location in named.py:22"
    fi
    # A child after fork, of the first thread and of another, has its own profile.
    for from in first other; do
        rm -f "$folder/said"
        record "fork$tried" "$python" "$here/forks.py" "$from" "$folder/said"
        children=$(ls "$folder/fork$tried"-*.glint)
        if [ "$minor" -ge 9 ] && [ "$minor" -le 14 ]; then
            "$python" "$here/compare.py" "$GLINT" "$children" "$folder/said" >"$folder/compared" ||
                { cat "$folder/compared"; fail "$python: frames of a child of the $from thread differ"; }
        fi
        rm -f "$folder/fork$tried"*.glint
    done
    # Python ends while a daemon thread calls CUDA without the lock: nothing happens but what happens natively.
    record "end$tried" "$python" "$here/ends.py"
    [ "$(cat "$folder/end$tried.out")" = ending ] || fail "$python: the end differs"
done

exit $status
