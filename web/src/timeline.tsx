// SPDX-License-Identifier: Apache-2.0
// The timeline: a lane of calls for each host thread, and a lane of GPU work for each stream, all on one clock
// (clock.ts). Arrows show what the selected call depends on and what depends on it. The table below lists all calls
// of the page.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { fromPixel, toPixel, useGestures, useKeys, useWindow, zoomKey, type Window } from "./axis";
import { Canvas, colours, drawn, fitting, type Palette } from "./canvas";
import { clockOf, hasTimes, isOnGpu, spanOf } from "./clock";
import { lowerBound, type Profile } from "./data";
import { dependencies } from "./depend";
import * as format from "./format";
import { drawAxis } from "./objects";
import { type ViewProps } from "./parts";
import { go } from "./state";
import { Table, type Column } from "./table";
import { ZoomButtons } from "./tools";

const LANE = 26;
const MOST_LEFT = 150; // room for the names of lanes
const AXIS = 24;

interface LaneRow {
  title: string;
  isStream: boolean;
  number: number; // of the stream or thread
  calls: Int32Array; // sorted by start
  starts: Float64Array;
  ends: Float64Array;
}

// Kinds of calls as the legend shows them: label, kinds, color.
const GROUPS: [string, string[], number][] = [
  ["kernel", ["launch", "graph-launch"], 0],
  ["copy", ["copy"], 1],
  ["set", ["set"], 2],
  ["synchronization", ["sync", "event-wait", "event-record"], 3],
  ["allocation, free", ["alloc", "free", "memory"], 5],
  ["other", [], 8],
];

function groupOf(kind: string): number {
  const at = GROUPS.findIndex(([, kinds]) => kinds.includes(kind));
  return at < 0 ? GROUPS.length - 1 : at;
}

// Room for the names of lanes, which is less where the page is narrow.
const leftOf = (width: number): number => Math.min(MOST_LEFT, Math.round(width / 4));

// A call is on its stream's lane if the GPU worked for it, and on its thread's lane.
function lanesOf(profile: Profile): LaneRow[] {
  const threads = new Map<number, number[]>();
  const streams = new Map<number, number[]>();
  const add = (map: Map<number, number[]>, key: number, call: number) => {
    const list = map.get(key);
    if (list) list.push(call);
    else map.set(key, [call]);
  };
  for (let call = 0; call < profile.callCount; call++) {
    add(threads, profile.callColumn(call, "thread"), call);
    if (isOnGpu(profile, call)) add(streams, profile.callColumn(call, "stream"), call);
  }
  for (const lane of profile.raw.calls.rest.lanes) if (!streams.has(lane.stream)) streams.set(lane.stream, []);
  const make = (title: string, isStream: boolean, number: number, list: number[]): LaneRow => {
    const start = (call: number) => spanOf(profile, call, isStream)[0];
    list.sort((a, b) => start(a) - start(b) || a - b);
    return {
      title,
      isStream,
      number,
      calls: Int32Array.from(list),
      starts: Float64Array.from(list, start),
      ends: Float64Array.from(list, (call) => spanOf(profile, call, isStream)[1]),
    };
  };
  const { head } = profile;
  const threadName = (number: number) => head.threads.find((thread) => thread.number === number)?.name;
  const streamName = (number: number) => {
    const stream = head.streams.find((row) => row.number === number);
    return number === 0 ? "no stream" : `stream ${number}${stream?.legacy ? " (default)" : ""}`;
  };
  return [
    ...[...threads].sort((a, b) => a[0] - b[0]).map(([number, list]) => make(`thread ${number}${threadName(number) ? `: ${threadName(number)}` : ""}`, false, number, list)),
    ...[...streams].sort((a, b) => a[0] - b[0]).map(([number, list]) => make(streamName(number), true, number, list)),
  ];
}

// Draws at most one bar per pixel: short calls in the same pixel share a bar.
function drawLane(context: CanvasRenderingContext2D, profile: Profile, lane: LaneRow, view: Window, y: number, left: number, width: number, palette: Palette) {
  const pixel = (view.to - view.from) / width;
  const top = y + 4;
  const tall = LANE - 8;
  if (lane.isStream) drawRest(context, profile, lane, view, top, tall, left, width, palette);
  let at = Math.max(0, lowerBound(lane.starts, view.from) - 1);
  while (at < lane.calls.length && lane.starts[at] <= view.to) {
    const from = Math.max(-1, (lane.starts[at] - view.from) / pixel);
    const to = Math.min(width + 1, (lane.ends[at] - view.from) / pixel);
    const call = lane.calls[at];
    if (to >= 0) {
      const group = groupOf(profile.callKind(call));
      context.fillStyle = palette.series[GROUPS[group][2]];
      context.fillRect(left + from, top, Math.max(1, to - from), tall);
      drawn.items++;
      if (to - from > 40) {
        context.fillStyle = "#101418"; // readable on all series colors
        context.fillText(fitting(context, profile.callTitle(call), to - Math.max(0, from) - 8), left + Math.max(0, from) + 4, top + tall / 2 + 0.5);
      }
      if (to - from > 3) {
        context.fillStyle = palette.background;
        context.fillRect(left + to - 0.5, top, 0.5, tall);
      }
    }
    at = Math.max(at + 1, to - from < 1 ? lowerBound(lane.ends, view.from + (Math.floor(Math.max(0, from)) + 1) * pixel) : 0);
  }
}

