# SPDX-License-Identifier: Apache-2.0
# Generates C from the declarations and definitions of API functions, as clang-format lays them out:
#
#   awk -v make=names -f calls.awk HEADER SOURCE...
#       A header that renames each function NAME to inner_NAME for the linker.
#   awk -v make=calls -v includes="..." -f calls.awk HEADER SOURCE...
#       The exported functions NAME. Each disables cancellation of the thread, writes the call to the
#       log (calls.h) and calls inner_NAME.
#   awk -v make=per_thread -v includes="..." -f calls.awk HEADER SOURCE...
#       The functions for programs built with --default-stream per-thread, NAME_ptsz and NAME_ptds, that
#       no SOURCE defines: PER_THREAD(NAME(...)) with PER_THREAD_STREAM(stream) for each stream.
#
# HEADER declares the functions. The output contains those that a SOURCE defines, or all with declared=1.
# It also contains those that a SOURCE declares with EXPORTED_AS("NAME"). Functions that MISSING(NAME) or
# REFUSED(NAME) defines, and cuGetExportTable, write the log themselves.

function trim(text) {
    gsub(/[ \t\n]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    return text
}

# Records the function of a whole declaration, or of the head of a definition.
function take(statement, ended_by, name, open, close_at, exported) {
    statement = trim(statement)
    if (!match(statement, /[A-Za-z_0-9]+\(/) || statement ~ /^(static|extern|typedef|struct [A-Za-z_0-9]+ \{)/)
        return
    name = substr(statement, RSTART, RLENGTH - 1)
    open = RSTART + RLENGTH - 1
    exported = ""
    if (match(statement, / EXPORTED_AS\("[A-Za-z_0-9]+"\)/)) {
        exported = substr(statement, RSTART + 14, RLENGTH - 16)
        statement = substr(statement, 1, RSTART - 1)
    }
    close_at = length(statement)
    while (close_at && substr(statement, close_at, 1) != ")")
        close_at--
    if (exported != "") {
        if (ended_by != ";")
            return
        overrides[exported] = 1
    } else if (ended_by == "{") {
        defined[name] = 1
        return
    } else if (!in_header || name !~ /^(__)?cu(da)?[A-Z]/) {
        return
    }
    if (exported == "")
        exported = name
    if (!(exported in parameters))
        order[++count] = exported
    result[exported] = trim(substr(statement, 1, open - length(name) - 1))
    parameters[exported] = substr(statement, open + 1, close_at - open - 1)
}

FNR == 1 { in_header = FILENAME ~ /\.h$/; statement = "" }
/^(MISSING|REFUSED)\(/ {
    sub(/^[A-Z]*\(/, "")
    sub(/\).*/, "")
    missing[$0] = 1
    next
}
statement == "" && !/^[A-Za-z_]/ { next }
{
    statement = statement " " $0
    if ($0 ~ /;$/) {
        take(substr(statement, 1, length(statement) - 1), ";")
        statement = ""
    } else if ($0 ~ /\{$/ || $0 ~ /^\{/) {
        sub(/\{$/, "", statement)
        take(statement, "{")
        statement = ""
    } else if ($0 ~ /\}$/ || $0 ~ /:$/) {
        statement = ""
    }
}

# --- Parameters ----------------------------------------------------------------------------------

# Structures that functions fill through a pointer, and of which the log has only the address.
function is_structure(type) {
    return type ~ /^(struct |CUDA_|CUcheckpoint|CUipc|cudaIpc)/ ||
        type ~ /^(CUdevprop|CUuuid|cudaUUID_t|CUdevResource|CUmemLocation|CUmemAllocationProp|CUmemPoolProps)$/ ||
        type ~ /^(CUtensorMap|CUstreamBatchMemOpParams|CUmemcpyAttributes|CUgraphNodeParams|CUgraphEdgeData)$/ ||
        type ~ /^(cudaGraphEdgeData|CUstreamAttrValue|CUkernelNodeAttrValue|cudaLaunchAttributeValue|dim3)$/ ||
        type ~ /^(CUmemPoolPtrExportData|CUmemDecompressParams|CUexecAffinityParam|CUarrayMapInfo)$/ ||
        type ~ /^(CUgraphExecUpdateResultInfo|cudaGraphExecUpdateResultInfo|CUctxCreateParams)$/ ||
        type ~ /^cudaGraphInstantiateParams$/
}

# The exceptions: structures whose members calls.c prints after the function has filled them.
function is_printed(type) {
    return type ~ /^(struct cudaPitchedPtr|CUDA_MEM_ALLOC_NODE_PARAMS|struct cudaMemAllocNodeParams)$/ ||
        type ~ /^(CUDA_ARRAY_DESCRIPTOR|CUDA_ARRAY3D_DESCRIPTOR)$/
}

# Arrays, whose lengths are other parameters, and pointers that functions read and do not fill.
function is_array(name) {
    return name ~ /^(sizes|prefetchLocs|prefetchLocIdxs|p?[dD]ependencies|p?[dD]ependentNodes|options|opList)$/ ||
        name ~ /^(edgeData|edges|dptrs|attrsIdxs|attrs|attributes|attribute_indices|srcs|dsts|paramArray)$/ ||
        name ~ /^(libraryOptions|jitOptions|capabilities|to|from|paramsArray|nodes|kernels|mapInfoList)$/ ||
        name ~ /^(p?[rR]ootNodes|launchParamsList|functions|dataSizes|device_arr|pBorderColor|resources)$/
}

# Adds the lines that print a parameter to ins or outs, and its name to names.
function parameter(text, type, name, stars, is_const, base) {
    text = trim(text)
    if (text == "" || text == "void")
        return
    match(text, /[A-Za-z_0-9]+$/)
    name = substr(text, RSTART)
    type = trim(substr(text, 1, RSTART - 1))
    names = names (names == "" ? "" : ", ") name
    stars = gsub(/\*/, "*", type)
    is_const = type ~ /^const /
    base = type
    gsub(/const |\*/, "", base)
    base = trim(base)
    if (name ~ /^host_/) # printed as an address, whatever its type
        ins = ins "    calls_pointer(&call, \"" name "\", (const void *)" name ");\n"
    else if (base == "CUdeviceptr" && stars == 0)
        ins = ins "    CALLS_ADDRESS(call, " name ");\n"
    else if (stars == 0 || (stars == 1 && (is_const || base ~ /^(void|char)$/ || is_array(name))))
        ins = ins "    CALLS_PUT(call, \"" name "\", " name ");\n"
    else if (stars == 1 && base == "CUdeviceptr")
        outs = outs "        CALLS_GIVEN(call, " name ", (const void *)(uintptr_t)*" name ");\n"
    else if (stars == 1 && is_printed(base))
        outs = outs "        CALLS_PUT(call, \"" name "\", (const " base " *)" name ");\n"
    else if (stars == 1 && is_structure(base))
        ins = ins "    CALLS_PUT(call, \"" name "\", (const void *)" name ");\n"
    else if (stars == 1)
        outs = outs "        CALLS_GIVEN(call, " name ", *" name ");\n"
    else if (stars == 2 && base == "char")
        outs = outs "        CALLS_GIVEN(call, " name ", (const char *)*" name ");\n"
    else if (stars == 2 && base == "void" && name ~ /^(devPtr|dptr|fptr|funcPtr|function|pDevice|pHost|host|ptr|pp|pfn|ppExportTable|cubinOut)$/)
        outs = outs "        CALLS_GIVEN(call, " name ", (const void *)*" name ");\n"
    else
        ins = ins "    CALLS_PUT(call, \"" name "\", (const void *)" name ");\n"
}

# --- Output --------------------------------------------------------------------------------------

# Returns the function whose per-thread form this is; "" if it is no such form or a SOURCE defines it.
function plain_form(name, plain) {
    plain = name
    if (!sub(/_pt(sz|ds)$/, "", plain) || name in defined || name in missing || name in overrides)
        return ""
    return plain in parameters && (declared || plain in defined) ? plain : ""
}

function print_per_thread(name, plain, parts, many, i, text, type, arguments) {
    many = split(parameters[name], parts, ",")
    arguments = ""
    for (i = 1; i <= many; i++) {
        text = trim(parts[i])
        match(text, /[A-Za-z_0-9]+$/)
        type = trim(substr(text, 1, RSTART - 1))
        text = substr(text, RSTART)
        if (type ~ /^(CUstream|cudaStream_t)$/)
            text = "PER_THREAD_STREAM(" text ")"
        arguments = arguments (i > 1 ? ", " : "") text
    }
    print result[name] " " name "(" parameters[name] ")\n{\n    PER_THREAD(" plain "(" arguments "));\n}\n"
}

function is_wanted(name) {
    if (name in missing || name == "cuGetExportTable")
        return 0
    if (name in overrides)
        return 1
    return declared || name in defined || plain_form(name) != ""
}

function print_call(name, type, parts, many, i, space) {
    ins = outs = names = ""
    many = split(parameters[name], parts, ",")
    for (i = 1; i <= many; i++)
        parameter(parts[i])
    type = result[name]
    space = type ~ /\*$/ ? "" : " "
    print type space "inner_" name "(" parameters[name] ");"
    print type space "outer_" name "(" parameters[name] ") __asm__(\"" name "\") __attribute__((visibility(\"default\")));"
    print type space "outer_" name "(" parameters[name] ")\n{"
    print "    const struct calls_cancel cancel = calls_hold_cancel();"
    print "    struct calls_call call = {.to = calls_to()};"
    if (type == "void") {
        print "    if (call.to) {\n" ins "    calls_begin(&call, \"" name "\");\n    }"
        print "    inner_" name "(" names ");"
        print "    if (call.to)\n        calls_end(&call, 0);"
        print "    calls_let_cancel(cancel);\n}\n"
        return
    }
    print "    if (!call.to) {"
    print "        " type space "outcome = inner_" name "(" names ");"
    print "        calls_let_cancel(cancel);\n        return outcome;\n    }"
    printf "%s", ins
    print "    calls_begin(&call, \"" name "\");"
    print "    " type space "outcome = inner_" name "(" names ");"
    if (type ~ /^(CUresult|cudaError_t|unsigned|char)$/) {
        if (outs != "")
            print "    if (!outcome) {\n" outs "    }"
        print "    calls_end(&call, (int64_t)outcome);"
    } else {
        if (type == "const char *")
            print "    CALLS_PUT(call, \"returned\", outcome);"
        print "    calls_end(&call, 0);"
    }
    print "    calls_let_cancel(cancel);\n    return outcome;\n}\n"
}

END {
    print "// Generated by src/gpusim/calls/calls.awk: do not edit."
    many = split(make == "names" ? "cudaabi/cudaabi.h" : includes, files, " ")
    for (i = 1; i <= many; i++)
        print "#include \"" files[i] "\""
    for (i = 1; i <= count; i++) {
        name = order[i]
        if (!is_wanted(name))
            continue
        if (make == "per_thread") {
            if (plain_form(name) != "")
                print_per_thread(name, plain_form(name))
        } else if (make == "calls")
            print_call(name)
        else if (!(name in overrides))
            print "extern __typeof__(" name ") " name " __asm__(\"inner_" name "\");"
    }
}
