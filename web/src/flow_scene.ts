// SPDX-License-Identifier: Apache-2.0
// The drawing of the value flow graph in coordinates of its own: nodes with shapes, and edges as curves. The host
// is drawn twice, as the source and as the sink of transfers. Nothing here knows the screen.
import type { FlowGraph, Part } from "./flow_graph";
import { layOut } from "./flow_layout";

export interface Node {
  vertex: number;
  x: number; // its center
  y: number;
  halfWidth: number; // of the shape
  halfHeight: number;
  isRound: boolean; // a circle, diamond or house, whose label is below
}

export interface Curve {
  edge: number;
  points: number[]; // x and y, from its source to its target; of a loop, the four points of a Bezier curve
  isLoop: boolean;
  width: number;
  box: Box;
}

export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export interface Scene {
  nodes: Node[];
  curves: Curve[];
  box: Box;
  operations: number; // of the layout
  crossings: number;
}

export const WIDE = 88; // half the width of a node with its label inside
const TALL = 21;
const ROUND = 15;
const BELOW = 30; // room for the label of a round node
const MOST_LOOPS = 3; // of different size
const COLUMN = 2 * WIDE + 84; // from layer to layer
const MARGIN = 40;
const WIDEST = 8;

// The widest edge has most bytes; each quarter of these is one narrower.
export function widthOf(bytes: number, most: number): number {
  return Math.max(1, WIDEST - Math.log(Math.max(1, most) / Math.max(1, bytes)) / Math.log(4));
}

const isRound = (kind: string) => kind === "copy" || kind === "set" || kind === "host" || kind === "unknown";

// Distributes the ends of edges over the side of a node, in the order of the points that they lead to.
function ports(curves: { at: Node; toward: number; width: number; set(y: number): void }[]) {
  const byNode = new Map<Node, typeof curves>();
  for (const end of curves) {
    const list = byNode.get(end.at);
    if (list) list.push(end);
    else byNode.set(end.at, [end]);
  }
  for (const [node, list] of byNode) {
    list.sort((a, b) => a.toward - b.toward);
    const total = list.reduce((sum, end) => sum + end.width + 2, 0);
    const room = Math.min(1, (node.halfHeight * 1.5) / total);
    let y = node.y - (total * room) / 2;
    for (const end of list) {
      const half = ((end.width + 2) * room) / 2;
      end.set(y + half);
      y += 2 * half;
    }
  }
}

export function sceneOf(graph: FlowGraph, part: Part): Scene {
  const { from, to, bytes } = graph.raw.edges;
  const used = new Set<number>();
  for (const edge of part.edges) used.add(from[edge]).add(to[edge]);
  // Sources come first and the sink of transfers last; the others are in the order of their first calls.
  const joined = part.vertices.filter((vertex) => used.has(vertex) && vertex !== graph.host);
  const alone = part.vertices.filter((vertex) => !used.has(vertex));
  const order: number[] = [];
  if (part.edges.some((edge) => from[edge] === graph.host)) order.push(graph.host);
  order.push(...joined);
  const indexOf = new Map(order.map((vertex, i) => [vertex, i]));
  const sink = order.length;
  if (part.edges.some((edge) => to[edge] === graph.host)) order.push(graph.host);
  const source = (edge: number) => indexOf.get(from[edge]) as number;
  const target = (edge: number) => (to[edge] === graph.host ? sink : (indexOf.get(to[edge]) as number));
  const loopsOf = new Map<number, number>();
  for (const edge of part.edges) if (from[edge] === to[edge]) loopsOf.set(from[edge], Math.min(MOST_LOOPS, (loopsOf.get(from[edge]) ?? 0) + 1));
  // Room above a node for its loops; there is as much below, so that it stays in the middle.
  const above = (vertex: number) => (loopsOf.has(vertex) ? 0.75 * loopHeight((loopsOf.get(vertex) as number) - 1) : 0);
  const tall = (vertex: number) => (isRound(graph.kind(vertex)) ? 2 * ROUND + BELOW : 2 * TALL) + 2 * above(vertex);
  const layout = layOut({ heights: order.map(tall), from: part.edges.map(source), to: part.edges.map(target), widths: part.edges.map((edge) => widthOf(bytes[edge], graph.mostBytes)) });

  const make = (vertex: number, x: number, y: number): Node => {
    const round = isRound(graph.kind(vertex));
    return { vertex, x, y: round ? y - BELOW / 2 : y, halfWidth: round ? ROUND : WIDE, halfHeight: round ? ROUND : TALL, isRound: round };
  };
  const nodes = order.map((vertex, i) => make(vertex, layout.layer[i] * COLUMN, layout.y[i]));
  const curves: Curve[] = [];
  const starts: Parameters<typeof ports>[0] = [];
  const ends: Parameters<typeof ports>[0] = [];
  const loops = new Map<Node, number>(); // how many each node has so far
  part.edges.forEach((edge, i) => {
    const [a, b] = [nodes[source(edge)], nodes[target(edge)]];
    const width = widthOf(bytes[edge], graph.mostBytes);
    const route: number[] = [];
    for (let k = 0; k < layout.routes[i].length; k += 2) route.push(layout.routes[i][k] * COLUMN, layout.routes[i][k + 1]);
    const isReversed = source(edge) > target(edge);
    const [left, right] = isReversed ? [b, a] : [a, b];
    const points = a === b ? loop(a, loops.get(a) ?? 0) : [left.x + left.halfWidth, left.y, ...route, right.x - right.halfWidth, right.y];
    if (a === b) loops.set(a, (loops.get(a) ?? 0) + 1);
    const curve: Curve = { edge, points, isLoop: a === b, width, box: { left: 0, top: 0, right: 0, bottom: 0 } };
    if (a !== b) {
      starts.push({ at: left, toward: points[3], width, set: (y) => (points[1] = y) });
      ends.push({ at: right, toward: points[points.length - 3], width, set: (y) => (points[points.length - 1] = y) });
    }
    curves.push(curve);
  });
  ports(starts);
  ports(ends);
  for (const curve of curves) {
    if (source(curve.edge) > target(curve.edge)) curve.points = reversed(curve.points);
    curve.box = boxOf(curve.points, curve.width + 4);
  }
  addAlone(nodes, alone, make, layout.layerCount, layout.height, order.length > 0);
  const box = nodes.reduce(
    (all, node) => ({
      left: Math.min(all.left, node.x - WIDE),
      top: Math.min(all.top, node.y - TALL),
      right: Math.max(all.right, node.x + WIDE),
      bottom: Math.max(all.bottom, node.y + TALL + (node.isRound ? BELOW : 0)),
    }),
    { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity },
  );
  if (nodes.length === 0) return { nodes, curves, box: { left: 0, top: 0, right: 1, bottom: 1 }, operations: 0, crossings: 0 };
  return {
    nodes,
    curves,
    box: { left: box.left - MARGIN, top: box.top - MARGIN, right: box.right + MARGIN, bottom: box.bottom + MARGIN },
    operations: layout.operations,
    crossings: layout.crossings,
  };
}

