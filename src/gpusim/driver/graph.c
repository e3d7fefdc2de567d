// SPDX-License-Identifier: Apache-2.0
// Graphs: creating, copying and destroying them, their nodes and edges, and queries. graph_nodes.c
// implements the types of nodes, graph_exec.c runs graphs.
#include <stdlib.h>
#include <string.h>

#include "condition.h"
#include "graph.h"

#define GRAPH_MAGIC UINT64_C(0x676c696e74677261)
#define NODE_MAGIC  UINT64_C(0x676c696e746e6f64)

bool driver_graph_valid(const struct driver_graph *graph)
{
    return graph && graph->magic == GRAPH_MAGIC;
}

bool driver_node_valid(const struct driver_node *node)
{
    return node && node->magic == NODE_MAGIC;
}

void driver_instances_release(struct driver_instances *instances)
{
    if (atomic_fetch_sub(&instances->references, 1) == 1)
        free(instances);
}

struct driver_graph *driver_graph_new(void)
{
    struct driver_graph *graph = calloc(1, sizeof *graph);
    struct driver_instances *instances = calloc(1, sizeof *instances);
    if (!graph || !instances) {
        free(graph);
        free(instances);
        return NULL;
    }
    instances->references = 1;
    graph->magic = GRAPH_MAGIC;
    graph->instances = instances;
    return graph;
}

bool driver_graph_has_memory(const struct driver_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct driver_node *node = graph->nodes.items[i];
        if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
            node->type == CU_GRAPH_NODE_TYPE_MEM_FREE ||
            (node->child && driver_graph_has_memory(node->child)))
            return true;
    }
    return false;
}

bool driver_graph_is_unique(const struct driver_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct driver_node *node = graph->nodes.items[i];
        if (node->branches || (node->child && driver_graph_is_unique(node->child)))
            return true;
    }
    return driver_graph_has_memory(graph);
}

void driver_branches_free(struct driver_branches *branches)
{
    for (unsigned i = 0; i < branches->count; i++)
        driver_graph_free(branches->bodies[i]);
    driver_condition_release(branches->condition);
    free(branches);
}

static void free_node(struct driver_node *node)
{
    node->magic = 0;
    driver_op_fini(&node->op);
    if (node->child)
        driver_graph_free(node->child);
    if (node->branches)
        driver_branches_free(node->branches);
    free(node->follows);
    free(node->param_pointers);
    free(node);
}

void driver_graph_free(struct driver_graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++)
        free_node(graph->nodes.items[i]);
    base_array_fini(&graph->nodes);
    for (size_t i = 0; i < graph->objects.count; i++)
        driver_user_object_release(graph->objects.items[i]);
    base_array_fini(&graph->objects);
    for (size_t i = 0; i < graph->conditions.count; i++)
        driver_condition_release(graph->conditions.items[i]);
    base_array_fini(&graph->conditions);
    driver_instances_release(graph->instances);
    graph->magic = 0;
    free(graph);
}

CUresult driver_node_follow(struct driver_node *node, struct driver_node *before)
{
    DRIVER_REJECT(!driver_node_valid(before) || before->graph != node->graph || before == node,
                  CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < node->follow_count; i++)
        if (node->follows[i] == before)
            return CUDA_SUCCESS;
    struct driver_node **grown =
        realloc(node->follows, (node->follow_count + 1) * sizeof(struct driver_node *));
    DRIVER_REJECT(!grown, CUDA_ERROR_OUT_OF_MEMORY);
    node->follows = grown;
    grown[node->follow_count++] = before;
    return CUDA_SUCCESS;
}

