# The views of a job profile.
. ./sample
"$GLINT" merge -o job.glint rank-*.glint || exit
query() { "$GLINT" query job.glint "$1"; }
query 'SELECT rank, ranks, local_rank, host, launcher, peak_bytes, file FROM v_profiles'
query 'SELECT kernel, count(*) AS ranks, sum(launches) FROM v_kernels GROUP BY kernel'
query "SELECT rank, name, call_path, bytes FROM v_objects WHERE name = 'field'"
query 'SELECT pattern, identity, count(*) AS ranks, sum(peak_bytes) FROM v_findings GROUP BY 1, 2'
query 'SELECT called, call_path, max(waited_ns) FROM v_waits'
query 'SELECT direction, sum(bytes) FROM v_copies GROUP BY 1'
query 'SELECT DISTINCT name, value FROM v_settings'
query 'SELECT count(*) FROM v_devices'
