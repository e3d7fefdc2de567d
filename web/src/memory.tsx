// SPDX-License-Identifier: Apache-2.0
// Memory over time: what is in use, stacked by kind or by the largest objects, with the peaks marked. A click or
// the arrow keys choose a point in time; the table below lists the objects in use then.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { axisText, fromPixel, ticks, toPixel, useGestures, useWindow, zoomKey } from "./axis";
import { Canvas, colours, drawn } from "./canvas";
import { lowerBound, type Axis, type Profile } from "./data";
import * as format from "./format";
import { matches, type ViewProps } from "./parts";
import { go } from "./state";
import { Table, type Column } from "./table";

interface Series {
  name: string;
  values: ArrayLike<number>;
}

interface Usage {
  call: number[]; // the call of each point
  total: Float64Array;
}

const LARGEST = 8;
const LEFT = 76; // room for the labels of the vertical axis
const BOTTOM = 22;
const TOP = 22;

function usageOf(profile: Profile): Usage {
  let number = 0;
  const call = profile.raw.usage.call.map((step) => (number += step));
  const total = new Float64Array(call.length);
  for (const values of Object.values(profile.raw.usage.kinds)) values.forEach((value, i) => (total[i] += value));
  return { call, total };
}

function byKind(profile: Profile): Series[] {
  return Object.entries(profile.raw.usage.kinds).map(([name, values]) => ({ name, values }));
}

// Groups objects by name: the groups that are largest at the peak, and the rest.
function byObject(profile: Profile, usage: Usage): Series[] {
  const { objects } = profile;
  const peak = profile.head.peaks[0]?.start ?? 0;
  const sizes = new Map<string, number>();
  for (let i = 0; i < profile.objectCount; i++) {
    if (!objects.counted[i]) continue;
    const name = profile.objectName(i);
    const at = profile.isAlive(i, peak) ? objects.bytes[i] : 0;
    sizes.set(name, (sizes.get(name) ?? 0) + at);
  }
  const largest = [...sizes].sort((a, b) => b[1] - a[1]).slice(0, LARGEST).map(([name]) => name);
  const changes = new Map(largest.map((name) => [name, new Float64Array(usage.call.length + 1)]));
  for (let i = 0; i < profile.objectCount; i++) {
    const row = objects.counted[i] ? changes.get(profile.objectName(i)) : undefined;
    if (!row) continue;
    row[lowerBound(usage.call, objects.call[i])] += objects.bytes[i];
    if (objects.end[i]) row[lowerBound(usage.call, objects.end[i])] -= objects.bytes[i];
  }
  const rest = Float64Array.from(usage.total);
  const series: Series[] = largest.map((name) => {
    const values = changes.get(name) as Float64Array;
    for (let i = 1; i < values.length; i++) values[i] += values[i - 1];
    for (let i = 0; i < rest.length; i++) rest[i] -= values[i];
    return { name, values };
  });
  if (rest.some((value) => value > 0)) series.push({ name: "the rest", values: rest });
  return series;
}

