#!/bin/sh
# test_collectives.sh PROGRAM...: calls of NCCL are recorded with their arguments, and the program notices nothing. The
# programs are the same, linked in several ways.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ask() { "$GLINT" query "$work/profile" "$1" | tail -n +2; }

for program; do
    "$GLINT" run -q --device sim -- "$program" >"$work/plain"
    "$GLINT" record -q --device sim -f -o "$work/profile" -- "$program" >"$work/out"
    diff -u "$work/plain" "$work/out"
    # Each object has the name of the variable that it was assigned to, or its number.
    ask "SELECT x.name, coalesce(communicator, '-'), coalesce(rank, '-') || '/' || coalesce(ranks, '-') AS rank,
            coalesce(peer, '-') AS peer, coalesce(count, '-') AS count, coalesce(type, '-') AS type,
            coalesce(sent_bytes, '-') AS sent, coalesce(received_bytes, '-') AS received,
            coalesce(from_object, '-') || coalesce('+' || (from_address - f.address), '') AS from_object,
            coalesce(to_object, '-') || coalesce('+' || (to_address - t.address), '') AS to_object,
            coalesce(x.stream, '-') AS stream, status, c.kind, x.end_ns >= x.start_ns AND x.start_ns >= c.end_ns,
            (SELECT p.function || ' ' || p.depth FROM v_call_paths p WHERE p.id = x.call_path AND p.depth = 0) AS path,
            coalesce((SELECT group_concat(object || CASE read WHEN 1 THEN 'r' ELSE '' END || CASE written WHEN 1
                THEN 'w' ELSE '' END || CASE known_by WHEN 'arguments' THEN '' ELSE '!' END) FROM
                (SELECT * FROM v_accesses a WHERE a.call = x.call ORDER BY object)), '-') AS used
        FROM v_collectives x JOIN v_calls c ON c.number = x.call LEFT JOIN v_objects f ON f.number = x.from_object
        LEFT JOIN v_objects t ON t.number = x.to_object ORDER BY x.call" | tr '\t' '|' >"$work/seen"
    diff -u "$GLINT_SOURCE_DIR/tests/inject/expected/collectives" "$work/seen"
    # The copies that the stand-in makes are recorded inside of their collective, and its own calls of NCCL are not.
    [ "$(ask "SELECT count(*) FROM v_copies p JOIN v_collectives x ON p.start_ns >= x.start_ns AND p.end_ns <= x.end_ns
        AND x.name = 'ncclAllReduce' AND p.call > x.call")" = 2 ]
    # What no collective uses is unused, and what one does is not.
    [ "$("$GLINT" report --format json "$work/profile" | grep -o '"pattern":"unused-allocation","object":[0-9]*')" = \
        '"pattern":"unused-allocation","object":4' ]
    "$GLINT" report --verbose "$work/profile" | grep -q \
        '^  ncclAllReduce  *1  *400 B  *400 B  1, rank 1 of 4  .*collectives.c:[0-9]*$'
    "$GLINT" report --format json "$work/profile" | grep -qF '{"name":"ncclGather","communicator":1,"rank":1,"ranks":4,'
done
echo "calls of NCCL are recorded: $# programs"
