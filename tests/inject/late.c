// SPDX-License-Identifier: Apache-2.0
// A library that uses the GPU while it is being loaded: its constructor calls the program back.
void late_loading(void);

__attribute__((constructor)) static void load(void)
{
    late_loading();
}