function drawRest(context: CanvasRenderingContext2D, profile: Profile, lane: LaneRow, view: Window, top: number, tall: number, left: number, width: number, palette: Palette) {
  const { rest } = profile.raw.calls;
  const row = rest.lanes.find((one) => one.stream === lane.number);
  if (!row) return;
  const step = rest.end / rest.buckets;
  context.fillStyle = palette.idle;
  for (let i = Math.max(0, Math.floor(view.from / step)); i < rest.buckets && i * step < view.to; i++) {
    if (!row.count[i]) continue;
    const x = toPixel(view, width, i * step);
    const part = Math.max(0.12, Math.min(1, (hasTimes(profile) ? row.busy_ns[i] : row.count[i]) / step));
    context.fillRect(left + x, top + tall * (1 - part), Math.max(1, (step / (view.to - view.from)) * width), tall * part);
    drawn.items++;
  }
}

export function Timeline({ profile, state, search, theme }: ViewProps) {
  const lanes = useMemo(() => lanesOf(profile), [profile]);
  const axis = clockOf(profile);
  const figure = useRef<HTMLDivElement>(null);
  const [left, setLeft] = useState(MOST_LEFT);
  const [hover, setHover] = useState<{ x: number; y: number; call: number } | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const selected = profile.callAt(state.call);
  const callSpan = (call: number): [number, number] => spanOf(profile, call, isOnGpu(profile, call));
  const [keepFrom, keepTo] = selected < 0 ? [0, 0] : callSpan(selected);
  const view = useWindow(profile.endOf(axis), axis === "time" ? 50 : 2, selected < 0 ? null : { from: keepFrom, to: keepTo });
  const gestures = useGestures(view, left);
  useEffect(() => {
    const observer = new ResizeObserver(() => setLeft(leftOf(figure.current?.clientWidth ?? 0)));
    if (figure.current) observer.observe(figure.current);
    return () => observer.disconnect();
  }, []);
  const depends = useMemo(() => (selected < 0 ? { before: [], after: [] } : dependencies(profile, selected)), [profile, selected]);

  // Fits the view to the selected call and its dependencies, except for those that are far away.
  const fit = () => {
    if (selected < 0) return;
    let [from, to] = callSpan(selected);
    const far = 20 * Math.max(to - from, axis === "time" ? 1000 : 1);
    for (const row of [...depends.before, ...depends.after]) {
      const [a, b] = callSpan(row.call);
      if (a > from - far && b < to + far) [from, to] = [Math.min(from, a), Math.max(to, b)];
    }
    view.show(from - (to - from) * 0.3, to + (to - from) * 0.3);
  };
  useEffect(fit, []);
  useEffect(() => {
    if (selected < 0) return;
    const [start] = callSpan(selected);
    if (start < view.from || start > view.to) view.move(start - (view.from + view.to) / 2);
    const top = (placeOf(selected)?.lane ?? 0) * LANE;
    const box = scroller.current;
    if (box && (top < box.scrollTop || top + LANE > box.scrollTop + box.clientHeight)) box.scrollTop = top - box.clientHeight / 2;
  }, [selected]);

  const placeOf = (call: number): { lane: number; from: number; to: number } | null => {
    const isStream = isOnGpu(profile, call);
    const [from, to] = callSpan(call);
    const number = profile.callColumn(call, isStream ? "stream" : "thread");
    const lane = lanes.findIndex((row) => row.isStream === isStream && row.number === number);
    return lane < 0 ? null : { lane, from, to };
  };

  const draw = (context: CanvasRenderingContext2D, width: number, height: number) => {
    const palette = colours();
    const inner = width - left;
    context.textBaseline = "middle";
    const first = Math.max(0, Math.floor(scroll / LANE));
    for (let i = first; i < lanes.length && i * LANE - scroll < height; i++) {
      const y = i * LANE - scroll;
      context.fillStyle = i % 2 ? palette.background : palette.panel;
      context.fillRect(0, y, width, LANE);
      context.save();
      context.beginPath();
      context.rect(left, y, inner, LANE);
      context.clip();
      context.textAlign = "left";
      drawLane(context, profile, lanes[i], view, y, left, inner, palette);
      context.restore();
      context.fillStyle = palette.text;
      context.fillText(fitting(context, lanes[i].title, left - 14), 8, y + LANE / 2);
    }
    if (selected < 0) return;
    context.save();
    context.beginPath();
    context.rect(left, 0, inner, height);
    context.clip();
    const x = (value: number) => left + toPixel(view, inner, value);
    const outline = (call: number, colour: string, thick: number) => {
      const place = placeOf(call);
      if (!place) return;
      context.strokeStyle = colour;
      context.lineWidth = thick;
      context.strokeRect(x(place.from) - 1, place.lane * LANE - scroll + 3, Math.max(3, x(place.to) - x(place.from) + 2), LANE - 6);
    };
    const edge = (from: number, to: number, colour: string) => {
      const a = placeOf(from);
      const b = placeOf(to);
      if (!a || !b) return;
      const [ax, ay, bx, by] = [x(a.to), a.lane * LANE + LANE / 2 - scroll, x(b.from), b.lane * LANE + LANE / 2 - scroll];
      const bend = Math.max(12, Math.abs(bx - ax) / 2);
      const lift = a.lane === b.lane ? LANE : 0;
      context.strokeStyle = colour;
      context.lineWidth = 1.5;
      context.beginPath();
      context.moveTo(ax, ay);
      context.bezierCurveTo(ax + bend, ay - lift, bx - bend, by - lift, bx, by);
      context.stroke();
      context.fillStyle = colour;
      context.beginPath();
      context.moveTo(bx, by);
      context.lineTo(bx - 6, by - 3.5);
      context.lineTo(bx - 6, by + 3.5);
      context.fill();
      drawn.items++;
    };
    for (const row of depends.before) edge(row.call, selected, palette.accent);
    for (const row of depends.after) edge(selected, row.call, palette.waste);
    for (const row of depends.before) outline(row.call, palette.accent, 1);
    for (const row of depends.after) outline(row.call, palette.waste, 1);
    outline(selected, palette.text, 2);
    context.restore();
  };

  const callAtPoint = (x: number, y: number, width: number): number => {
    const lane = lanes[Math.floor((y + scroll) / LANE)];
    if (!lane || x < left) return -1;
    const inner = width - left;
    const at = fromPixel(view, inner, x - left);
    const slack = (2 * (view.to - view.from)) / inner;
    const near = Math.max(0, lowerBound(lane.starts, at + slack) - 1);
    for (let i = near; i >= Math.max(0, near - 3); i--) if (lane.starts[i] <= at + slack && lane.ends[i] >= at - slack) return lane.calls[i];
    return -1;
  };

  useKeys((event) => {
    if (zoomKey(event, view) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "f") fit();
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step || profile.callCount === 0) return;
    event.preventDefault();
    const place = selected < 0 ? null : placeOf(selected);
    const lane = place ? lanes[place.lane] : lanes[0];
    const at = selected < 0 ? -1 : lane.calls.indexOf(selected);
    const next = lane.calls[Math.min(lane.calls.length - 1, Math.max(0, at + step))];
    go({ view: "timeline", call: profile.numbers[next] });
  });

  const height = Math.min(lanes.length, 10) * LANE;
  return (
    <div class="view">
      <div class="tools">
        <ZoomButtons view={view} />
        <button type="button" id="fit" disabled={selected < 0} onClick={fit} title="show the selected call and its dependencies (f)">
          selected
        </button>
        <ul class="legend">
          {GROUPS.map(([word, , colour]) => (
            <li>
              <span class={`swatch series-${colour}`} /> {word}
            </li>
          ))}
          {profile.raw.calls.rest.calls > 0 && (
            <li>
              <span class="swatch is-idle" /> {format.count(profile.raw.calls.rest.calls)} calls shown as sums
            </li>
          )}
          <li>
            <span class="swatch is-accent" /> waits for
          </li>
          <li>
            <span class="swatch is-waste" /> is waited for by
          </li>
        </ul>
        {!hasTimes(profile) && <p class="warning">The GPU is simulated, so there are no times: this is the order of calls, each of which takes one step.</p>}
      </div>
      <div class="timeline-axis" ref={figure} style={{ height: `${AXIS}px`, paddingLeft: `${left}px` }}>
        <Canvas theme={theme} draw={(context, width, canvasHeight) => drawAxis(context, axis, view, width, canvasHeight)} />
      </div>
      <div
        class="timeline"
        ref={gestures}
        data-from={view.from}
        data-to={view.to}
        style={{ height: `${height}px` }}
        tabIndex={0}
        role="application"
        aria-label="timeline: left and right go from call to call, plus and minus zoom; the table below has the same calls"
        id="timeline-lanes"
        onPointerMove={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const x = event.clientX - box.left;
          const y = event.clientY - box.top;
          setHover({ x, y, call: callAtPoint(x, y, box.width) });
        }}
        onPointerLeave={() => setHover(null)}
        onClick={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          const call = callAtPoint(event.clientX - box.left, event.clientY - box.top, box.width);
          if (call >= 0) go({ view: "timeline", call: profile.numbers[call] });
        }}
      >
        <div class="timeline-canvas">
          <Canvas theme={theme} draw={draw} />
        </div>
        <div class="timeline-scroll" ref={scroller} onScroll={(event) => setScroll(event.currentTarget.scrollTop)}>
          <div style={{ height: `${lanes.length * LANE}px` }} />
        </div>
        {hover && hover.call >= 0 && (
          <div class="tooltip" style={{ left: `${Math.max(0, Math.min(hover.x + 14, (figure.current?.clientWidth ?? 900) - 280))}px`, top: `${hover.y + 16}px` }}>
            <b class="mono">{profile.callTitle(hover.call)}</b>
            <div class="tooltip-row">
              <span>call {profile.numbers[hover.call]}</span>
              {hasTimes(profile) && <span>{profile.hasGpuTime(hover.call) ? `${format.ns(profile.raw.calls.gpu_ns[hover.call])} on the GPU` : format.ns(profile.raw.calls.ns[hover.call])}</span>}
            </div>
          </div>
        )}
      </div>
      <Calls profile={profile} state={state} search={search} theme={theme} />
    </div>
  );
}

