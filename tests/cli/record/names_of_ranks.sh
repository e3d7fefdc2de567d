# Placeholders in the name of a profile, and ranks by the variables of launchers.
. ./busy
unset OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK MV2_COMM_WORLD_RANK PALS_RANKID FLUX_TASK_RANK JSM_NAMESPACE_RANK RANK \
    SLURM_PROCID
record() {
    echo "-- $*" | sed "s|$busy|busy|"
    "$GLINT" record -q --device sim "$@" 2>&1
    status=$?
    [ $status = 7 ] || echo "status $status"
    ls | sed -e "s/$(hostname)/HOST/" -e 's/[0-9]\{3,\}/PID/g'
    for file in *.glint; do
        [ ! -f "$file" ] || "$GLINT" query "$file" "SELECT coalesce(launcher, '-') || ' ' || coalesce(rank, '-') || '/' ||
            coalesce(ranks, '-') || ' ' || coalesce(local_rank, '-') || ' ' || coalesce(job, '-') || coalesce(
                (SELECT ': ' || text FROM v_notes WHERE severity = 'warning'), '') AS r FROM v_program" | tail -n +2
    done
    rm -rf ./*.glint
}
record -o 'a-%h-%p-%r-%q{HOME}-%q{NO_SUCH}-%%.glint' -- env HOME=/root/x "$busy" 1
PMI_RANK=2 PMI_SIZE=4 record -o a.glint -- "$busy" 1
PMI_RANK=2 PMI_SIZE=4 record -o a-%h.glint -- "$busy" 1
PMI_RANK=2 PMI_SIZE=4 record -o a-%r.glint -- "$busy" 1 2
PMI_RANK=2 PMI_SIZE=4 record -- "$busy" 1
PMI_RANK=2 PMI_SIZE=2 record -o a.glint -- "$busy" 1
SLURM_PROCID=0 SLURM_NTASKS=2 record -o a.glint -- "$busy" 1
SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_ID=1 SLURM_JOB_ID=42 record -o a.glint -- "$busy" 1
record -o a.glint -- sh -c 'for RANK in 0 1 2; do RANK=$RANK WORLD_SIZE=3 LOCAL_RANK=0 "$0" 1; done; exit 7' "$busy"

echo '== some ranks'
for rank in 0 1 2 3; do
    RANK=$rank WORLD_SIZE=4 record --ranks 0,2-3 -o a.glint -- "$busy" 1
done
record --ranks 1 -o a.glint -- sh -c 'for RANK in 0 1 2; do RANK=$RANK WORLD_SIZE=3 "$0" 1; done; exit 7' "$busy"
echo '-- none of them'
"$GLINT" record --ranks 1 -o a.glint --device sim -- "$busy" 1 2>&1
# A rank that is left out has nothing of glint in its environment but the simulated GPU.
RANK=1 WORLD_SIZE=2 "$GLINT" run --device sim -- env | sort >plain
RANK=1 WORLD_SIZE=2 "$GLINT" record --ranks 0 -a all --device sim -- env | sort | diff plain -
rm plain

echo '== errors before the program runs'
for name in a-%x.glint a-% %q.glint '%q{}' '%q{A=B}'; do
    "$GLINT" record -o "$name" -- echo it runs 2>&1
done
for ranks in '' 1, 3-1 x; do
    "$GLINT" record --ranks "$ranks" -- echo it runs 2>&1
done
"$GLINT" record -o nowhere/a-%p.glint --device sim -- echo it runs 2>&1
"$GLINT" record -o 'nowhere-%q{HOME}/a.glint' --device sim -- echo it runs 2>&1 | sed 's/-.*a.glint/-VALUE/'
PMI_RANK=0 "$GLINT" record -q -o a.glint --device sim -- "$busy" 1
PMI_RANK=0 "$GLINT" record -q -o a.glint --device sim -- echo it runs 2>&1
ls
