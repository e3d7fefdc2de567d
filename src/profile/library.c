// SPDX-License-Identifier: Apache-2.0
// Recognizes frames of libraries that consist of templates, which compilers put into the program
// itself: the C++ standard library, Thrust, CUB and libcu++. And those of Python's standard library
// and of installed packages, and of PyTorch where it gets memory for itself.
#include <string.h>

#include "profile.h"

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

// Returns the length of the bracket that opens here, with its contents; 1 if it is not closed.
static size_t bracket_bytes(const char *text)
{
    unsigned depth = 0;
    for (size_t i = 0; text[i]; i++) {
        depth += text[i] == '<' || text[i] == '(' || text[i] == '{' || text[i] == '[';
        // "->" is the end of no bracket.
        depth -= (text[i] == '>' && i > 0 && text[i - 1] != '-') || text[i] == ')' ||
                 text[i] == '}' || text[i] == ']';
        if (depth == 0)
            return i + 1;
    }
    return 1;
}

// Returns the qualified name in a demangled name, after the return type of a template.
static const char *qualified_name(const char *function)
{
    const char *start = function;
    for (const char *at = function; *at;) {
        if (*at == '(' && at > start && !begins(at, "(anonymous namespace)"))
            break; // the parameters
        if (begins(at, "operator"))
            break; // spaces after it belong to the name
        if (*at == ' ')
            start = at + 1;
        at += *at == '<' || *at == '(' || *at == '{' || *at == '[' ? bracket_bytes(at) : 1;
    }
    return start;
}

bool profile_is_library_function(const char *function)
{
    static const char *const names[] = {
        "std::", "__gnu_cxx::", "thrust::", "cub::", "cuda::std::", "cuda::__", "__cxxabiv1::"};
    const char *name = function ? qualified_name(function) : "";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (begins(name, names[i]))
            return true;
    }
    return false;
}

static bool is_python_library(const char *file)
{
    static const char *const folders[] = {"/lib/python3", "/lib64/python3", "/site-packages/",
                                          "/dist-packages/"};
    for (size_t i = 0; file && i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (strstr(file, folders[i]))
            return true;
    }
    return file && begins(file, "<frozen ");
}

bool profile_is_library_frame(const struct profile_frame *frame)
{
    if (frame->python)
        return is_python_library(frame->file);
    static const char *const folders[] = {"/include/c++/", "/include/cccl/", "/include/thrust/",
                                          "/include/cub/"};
    for (size_t i = 0; frame->file && i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (strstr(frame->file, folders[i]))
            return true;
    }
    return profile_is_library_function(frame->function);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool profile_is_torch(const char *image)
{
    return begins(base_name(image), "libc10") || begins(base_name(image), "libtorch");
}

bool profile_is_torch_allocator(const char *image)
{
    return begins(base_name(image), "libc10_cuda.so");
}

// setWorkspaceForHandle, getNewWorkspace, getCUDABlasLtWorkspace and others, by version.
bool profile_is_torch_workspace(const char *function)
{
    if (!begins(function, "at::cuda::"))
        return false;
    const char *found = strstr(function, "Workspace"), *parameters = strchr(function, '(');
    if (parameters && begins(parameters, "(anonymous namespace)"))
        parameters = strchr(parameters + 1, '(');
    return found && (!parameters || found < parameters);
}

const char *profile_torch_gradient(const char *function)
{
    static const char space[] = "torch::autograd::generated::";
    const char *name = function + strlen(space);
    return begins(function, space) && strstr(name, "::apply(") ? name : NULL;
}