function Calls({ profile, state, search, theme }: ViewProps) {
  const rows = useMemo(() => {
    const { shapes } = profile.raw.calls;
    const match = shapes.kind.map((kind, i) =>
      !search || [profile.raw.calls.kinds[kind], profile.text(shapes.function[i]), profile.text(shapes.name[i])].some((text) => text?.toLowerCase().includes(search)),
    );
    const kept: number[] = [];
    for (let call = 0; call < profile.callCount; call++) if (match[profile.shapeOf(call)]) kept.push(call);
    return kept;
  }, [profile, search]);
  const raw = profile.raw.calls;
  const columns: Column[] = [
    { key: "number", title: "call", width: "5.5rem", numeric: true, value: (call) => format.count(profile.numbers[call]), sort: (call) => call },
    { key: "kind", title: "kind", width: "7rem", value: (call) => profile.callKind(call), sort: (call) => profile.callKind(call) },
    { key: "title", title: "what", width: "minmax(8rem, 1fr)", value: (call) => <span class="mono" title={profile.functionOf(call)}>{profile.callTitle(call)}</span>, sort: (call) => profile.callTitle(call) },
    { key: "stream", minor: 1, title: "stream", width: "4.5rem", numeric: true, value: (call) => profile.callColumn(call, "stream") || "", sort: (call) => profile.callColumn(call, "stream") },
    { key: "bytes", minor: 1, title: "bytes", width: "6rem", numeric: true, descending: true, value: (call) => (profile.callColumn(call, "bytes") ? format.bytes(profile.callColumn(call, "bytes")) : ""), sort: (call) => profile.callColumn(call, "bytes") },
  ];
  const times: Column[] = [
    { key: "start", minor: 2, title: "start", width: "6rem", numeric: true, value: (call) => format.ns(profile.starts[call]), sort: (call) => profile.starts[call] },
    { key: "ns", minor: 3, title: "on the host", width: "6.5rem", numeric: true, descending: true, value: (call) => format.ns(raw.ns[call]), sort: (call) => raw.ns[call] },
    { key: "gpu", minor: 3, title: "on the GPU", width: "6.5rem", numeric: true, descending: true, value: (call) => (raw.gpu_ns[call] >= 0 ? format.ns(raw.gpu_ns[call]) : ""), sort: (call) => raw.gpu_ns[call] },
    { key: "waited", minor: 4, title: "waited", width: "6rem", numeric: true, descending: true, value: (call) => (profile.waited.has(call) ? format.ns(profile.waited.get(call) as number) : ""), sort: (call) => profile.waited.get(call) ?? 0 },
  ];
  return (
    <Table id="calls" label="calls" theme={theme} rows={rows} columns={hasTimes(profile) ? [...columns, ...times] : columns} rowHeight={24} initial={{ key: "number", descending: false }}
      selected={profile.callAt(state.call)} onSelect={(call) => go({ view: "timeline", call: profile.numbers[call] })}
      empty={search ? "No call matches the search." : "There are no calls."} />
  );
}
