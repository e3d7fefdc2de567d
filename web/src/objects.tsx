// SPDX-License-Identifier: Apache-2.0
// Objects: one row each, with its life as a bar along the order of GPU APIs. Accesses are ticks, reads above and
// writes below; idle time is hatched, and waste is hatched in the color of findings.
import { useMemo, useState } from "preact/hooks";
import { axisText, ticks, toPixel, fromPixel, useWindow } from "./axis";
import { Canvas, colours, drawn, hatch } from "./canvas";
import { lowerBound, READ, WRITE, type Axis, type Finding, type Profile } from "./data";
import * as format from "./format";
import { AxisChoice, ZoomButtons } from "./memory";
import { matches, type ViewProps } from "./parts";
import { go } from "./state";
import { Table, type Column, type Lane } from "./table";

// Returns the part of an object's life that is waste, as two calls, where 0 means the end; null if there is none.
// The calls of a finding belong to its first object; for similar objects, the object's own calls are used.
function wasteOf(profile: Profile, finding: Finding, object: number): [number, number] | null {
  const { objects } = profile;
  const own = objects.number[object] === finding.object;
  switch (profile.patterns.get(finding.pattern)?.waste) {
    case "before-first-use":
      return [objects.call[object], objects.first[object]];
    case "until-free":
      return [objects.last[object], objects.end[object]];
    case "after-last-use":
      return [objects.last[object] || objects.call[object], objects.end[object]];
    case "between-calls":
      return own ? [finding.call, finding.other_call] : null;
    default:
      return null;
  }
}

// Returns the call at which a finding is marked.
function markOf(profile: Profile, finding: Finding, object: number): number {
  if (profile.objects.number[object] === finding.object && finding.call) return finding.call;
  const end = profile.patterns.get(finding.pattern)?.waste === "until-free";
  return wasteOf(profile, finding, object)?.[end ? 1 : 0] || profile.objects.call[object];
}

// Draws the life of one object.
export function drawLife(context: CanvasRenderingContext2D, profile: Profile, object: number, axis: Axis, view: { from: number; to: number }, y: number, height: number, width: number) {
  const palette = colours();
  const { objects } = profile;
  const x = (call: number) => toPixel(view, width, profile.positionOf(call, axis));
  const start = objects.call[object] ? x(objects.call[object]) : toPixel(view, width, 0);
  const end = objects.end[object] ? x(objects.end[object]) : toPixel(view, width, profile.endOf(axis));
  const top = y + 4;
  const tall = height - 8;
  if (end < 0 || start > width) return;
  const clip = (from: number, to: number): [number, number] => [Math.max(-2, from), Math.min(width + 2, to)];
  const [left, right] = clip(start, Math.max(start + 2, end));
  context.fillStyle = palette.life;
  context.fillRect(left, top, right - left, tall);
  drawn.items++;
  const shade = (from: number, to: number, colour: string) => {
    const [a, b] = clip(from, to);
    hatch(context, a, top, b - a, tall, colour);
    drawn.items++;
  };
  const first = objects.first[object];
  const last = objects.last[object];
  shade(start, first ? x(first) : end, palette.idle);
  if (last) shade(x(last), end, palette.idle);
  const numbers = profile.findingsOf.get(objects.number[object]) ?? [];
  for (const number of numbers) {
    const waste = wasteOf(profile, profile.findings[number - 1], object);
    if (!waste) continue;
    const [a, b] = clip(x(waste[0]), waste[1] ? x(waste[1]) : end);
    context.globalAlpha = 0.16;
    context.fillStyle = palette.waste;
    context.fillRect(a, top, b - a, tall);
    context.globalAlpha = 1;
    hatch(context, a, top, b - a, tall, palette.waste);
  }
  drawTicks(context, profile, object, axis, view, top, tall, width);
  context.strokeStyle = palette.muted;
  context.lineWidth = 1;
  context.strokeRect(Math.round(left) + 0.5, Math.round(top) + 0.5, Math.max(1, Math.round(right - left) - 1), Math.round(tall) - 1);
  // Each finding is marked at the call that it is about.
  for (const number of numbers) {
    const mark = markOf(profile, profile.findings[number - 1], object);
    const at = mark ? x(mark) : start;
    if (at < -6 || at > width + 6) continue;
    context.fillStyle = palette.waste;
    context.strokeStyle = palette.background;
    context.beginPath();
    context.moveTo(at, top - 3);
    context.lineTo(at + 4, top + 1);
    context.lineTo(at, top + 5);
    context.lineTo(at - 4, top + 1);
    context.closePath();
    context.fill();
    context.stroke();
    drawn.items++;
  }
}

// Draws at most one tick of a kind per pixel. The next tick is found by binary search.
function drawTicks(context: CanvasRenderingContext2D, profile: Profile, object: number, axis: Axis, view: { from: number; to: number }, top: number, tall: number, width: number) {
  const palette = colours();
  const pixel = (view.to - view.from) / width;
  for (const kind of [READ, WRITE]) {
    const positions = profile.accesses(object, axis, kind);
    context.fillStyle = kind === READ ? palette.read : palette.write;
    let at = lowerBound(positions, view.from - pixel);
    while (at < positions.length && positions[at] <= view.to) {
      const x = Math.round((positions[at] - view.from) / pixel);
      context.fillRect(x - 0.75, kind === READ ? top + 1 : top + tall / 2, 1.75, tall / 2 - 1);
      drawn.items++;
      at = Math.max(at + 1, lowerBound(positions, view.from + (x + 0.5) * pixel));
    }
  }
}

