// SPDX-License-Identifier: Apache-2.0
// Value flow: which calls write what other calls use, as a graph from left to right. A click on a vertex shows its
// slice. Sliders leave out edges of few bytes or little redundancy, and vertices of few calls. The table below has
// the same vertices.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useKeys } from "./axis";
import { Canvas, colours } from "./canvas";
import type { Profile } from "./data";
import { useDeferred } from "./deferred";
import { drawScene, shareText, subtitle, type Camera, type Emphasis } from "./flow_draw";
import { FlowGraph, type Part } from "./flow_graph";
import { curveAt, nodeAt, sceneOf, type Scene } from "./flow_scene";
import * as format from "./format";
import { matches, Path, type ViewProps } from "./parts";
import { go } from "./state";
import { Table, type Column } from "./table";

const STEPS = 100; // of a slider
const FEW = 300; // of a graph with at most so many vertices, those without edges are shown at first
const MOST_AT_FIRST = 400; // edges
const LEAST_SCALE = 0.01;
const MOST_SCALE = 3;

const graphs = new WeakMap<Profile, FlowGraph>();

export function flowOf(profile: Profile): FlowGraph {
  let graph = graphs.get(profile);
  if (!graph) graphs.set(profile, (graph = new FlowGraph(profile.raw.flow, (index) => profile.text(index))));
  return graph;
}

// Returns the value of a slider, whose steps are equal factors; 0 at the first step.
export const stepValue = (step: number, most: number): number => (step === 0 ? 0 : Math.ceil(most ** (step / STEPS)));

// Returns the first step of the slider of bytes at which there are not too many edges to look at.
export function firstStep(graph: FlowGraph): number {
  const sorted = graph.raw.edges.bytes.slice().sort((a, b) => b - a);
  if (sorted.length <= MOST_AT_FIRST) return 0;
  for (let step = 1; step <= STEPS; step++) if (sorted[MOST_AT_FIRST] < stepValue(step, graph.mostBytes)) return step;
  return STEPS;
}

// --- The camera

interface Size {
  width: number;
  height: number;
}

const fitted = (scene: Scene, size: Size): Camera => {
  const { left, top, right, bottom } = scene.box;
  const scale = Math.min(1, Math.max(LEAST_SCALE, Math.min(size.width / (right - left), size.height / (bottom - top))));
  return { scale, x: (left + right) / 2 - size.width / scale / 2, y: (top + bottom) / 2 - size.height / scale / 2 };
};

const zoomed = (camera: Camera, factor: number, x: number, y: number): Camera => {
  const scale = Math.min(MOST_SCALE, Math.max(LEAST_SCALE, camera.scale * factor));
  return { scale, x: camera.x + x / camera.scale - x / scale, y: camera.y + y / camera.scale - y / scale };
};

interface Hover {
  x: number;
  y: number;
  vertex: number;
  edge: number;
}

// Handles the wheel, which zooms, and dragging, which moves. Returns whether the pointer was dragged since it was
// pressed, so that the end of a drag is not a click.
function useCamera(element: { current: HTMLDivElement | null }, set: (change: (camera: Camera) => Camera) => void) {
  const moved = useRef(false);
  useEffect(() => {
    const box = element.current;
    if (!box) return;
    let last: { x: number; y: number } | null = null;
    const wheel = (event: WheelEvent) => {
      const { left, top } = box.getBoundingClientRect();
      if (event.shiftKey) set((camera) => ({ ...camera, x: camera.x + (event.deltaX || event.deltaY) / camera.scale }));
      else set((camera) => zoomed(camera, Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), event.clientX - left, event.clientY - top));
      event.preventDefault();
    };
    const down = (event: PointerEvent) => {
      if (event.button !== 0) return;
      last = { x: event.clientX, y: event.clientY };
      moved.current = false;
    };
    const drag = (event: PointerEvent) => {
      if (!last || !(event.buttons & 1)) return;
      const [x, y] = [event.clientX - last.x, event.clientY - last.y];
      if (!moved.current && Math.hypot(x, y) < 4) return;
      moved.current = true;
      last = { x: event.clientX, y: event.clientY };
      set((camera) => ({ ...camera, x: camera.x - x / camera.scale, y: camera.y - y / camera.scale }));
    };
    box.addEventListener("wheel", wheel, { passive: false });
    box.addEventListener("pointerdown", down);
    box.addEventListener("pointermove", drag);
    return () => {
      box.removeEventListener("wheel", wheel);
      box.removeEventListener("pointerdown", down);
      box.removeEventListener("pointermove", drag);
    };
  }, []);
  return moved;
}

// --- The figure

