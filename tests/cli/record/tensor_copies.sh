# Tensor copies count as accesses of the object that their map describes, whether the map is a parameter or a constant:
# a product reads A and B and writes C, and a reducing copy also reads C. With other facts than objects, the launches
# are known by their arguments. Nothing is claimed once a tensor may be in more than one object.
. ./busy
nvcc=$("$root/scripts/have" nvcc 2>/dev/null) || { echo "SKIP: no nvcc (CUDA toolkit)"; exit 77; }
"$nvcc" -o program -std=c++17 -gencode arch=compute_90a,code=compute_90a "$root/tests/matrix/tensors.cu" || exit 1
"$GLINT" record -q -f -o p.glint --device sim -- ./program multiply constant add
"$GLINT" query p.glint "select call, object, read, written, known_by from v_touches where kind = 'kernel'"
"$GLINT" query p.glint "select text from v_notes where text not like '%-g'"
"$GLINT" record -q -f -o p.glint --device sim -a elements -- ./program multiply
"$GLINT" query p.glint "select call, object, read, written, known_by from v_touches where kind = 'kernel'"
"$GLINT" query p.glint "select reason from v_probes"
"$GLINT" record -q -f -o p.glint --device sim -- ./program multiply wide
"$GLINT" query p.glint "select call, object, read, written, known_by from v_touches where kind = 'kernel'"
"$GLINT" query p.glint "select * from v_unknown_launches"
