// SPDX-License-Identifier: Apache-2.0
// Tests of the page's value flow graph that need no browser: flow.mjs BUNDLE, with web/src/flow_graph.ts,
// flow_layout.ts and flow_scene.ts in BUNDLE. Layouts are limited by what they do, not by time, which is only printed.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const { FlowGraph, layOut, sceneOf, widthOf, nodeAt, curveAt, pieces, pointOn } = await import(pathToFileURL(process.argv[2]));
const tests = [];
const test = (name, run) => tests.push([name, run]);

const KINDS = ["host", "unknown", "allocation", "copy", "set", "launch", "graph", "other"];
const HOST = 0;

// Makes a graph of vertices, as kinds, and edges, as [from, to, object, write, bytes, compared, redundant].
function graphOf(kinds, edges) {
  const column = (at, otherwise) => edges.map((edge) => edge[at] ?? otherwise);
  const same = (value) => kinds.map(() => value);
  return new FlowGraph(
    {
      vertices: { id: kinds.map((_, i) => i + 1), kind: kinds.map((kind) => KINDS.indexOf(kind)), name: same(0), place: same(0), path: same(0), call: same(0), object: same(0), calls: kinds.map((kind, i) => (kind === "host" ? 0 : i)), unknown: same(0), bytes: same(0), gpu_ns: same(0) },
      edges: { from: column(0), to: column(1), object: column(2), flags: column(3, 0), times: same(1), bytes: column(4, 1), compared: column(5, 0), redundant: column(6, 0) },
      kinds: KINDS,
      redundant_percent: 33,
    },
    () => null,
  );
}