export function Memory({ profile, state, search, theme }: ViewProps) {
  const [stack, setStack] = useState<"kind" | "object">("object");
  const [axis, setAxis] = useState<Axis>("call");
  const usage = useMemo(() => usageOf(profile), [profile]);
  const series = useMemo(() => (stack === "kind" ? byKind(profile) : byObject(profile, usage)), [profile, stack]);
  const positions = useMemo(() => Float64Array.from(usage.call, (call) => profile.positionOf(call, axis)), [usage, axis]);
  const end = profile.endOf(axis);
  const view = useWindow(end, axis === "time" ? 100 : 2);
  const most = useMemo(() => usage.total.reduce((a, b) => Math.max(a, b), 1), [usage]);
  const peakPoint = useMemo(() => Math.max(0, lowerBound(usage.call, profile.head.peaks[0]?.start ?? 0)), [usage]);
  const [chosen, choose] = useState(peakPoint);
  const [hover, setHover] = useState<{ x: number; y: number } | null>(null);
  const gestures = useGestures(view, LEFT);
  const figure = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (state.call) choose(pointAt(usage, state.call));
  }, [state.call]);

  const count = usage.call.length;
  const pointAtPixel = (x: number, width: number): number => {
    const value = fromPixel(view, width - LEFT, x - LEFT);
    return Math.max(0, lowerBound(positions, value + 1e-9) - 1);
  };
  const describe = (point: number): string =>
    count === 0 ? "nothing in use" : `after call ${format.count(usage.call[point])}: ${format.bytes(usage.total[point])} in use`;

  const draw = (context: CanvasRenderingContext2D, width: number, height: number) => {
    const palette = colours();
    const inner = width - LEFT;
    const bottom = height - BOTTOM;
    const y = (value: number) => bottom - (value / (most * 1.04)) * (bottom - TOP);
    const x = (value: number) => LEFT + toPixel(view, inner, value);
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const value of byteTicks(most)) {
      context.fillStyle = palette.line;
      context.fillRect(LEFT, Math.round(y(value)), inner, 1);
      context.fillStyle = palette.muted;
      context.fillText(format.bytes(value), LEFT - 8, y(value));
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const value of ticks(view, inner)) {
      context.fillStyle = palette.line;
      context.fillRect(Math.round(x(value)), bottom, 1, 4);
      context.fillStyle = palette.muted;
      context.fillText(axisText(axis, value, view), Math.min(width - 24, Math.max(LEFT + 12, x(value))), bottom + 7);
    }
    if (count === 0) return;
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, inner, height);
    context.clip();
    // Each pixel shows its highest point, so that drawing is limited by the width and no peak is lost.
    const first = Math.max(0, lowerBound(positions, view.from) - 1);
    const shown: { x: number; point: number }[] = [];
    for (let point = first; point < count && positions[point] <= view.to; point++) {
      const at = x(positions[point]);
      const before = shown[shown.length - 1];
      if (before && Math.floor(at) === Math.floor(before.x) && count > inner) {
        if (usage.total[point] > usage.total[before.point]) before.point = point;
      } else shown.push({ x: at, point });
    }
    const ends = (i: number) => (i + 1 < shown.length ? shown[i + 1].x : x(Math.min(view.to, end)));
    const below = new Float64Array(shown.length);
    series.forEach((one, s) => {
      context.fillStyle = one.name === "the rest" ? palette.idle : palette.series[s % palette.series.length];
      context.beginPath();
      shown.forEach((step, i) => {
        const value = Math.max(0, one.values[step.point]);
        if (value > 0) {
          const top = y(below[i] + value);
          context.rect(step.x, top, Math.max(1, ends(i) - step.x), y(below[i]) - top);
          drawn.items++;
        }
        below[i] += value;
      });
      context.fill();
    });
    const level = (value: number, text: string, dash: number[]) => {
      context.strokeStyle = palette.text;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(LEFT, Math.round(y(value)) + 0.5);
      context.lineTo(width, Math.round(y(value)) + 0.5);
      context.stroke();
      context.setLineDash([]);
      const fits = y(value) + 18 < bottom;
      label(context, palette, text, width - 6, y(value) + (fits ? 4 : -4), "right", fits ? "top" : "bottom");
    };
    const { achievable_peak_bytes: achievable, peak_bytes: peak } = profile.head.summary;
    if (achievable > 0 && achievable < peak) level(achievable, `achievable ${format.bytes(achievable)}`, [6, 4]);
    profile.head.peaks.forEach((one, i) => {
      const at = x(profile.positionOf(one.start, axis));
      if (at < LEFT - 1 || at > width + 1) return;
      context.fillStyle = palette.text;
      context.beginPath();
      context.moveTo(at, y(one.bytes) - 2);
      context.lineTo(at - 5, y(one.bytes) - 9);
      context.lineTo(at + 5, y(one.bytes) - 9);
      context.fill();
      label(context, palette, `peak ${i + 1}: ${format.bytes(one.bytes)}`, Math.min(width - 110, at + 8), y(one.bytes) - 14, "left", "top");
    });
    const cursor = x(positions[chosen] ?? 0);
    context.strokeStyle = palette.accent;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(cursor, TOP - 6);
    context.lineTo(cursor, bottom);
    context.stroke();
    context.restore();
  };

  const key = (event: KeyboardEvent) => {
    if (zoomKey(event, view)) return;
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, Home: -count, End: count, PageUp: -20, PageDown: 20 };
    const step = steps[event.key];
    if (step === undefined || count === 0) return;
    event.preventDefault();
    const next = Math.min(count - 1, Math.max(0, chosen + step));
    choose(next);
    if (positions[next] < view.from || positions[next] > view.to) view.move(positions[next] - (view.from + view.to) / 2);
  };

  const width = figure.current?.clientWidth ?? 800;
  const hovered = hover && count ? pointAtPixel(hover.x, width) : -1;
  return (
    <div class="view">
      <div class="tools">
        <label>
          stacked by{" "}
          <select value={stack} onChange={(event) => setStack(event.currentTarget.value as "kind" | "object")}>
            <option value="object">largest objects</option>
            <option value="kind">kind of memory</option>
          </select>
        </label>
        <AxisChoice axis={axis} set={setAxis} choices={["call", "time"]} />
        <ZoomButtons view={view} />
        <ul class="legend">
          {series.map((one, s) => (
            <li>
              <span class={one.name === "the rest" ? "swatch is-idle" : `swatch series-${s % 9}`} /> <span class="mono">{one.name}</span>
            </li>
          ))}
        </ul>
      </div>
      <div class="figure" ref={figure}>
        <div
          class="chart"
          ref={gestures}
          tabIndex={0}
          role="slider"
          aria-label="point in time: arrow keys move it, plus and minus zoom"
          aria-valuemin={0}
          aria-valuemax={Math.max(0, count - 1)}
          aria-valuenow={chosen}
          aria-valuetext={describe(chosen)}
          id="memory-chart"
          onKeyDown={key}
          onPointerMove={(event) => setHover({ x: event.offsetX, y: event.offsetY })}
          onPointerLeave={() => setHover(null)}
          onClick={(event) => count && choose(pointAtPixel(event.offsetX, event.currentTarget.clientWidth))}
        >
          <Canvas theme={theme} draw={draw} />
        </div>
        {hovered >= 0 && hover && (
          <div class="tooltip" style={{ left: `${Math.min(hover.x + 14, width - 260)}px`, top: `${hover.y + 14}px` }}>
            <b>{format.bytes(usage.total[hovered])}</b> after call {format.count(usage.call[hovered])}, at {format.ns(profile.positionOf(usage.call[hovered], "time"))}
            {series.map(
              (one) =>
                one.values[hovered] > 0 && (
                  <div class="tooltip-row">
                    <span class="mono">{one.name}</span> <span>{format.bytes(one.values[hovered])}</span>
                  </div>
                ),
            )}
          </div>
        )}
      </div>
      <Alive profile={profile} state={state} search={search} theme={theme} call={usage.call[chosen] ?? 0} total={usage.total[chosen] ?? 0} />
    </div>
  );
}