// Returns the vertex to which an arrow key leads: left and right along edges, up and down in the layer.
function neighbour(scene: Scene, vertex: number, key: string): number {
  const here = scene.nodes.find((node) => node.vertex === vertex);
  if (!here) return scene.nodes[0]?.vertex ?? -1;
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key] ?? [0, 0];
  let best = vertex;
  let least = Infinity;
  for (const node of scene.nodes) {
    const along = (node.x - here.x) * dx + (node.y - here.y) * dy;
    const aside = Math.abs(dx ? node.y - here.y : node.x - here.x);
    const cost = along + 3 * aside;
    if (along > 1 && cost < least) [best, least] = [node.vertex, cost];
  }
  return best;
}

function Tip({ graph, profile, hover, width }: { graph: FlowGraph; profile: Profile; hover: Hover; width: number }) {
  const { edges, vertices } = graph.raw;
  const style = { left: `${Math.max(0, Math.min(hover.x + 14, width - 330))}px`, top: `${hover.y + 16}px` };
  if (hover.vertex >= 0)
    return (
      <div class="tooltip flow-tip" style={style}>
        <b class="mono">{graph.name(hover.vertex)}</b>
        <div class="soft">{[graph.kind(hover.vertex), subtitle(graph, hover.vertex)].filter(Boolean).join(", ")}</div>
        {vertices.unknown[hover.vertex] > 0 && <div>{format.plural(vertices.unknown[hover.vertex], "call")} with unknown accesses</div>}
        {vertices.path[hover.vertex] > 0 && <Path frames={profile.frames(vertices.path[hover.vertex]).slice(0, 8)} profile={profile} />}
      </div>
    );
  const edge = hover.edge;
  return (
    <div class="tooltip flow-tip" style={style}>
      <b class="mono">{graph.objectName(edge)}</b>
      <div>
        {graph.isWrite(edge) ? "written" : "read"}: {graph.isBound(edge) ? "at most " : ""}
        {format.bytes(edges.bytes[edge])}, {format.plural(edges.times[edge], "time")}
      </div>
      {graph.isWrite(edge) && <div>{shareText(graph, edge) || "redundancy unknown"}</div>}
      <div class="soft">
        {graph.name(edges.from[edge])} → {graph.name(edges.to[edge])}
      </div>
      {graph.isUncertain(edge) && <div class="soft">Something else may have written it in between.</div>}
    </div>
  );
}

interface FigureProps {
  graph: FlowGraph;
  profile: Profile;
  part: Part;
  selected: number;
  slice: Uint8Array | null;
  search: string;
  theme: string;
  select(vertex: number): void;
}

