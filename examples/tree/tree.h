// SPDX-License-Identifier: Apache-2.0
// Shared by both versions of tree: the tree, the kernel that searches it, and the host's own
// computation.
//
// A balanced search tree maps keys to values. A query asks for the value of the greatest key that
// is not above its own. A row of the problem is a node, and for every so many nodes as there are
// columns there is a query. Queries are sorted, so that the threads of a warp walk down nearly the
// same way. The versions differ in where nodes lie.
#pragma once

#include "../values.h"

#include <algorithm>

static const uint32_t no_node = UINT32_MAX;

struct node {
    uint32_t key, left, right, value;
};

struct search_tree {
    std::vector<node> nodes;
    uint32_t root;
};

__global__ void search(int count, uint32_t root, const node *nodes, const uint32_t *queries,
                       uint32_t *results)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    const uint32_t query = queries[i];
    uint32_t found = no_node;
    for (uint32_t at = root; at != no_node;) {
        const bool goes_right = nodes[at].key <= query;
        found = goes_right ? at : found;
        at = goes_right ? nodes[at].right : nodes[at].left;
    }
    results[i] = found == no_node ? 0 : nodes[found].value;
}

static uint32_t value_of(uint32_t key)
{
    return key * 2654435761u >> 8;
}

// Links the nodes from `begin` to `end`, which lie in the order of their keys. Returns their root.
static uint32_t link(std::vector<node> &nodes, uint32_t begin, uint32_t end)
{
    if (begin == end)
        return no_node;
    const uint32_t root = begin + (end - begin) / 2, key = 2 * root + 1;
    nodes[root] = {key, link(nodes, begin, root), link(nodes, root + 1, end), value_of(key)};
    return root;
}

// Makes a tree of the keys 1, 3, 5 and so on.
static search_tree make_tree(const values_problem &problem)
{
    search_tree tree = {std::vector<node>(problem.rows), 0};
    tree.root = link(tree.nodes, 0, (uint32_t)problem.rows);
    return tree;
}

// Returns the tree with each node in another place, which is at its number in `places`.
static search_tree moved(const search_tree &tree, const std::vector<uint32_t> &places)
{
    search_tree result = {std::vector<node>(tree.nodes.size()), places[tree.root]};
    for (size_t i = 0; i < tree.nodes.size(); ++i) {
        node node = tree.nodes[i];
        node.left = node.left == no_node ? no_node : places[node.left];
        node.right = node.right == no_node ? no_node : places[node.right];
        result.nodes[places[i]] = node;
    }
    return result;
}

static std::vector<uint32_t> make_queries(const values_problem &problem)
{
    std::vector<uint32_t> queries(example_blocks(problem.rows, problem.columns));
    uint32_t seed = 41;
    for (uint32_t &query : queries)
        query = 2 * example_random(&seed, (uint32_t)problem.rows) + example_random(&seed, 2);
    std::sort(queries.begin(), queries.end());
    return queries;
}

static std::vector<uint32_t> expected_results(const std::vector<uint32_t> &queries)
{
    std::vector<uint32_t> results;
    for (uint32_t query : queries)
        results.push_back(query == 0 ? 0 : value_of((query - 1) | 1));
    return results;
}

// Answers the queries by this tree. Returns the exit status.
static int run(const char *name, const values_problem &problem, const search_tree &tree)
{
    const std::vector<uint32_t> queries = make_queries(problem);
    std::vector<uint32_t> results(queries.size());
    const int count = (int)queries.size();
    const size_t tree_bytes = tree.nodes.size() * sizeof(node), bytes = count * sizeof(uint32_t);

    node *nodes_gpu;
    uint32_t *queries_gpu, *results_gpu;
    CHECK(cudaMalloc(&nodes_gpu, tree_bytes));
    CHECK(cudaMalloc(&queries_gpu, bytes));
    CHECK(cudaMalloc(&results_gpu, bytes));
    CHECK(cudaMemcpy(nodes_gpu, tree.nodes.data(), tree_bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(queries_gpu, queries.data(), bytes, cudaMemcpyHostToDevice));

    const double began = values_begin();
    for (int i = 0; i < problem.steps; ++i)
        search<<<example_blocks(count, block), block>>>(count, tree.root, nodes_gpu, queries_gpu,
                                                        results_gpu);
    CHECK(cudaGetLastError());
    values_done(began);

    CHECK(cudaMemcpy(results.data(), results_gpu, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(nodes_gpu));
    CHECK(cudaFree(queries_gpu));
    CHECK(cudaFree(results_gpu));
    return values_end(name, results, expected_results(queries));
}
