// SPDX-License-Identifier: Apache-2.0
// Objects: one row each, with its life as a bar along the order of GPU APIs. Accesses are ticks, reads above and
// writes below; idle time is hatched, and waste is hatched in the color of findings. Alike objects are one row until it
// is opened; its bar is as high as the part of them that is live.
import { useMemo, useState } from "preact/hooks";
import { axisText, ticks, toPixel, fromPixel, useKeys, useWindow, zoomKey, type Range } from "./axis";
import { Canvas, colours, drawn, hatch, Labels } from "./canvas";
import { axesOf } from "./clock";
import { lowerBound, PASSED, READ, WRITE, type Axis, type Finding, type Profile } from "./data";
import * as format from "./format";
import { useGroups } from "./groups";
import { GroupName, matches, type ViewProps } from "./parts";
import { go } from "./state";
import { Table, type Column, type Lane } from "./table";
import { AxisChoice, ZoomButtons } from "./tools";

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
  for (const kind of [READ, WRITE, PASSED]) {
    const positions = profile.accesses(object, axis, kind);
    context.fillStyle = kind === READ ? palette.read : kind === WRITE ? palette.write : palette.muted;
    let at = lowerBound(positions, view.from - pixel);
    while (at < positions.length && positions[at] <= view.to) {
      const x = Math.round((positions[at] - view.from) / pixel);
      if (kind === PASSED) context.fillRect(x - 0.75, top + tall / 4, 1.75, tall / 2);
      else context.fillRect(x - 0.75, kind === READ ? top + 1 : top + tall / 2, 1.75, tall / 2 - 1);
      drawn.items++;
      at = Math.max(at + 1, lowerBound(positions, view.from + (x + 0.5) * pixel));
    }
  }
}

export function drawAxis(context: CanvasRenderingContext2D, axis: Axis, view: Range, width: number, height: number) {
  const palette = colours();
  const labels = new Labels(context, width);
  for (const { value, text } of ticks(axis, view, width)) {
    const x = Math.round(toPixel(view, width, value));
    if (labels.put(text, x, height / 2 - 2, "center", palette.muted)) context.fillRect(x, height - 5, 1, 5);
  }
}

// Returns an object's life on an axis.
function lifeOf(profile: Profile, object: number, axis: Axis): Range {
  const { call, end } = profile.objects;
  return { from: call[object] ? profile.positionOf(call[object], axis) : 0, to: end[object] ? profile.positionOf(end[object], axis) : profile.endOf(axis) };
}

const known = new WeakMap<readonly number[], { axis: Axis; starts: Float64Array; ends: Float64Array }>();

// Returns when a group's objects begin and end, each in ascending order.
function livesOf(profile: Profile, members: readonly number[], axis: Axis) {
  let lives = known.get(members);
  if (lives?.axis === axis) return lives;
  const list = members.map((object) => lifeOf(profile, object, axis));
  lives = { axis, starts: Float64Array.from(list, (life) => life.from).sort(), ends: Float64Array.from(list, (life) => life.to).sort() };
  known.set(members, lives);
  return lives;
}

// Draws the part of a group's objects that is live, at each pixel.
function drawGroup(context: CanvasRenderingContext2D, profile: Profile, members: readonly number[], axis: Axis, view: Range, y: number, height: number, width: number) {
  const { starts, ends } = livesOf(profile, members, axis);
  const palette = colours();
  const tall = height - 8;
  context.fillStyle = palette.series[0];
  for (let x = 0; x < width; x++) {
    const live = lowerBound(starts, fromPixel(view, width, x + 1)) - lowerBound(ends, fromPixel(view, width, x));
    if (live <= 0) continue;
    const part = Math.max(0.15, live / members.length);
    context.fillRect(x, y + 4 + tall * (1 - part), 1, tall * part);
    drawn.items++;
  }
}

