// SPDX-License-Identifier: Apache-2.0
// Draws the scene of the value flow graph on a canvas, as far as it is in sight. Writes are red if many of their
// bytes were the same before, green if few, grey if that is unknown; reads are dashed. Labels appear when there is
// room for them.
import { colours, drawn, type Palette } from "./canvas";
import type { FlowGraph } from "./flow_graph";
import * as format from "./format";
import { overlaps, pieces, pointOn, type Box, type Curve, type Node, type Scene } from "./flow_scene";

// What is seen: the point of the scene in the upper left corner, and pixels per unit.
export interface Camera {
  x: number;
  y: number;
  scale: number;
}

export interface Emphasis {
  selected: number; // vertex; -1: none
  hoverVertex: number;
  hoverEdge: number;
  slice: Uint8Array | null; // by edge; the others are faded. null: none are
  found: ((vertex: number) => boolean) | null; // vertices that match the search
}

const LABELS = 0.3; // least scale at which nodes have labels
const TWO_LINES = 0.6; // least scale at which labels have two lines
const LEAST_FONT = 9.5; // in pixels of the screen
const EDGE_LABELS = 0.75;
const MOST_EDGE_LABELS = 120;
const FADED = 0.13;
const FAR = 0.25; // below this scale, many edges are drawn as plain lines
const MANY = 600;

export function edgeColour(graph: FlowGraph, edge: number, palette: Palette): string {
  if (graph.share(edge) === null) return palette.muted;
  return graph.isRedundant(edge) ? palette.redundant : palette.fresh;
}

// Describes how much of a write changed nothing, in a few words.
export function shareText(graph: FlowGraph, edge: number): string {
  const { compared, redundant } = graph.raw.edges;
  return graph.share(edge) === null ? "" : `${format.share(redundant[edge], compared[edge])} redundant`;
}

function trace(context: CanvasRenderingContext2D, curve: Curve) {
  context.beginPath();
  context.moveTo(curve.points[0], curve.points[1]);
  for (const [, , x1, y1, x2, y2, x, y] of pieces(curve)) context.bezierCurveTo(x1, y1, x2, y2, x, y);
}

// The tip of an arrow, open if the edge is uncertain.
function drawArrow(context: CanvasRenderingContext2D, curve: Curve, isOpen: boolean, thick: number) {
  const [, , , , px, py, x, y] = pieces(curve).at(-1) as number[];
  const angle = Math.atan2(y - py, x - px);
  const size = 5 + thick;
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  context.beginPath();
  context.moveTo(-size, -size * 0.6);
  context.lineTo(0, 0);
  context.lineTo(-size, size * 0.6);
  context.setLineDash([]);
  if (isOpen) {
    context.lineWidth = 1.5;
    context.stroke();
  } else {
    context.closePath();
    context.fill();
  }
  context.restore();
}

function drawCurve(context: CanvasRenderingContext2D, graph: FlowGraph, curve: Curve, emphasis: Emphasis, palette: Palette, scale: number) {
  const { edge } = curve;
  const isHovered = edge === emphasis.hoverEdge;
  const isFaded = emphasis.slice !== null && !emphasis.slice[edge];
  const colour = edgeColour(graph, edge, palette);
  // Far away, thin lines stay visible.
  const thick = Math.max(curve.width, 0.6 / scale) + (isHovered ? 1.5 / scale : 0);
  context.globalAlpha = isFaded ? FADED : isHovered ? 1 : 0.78;
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = thick;
  context.setLineDash(graph.isWrite(edge) ? [] : [4 + thick, 3 + thick / 2]);
  trace(context, curve);
  context.stroke();
  context.setLineDash([]);
  if (scale > 0.2) drawArrow(context, curve, graph.isUncertain(edge), thick);
  context.globalAlpha = 1;
  drawn.items++;
}

// Draws many edges that are far away: lines of one width, all of a color at once, without dashes and arrows.
function drawFar(context: CanvasRenderingContext2D, graph: FlowGraph, curves: Curve[], emphasis: Emphasis, palette: Palette, scale: number) {
  const groups = new Map<string, Curve[]>();
  for (const curve of curves) {
    const isFaded = emphasis.slice !== null && !emphasis.slice[curve.edge];
    const key = `${isFaded ? FADED : 0.6} ${edgeColour(graph, curve.edge, palette)}`;
    const list = groups.get(key);
    if (list) list.push(curve);
    else groups.set(key, [curve]);
  }
  context.lineWidth = 1 / scale;
  for (const [key, list] of [...groups].sort()) {
    const [alpha, colour] = key.split(" ");
    context.globalAlpha = Number(alpha);
    context.strokeStyle = colour;
    context.beginPath();
    for (const { points } of list) {
      context.moveTo(points[0], points[1]);
      for (let i = 2; i < points.length; i += 2) context.lineTo(points[i], points[i + 1]);
    }
    context.stroke();
    drawn.items += list.length;
  }
  context.globalAlpha = 1;
}

