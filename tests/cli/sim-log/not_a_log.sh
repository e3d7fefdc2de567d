"$GLINT" sim-log not_a_log.sh