function Figure({ graph, profile, part, selected, slice, search, theme, select }: FigureProps) {
  const scene = useMemo(() => sceneOf(graph, part), [graph, part]);
  const box = useRef<HTMLDivElement>(null);
  const [camera, setCamera] = useState<Camera>({ x: 0, y: 0, scale: 1 });
  const [hover, setHover] = useState<Hover | null>(null);
  const moved = useCamera(box, setCamera);
  const size = (): Size => ({ width: box.current?.clientWidth || 1000, height: box.current?.clientHeight || 500 });
  const show = () => setCamera(fitted(scene, size()));
  useEffect(show, [scene]);
  // A vertex that is selected elsewhere comes into sight.
  useEffect(() => {
    const node = scene.nodes.find((one) => one.vertex === selected);
    if (!node) return;
    setCamera((now) => {
      const { width, height } = size();
      const [x, y] = [(node.x - now.x) * now.scale, (node.y - now.y) * now.scale];
      const isInSight = x > 20 && y > 20 && x < width - 20 && y < height - 20;
      return isInSight ? now : { ...now, x: node.x - width / now.scale / 2, y: node.y - height / now.scale / 2 };
    });
  }, [selected, scene]);

  const emphasis: Emphasis = {
    selected,
    hoverVertex: hover?.vertex ?? -1,
    hoverEdge: hover?.edge ?? -1,
    slice,
    found: search ? (vertex) => matches(search, graph.name(vertex), graph.place(vertex), graph.kind(vertex)) : null,
  };
  const find = (event: PointerEvent | MouseEvent): Hover => {
    const rectangle = (box.current as HTMLDivElement).getBoundingClientRect();
    const [x, y] = [event.clientX - rectangle.left, event.clientY - rectangle.top];
    const [sceneX, sceneY] = [camera.x + x / camera.scale, camera.y + y / camera.scale];
    const node = nodeAt(scene, sceneX, sceneY);
    const curve = node ? null : curveAt(scene, sceneX, sceneY, 5 / camera.scale);
    return { x, y, vertex: node?.vertex ?? -1, edge: curve?.edge ?? -1 };
  };
  // Zooms around the selected vertex, which comes to the middle if it is not in sight, or around the middle.
  const zoom = (factor: number) =>
    setCamera((now) => {
      const { width, height } = size();
      const node = scene.nodes.find((one) => one.vertex === selected);
      const [x, y] = node ? [(node.x - now.x) * now.scale, (node.y - now.y) * now.scale] : [width / 2, height / 2];
      const next = zoomed(now, factor, x, y);
      if (!node || (x >= 0 && y >= 0 && x <= width && y <= height)) return next;
      return { ...next, x: node.x - width / next.scale / 2, y: node.y - height / next.scale / 2 };
    });
  useKeys((event) => {
    const { width, height } = size();
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (event.key === "0") show();
    else if (event.key.startsWith("Arrow")) {
      const [dx, dy] = [event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0, event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0];
      if (event.shiftKey) setCamera((now) => ({ ...now, x: now.x + (dx * width) / 5 / now.scale, y: now.y + (dy * height) / 5 / now.scale }));
      else select(neighbour(scene, selected, event.key));
    } else return;
    event.preventDefault();
  });
  const pointed = hover && (hover.vertex >= 0 || hover.edge >= 0);
  return (
    <div
      class={`flow${pointed ? " is-pointed" : ""}`}
      id="flow-graph"
      ref={box}
      tabIndex={0}
      role="application"
      aria-label={`value flow graph with ${format.plural(part.vertices.length, "vertex", "vertices")} and ${format.plural(part.edges.length, "edge")}: arrow keys go from vertex to vertex, plus and minus zoom, Shift and arrow keys move; the table below has the same vertices`}
      data-operations={scene.operations}
      onPointerMove={(event) => setHover(event.buttons & 1 ? null : find(event))}
      onPointerLeave={() => setHover(null)}
      onDblClick={show}
      onClick={(event) => {
        if (moved.current) return;
        const { vertex } = find(event);
        select(vertex);
      }}
    >
      <div class="flow-canvas">
        <Canvas theme={theme} draw={(context, width, height) => drawScene(context, width, height, graph, scene, camera, emphasis)} />
      </div>
      <span class="buttons flow-zoom" role="group" aria-label="zoom" onClick={(event) => event.stopPropagation()}>
        <button type="button" aria-label="zoom in" title="zoom in (+, or the wheel)" onClick={() => zoom(1.5)}>
          +
        </button>
        <button type="button" aria-label="zoom out" title="zoom out (-)" onClick={() => zoom(1 / 1.5)}>
          −
        </button>
        <button type="button" title="show all (0)" onClick={show}>
          all
        </button>
      </span>
      {part.vertices.length === 0 && <p class="empty">{graph.vertexCount === 0 ? "No call of this profile uses memory of the GPU." : "Nothing is as large as the limits above ask for."}</p>}
      {hover && pointed && <Tip graph={graph} profile={profile} hover={hover} width={size().width} />}
    </div>
  );
}

// --- The view

function Slider(props: { id: string; label: string; value: number; text: string; set(step: number): void }) {
  return (
    <label class="slider">
      {props.label}
      <input id={props.id} type="range" min={0} max={STEPS} step={1} value={props.value} aria-valuetext={props.text} onInput={(event) => props.set(Number(event.currentTarget.value))} />
      <span class="slider-value">{props.text}</span>
    </label>
  );
}

function Legend({ graph, theme }: { graph: FlowGraph; theme: string }) {
  const line = (colour: () => string, dash: number[]) => (context: CanvasRenderingContext2D) => {
    context.strokeStyle = colour();
    context.lineWidth = 3;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(0, 8);
    context.lineTo(22, 8);
    context.stroke();
  };
  const shape = (series: number, path: (context: CanvasRenderingContext2D) => void) => (context: CanvasRenderingContext2D) => {
    context.beginPath();
    path(context);
    context.globalAlpha = 0.35;
    context.fillStyle = colours().series[series];
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = colours().muted;
    context.stroke();
  };
  const items: [string, (context: CanvasRenderingContext2D) => void][] = [
    ["allocation", shape(5, (context) => context.rect(1.5, 3.5, 19, 10))],
    ["copy, set", shape(1, (context) => context.arc(11, 8.5, 5.5, 0, 2 * Math.PI))],
    ["kernel", shape(0, (context) => context.roundRect(1.5, 3.5, 19, 10, 5))],
    ["read", line(() => colours().muted, [4, 3])],
    ["write, redundancy unknown", line(() => colours().muted, [])],
    [`under ${graph.raw.redundant_percent}% redundant`, line(() => colours().fresh, [])],
    ["more", line(() => colours().redundant, [])],
  ];
  return (
    <ul class="legend">
      {items.map(([text, draw]) => (
        <li>
          <Canvas class="key" theme={theme} draw={draw} /> {text}
        </li>
      ))}
    </ul>
  );
}