function outline(context: CanvasRenderingContext2D, node: Node, kind: string) {
  const { x, y, halfWidth: w, halfHeight: h } = node;
  context.beginPath();
  if (kind === "allocation") context.rect(x - w, y - h, 2 * w, 2 * h);
  else if (kind === "copy" || kind === "set") context.arc(x, y, w, 0, 2 * Math.PI);
  else if (kind === "unknown") {
    context.moveTo(x - w, y);
    context.lineTo(x, y - h);
    context.lineTo(x + w, y);
    context.lineTo(x, y + h);
    context.closePath();
  } else if (kind === "host") {
    context.moveTo(x - w, y + h);
    context.lineTo(x - w, y - h * 0.2);
    context.lineTo(x, y - h);
    context.lineTo(x + w, y - h * 0.2);
    context.lineTo(x + w, y + h);
    context.closePath();
  } else context.roundRect(x - w, y - h, 2 * w, 2 * h, h);
}

// Cuts a text to a width in the middle, or at the start, for places in files.
const cuts = new Map<string, string>();
function cut(context: CanvasRenderingContext2D, text: string, width: number, atStart: boolean): string {
  const key = `${width} ${context.font} ${text}`;
  const known = cuts.get(key);
  if (known !== undefined) return known;
  let shown = text;
  if (context.measureText(text).width > width) {
    let [least, most] = [1, text.length];
    while (least < most) {
      const middle = Math.ceil((least + most) / 2);
      if (context.measureText(shorten(text, middle, atStart)).width <= width) least = middle;
      else most = middle - 1;
    }
    shown = shorten(text, least, atStart);
  }
  if (cuts.size > 20000) cuts.clear();
  cuts.set(key, shown);
  return shown;
}

const shorten = (text: string, length: number, atStart: boolean) =>
  atStart ? `…${text.slice(text.length - length)}` : `${text.slice(0, Math.ceil((length * 2) / 3))}…${text.slice(text.length - Math.floor(length / 3))}`;

export function subtitle(graph: FlowGraph, vertex: number): string {
  const { calls, bytes } = graph.raw.vertices;
  const parts = [graph.place(vertex)];
  if (graph.kind(vertex) === "allocation") parts.push(calls[vertex] > 1 ? `${format.count(calls[vertex])}×, ${format.bytes(bytes[vertex])}` : format.bytes(bytes[vertex]));
  else if (calls[vertex] > 1) parts.push(`${format.count(calls[vertex])}×`);
  return parts.filter((part) => part && part !== graph.name(vertex)).join(" · ");
}

const FONT = 'system-ui, -apple-system, "Segoe UI", sans-serif';

function drawNode(context: CanvasRenderingContext2D, graph: FlowGraph, node: Node, isFaded: boolean, emphasis: Emphasis, palette: Palette, scale: number) {
  const { vertex } = node;
  const kind = graph.kind(vertex);
  const isSelected = vertex === emphasis.selected;
  const isUnknown = graph.raw.vertices.unknown[vertex] > 0 || kind === "unknown";
  const series: Record<string, number> = { allocation: 5, copy: 1, set: 2, launch: 0, graph: 0, host: 8, unknown: 8, other: 8 };
  context.globalAlpha = isFaded ? FADED * 2 : 1;
  outline(context, node, kind);
  context.fillStyle = palette.background;
  context.fill();
  context.globalAlpha *= 0.28;
  context.fillStyle = palette.series[series[kind] ?? 8];
  context.fill();
  context.globalAlpha = isFaded ? FADED * 2 : 1;
  const isFound = emphasis.found?.(vertex) ?? false;
  context.strokeStyle = isSelected || isFound ? palette.accent : vertex === emphasis.hoverVertex ? palette.text : palette.muted;
  context.lineWidth = (isSelected ? 3 : isFound || vertex === emphasis.hoverVertex ? 2 : 1) / Math.min(1, scale * 1.4);
  context.setLineDash(isUnknown ? [5, 4] : []);
  context.stroke();
  context.setLineDash([]);
  drawn.items++;
  if (scale >= LABELS) {
    const width = node.isRound ? 190 : 2 * node.halfWidth - 16;
    const below = scale >= TWO_LINES ? subtitle(graph, vertex) : "";
    const large = Math.max(12, LEAST_FONT / scale);
    const top = node.isRound ? node.y + node.halfHeight + large * 0.9 : node.y - 7;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillStyle = palette.text;
    context.font = `600 ${large}px ${FONT}`;
    context.fillText(cut(context, graph.name(vertex), width, false), node.x, below || node.isRound ? top : node.y);
    context.font = `11px ${FONT}`;
    context.fillStyle = palette.muted;
    const fits = context.measureText(below).width <= width;
    if (below) context.fillText(fits ? below : cut(context, graph.place(vertex), width, true), node.x, top + 15);
  }
  context.globalAlpha = 1;
}

