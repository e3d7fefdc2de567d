// SPDX-License-Identifier: Apache-2.0
// Lays out a directed graph in layers from left to right: layers by longest paths, the order in a layer by
// barycenters, and heights by least squares. Every step has a bound, so that a large graph takes a fraction of a
// second: `operations` counts what the loops did. Nodes must be in an order that most edges follow; the other
// edges are laid out as if they were reversed.

export interface LayoutInput {
  heights: number[]; // by node
  from: number[]; // nodes, by edge
  to: number[];
  widths: number[]; // by edge
}

export interface Layout {
  layer: Int32Array; // by node
  y: Float64Array; // by node: its center
  // By edge: the points between its nodes as pairs of layer and y, from the node in the lower layer to the other.
  routes: Float64Array[];
  layerCount: number;
  height: number;
  crossings: number; // of edges between neighboring layers
  operations: number;
}

const MOST_BENDS = 20000; // of all edges together
const MOST_SWEEPS = 10; // over all layers, to reduce crossings
const PATIENCE = 3; // sweeps without fewer crossings
const ALIGNMENTS = 8; // passes over all layers, to straighten edges
const NODE_GAP = 26;
const BEND_GAP = 6;

// Neighbors of nodes, as one list: those of node i are items[start[i]] to items[start[i + 1] - 1].
interface Neighbours {
  start: Int32Array;
  items: Int32Array;
}

function neighbours(count: number, of: number[], items: number[]): Neighbours {
  const start = new Int32Array(count + 1);
  const out = new Int32Array(items.length);
  for (const node of of) start[node + 1]++;
  for (let i = 0; i < count; i++) start[i + 1] += start[i];
  const next = start.slice();
  for (let i = 0; i < items.length; i++) out[next[of[i]]++] = items[i];
  return { start, items: out };
}

class Layouter {
  operations = 0;
  private readonly count: number;
  private readonly layer: number[];
  private readonly heights: number[];
  private readonly chains: number[][] = []; // by edge: its nodes and bends from left to right; [] for a loop
  private segmentFrom: number[] = [];
  private segmentTo: number[] = [];
  private layers: Int32Array[] = []; // nodes and bends, in their order
  private position = new Int32Array(0); // in the layer
  private before: Neighbours = { start: new Int32Array(1), items: new Int32Array(0) };
  private after: Neighbours = this.before;
  private y = new Float64Array(0);

  constructor(private readonly input: LayoutInput) {
    this.count = input.heights.length;
    this.layer = new Array<number>(this.count).fill(0);
    this.heights = input.heights.slice();
  }

  run(): Layout {
    this.assignLayers();
    this.bend();
    this.fillLayers();
    const crossings = this.reduceCrossings();
    this.place();
    return this.result(crossings);
  }

  // The lower and the higher node of an edge, which gives every edge the same direction.
  private ends(edge: number): [number, number] {
    const { from, to } = this.input;
    return [Math.min(from[edge], to[edge]), Math.max(from[edge], to[edge])];
  }

  // A node's layer follows the last of those before it. Then nodes with more edges to later nodes move toward these.
  private assignLayers() {
    const low: number[] = [];
    const high: number[] = [];
    for (let edge = 0; edge < this.input.from.length; edge++) {
      const [a, b] = this.ends(edge);
      if (a !== b) {
        low.push(a);
        high.push(b);
      }
    }
    const after = neighbours(this.count, low, high);
    const before = neighbours(this.count, high, low);
    for (let node = 0; node < this.count; node++)
      for (let i = after.start[node]; i < after.start[node + 1]; i++, this.operations++)
        this.layer[after.items[i]] = Math.max(this.layer[after.items[i]], this.layer[node] + 1);
    for (let node = this.count - 1; node >= 0; node--) {
      const out = after.start[node + 1] - after.start[node];
      if (out <= before.start[node + 1] - before.start[node]) continue;
      let least = Infinity;
      for (let i = after.start[node]; i < after.start[node + 1]; i++, this.operations++) least = Math.min(least, this.layer[after.items[i]]);
      this.layer[node] = least - 1;
    }
    const first = this.layer.reduce((least, layer) => Math.min(least, layer), Infinity);
    for (let node = 0; node < this.count; node++) this.layer[node] -= first;
  }

