// SPDX-License-Identifier: Apache-2.0
// What a program links behind the runtime: another of its own functions that is named like CUDA's.
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
