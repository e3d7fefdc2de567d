-- A plan (src/plan/plan.h) that corrects every call of a profile that can be, safe or not, but for backing.
WITH images AS (SELECT path, build_id, row_number() OVER (ORDER BY path) - 1 AS place
                FROM v_images WHERE build_id IS NOT NULL GROUP BY path),
frames AS (SELECT f.id, group_concat(i.place || ':' || printf('%x', f.offset), ' ') AS text, count(*) = count(i.place) AS sure
           FROM (SELECT * FROM v_call_paths WHERE NOT inlined ORDER BY id, depth) f LEFT JOIN images i ON i.path = f.module
           GROUP BY f.id),
remedies AS (SELECT DISTINCT call_path, CASE
                 WHEN kind = 'sync' AND name LIKE '%Synchronize%' THEN 'drop-sync'
                 WHEN kind = 'copy' AND NOT async THEN 'async-copy'
                 WHEN name IN ('cuMemAlloc_v2', 'cuMemFree_v2') THEN 'pool' END AS remedy FROM v_calls)
SELECT line FROM (
SELECT 0 AS part, 0 AS place, 'glint plan 1' AS line
UNION ALL SELECT 1, place, 'image ' || build_id || ' ' || path FROM images
UNION ALL SELECT 2, 0, remedy || ' ' || text FROM remedies JOIN frames ON frames.id = call_path WHERE remedy IS NOT NULL AND sure
UNION ALL SELECT 3, 0, 'end') ORDER BY part, place