export function drawAxis(context: CanvasRenderingContext2D, axis: Axis, view: { from: number; to: number }, width: number, height: number) {
  const palette = colours();
  context.textBaseline = "middle";
  for (const value of ticks(view, width)) {
    const x = Math.round(toPixel(view, width, value));
    const text = axisText(axis, value, view);
    context.fillStyle = palette.muted;
    context.textAlign = x < 20 ? "left" : x > width - 20 ? "right" : "center";
    context.fillText(text, x, height / 2 - 2);
    context.fillRect(x, height - 5, 1, 5);
  }
}

export function Objects({ profile, state, search, theme }: ViewProps) {
  const { objects } = profile;
  const [axis, setAxis] = useState<Axis>("order");
  const [only, setOnly] = useState(false);
  const view = useWindow(profile.endOf(axis), axis === "time" ? 100 : 2);
  const worth = useMemo(() => {
    const out = new Float64Array(profile.objectCount);
    profile.findings.forEach((finding) => {
      const object = profile.objectAt(finding.object);
      if (object >= 0) out[object] = Math.max(out[object], finding.peak_bytes);
    });
    return out;
  }, [profile]);
  const rows = useMemo(() => {
    const kept: number[] = [];
    for (let i = 0; i < profile.objectCount; i++) {
      if (only && !profile.findingsOf.has(objects.number[i])) continue;
      if (matches(search, profile.objectName(i), profile.kindOf(i))) kept.push(i);
    }
    return kept;
  }, [profile, search, only]);
  const found = (i: number) => profile.findingsOf.get(objects.number[i])?.length ?? 0;
  const columns: Column[] = [
    { key: "number", title: "#", width: "var(--lane-0)", numeric: true, value: (i) => objects.number[i], sort: (i) => objects.number[i] },
    { key: "name", title: "object", width: "var(--lane-1)", value: (i) => <span class="mono" title={profile.objectName(i)}>{profile.objectName(i)}</span>, sort: (i) => profile.objectName(i) },
    { key: "bytes", title: "size", width: "var(--lane-2)", numeric: true, descending: true, value: (i) => format.bytes(objects.bytes[i]), sort: (i) => objects.bytes[i] },
    { key: "findings", title: "findings", width: "var(--lane-3)", numeric: true, descending: true, value: (i) => found(i) || "", sort: (i) => found(i) },
    { key: "worth", title: "worth", width: "var(--lane-4)", numeric: true, descending: true, value: (i) => (worth[i] ? format.bytes(worth[i]) : ""), sort: (i) => worth[i] },
  ];
  const lane: Lane = {
    view,
    heading: (context, width, height) => drawAxis(context, axis, view, width, height),
    draw: (context, row, y, height, width) => drawLife(context, profile, row, axis, view, y, height, width),
    title: (row, x, width) => {
      const at = fromPixel(view, width, x);
      return `${profile.objectName(row)}: made by call ${objects.call[row] || "?"}, ${objects.end[row] ? `ended by call ${objects.end[row]}` : "never ended"}; here: ${axisText(axis, at, view)}`;
    },
  };
  return (
    <div class="view">
      <div class="tools">
        <AxisChoice axis={axis} set={setAxis} choices={["order", "call", "time"]} />
        <ZoomButtons view={view} />
        <label>
          <input type="checkbox" checked={only} onChange={(event) => setOnly(event.currentTarget.checked)} /> only with findings
        </label>
        <Legend theme={theme} />
      </div>
      <Table id="objects" label="objects" theme={theme} rows={rows} columns={columns} rowHeight={rows.length <= 20 ? 32 : 24} lane={lane} initial={{ key: "number", descending: false }}
        selected={profile.objectAt(state.object)} onSelect={(i) => go({ view: "objects", object: objects.number[i] })}
        empty={search ? "No object matches the search." : "There are no objects."} />
    </div>
  );
}

function Legend({ theme }: { theme: string }) {
  const items: [string, (context: CanvasRenderingContext2D) => void][] = [
    ["life", (context) => { context.fillStyle = colours().life; context.fillRect(0, 2, 22, 12); }],
    ["read", (context) => { context.fillStyle = colours().read; for (const x of [5, 11, 17]) context.fillRect(x, 2, 2, 6); }],
    ["write", (context) => { context.fillStyle = colours().write; for (const x of [5, 11, 17]) context.fillRect(x, 8, 2, 6); }],
    ["no access", (context) => hatch(context, 0, 2, 22, 12, colours().idle)],
    ["waste", (context) => hatch(context, 0, 2, 22, 12, colours().waste)],
    ["finding", (context) => { context.fillStyle = colours().waste; context.translate(11, 8); context.rotate(Math.PI / 4); context.fillRect(-3.5, -3.5, 7, 7); }],
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
