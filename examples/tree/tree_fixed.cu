// SPDX-License-Identifier: Apache-2.0
// tree_fixed: tree.cu with its nodes in breadth first order. Nodes of one depth lie in the order of
// their keys, so that a warp, whose queries are neighbours, finds those that it needs side by side.
#include "tree.h"

static std::vector<uint32_t> breadth_first_order(const search_tree &tree)
{
    std::vector<uint32_t> places(tree.nodes.size()), queue = {tree.root};
    for (uint32_t place = 0; place < queue.size(); ++place) {
        const node &node = tree.nodes[queue[place]];
        places[queue[place]] = place;
        if (node.left != no_node)
            queue.push_back(node.left);
        if (node.right != no_node)
            queue.push_back(node.right);
    }
    return places;
}

int main(int argc, char **argv)
{
    const values_problem problem = values_arguments(argc, argv, {1 << 20, 2, 1});
    const search_tree tree = make_tree(problem);
    return run("tree_fixed", problem, moved(tree, breadth_first_order(tree)));
}
