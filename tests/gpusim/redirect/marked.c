// SPDX-License-Identifier: Apache-2.0
// A program that contains the constants of NVIDIA's runtime, but none of its functions.

extern const unsigned char mark[16];
const unsigned char mark[] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                              0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9};

int main(int argc, char **argv)
{
    (void)argv;
    return mark[argc - 1] == 0x6b ? 8 : 1;
}