  // An edge over several layers gets a bend in each of them, short edges first. Beyond the limit edges stay straight.
  private bend() {
    const edges = this.input.from.map((_, edge) => edge);
    const span = (edge: number) => Math.abs(this.layer[this.input.to[edge]] - this.layer[this.input.from[edge]]);
    edges.sort((a, b) => span(a) - span(b) || a - b);
    this.operations += edges.length;
    let bends = 0;
    for (const edge of edges) {
      const [a, b] = this.ends(edge);
      this.chains[edge] = a === b ? [] : [a, b];
      if (a === b || bends + span(edge) - 1 > MOST_BENDS) continue;
      const chain = [a];
      for (let layer = this.layer[a] + 1; layer < this.layer[b]; layer++, bends++, this.operations++) {
        chain.push(this.layer.length);
        this.layer.push(layer);
        this.heights.push(this.input.widths[edge]);
      }
      chain.push(b);
      this.chains[edge] = chain;
      for (let i = 1; i < chain.length; i++) {
        this.segmentFrom.push(chain[i - 1]);
        this.segmentTo.push(chain[i]);
      }
    }
  }

  private fillLayers() {
    const total = this.layer.length;
    const layerCount = this.layer.reduce((most, layer) => Math.max(most, layer), -1) + 1;
    const lists: number[][] = Array.from({ length: layerCount }, () => []);
    for (let node = 0; node < total; node++) lists[this.layer[node]].push(node);
    this.layers = lists.map((list) => Int32Array.from(list));
    this.position = new Int32Array(total);
    for (const list of this.layers) list.forEach((node, i) => (this.position[node] = i));
    this.before = neighbours(total, this.segmentTo, this.segmentFrom);
    this.after = neighbours(total, this.segmentFrom, this.segmentTo);
  }

  // --- Crossings

  // Sorts a layer by the mean position of each node's neighbors; a node without any keeps its place.
  private sortLayer(list: Int32Array, beside: Neighbours) {
    const key = new Float64Array(list.length);
    for (let i = 0; i < list.length; i++) {
      const [start, end] = [beside.start[list[i]], beside.start[list[i] + 1]];
      let sum = 0;
      for (let k = start; k < end; k++, this.operations++) sum += this.position[beside.items[k]];
      key[i] = end > start ? sum / (end - start) : i;
    }
    const order = Array.from(list, (_, i) => i).sort((a, b) => key[a] - key[b] || a - b);
    this.operations += list.length * Math.ceil(Math.log2(list.length + 1));
    const sorted = order.map((i) => list[i]);
    for (let i = 0; i < sorted.length; i++) {
      list[i] = sorted[i];
      this.position[sorted[i]] = i;
    }
  }

  // Counts crossings between a layer and the next with a tree of sums.
  private crossingsAfter(list: Int32Array, next: Int32Array): number {
    const tree = new Int32Array(next.length + 1);
    let crossings = 0;
    let total = 0;
    for (const node of list) {
      const positions: number[] = [];
      for (let k = this.after.start[node]; k < this.after.start[node + 1]; k++) positions.push(this.position[this.after.items[k]]);
      for (const at of positions) {
        let notBeyond = 0;
        for (let i = at + 1; i > 0; i -= i & -i, this.operations++) notBeyond += tree[i];
        crossings += total - notBeyond;
      }
      for (const at of positions) for (let i = at + 1; i <= next.length; i += i & -i, this.operations++) tree[i]++;
      total += positions.length;
    }
    return crossings;
  }

  private countCrossings(): number {
    let crossings = 0;
    for (let i = 0; i + 1 < this.layers.length; i++) crossings += this.crossingsAfter(this.layers[i], this.layers[i + 1]);
    return crossings;
  }

  private reduceCrossings(): number {
    let best = this.countCrossings();
    let kept = this.layers.map((list) => list.slice());
    let patience = PATIENCE;
    for (let sweep = 0; sweep < MOST_SWEEPS && best > 0 && patience > 0; sweep++) {
      if (sweep % 2 === 0) for (let i = 1; i < this.layers.length; i++) this.sortLayer(this.layers[i], this.before);
      else for (let i = this.layers.length - 2; i >= 0; i--) this.sortLayer(this.layers[i], this.after);
      const crossings = this.countCrossings();
      patience--;
      if (crossings < best) {
        best = crossings;
        kept = this.layers.map((list) => list.slice());
        patience = PATIENCE;
      }
    }
    this.layers = kept;
    for (const list of this.layers) list.forEach((node, i) => (this.position[node] = i));
    return best;
  }

