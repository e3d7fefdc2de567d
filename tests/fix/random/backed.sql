-- A plan (src/plan/plan.h) that backs every allocation of a profile that is large enough, each until a use that was drawn among all calls
-- that use memory, and is mostly not its last; and leaves out every wait.
-- Kernels that hide their addresses are not plain: before their launches, everything gets memory.
WITH images AS (SELECT path, build_id, row_number() OVER (ORDER BY path) - 1 AS place
                FROM v_images WHERE build_id IS NOT NULL GROUP BY path),
frames AS (SELECT f.id, group_concat(i.place || ':' || printf('%x', f.offset), ' ') AS text, count(*) = count(i.place) AS sure
           FROM (SELECT * FROM v_call_paths WHERE NOT inlined ORDER BY id, depth) f LEFT JOIN images i ON i.path = f.module
           GROUP BY f.id),
paths AS (SELECT DISTINCT call_path, text, CASE
              WHEN name = 'cuMemAlloc_v2' THEN 'back'
              WHEN kind IN ('copy', 'set', 'launch') THEN 'last-use' END AS remedy
          FROM v_calls JOIN frames ON frames.id = call_path WHERE sure),
waits AS (SELECT DISTINCT text, CASE
              WHEN kind = 'sync' AND name LIKE '%Synchronize%' THEN 'drop-sync'
              WHEN kind = 'copy' AND NOT async THEN 'async-copy' END AS remedy
          FROM v_calls JOIN frames ON frames.id = call_path WHERE sure),
rows AS (SELECT remedy, text, row_number() OVER (PARTITION BY remedy ORDER BY text) AS number,
             (SELECT count(*) FROM paths WHERE remedy = 'last-use') AS uses
         FROM paths WHERE remedy IS NOT NULL)
SELECT line FROM (
SELECT 0 AS part, 0 AS place, 'glint plan 1' AS line
UNION ALL SELECT 1, place, 'image ' || build_id || ' ' || path FROM images
UNION ALL SELECT 2, number, 'last-use ' || text FROM rows WHERE remedy = 'last-use'
UNION ALL SELECT 3, number, 'back =' || (number * 7 % (uses + 1)) || ' =' || (1 + number % 3) || ' ' || text FROM rows WHERE remedy = 'back'
UNION ALL SELECT 4, 0, remedy || ' ' || text FROM waits WHERE remedy IS NOT NULL
UNION ALL SELECT DISTINCT 5, 0, 'kernel ' || coalesce(mangled, name) FROM v_kernels WHERE name NOT LIKE 'hidden%'
UNION ALL SELECT 6, 0, 'end') ORDER BY part, place
