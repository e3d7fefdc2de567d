// SPDX-License-Identifier: Apache-2.0
// linked_list: a hash table with a list for each bucket, whose nodes the GPU allocates. It uses
// pointers in memory, atomic exchange of pointers, and device-side malloc and free.
//
// A profiler should find found_gpu leaked, and buckets_gpu overwritten: it is set to zero twice
// before anything reads it.
#include "../example.h"

#include <vector>

struct node {
    struct node *next;
    uint32_t key;
    uint32_t value;
};

static const int bucket_count = 512;

__device__ static uint32_t bucket_of(uint32_t key)
{
    return key * 2654435761u % bucket_count;
}

// The node is visible to other threads before its `next` is set, so no thread may search the list
// until the kernel has ended.
__global__ void insert(int count, const uint32_t *keys, struct node **buckets)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    struct node *node = (struct node *)malloc(sizeof(struct node));
    if (node == NULL)
        return;
    node->key = keys[i];
    node->value = i;
    unsigned long long *head = (unsigned long long *)&buckets[bucket_of(keys[i])];
    node->next = (struct node *)atomicExch(head, (unsigned long long)node);
}

__global__ void find(int count, const uint32_t *keys, struct node *const *buckets, uint32_t *found)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const struct node *node = buckets[bucket_of(keys[i])];
    while (node != NULL && node->key != keys[i])
        node = node->next;
    found[i] = node != NULL ? node->value : UINT32_MAX;
}

__global__ void clear(struct node **buckets)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= bucket_count)
        return;
    struct node *node = buckets[i];
    while (node != NULL) {
        struct node *next = node->next;
        free(node);
        node = next;
    }
    buckets[i] = NULL;
}

int main(int argc, char **argv)
{
    const int count = example_size(argc, argv, 4096);
    const size_t bytes = count * sizeof(uint32_t);

    // All keys differ, so the value of a key does not depend on the order of insertion.
    std::vector<uint32_t> keys(count), found(count);
    for (int i = 0; i < count; ++i)
        keys[i] = 0x9e3779b9u * (uint32_t)i;

    uint32_t *keys_gpu, *found_gpu;
    struct node **buckets_gpu;
    CHECK(cudaMalloc(&keys_gpu, bytes));
    CHECK(cudaMemcpy(keys_gpu, keys.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&buckets_gpu, bucket_count * sizeof(*buckets_gpu)));
    CHECK(cudaMemset(buckets_gpu, 0, bucket_count * sizeof(*buckets_gpu)));
    CHECK(cudaMemset(buckets_gpu, 0, bucket_count * sizeof(*buckets_gpu)));

    const int blocks = example_blocks(count, 128);
    insert<<<blocks, 128>>>(count, keys_gpu, buckets_gpu);
    CHECK(cudaMalloc(&found_gpu, bytes));
    find<<<blocks, 128>>>(count, keys_gpu, buckets_gpu, found_gpu);
    CHECK(cudaFree(keys_gpu));
    clear<<<example_blocks(bucket_count, 128), 128>>>(buckets_gpu);
    CHECK(cudaGetLastError());
    CHECK(cudaFree(buckets_gpu));
    CHECK(cudaMemcpy(found.data(), found_gpu, bytes, cudaMemcpyDeviceToHost));

    bool ok = true;
    for (int i = 0; i < count; ++i)
        ok = ok && found[i] == (uint32_t)i;
    return example_end("linked_list", ok);
}