const pointAt = (usage: Usage, call: number): number => Math.max(0, lowerBound(usage.call, call + 1) - 1);

function label(context: CanvasRenderingContext2D, palette: { background: string; text: string }, text: string, x: number, y: number, align: CanvasTextAlign, base: CanvasTextBaseline) {
  context.textAlign = align;
  context.textBaseline = base;
  context.lineWidth = 3;
  context.strokeStyle = palette.background;
  context.strokeText(text, x, y);
  context.fillStyle = palette.text;
  context.fillText(text, x, y);
  context.lineWidth = 1;
}

function byteTicks(most: number): number[] {
  let step = 1;
  while (most / step > 5) step *= 2;
  const out: number[] = [];
  for (let value = 0; value <= most; value += step) out.push(value);
  return out;
}

function Alive({ profile, state, search, theme, call, total }: ViewProps & { call: number; total: number }) {
  const { objects } = profile;
  const all = useMemo(() => {
    const kept: number[] = [];
    for (let i = 0; i < profile.objectCount; i++) if (objects.counted[i] && profile.isAlive(i, call)) kept.push(i);
    return kept;
  }, [profile, call]);
  const rows = useMemo(() => all.filter((i) => matches(search, profile.objectName(i), profile.kindOf(i))), [all, search]);
  const missing = total - all.reduce((sum, i) => sum + objects.bytes[i], 0);
  const columns: Column[] = [
    { key: "name", title: "object", width: "minmax(8rem, 1fr)", value: (i) => <span class="mono">{profile.objectName(i)}</span>, sort: (i) => profile.objectName(i) },
    { key: "kind", title: "kind", width: "6rem", value: (i) => profile.kindOf(i), sort: (i) => profile.kindOf(i) },
    { key: "bytes", title: "size", width: "6.5rem", numeric: true, descending: true, value: (i) => format.bytes(objects.bytes[i]), sort: (i) => objects.bytes[i] },
    { key: "share", title: "share of total", width: "8rem", numeric: true, value: (i) => format.share(objects.bytes[i], total) },
    { key: "call", title: "made by call", width: "7.5rem", numeric: true, value: (i) => format.count(objects.call[i]), sort: (i) => objects.call[i] },
    { key: "end", title: "ended by", width: "7.5rem", numeric: true, value: (i) => (objects.end[i] ? format.count(objects.end[i]) : "never"), sort: (i) => objects.end[i] || Infinity },
    { key: "findings", title: "findings", width: "5.5rem", numeric: true, descending: true, value: (i) => profile.findingsOf.get(objects.number[i])?.length ?? "", sort: (i) => profile.findingsOf.get(objects.number[i])?.length ?? 0 },
  ];
  return (
    <>
      <h2 class="above-table">
        {format.bytes(total)} in use after call {format.count(call)}{" "}
        <span class="soft">
          {format.plural(all.length, "object")}
          {missing > 0 ? `; objects that are not in this page use another ${format.bytes(missing)}` : ""}
        </span>
      </h2>
      <Table id="alive" label="objects in use at the chosen time" theme={theme} rows={rows} columns={columns} rowHeight={24} initial={{ key: "bytes", descending: true }}
        selected={profile.objectAt(state.object)} onSelect={(i) => go({ view: "memory", object: objects.number[i] })} empty="No object of this page is in use at that time." />
    </>
  );
}

export function AxisChoice(props: { axis: Axis; set(axis: Axis): void; choices: Axis[] }) {
  const words: Record<Axis, string> = { order: "order of GPU APIs", call: "calls", time: "time" };
  return (
    <label>
      along{" "}
      <select value={props.axis} onChange={(event) => props.set(event.currentTarget.value as Axis)}>
        {props.choices.map((axis) => (
          <option value={axis}>{words[axis]}</option>
        ))}
      </select>
    </label>
  );
}

export function ZoomButtons({ view }: { view: { zoom(factor: number): void; reset(): void; isWhole: boolean } }) {
  return (
    <span class="buttons" role="group" aria-label="zoom">
      <button type="button" onClick={() => view.zoom(0.5)} aria-label="zoom in" title="zoom in (+, or Ctrl and wheel)">
        +
      </button>
      <button type="button" onClick={() => view.zoom(2)} aria-label="zoom out" title="zoom out (-)">
        −
      </button>
      <button type="button" onClick={view.reset} disabled={view.isWhole} title="show all (0)">
        all
      </button>
    </span>
  );
}