CUresult driver_graph_add(struct driver_graph *graph, CUgraphNodeType type, struct driver_op *op,
                          struct driver_node *const *follows, size_t follow_count,
                          struct driver_node **made)
{
    struct driver_node *node = calloc(1, sizeof *node);
    struct driver_node **slot = node ? base_array_push(&graph->nodes) : NULL;
    if (!slot) {
        free(node);
        driver_op_fini(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *slot = node;
    node->magic = NODE_MAGIC;
    node->graph = graph;
    node->type = type;
    node->op = *op;
    for (size_t i = 0; i < follow_count; i++) {
        CUresult result = driver_node_follow(node, follows[i]);
        if (result != CUDA_SUCCESS) {
            graph->nodes.count--;
            free_node(node);
            return result;
        }
    }
    *made = node;
    return CUDA_SUCCESS;
}

bool driver_node_reaches(struct driver_node *from, const struct driver_node *to)
{
    if (from == to)
        return true;
    for (size_t i = 0; i < from->follow_count; i++)
        if (driver_node_reaches(from->follows[i], to))
            return true;
    return false;
}

static bool copy_node(const struct driver_node *from, struct driver_graph *copy)
{
    struct driver_op op;
    struct driver_node *node;
    if (!driver_op_copy(&op, &from->op) ||
        driver_graph_add(copy, from->type, &op, NULL, 0, &node) != CUDA_SUCCESS)
        return false;
    node->copy = from->copy;
    node->alloc = from->alloc;
    node->original = from;
    if (from->child) {
        node->child = driver_graph_copy(from->child);
        if (!node->child)
            return false;
        node->child->is_child = true;
    }
    return true;
}

struct driver_graph *driver_graph_copy(const struct driver_graph *graph)
{
    struct driver_graph *copy = driver_graph_new();
    bool good = copy != NULL;
    for (size_t i = 0; good && i < graph->nodes.count; i++) {
        graph->nodes.items[i]->index = i;
        good = copy_node(graph->nodes.items[i], copy);
    }
    for (size_t i = 0; good && i < graph->nodes.count; i++) {
        const struct driver_node *from = graph->nodes.items[i];
        for (size_t k = 0; good && k < from->follow_count; k++)
            good = driver_node_follow(copy->nodes.items[i],
                                      copy->nodes.items[from->follows[k]->index]) == CUDA_SUCCESS;
    }
    for (size_t i = 0; good && i < graph->objects.count; i++) {
        struct driver_user_object **slot = base_array_push(&copy->objects);
        good = slot != NULL;
        if (good) {
            *slot = graph->objects.items[i];
            driver_user_object_hold(*slot);
        }
    }
    if (!good && copy) {
        driver_graph_free(copy);
        copy = NULL;
    }
    return copy;
}

// --- The API -------------------------------------------------------------------------------------

#define GRAPH(graph, handle)                                      \
    struct driver_graph *graph = (struct driver_graph *)(handle); \
    DRIVER_REJECT(!driver_graph_valid(graph), CUDA_ERROR_INVALID_VALUE)
#define NODE(node, handle)                                     \
    struct driver_node *node = (struct driver_node *)(handle); \
    DRIVER_REJECT(!driver_node_valid(node), CUDA_ERROR_INVALID_VALUE)

CUresult cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
    DRIVER_BEGIN();
    DRIVER_REJECT(!phGraph || flags, CUDA_ERROR_INVALID_VALUE);
    struct driver_graph *graph = driver_graph_new();
    DRIVER_REJECT(!graph, CUDA_ERROR_OUT_OF_MEMORY);
    *phGraph = (CUgraph)graph;
    return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph hGraph)
{
    DRIVER_BEGIN();
    GRAPH(graph, hGraph);
    DRIVER_REJECT(graph->is_child, CUDA_ERROR_INVALID_VALUE);
    driver_graph_free(graph);
    return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
    DRIVER_BEGIN();
    GRAPH(graph, originalGraph);
    DRIVER_REJECT(!phGraphClone, CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(driver_graph_is_unique(graph), CUDA_ERROR_NOT_SUPPORTED);
    struct driver_graph *copy = driver_graph_copy(graph);
    DRIVER_REJECT(!copy, CUDA_ERROR_OUT_OF_MEMORY);
    *phGraphClone = (CUgraph)copy;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode,
                                CUgraph hClonedGraph)
{
    DRIVER_BEGIN();
    GRAPH(graph, hClonedGraph);
    DRIVER_REJECT(!phNode, CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (graph->nodes.items[i]->original == (struct driver_node *)hOriginalNode) {
            *phNode = (CUgraphNode)graph->nodes.items[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
    DRIVER_BEGIN();
    NODE(node, hNode);
    DRIVER_REJECT(!type, CUDA_ERROR_INVALID_VALUE);
    *type = node->type;
    return CUDA_SUCCESS;
}

static void unfollow(struct driver_node *node, const struct driver_node *before)
{
    for (size_t i = 0; i < node->follow_count; i++)
        if (node->follows[i] == before) {
            node->follows[i] = node->follows[--node->follow_count];
            return;
        }
}

CUresult cuGraphDestroyNode(CUgraphNode hNode)
{
    DRIVER_BEGIN();
    NODE(node, hNode);
    struct driver_graph *graph = node->graph;
    DRIVER_REJECT(driver_graph_has_memory(graph), CUDA_ERROR_NOT_SUPPORTED);
    for (size_t i = 0; i < graph->nodes.count; i++)
        unfollow(graph->nodes.items[i], node);
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (graph->nodes.items[i] == node) {
            memmove(&graph->nodes.items[i], &graph->nodes.items[i + 1],
                    (graph->nodes.count - i - 1) * sizeof graph->nodes.items[0]);
            graph->nodes.count--;
            break;
        }
    free_node(node);
    return CUDA_SUCCESS;
}

// The result of a query for a list of nodes. Without arrays, the caller gets only the length.
// Otherwise the arrays are filled as far as there is room, and unused entries become NULL.
struct list {
    CUgraphNode *first, *second;
    size_t room, count;
};

static void list_add(struct list *list, struct driver_node *first, struct driver_node *second)
{
    if (list->count < list->room) {
        if (list->first)
            list->first[list->count] = (CUgraphNode)first;
        if (list->second)
            list->second[list->count] = (CUgraphNode)second;
    }
    list->count++;
}

static CUresult list_end(struct list *list, size_t *count)
{
    for (size_t i = list->count; i < list->room; i++) {
        if (list->first)
            list->first[i] = NULL;
        if (list->second)
            list->second[i] = NULL;
    }
    *count = list->room && list->room < list->count ? list->room : list->count;
    return CUDA_SUCCESS;
}

static struct list list_begin(CUgraphNode *first, CUgraphNode *second, const size_t *count)
{
    return (struct list){first, second, first || second ? *count : 0, 0};
}

CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
    DRIVER_BEGIN();
    GRAPH(graph, hGraph);
    DRIVER_REJECT(!numNodes, CUDA_ERROR_INVALID_VALUE);
    struct list list = list_begin(nodes, NULL, numNodes);
    for (size_t i = 0; i < graph->nodes.count; i++)
        list_add(&list, graph->nodes.items[i], NULL);
    return list_end(&list, numNodes);
}

CUresult cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
    DRIVER_BEGIN();
    GRAPH(graph, hGraph);
    DRIVER_REJECT(!numRootNodes, CUDA_ERROR_INVALID_VALUE);
    struct list list = list_begin(rootNodes, NULL, numRootNodes);
    for (size_t i = 0; i < graph->nodes.count; i++)
        if (!graph->nodes.items[i]->follow_count)
            list_add(&list, graph->nodes.items[i], NULL);
    return list_end(&list, numRootNodes);
}

CUresult cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
    DRIVER_BEGIN();
    GRAPH(graph, hGraph);
    DRIVER_REJECT(!numEdges, CUDA_ERROR_INVALID_VALUE);
    struct list list = list_begin(from, to, numEdges);
    for (size_t i = 0; i < graph->nodes.count; i++) {
        struct driver_node *node = graph->nodes.items[i];
        for (size_t k = 0; k < node->follow_count; k++)
            list_add(&list, node->follows[k], node);
    }
    return list_end(&list, numEdges);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies,
                                    size_t *numDependencies)
{
    DRIVER_BEGIN();
    NODE(node, hNode);
    DRIVER_REJECT(!numDependencies, CUDA_ERROR_INVALID_VALUE);
    struct list list = list_begin(dependencies, NULL, numDependencies);
    for (size_t i = 0; i < node->follow_count; i++)
        list_add(&list, node->follows[i], NULL);
    return list_end(&list, numDependencies);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                      size_t *numDependentNodes)
{
    DRIVER_BEGIN();
    NODE(node, hNode);
    DRIVER_REJECT(!numDependentNodes, CUDA_ERROR_INVALID_VALUE);
    struct list list = list_begin(dependentNodes, NULL, numDependentNodes);
    for (size_t i = 0; i < node->graph->nodes.count; i++) {
        struct driver_node *other = node->graph->nodes.items[i];
        for (size_t k = 0; k < other->follow_count; k++)
            if (other->follows[k] == node)
                list_add(&list, other, NULL);
    }
    return list_end(&list, numDependentNodes);
}

CUresult cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                size_t numDependencies)
{
    DRIVER_BEGIN();
    GRAPH(graph, hGraph);
    DRIVER_REJECT(numDependencies && (!from || !to), CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0; i < numDependencies; i++) {
        NODE(before, from[i]);
        NODE(after, to[i]);
        DRIVER_REJECT(before->graph != graph || after->graph != graph ||
                          driver_node_reaches(before, after),
                      CUDA_ERROR_INVALID_VALUE);
        DRIVER_TRY(driver_node_follow(after, before));
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t numDependencies)
{
    DRIVER_BEGIN();
    GRAPH(graph, hGraph);
    DRIVER_REJECT(numDependencies && (!from || !to), CUDA_ERROR_INVALID_VALUE);
    DRIVER_REJECT(driver_graph_has_memory(graph), CUDA_ERROR_NOT_SUPPORTED);
    for (size_t i = 0; i < numDependencies; i++) {
        NODE(after, to[i]);
        unfollow(after, (struct driver_node *)from[i]);
    }
    return CUDA_SUCCESS;
}

// --- Functions with edge data, which is always empty ---------------------------------------------

static void no_edge_data(CUgraphEdgeData *data, const size_t *count)
{
    if (data)
        memset(data, 0, *count * sizeof *data);
}

CUresult cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to,
                            CUgraphEdgeData *edgeData, size_t *numEdges)
{
    DRIVER_TRY(cuGraphGetEdges(hGraph, from, to, numEdges));
    no_edge_data(edgeData, numEdges);
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies,
                                       CUgraphEdgeData *edgeData, size_t *numDependencies)
{
    DRIVER_TRY(cuGraphNodeGetDependencies(hNode, dependencies, numDependencies));
    no_edge_data(edgeData, numDependencies);
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes,
                                         CUgraphEdgeData *edgeData, size_t *numDependentNodes)
{
    DRIVER_TRY(cuGraphNodeGetDependentNodes(hNode, dependentNodes, numDependentNodes));
    no_edge_data(edgeData, numDependentNodes);
    return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edgeData, size_t numDependencies)
{
    (void)edgeData; // full dependencies replace programmatic ones, which are weaker
    return cuGraphAddDependencies(hGraph, from, to, numDependencies);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from,
                                      const CUgraphNode *to, const CUgraphEdgeData *edgeData,
                                      size_t numDependencies)
{
    (void)edgeData;
    return cuGraphRemoveDependencies(hGraph, from, to, numDependencies);
}
