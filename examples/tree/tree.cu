// SPDX-License-Identifier: Apache-2.0
// tree: queries to a search tree.
//
// Nodes lie where keys were inserted at random, so that those that a warp needs at once are in
// different lines. Of each line, some bytes are used, and before other warps need the rest, it has
// left all caches. tree_fixed.cu lays nodes out in breadth first order.
#include "tree.h"

static std::vector<uint32_t> insertion_order(uint32_t count)
{
    std::vector<uint32_t> places(count);
    uint32_t seed = 73;
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t other = example_random(&seed, i + 1);
        places[i] = places[other];
        places[other] = i;
    }
    return places;
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {1 << 20, 2, 1});
    const search_tree tree = make_tree(problem);
    return run("tree", problem, moved(tree, insertion_order((uint32_t)problem.rows)));
}
