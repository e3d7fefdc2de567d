#!/bin/sh
# plan_of.sh PROFILE REMEDY CONDITION [REMEDY CONDITION]... > PLAN: writes a plan for calls of a
# profile. A condition is SQL on v_calls. All kernels count as plain. Tests of single remedies use
# this script; glint fix makes its plans itself.
set -eu
profile=$1
shift
ask() { "$GLINT" query -F tabs "$profile" "$1" | tail -n +2; }

echo "glint plan 1"
ask "SELECT 'image ' || build_id || ' ' || path FROM v_images WHERE build_id IS NOT NULL GROUP BY build_id ORDER BY build_id"
while [ $# -gt 1 ]; do
    ask "WITH image AS (SELECT path, row_number() OVER (ORDER BY build_id) - 1 AS place
            FROM v_images WHERE build_id IS NOT NULL GROUP BY build_id),
        frame AS (SELECT p.id, ' ' || i.place || ':' || printf('%x', p.offset) AS text
            FROM v_call_paths p JOIN image i ON i.path = p.module WHERE NOT p.inlined ORDER BY p.id, p.depth)
        SELECT '$1' || group_concat(text, '') FROM frame
        WHERE id IN (SELECT call_path FROM v_calls c WHERE $2) GROUP BY id"
    shift 2
done
ask "SELECT DISTINCT 'kernel ' || coalesce(mangled, name) FROM v_kernels"
echo end