export function Flow({ profile, state, search, theme }: ViewProps) {
  const graph = flowOf(profile);
  const [bytes, setBytes] = useState(() => firstStep(graph));
  const [calls, setCalls] = useState(graph.vertexCount <= FEW ? 0 : STEPS);
  const [share, setShare] = useState(0);
  const [only, setOnly] = useState(false);
  const selected = graph.at(state.vertex);
  const limits = useDeferred(`${bytes} ${calls} ${share}`);
  const sliced = only ? selected : -1;
  const leastBytes = stepValue(bytes, graph.mostBytes);
  const leastCalls = calls === STEPS ? Infinity : stepValue(calls, graph.mostCalls);
  const part = useMemo(() => graph.choose({ leastBytes, leastCalls, leastShare: share, slice: sliced }), [graph, limits, sliced]);
  const slice = useMemo(() => (selected >= 0 && !only ? graph.slice(selected) : null), [graph, selected, only]);
  const select = (vertex: number) => go(vertex < 0 ? { view: "flow" } : { view: "flow", vertex: graph.id(vertex) });
  return (
    <div class="view">
      <div class="tools">
        <Slider id="flow-bytes" label="edges of" value={bytes} set={setBytes} text={leastBytes === 0 ? "any size" : `≥ ${format.bytes(leastBytes)}`} />
        <Slider id="flow-share" label="and" value={share} set={setShare} text={share === 0 ? "any redundancy" : `≥ ${share}% redundant`} />
        <Slider id="flow-calls" label="vertices without edges of" value={calls} set={setCalls} text={leastCalls === Infinity ? "none" : leastCalls <= 1 ? "any calls" : `≥ ${format.count(leastCalls)} calls`} />
        <label>
          <input type="checkbox" id="flow-only" checked={only} disabled={selected < 0} onChange={(event) => setOnly(event.currentTarget.checked)} /> only the slice of the selected vertex
        </label>
        <Legend graph={graph} theme={theme} />
      </div>
      <Figure graph={graph} profile={profile} part={part} selected={selected} slice={slice} search={search} theme={theme} select={select} />
      <Vertices graph={graph} part={part} selected={selected} search={search} theme={theme} select={select} />
    </div>
  );
}

function Vertices(props: { graph: FlowGraph; part: Part; selected: number; search: string; theme: string; select(vertex: number): void }) {
  const { graph, part, search } = props;
  const { edges, vertices } = graph.raw;
  const rows = useMemo(() => part.vertices.filter((i) => matches(search, graph.name(i), graph.place(i), graph.kind(i))), [graph, part, search]);
  const sums = useMemo(() => {
    const of = () => new Float64Array(graph.vertexCount);
    const out = { read: of(), written: of(), compared: of(), redundant: of() };
    for (const edge of part.edges) {
      const to = edges.to[edge];
      (graph.isWrite(edge) ? out.written : out.read)[to] += edges.bytes[edge];
      out.compared[to] += edges.compared[edge];
      out.redundant[to] += edges.redundant[edge];
    }
    return out;
  }, [graph, part]);
  const bytes = (value: number) => (value ? format.bytes(value) : "");
  const columns: Column[] = [
    { key: "id", title: "#", width: "3.5rem", numeric: true, value: (i) => graph.id(i), sort: (i) => graph.id(i) },
    { key: "kind", title: "kind", width: "6rem", value: (i) => graph.kind(i), sort: (i) => graph.kind(i) },
    { key: "name", title: "what", width: "minmax(8rem, 1fr)", value: (i) => <span class="mono" title={graph.name(i)}>{graph.name(i)}</span>, sort: (i) => graph.name(i) },
    { key: "place", title: "place", width: "minmax(6rem, 12rem)", minor: 1, value: (i) => graph.place(i), sort: (i) => graph.place(i) },
    { key: "calls", title: "calls", width: "5.5rem", numeric: true, descending: true, value: (i) => (vertices.calls[i] ? format.count(vertices.calls[i]) : ""), sort: (i) => vertices.calls[i] },
    { key: "read", title: "reads", width: "6rem", numeric: true, minor: 3, descending: true, value: (i) => bytes(sums.read[i]), sort: (i) => sums.read[i] },
    { key: "written", title: "writes", width: "6rem", numeric: true, minor: 2, descending: true, value: (i) => bytes(sums.written[i]), sort: (i) => sums.written[i] },
    { key: "redundant", title: "redundant", width: "6rem", numeric: true, minor: 4, descending: true, value: (i) => (sums.compared[i] ? format.share(sums.redundant[i], sums.compared[i]) : ""), sort: (i) => (sums.compared[i] ? sums.redundant[i] / sums.compared[i] : -1) },
  ];
  return (
    <Table id="vertices" label="vertices of the value flow graph" theme={props.theme} rows={rows} columns={columns} rowHeight={24} height="30%" initial={{ key: "id", descending: false }}
      selected={props.selected} onSelect={props.select} empty={search ? "No vertex matches the search." : "There are no vertices."} />
  );
}
