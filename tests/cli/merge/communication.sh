# Collectives and ranges of NVTX: the tables of the verbose report, what differs, and the views.
. ./sample
"$write" . 8 100 communicating=1
"$GLINT" merge -o job.glint rank-*.glint || exit
"$GLINT" report -v job.glint | sed -n '/^What differs/,/^Kernels/p; /^Collectives/,/^Objects/p'
"$GLINT" query job.glint 'SELECT rank, name, call_path, type, communicator_ranks, count, failed, sent_count, sent_bytes, received_count, received_bytes, host_ns, longest_ns FROM v_collectives WHERE rank = 3'
"$GLINT" query job.glint 'SELECT name, domain, sum(count), sum(timed), sum(total_ns), max(longest_ns) FROM v_nvtx_ranges GROUP BY 1, 2'