  // --- Heights

  private gap(above: number, below: number): number {
    const gap = above >= this.count || below >= this.count ? BEND_GAP : NODE_GAP;
    return (this.heights[above] + this.heights[below]) / 2 + gap;
  }

  // Places a layer as near as possible to the wanted heights, in its order and with gaps: the least squares
  // solution, by joining neighbors that would overlap into blocks.
  private placeLayer(list: Int32Array, wanted: Float64Array, weight: Float64Array) {
    const blockSum: number[] = [];
    const blockWeight: number[] = [];
    const blockEnd: number[] = [];
    const offsets = new Float64Array(list.length);
    for (let i = 0; i < list.length; i++, this.operations++) {
      offsets[i] = i === 0 ? 0 : offsets[i - 1] + this.gap(list[i - 1], list[i]);
      blockSum.push((wanted[i] - offsets[i]) * weight[i]);
      blockWeight.push(weight[i]);
      blockEnd.push(i + 1);
      for (let last = blockSum.length - 1; last > 0 && blockSum[last - 1] / blockWeight[last - 1] > blockSum[last] / blockWeight[last]; last--) {
        blockSum[last - 1] += blockSum.pop() as number;
        blockWeight[last - 1] += blockWeight.pop() as number;
        blockEnd[last - 1] = blockEnd.pop() as number;
        this.operations++;
      }
    }
    for (let block = 0, i = 0; block < blockSum.length; block++)
      for (; i < blockEnd[block]; i++) this.y[list[i]] = blockSum[block] / blockWeight[block] + offsets[i];
  }

  // Moves each layer toward its neighbors. Bends count more than nodes, so that long edges become straight.
  private alignLayer(list: Int32Array, sides: Neighbours[]) {
    const wanted = new Float64Array(list.length);
    const weight = new Float64Array(list.length);
    for (let i = 0; i < list.length; i++) {
      const node = list[i];
      let sum = 0;
      let count = 0;
      for (const side of sides)
        for (let k = side.start[node]; k < side.start[node + 1]; k++, count++, this.operations++) sum += this.y[side.items[k]];
      wanted[i] = count ? sum / count : this.y[node];
      weight[i] = count === 0 ? 0.1 : node >= this.count ? 4 : 1;
    }
    this.placeLayer(list, wanted, weight);
  }

  private place() {
    this.y = new Float64Array(this.layer.length);
    for (const list of this.layers) {
      this.placeLayer(list, new Float64Array(list.length), new Float64Array(list.length).fill(1));
    }
    for (let pass = 0; pass < ALIGNMENTS; pass++) {
      const both = pass >= ALIGNMENTS - 2;
      if (pass % 2 === 0) for (const list of this.layers) this.alignLayer(list, both ? [this.before, this.after] : [this.before]);
      else for (let i = this.layers.length - 1; i >= 0; i--) this.alignLayer(this.layers[i], both ? [this.before, this.after] : [this.after]);
    }
  }

  private result(crossings: number): Layout {
    let top = Infinity;
    let bottom = -Infinity;
    for (let node = 0; node < this.layer.length; node++) {
      top = Math.min(top, this.y[node] - this.heights[node] / 2);
      bottom = Math.max(bottom, this.y[node] + this.heights[node] / 2);
    }
    if (this.layer.length === 0) top = bottom = 0;
    for (let node = 0; node < this.layer.length; node++) this.y[node] -= top;
    const routes = this.chains.map((chain) => Float64Array.from(chain.slice(1, -1).flatMap((node) => [this.layer[node], this.y[node]])));
    return {
      layer: Int32Array.from(this.layer.slice(0, this.count)),
      y: this.y.slice(0, this.count),
      routes,
      layerCount: this.layers.length,
      height: bottom - top,
      crossings,
      operations: this.operations,
    };
  }
}

export function layOut(input: LayoutInput): Layout {
  return new Layouter(input).run();
}
