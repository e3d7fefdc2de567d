#!/bin/sh
# make_plan.sh PROFILE: prints a plan that leaves out every explicit synchronization and every wait
# of a copy in the profile, needed or not. Even with this plan, a program must behave as before.
set -eu
images='SELECT DISTINCT build_id, path FROM v_images WHERE build_id <> "" ORDER BY path'
paths='SELECT c.remedy, f.id, f.offset, f.module FROM
    (SELECT DISTINCT CASE WHEN kind = "copy" THEN "async-copy" ELSE "drop-sync" END AS remedy, call_path FROM v_calls
     WHERE kind = "copy" OR name LIKE "%Synchronize%") c
    JOIN v_call_paths f ON f.id = c.call_path WHERE NOT f.inlined ORDER BY c.remedy, f.id, f.depth'
{
    "$GLINT" query --format csv "$1" "$images" | sed '1d;s/^/image,/'
    "$GLINT" query --format csv "$1" "$paths" | sed '1d'
} | awk -F, '
    function end() { if (row != "" && good) print row }
    BEGIN { print "glint plan 1" }
    $1 == "image" { print "image " $2 " " $3; at[$3] = count++; next }
    { if ($1 $2 != last) { end(); row = $1; good = 1; last = $1 $2 }
      if (!($4 in at)) good = 0
      row = row sprintf(" %d:%x", at[$4], $3) }
    END { end(); print "end" }'