// Puts vertices without edges into rows below the others.
function addAlone(nodes: Node[], alone: number[], make: (vertex: number, x: number, y: number) => Node, layers: number, height: number, isBelow: boolean) {
  const columns = Math.max(4, Math.min(layers, 12), Math.ceil(Math.sqrt(alone.length / 3)));
  const top = isBelow ? height + 70 : 0;
  alone.forEach((vertex, i) => nodes.push(make(vertex, (i % columns) * COLUMN, top + Math.floor(i / columns) * (2 * TALL + 30))));
}

const loopHeight = (before: number) => 32 + 15 * before;

// A loop above its node; the first ones are larger and larger.
function loop(node: Node, before: number): number[] {
  const size = before % MOST_LOOPS;
  const [x, y, wide, tall] = [node.x, node.y - node.halfHeight, 12 + 7 * size, loopHeight(size)];
  return [x + wide, y, x + 3 * wide, y - tall, x - 3 * wide, y - tall, x - wide, y];
}

function reversed(points: number[]): number[] {
  const out: number[] = [];
  for (let i = points.length - 2; i >= 0; i -= 2) out.push(points[i], points[i + 1]);
  return out;
}

function boxOf(points: number[], more: number): Box {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (let i = 0; i < points.length; i += 2) {
    box.left = Math.min(box.left, points[i]);
    box.right = Math.max(box.right, points[i]);
    box.top = Math.min(box.top, points[i + 1]);
    box.bottom = Math.max(box.bottom, points[i + 1]);
  }
  return { left: box.left - more, top: box.top - more, right: box.right + more, bottom: box.bottom + more };
}

export const overlaps = (a: Box, b: Box): boolean => a.left <= b.right && b.left <= a.right && a.top <= b.bottom && b.top <= a.bottom;

// Returns the Bezier curves that make up a curve, each as its four points. They leave and enter the points of the
// curve horizontally.
export function pieces(curve: Curve): number[][] {
  const { points } = curve;
  if (curve.isLoop) return [points];
  const out: number[][] = [];
  for (let i = 2; i < points.length; i += 2) {
    const [ax, ay, bx, by] = points.slice(i - 2, i + 2);
    out.push([ax, ay, (ax + bx) / 2, ay, (ax + bx) / 2, by, bx, by]);
  }
  return out;
}

// Returns the point at a part of a Bezier curve.
export function pointOn(piece: number[], part: number): [number, number] {
  const rest = 1 - part;
  const weights = [rest ** 3, 3 * rest ** 2 * part, 3 * rest * part ** 2, part ** 3];
  const sum = (first: number) => weights.reduce((total, weight, i) => total + weight * piece[first + 2 * i], 0);
  return [sum(0), sum(1)];
}

// Returns the square of the distance from a point to a curve, approximately.
export function distance2(curve: Curve, x: number, y: number): number {
  let least = Infinity;
  for (const piece of pieces(curve)) {
    for (let step = 0; step <= 16; step++) {
      const [px, py] = pointOn(piece, step / 16);
      least = Math.min(least, (px - x) ** 2 + (py - y) ** 2);
    }
  }
  return least;
}

export function nodeAt(scene: Scene, x: number, y: number): Node | null {
  for (const node of scene.nodes) {
    const below = node.isRound ? BELOW : 0;
    if (Math.abs(x - node.x) <= node.halfWidth + 2 && y >= node.y - node.halfHeight - 2 && y <= node.y + node.halfHeight + below) return node;
  }
  return null;
}

// Returns the curve nearest to the point, at most so far away.
export function curveAt(scene: Scene, x: number, y: number, most: number): Curve | null {
  let best: Curve | null = null;
  let least = most * most;
  const near = { left: x - most, top: y - most, right: x + most, bottom: y + most };
  for (const curve of scene.curves) {
    if (!overlaps(curve.box, near)) continue;
    const found = distance2(curve, x, y) - (curve.width / 2) ** 2;
    if (found < least) [best, least] = [curve, found];
  }
  return best;
}
