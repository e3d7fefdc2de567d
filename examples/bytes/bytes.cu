// SPDX-License-Identifier: Apache-2.0
// bytes: a message in base64, its CRC-32 by chunks and the sum of its bytes: narrow loads and
// stores, tables in constant memory, and a few instructions written in PTX.
//
// In the CRC kernel, each thread has its own chunk, so neighboring threads read addresses that are
// a chunk apart: a profiler should find accesses to message poorly coalesced there. The CRC table
// is copied to the GPU twice: a duplicate transfer.
#include "../example.h"

#include <vector>

static const int chunk_size = 64;
static const uint32_t crc_polynomial = 0xedb88320u;

__constant__ unsigned char digits[65] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
__constant__ uint32_t crc_table[256];

__device__ uint32_t bits(uint32_t word, uint32_t first, uint32_t count)
{
    uint32_t result;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(word), "r"(first), "r"(count));
    return result;
}

// Three bytes become four digits.
__global__ void encode(int triples, const unsigned char *message, uchar4 *text)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= triples)
        return;
    uint32_t word = message[3 * i] << 16 | message[3 * i + 1] << 8 | message[3 * i + 2];
    text[i] = make_uchar4(digits[bits(word, 18, 6)], digits[bits(word, 12, 6)],
                          digits[bits(word, 6, 6)], digits[bits(word, 0, 6)]);
}

__global__ void crc32(int chunks, const unsigned char *message, uint32_t *crcs)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= chunks)
        return;
    uint32_t crc = 0xffffffffu;
    for (int j = 0; j < chunk_size; ++j)
        crc = crc >> 8 ^ crc_table[(crc ^ message[i * chunk_size + j]) & 0xff];
    // The first byte is the most significant one.
    uint32_t swapped;
    asm("{\n\t"
        ".reg .b32 order;\n\t"
        "mov.b32 order, 0x0123;\n\t"
        "prmt.b32 %0, %1, 0, order;\n\t"
        "}"
        : "=r"(swapped)
        : "r"(~crc));
    crcs[i] = swapped;
}

__global__ void add_bytes(int quads, const uint32_t *message, uint32_t *sum)
{
    uint32_t mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x)
        mine = __dp4a(message[i], 0x01010101u, mine);
    atomicAdd(sum, mine);
}

static uint32_t crc_step(uint32_t crc)
{
    for (int bit = 0; bit < 8; ++bit)
        crc = crc >> 1 ^ ((crc & 1) != 0 ? crc_polynomial : 0);
    return crc;
}

static uint32_t crc_of(const unsigned char *chunk)
{
    uint32_t crc = 0xffffffffu;
    for (int i = 0; i < chunk_size; ++i)
        crc = crc >> 8 ^ crc_step((crc ^ chunk[i]) & 0xff);
    return __builtin_bswap32(~crc);
}

int main(int argc, char **argv)
{
    const int chunks = 3 * example_blocks(example_size(argc, argv, 1 << 15), 3 * chunk_size);
    const int size = chunks * chunk_size;
    const int triples = size / 3;

    uint32_t seed = 12, table[256], expected_sum = 0;
    for (uint32_t i = 0; i < 256; ++i)
        table[i] = crc_step(i);
    std::vector<unsigned char> message(size), text(4 * triples);
    for (unsigned char &byte : message) {
        byte = (unsigned char)example_random(&seed, 256);
        expected_sum += byte;
    }

    unsigned char *message_gpu;
    uchar4 *text_gpu;
    uint32_t *crcs_gpu, *sum_gpu;
    CHECK(cudaMalloc(&message_gpu, size));
    CHECK(cudaMemcpy(message_gpu, message.data(), size, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(crc_table, table, sizeof(table)));

    CHECK(cudaMalloc(&text_gpu, triples * sizeof(uchar4)));
    encode<<<example_blocks(triples, 128), 128>>>(triples, message_gpu, text_gpu);
    CHECK(cudaMemcpy(text.data(), text_gpu, text.size(), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(text_gpu));

    std::vector<uint32_t> crcs(chunks);
    CHECK(cudaMemcpyToSymbol(crc_table, table, sizeof(table)));
    CHECK(cudaMalloc(&crcs_gpu, chunks * sizeof(uint32_t)));
    crc32<<<example_blocks(chunks, 64), 64>>>(chunks, message_gpu, crcs_gpu);
    CHECK(cudaMemcpy(crcs.data(), crcs_gpu, chunks * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(crcs_gpu));

    uint32_t sum;
    CHECK(cudaMalloc(&sum_gpu, sizeof(uint32_t)));
    CHECK(cudaMemset(sum_gpu, 0, sizeof(uint32_t)));
    add_bytes<<<4, 128>>>(size / 4, (const uint32_t *)message_gpu, sum_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(message_gpu));
    CHECK(cudaMemcpy(&sum, sum_gpu, sizeof(sum), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(sum_gpu));

    static const char expected_digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    bool ok = sum == expected_sum;
    for (int i = 0; i < triples; ++i) {
        uint32_t word = message[3 * i] << 16 | message[3 * i + 1] << 8 | message[3 * i + 2];
        for (int digit = 0; digit < 4; ++digit)
            ok = ok && text[4 * i + digit] == expected_digits[word >> (18 - 6 * digit) & 63];
    }
    for (int i = 0; i < chunks; ++i)
        ok = ok && crcs[i] == crc_of(&message[i * chunk_size]);
    return example_end("bytes", ok);
}