export function Objects({ profile, state, search, theme }: ViewProps) {
  const { objects } = profile;
  const [axis, setAxis] = useState<Axis>("order");
  const [only, setOnly] = useState(false);
  const worth = useMemo(() => {
    const out = new Float64Array(profile.objectCount);
    profile.findings.forEach((finding) => {
      const object = profile.objectAt(finding.object);
      if (object >= 0) out[object] = Math.max(out[object], finding.peak_bytes);
    });
    return out;
  }, [profile]);
  const found = useMemo(() => {
    const kept: number[] = [];
    for (let i = 0; i < profile.objectCount; i++) {
      if (only && !profile.findingsOf.has(objects.number[i])) continue;
      if (matches(search, profile.objectName(i), profile.kindOf(i))) kept.push(i);
    }
    return kept;
  }, [profile, search, only]);
  const selected = profile.objectAt(state.object);
  const groups = useGroups(profile, found, selected);
  const view = useWindow(profile.endOf(axis), axis === "time" ? 100 : 2, selected < 0 ? null : lifeOf(profile, selected, axis));
  useKeys((event) => zoomKey(event, view));
  const first = (row: number) => groups.objectsOf(row)[0] ?? 0;
  const isOne = (row: number) => row < profile.objectCount;
  const bytes = (row: number) => groups.objectsOf(row).reduce((sum, i) => sum + objects.bytes[i], 0);
  const count = (row: number) => profile.findingsOf.get(objects.number[first(row)])?.length ?? 0;
  const worthOf = (row: number) => groups.objectsOf(row).reduce((most, i) => Math.max(most, worth[i]), 0);
  const columns: Column[] = [
    { key: "number", title: "#", width: "var(--lane-0)", numeric: true, value: (row) => (isOne(row) ? objects.number[row] : ""), sort: (row) => objects.number[first(row)] },
    { key: "name", title: "object", width: "var(--lane-1)", value: (row) => <GroupName groups={groups} row={row} />, sort: (row) => profile.objectName(first(row)) },
    { key: "bytes", title: "size", width: "var(--lane-2)", numeric: true, descending: true, value: (row) => format.bytes(bytes(row)), sort: bytes },
    { key: "findings", title: "findings", width: "var(--lane-3)", numeric: true, descending: true, value: (row) => count(row) || "", sort: count },
    { key: "worth", title: "worth", width: "var(--lane-4)", numeric: true, descending: true, value: (row) => (worthOf(row) ? format.bytes(worthOf(row)) : ""), sort: worthOf },
  ];
  const lane: Lane = {
    view,
    heading: (context, width, height) => drawAxis(context, axis, view, width, height),
    draw: (context, row, y, height, width) => {
      if (isOne(row)) drawLife(context, profile, row, axis, view, y, height, width);
      else drawGroup(context, profile, groups.objectsOf(row), axis, view, y, height, width);
    },
    title: (row, x, width) => {
      const at = fromPixel(view, width, x);
      const here = `here: ${axisText(axis, at, view)}`;
      if (!isOne(row)) return `${format.count(groups.objectsOf(row).length)} alike objects, ${groups.nameOf(row)}; ${here}`;
      return `${profile.objectName(row)}: made by call ${objects.call[row] || "?"}, ${objects.end[row] ? `ended by call ${objects.end[row]}` : "never ended"}; ${here}`;
    },
  };
  const isFew = groups.rows.length <= 20;
  return (
    <div class="view" id="objects-view" data-from={view.from} data-to={view.to}>
      <div class="tools">
        <AxisChoice axis={axis} set={setAxis} choices={axesOf(profile, "order", "call", "time")} />
        <ZoomButtons view={view} />
        <label>
          <input type="checkbox" checked={only} onChange={(event) => setOnly(event.currentTarget.checked)} /> only with findings
        </label>
        <Legend theme={theme} />
      </div>
      <Table id="objects" label="objects" theme={theme} rows={groups.rows} columns={columns} rowHeight={isFew ? 32 : 24} lane={lane} initial={{ key: "number", descending: false }}
        grouping={groups.grouping} selected={groups.selected} onSelect={(row) => groups.mark(row) || go({ view: "objects", object: objects.number[row] })}
        empty={search ? "No object matches the search." : "There are no objects."} />
    </div>
  );
}

function Legend({ theme }: { theme: string }) {
  const items: [string, (context: CanvasRenderingContext2D) => void][] = [
    ["life", (context) => { context.fillStyle = colours().life; context.fillRect(0, 2, 22, 12); }],
    ["read", (context) => { context.fillStyle = colours().read; for (const x of [5, 11, 17]) context.fillRect(x, 2, 2, 6); }],
    ["write", (context) => { context.fillStyle = colours().write; for (const x of [5, 11, 17]) context.fillRect(x, 8, 2, 6); }],
    ["passed to a launch", (context) => { context.fillStyle = colours().muted; for (const x of [5, 11, 17]) context.fillRect(x, 5, 2, 6); }],
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