// Says how much an edge moves and how much of that is redundant, at the middle of its curve. Says less, or nothing, if
// that would cover something else.
function drawEdgeLabel(context: CanvasRenderingContext2D, graph: FlowGraph, curve: Curve, palette: Palette, sight: Box, taken: Box[]) {
  const { edge } = curve;
  const parts = pieces(curve);
  const [x, y] = pointOn(parts[Math.floor((parts.length - 1) / 2)], 0.5);
  const size = `${graph.isBound(edge) ? "≤ " : ""}${format.bytes(graph.raw.edges.bytes[edge])}`;
  const share = shareText(graph, edge);
  context.font = `10px ${FONT}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const words of share ? [`${size}, ${share}`, share.split(" ")[0]] : [size]) {
    const half = context.measureText(words).width / 2 + 3;
    const box = { left: x - half, top: y - 7, right: x + half, bottom: y + 7 };
    if (!overlaps(box, sight) || taken.some((other) => overlaps(box, other))) continue;
    taken.push(box);
    context.globalAlpha = 0.85;
    context.fillStyle = palette.background;
    context.fillRect(box.left, box.top, 2 * half, 14);
    context.globalAlpha = 1;
    context.fillStyle = graph.isRedundant(edge) ? palette.redundant : palette.muted;
    context.fillText(words, x, y);
    return;
  }
}

// Where a node and its label are.
function nodeBox(node: Node): Box {
  const wide = node.isRound ? 60 : node.halfWidth;
  return { left: node.x - wide, right: node.x + wide, top: node.y - node.halfHeight, bottom: node.y + node.halfHeight + (node.isRound ? 34 : 0) };
}

export function drawScene(context: CanvasRenderingContext2D, width: number, height: number, graph: FlowGraph, scene: Scene, camera: Camera, emphasis: Emphasis) {
  const palette = colours();
  const { scale } = camera;
  const sight: Box = { left: camera.x, top: camera.y, right: camera.x + width / scale, bottom: camera.y + height / scale };
  const { from, to } = graph.raw.edges;
  const clear = new Uint8Array(graph.vertexCount); // not faded
  if (emphasis.slice)
    for (let edge = 0; edge < graph.edgeCount; edge++) if (emphasis.slice[edge]) clear[from[edge]] = clear[to[edge]] = 1;
  context.save();
  context.scale(scale, scale);
  context.translate(-camera.x, -camera.y);
  const shown = scene.curves.filter((curve) => overlaps(curve.box, sight));
  // What is emphasized lies on top.
  const level = (curve: Curve) => (curve.edge === emphasis.hoverEdge ? 2 : emphasis.slice?.[curve.edge] ? 1 : 0);
  const isFar = scale < FAR && shown.length > MANY;
  if (isFar) drawFar(context, graph, shown, emphasis, palette, scale);
  for (const top of isFar ? [2] : emphasis.slice || emphasis.hoverEdge >= 0 ? [0, 1, 2] : [0])
    for (const curve of shown) if (level(curve) === top) drawCurve(context, graph, curve, emphasis, palette, scale);
  const taken: Box[] = [];
  for (const node of scene.nodes) {
    const box = nodeBox(node);
    if (!overlaps(box, sight)) continue;
    taken.push(box);
    drawNode(context, graph, node, emphasis.slice !== null && !clear[node.vertex] && node.vertex !== emphasis.selected, emphasis, palette, scale);
  }
  // The largest edges come first.
  const labelled = shown.filter((curve) => !emphasis.slice || emphasis.slice[curve.edge]).sort((a, b) => b.width - a.width);
  if (scale >= EDGE_LABELS) for (const curve of labelled.slice(0, MOST_EDGE_LABELS)) drawEdgeLabel(context, graph, curve, palette, sight, taken);
  context.restore();
}