let seed = 1n;
const random = (below) => {
  seed = (seed * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
  return Number((seed >> 33n) % BigInt(below));
};
const all = { leastBytes: 0, leastCalls: 0, leastShare: 0, slice: -1 };

// --- Parts of the graph

// Figure 3 of the ValueExpert paper: vertex i is line i; 0 is the host, which nothing uses.
const figure = () =>
  graphOf(
    ["host", "allocation", "allocation", "set", "set", "launch", "launch", "launch"],
    [
      [1, 3, 1, 1, 100],
      [3, 5, 1, 1, 100, 100, 100],
      [5, 7, 1, 0, 100],
      [2, 4, 2, 1, 100],
      [4, 6, 2, 1, 50, 50, 50],
      [6, 7, 2, 1, 100, 100, 20],
    ],
  );

test("the slice of vertex 6 of the paper's figure has the edges of B only", () => {
  assert.deepEqual([...figure().slice(6)], [0, 0, 0, 1, 1, 1]);
  assert.deepEqual([...figure().slice(5)], [1, 1, 1, 0, 0, 0]);
  assert.deepEqual([...figure().slice(7)], [1, 1, 1, 1, 1, 1]);
  assert.deepEqual(figure().choose({ ...all, slice: 6 }), { vertices: [2, 4, 6, 7], edges: [3, 4, 5] });
});

test("limits leave out edges, and vertices that have none left", () => {
  const graph = figure();
  assert.deepEqual(graph.choose(all), { vertices: [1, 2, 3, 4, 5, 6, 7], edges: [0, 1, 2, 3, 4, 5] });
  assert.deepEqual(graph.choose({ ...all, leastBytes: 51, leastCalls: Infinity, slice: 6 }), { vertices: [2, 4, 6, 7], edges: [3, 5] });
  assert.deepEqual(graph.choose({ ...all, leastBytes: 101, leastCalls: 6 }), { vertices: [6, 7], edges: [] });
  assert.deepEqual(graph.choose({ ...all, leastShare: 33, leastCalls: Infinity }), { vertices: [3, 4, 5, 6], edges: [1, 4] });
  assert.deepEqual(graph.choose({ ...all, leastShare: 20, leastCalls: Infinity }), { vertices: [3, 4, 5, 6, 7], edges: [1, 4, 5] });
});

test("redundancy is that of writes, and unknown without a comparison", () => {
  const graph = figure();
  assert.deepEqual([0, 1, 2, 3, 4, 5].map((edge) => graph.share(edge)), [null, 1, null, null, 1, 0.2]);
  assert.deepEqual([0, 1, 2, 3, 4, 5].map((edge) => graph.isRedundant(edge)), [false, true, false, false, true, false]);
});

test("no path leads through the host", () => {
  // Copy 2 brings the object, copy 3 takes it back, and copy 4 brings it again.
  const graph = graphOf(["host", "allocation", "copy", "copy", "copy"], [[0, 2, 1], [1, 2, 1, 1], [2, 3, 1], [3, 0, 1, 1], [0, 4, 1], [2, 4, 1, 1]]);
  assert.deepEqual([...graph.slice(3)], [1, 1, 1, 1, 0, 0]);
  assert.deepEqual([...graph.slice(HOST)], [1, 1, 1, 1, 1, 1]);
});

// By the definition: an edge of an object is in the slice if its vertex is on a path of such edges.
test("slices of random graphs follow the definition", () => {
  for (let round = 0; round < 50; round++) {
    const count = 2 + random(10);
    const edges = Array.from({ length: random(30) }, () => [random(count), random(count), random(3)]);
    const graph = graphOf(["host", ...Array(count - 1).fill("launch")], edges);
    const reaches = (object) => {
      const found = Array.from({ length: count }, (_, i) => Array.from({ length: count }, (_, k) => i === k));
      for (let step = 0; step < count; step++)
        for (const [from, to, of] of edges)
          if (of === object) for (let i = 0; i < count; i++) if (found[i][from] && (from !== HOST || i === HOST)) found[i][to] = true;
      return found;
    };
    for (let vertex = 1; vertex < count; vertex++) {
      const used = new Set(edges.filter(([from, to]) => from === vertex || to === vertex).map(([, , object]) => object));
      const expected = edges.map(([from, to, object]) => {
        if (!used.has(object)) return 0;
        const found = reaches(object);
        const isAfter = found[vertex][from] && from !== HOST;
        const isBefore = found[to][vertex] && to !== HOST;
        return isAfter || isBefore ? 1 : 0;
      });
      assert.deepEqual([...graph.slice(vertex)], expected, JSON.stringify({ edges, vertex }));
    }
  }
});

// --- Layout

const layout = (count, edges) => layOut({ heights: Array(count).fill(40), from: edges.map((edge) => edge[0]), to: edges.map((edge) => edge[1]), widths: edges.map(() => 3) });

function checkLayout(count, edges, found) {
  for (const [from, to] of edges) if (from < to) assert.ok(found.layer[from] < found.layer[to], `${from} is not left of ${to}`);
  const byLayer = new Map();
  for (let i = 0; i < count; i++) byLayer.set(found.layer[i], [...(byLayer.get(found.layer[i]) ?? []), found.y[i]]);
  for (const list of byLayer.values()) {
    list.sort((a, b) => a - b);
    for (let i = 1; i < list.length; i++) assert.ok(list[i] - list[i - 1] >= 40, "two nodes overlap");
  }
  for (let i = 0; i < count; i++) assert.ok(found.y[i] >= 19.9 && found.y[i] <= found.height - 19.9);
}

test("nodes are in layers, and a source moves to what uses it", () => {
  // The edge from 4 to 2 leads back.
  const found = layout(5, [[0, 2], [1, 2], [2, 3], [3, 4], [1, 4], [4, 2]]);
  assert.deepEqual([...found.layer], [0, 0, 1, 2, 3]);
  assert.equal(found.layerCount, 4);
  assert.deepEqual([...layout(4, [[0, 2], [2, 3], [1, 3]]).layer], [0, 1, 1, 2]); // 1 is used late
});

test("crossings that are not needed are removed", () => {
  assert.equal(layout(4, [[0, 3], [1, 2]]).crossings, 0);
  assert.equal(layout(6, [[0, 5], [1, 4], [2, 3]]).crossings, 0);
  assert.equal(layout(4, [[0, 2], [0, 3], [1, 2], [1, 3]]).crossings, 1); // there must be one
});

test("an edge over several layers has a bend in each, and a loop has none", () => {
  const found = layout(4, [[0, 1], [1, 2], [2, 3], [0, 3], [2, 2]]);
  assert.deepEqual(found.routes.map((route) => [...route].filter((_, i) => i % 2 === 0)), [[], [], [], [1, 2], []]);
});

test("nothing and single nodes can be laid out", () => {
  assert.equal(layout(0, []).height, 0);
  assert.equal(layout(0, []).layerCount, 0);
  assert.deepEqual([...layout(1, [[0, 0]]).y], [20]);
});

test("random graphs are laid out without overlaps, and always alike", () => {
  for (let round = 0; round < 100; round++) {
    const count = 1 + random(40);
    const edges = Array.from({ length: random(80) }, () => [random(count), random(count)]);
    const found = layout(count, edges);
    checkLayout(count, edges, found);
    assert.deepEqual(found, layout(count, edges));
  }
});

const bends = (found) => found.routes.reduce((sum, route) => sum + route.length / 2, 0);

// The limit is some three times what is needed now, and grows no faster than the graph.
test("2,000 vertices and 5,000 edges take a bounded number of operations", () => {
  for (const [name, span] of [["anywhere", 2000], ["far", 200], ["near", 40], ["next", 1]]) {
    const edges = Array.from({ length: 5000 }, () => {
      const from = random(2000);
      const to = Math.max(0, Math.min(1999, from + 1 + random(span) - (random(10) === 0 ? span : 0)));
      return [from, to];
    });
    const start = performance.now();
    const found = layout(2000, edges);
    const ms = performance.now() - start;
    checkLayout(2000, edges, found);
    assert.ok(bends(found) <= 20000, `${bends(found)} bends`);
    assert.ok(found.operations < 20e6, `${name}: ${found.operations} operations`);
    console.log(`   ${name}: ${found.layerCount} layers, ${bends(found)} bends, ${found.crossings} crossings, ${found.operations} operations, ${ms.toFixed(0)} ms`);
  }
});

test("a chain of 2,000 with edges over all of it does not bend without end", () => {
  const edges = Array.from({ length: 1999 }, (_, i) => [i, i + 1]);
  for (let i = 0; i < 3000; i++) edges.push([i % 100, 1900 + (i % 97)]);
  const found = layout(2000, edges);
  checkLayout(2000, edges, found);
  assert.equal(found.layerCount, 2000);
  assert.ok(bends(found) <= 20000);
  assert.ok(found.operations < 20e6);
});

// --- The scene

test("the host is drawn as source and as sink, and edges lead from left to right", () => {
  const graph = graphOf(["host", "allocation", "copy", "launch", "copy"], [[0, 2, 1, 0, 64], [1, 2, 1, 1, 64], [2, 3, 1, 0, 4], [3, 3, 1, 1, 4], [3, 4, 1, 0, 64], [4, 0, 1, 1, 1]]);
  const scene = sceneOf(graph, graph.choose(all));
  assert.deepEqual(scene.nodes.map((node) => node.vertex), [0, 1, 2, 3, 4, 0]);
  const [source, sink] = scene.nodes.filter((node) => node.vertex === HOST);
  assert.ok(source.x < scene.nodes[2].x && scene.nodes[4].x < sink.x);
  for (const curve of scene.curves) {
    const parts = pieces(curve);
    const [first, last] = [pointOn(parts[0], 0), pointOn(parts.at(-1), 1)];
    assert.ok(curve.isLoop || first[0] < last[0]);
    assert.ok(curve.box.left <= first[0] && last[0] <= curve.box.right);
  }
  assert.deepEqual(scene.curves.map((curve) => curve.isLoop), [false, false, false, true, false, false]);
  assert.deepEqual([64, 16, 4, 1, 0.001].map((bytes) => Math.round(widthOf(bytes, 64))), [8, 7, 6, 5, 5]);
  assert.equal(widthOf(1, 4 ** 20), 1);
});

test("the pointer finds nodes and curves, and vertices without edges are below", () => {
  const graph = graphOf(["host", "allocation", "launch", "launch"], [[1, 2, 1, 0, 64]]);
  const scene = sceneOf(graph, graph.choose(all));
  assert.equal(scene.nodes.length, 3);
  for (const node of scene.nodes) assert.equal(nodeAt(scene, node.x, node.y), node);
  assert.equal(nodeAt(scene, -1000, -1000), null);
  const [x, y] = pointOn(pieces(scene.curves[0])[0], 0.5);
  assert.equal(curveAt(scene, x, y + 3, 5), scene.curves[0]);
  assert.equal(curveAt(scene, x, y + 30, 5), null);
  assert.ok(scene.nodes[2].y > scene.nodes[1].y + 40);
  assert.deepEqual(sceneOf(graph, { vertices: [], edges: [] }).nodes, []);
});

let failed = 0;
for (const [name, run] of tests) {
  try {
    run();
    console.log(`ok: ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAILED: ${name}\n${error.stack}`);
  }
}
process.exit(failed ? 1 : 0);
