// SPDX-License-Identifier: Apache-2.0
// The program links this file after the runtime: one more function that is named like CUDA's.
int after(void);

__attribute__((noinline)) static int cudaOwnAfter(void)
{
    __asm__ volatile("");
    return 13;
}

int after(void)
{
    return cudaOwnAfter();
}
