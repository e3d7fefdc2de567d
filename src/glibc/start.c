// SPDX-License-Identifier: Apache-2.0
// Starts a program that is linked with glibc 2.34 or later on any glibc. Before 2.34 the function
// that called the program's constructors was in the program itself, and its start code passed
// that function to the C library. The linker's --wrap leads the start code here.

typedef int glibc_main(int argc, char **argv, char **environment);
typedef void glibc_init(int argc, char **argv, char **environment);

int __real___libc_start_main(glibc_main *, int, char **, glibc_init *, void (*)(void),
                             void (*)(void), void *); // NOLINT: the linker's names
int __wrap___libc_start_main(glibc_main *, int, char **, glibc_init *, void (*)(void),
                             void (*)(void), void *); // NOLINT

// The linker defines these, and the compiler's start code the function.
extern glibc_init *const __init_array_start[] __attribute__((visibility("hidden"))); // NOLINT
extern glibc_init *const __init_array_end[] __attribute__((visibility("hidden")));   // NOLINT
extern void _init(void) __attribute__((visibility("hidden")));                       // NOLINT

// The loader calls the functions of the preinit array, and the destructors.
static void construct(int argc, char **argv, char **environment)
{
    _init();
    for (glibc_init *const *each = __init_array_start; each != __init_array_end; each++)
        (*each)(argc, argv, environment);
}

int __wrap___libc_start_main(glibc_main *program, int argc, char **argv, glibc_init *init, // NOLINT
                             void (*fini)(void), void (*rtld_fini)(void), void *stack)
{
    return __real___libc_start_main(program, argc, argv, init ? init : construct, fini, rtld_fini,
                                    stack);
}
