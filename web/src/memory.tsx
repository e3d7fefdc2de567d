// SPDX-License-Identifier: Apache-2.0
// Memory over time: what is in use, stacked by kind or by the largest objects, with the peaks marked. A slider, a click
// or the arrow keys choose a moment; below is what was live then, as a table or by call path.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Alive } from "./alive";
import { fromPixel, ticks, toPixel, useGestures, useKeys, useWindow, zoomKey } from "./axis";
import { Canvas, colours, drawn, Labels } from "./canvas";
import { axesOf, hasTimes } from "./clock";
import { lowerBound, type Axis } from "./data";
import * as format from "./format";
import { type ViewProps } from "./parts";
import { replace } from "./state";
import { AxisChoice, ZoomButtons } from "./tools";
import { byKind, byObject, pointAt, REST, usageOf } from "./usage";

const LEFT = 76; // room for the labels of the vertical axis
const BOTTOM = 22;
const TOP = 22;
const THUMB = 8; // half of the slider's thumb
const SETTLED_MS = 300; // after which a moment becomes part of the address

export function Memory({ profile, state, search, theme }: ViewProps) {
  const [stack, setStack] = useState<"kind" | "object">("object");
  const [axis, setAxis] = useState<Axis>("call");
  const usage = useMemo(() => usageOf(profile), [profile]);
  const series = useMemo(() => (stack === "kind" ? byKind(profile) : byObject(profile, usage)), [profile, stack]);
  const positions = useMemo(() => Float64Array.from(usage.call, (call) => profile.positionOf(call, axis)), [usage, axis]);
  const end = profile.endOf(axis);
  const most = useMemo(() => usage.total.reduce((a, b) => Math.max(a, b), 1), [usage]);
  const peakPoint = useMemo(() => Math.max(0, lowerBound(usage.call, profile.head.peaks[0]?.start ?? 0)), [usage]);
  const [chosen, choose] = useState(state.at ? pointAt(usage, state.at) : peakPoint);
  const moment = positions[chosen] ?? 0;
  const view = useWindow(end, axis === "time" ? 100 : 2, usage.call.length ? { from: moment, to: moment } : null);
  const [hover, setHover] = useState<{ x: number; y: number } | null>(null);
  const gestures = useGestures(view, LEFT);
  const figure = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (state.call) choose(pointAt(usage, state.call));
  }, [state.call]);
  useEffect(() => {
    if (state.at) choose(pointAt(usage, state.at));
  }, [state.at]);
  // The address follows when the moment has settled: browsers limit how often it may change.
  useEffect(() => {
    const call = usage.call[chosen] ?? 0;
    if (chosen === pointAt(usage, state.at || (usage.call[peakPoint] ?? 0))) return;
    const timer = setTimeout(() => replace({ ...state, view: "memory", at: call }), SETTLED_MS);
    return () => clearTimeout(timer);
  }, [chosen, state]);

  const count = usage.call.length;
  const pointAtValue = (value: number): number => Math.max(0, lowerBound(positions, value + 1e-9) - 1);
  const pointAtPixel = (x: number, width: number): number => pointAtValue(fromPixel(view, width - LEFT, x - LEFT));
  const describe = (point: number): string =>
    count === 0 ? "nothing in use" : `after call ${format.count(usage.call[point])}: ${format.bytes(usage.total[point])} in use`;

  const draw = (context: CanvasRenderingContext2D, width: number, height: number) => {
    const palette = colours();
    const inner = width - LEFT;
    const bottom = height - BOTTOM;
    const y = (value: number) => bottom - (value / (most * 1.04)) * (bottom - TOP);
    const x = (value: number) => LEFT + toPixel(view, inner, value);
    const labels = new Labels(context, width);
    for (const value of byteTicks(most)) {
      context.fillStyle = palette.line;
      context.fillRect(LEFT, Math.round(y(value)), inner, 1);
      labels.put(byteText(value), LEFT - 8, y(value), "right", palette.muted);
    }
    for (const { value, text } of ticks(axis, view, inner)) {
      context.fillStyle = palette.line;
      context.fillRect(Math.round(x(value)), bottom, 1, 4);
      labels.put(text, x(value), bottom + 13, "center", palette.muted);
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
      context.fillStyle = one.name === REST ? palette.idle : palette.series[s % palette.series.length];
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
      for (const below of [11, -10]) if (labels.put(text, width - 6, y(value) + below, "right", palette.text, palette.background)) break;
    };
    profile.head.peaks.forEach((one, i) => {
      const at = x(profile.positionOf(one.start, axis));
      if (at < LEFT - 1 || at > width + 1) return;
      context.fillStyle = palette.text;
      context.beginPath();
      context.moveTo(at, y(one.bytes) - 2);
      context.lineTo(at - 5, y(one.bytes) - 9);
      context.lineTo(at + 5, y(one.bytes) - 9);
      context.fill();
      labels.put(`peak ${one.device === undefined ? i + 1 : `of device ${one.device}`}: ${format.bytes(one.bytes)}`, at + 8, y(one.bytes) - 9, "left", palette.text, palette.background);
    });
    const { achievable_peak_bytes: achievable, peak_bytes: peak } = profile.head.summary;
    if (achievable > 0 && achievable < peak) level(achievable, `achievable ${format.bytes(achievable)}`, [6, 4]);
    const cursor = x(positions[chosen] ?? 0);
    context.strokeStyle = palette.accent;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(cursor, TOP - 6);
    context.lineTo(cursor, bottom);
    context.stroke();
    context.restore();
  };

  const move = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, Home: -count, End: count, PageUp: -20, PageDown: 20 };
    const step = steps[event.key];
    if (step === undefined || count === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const next = Math.min(count - 1, Math.max(0, chosen + step));
    choose(next);
    if (positions[next] < view.from || positions[next] > view.to) view.move(positions[next] - (view.from + view.to) / 2);
  };
  useKeys((event) => {
    if (!zoomKey(event, view)) move(event);
  });

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
        <AxisChoice axis={axis} set={setAxis} choices={axesOf(profile, "call", "time")} />
        <ZoomButtons view={view} />
        <ul class="legend">
          {series.map((one, s) => (
            <li>
              <span class={one.name === REST ? "swatch is-idle" : `swatch series-${s % 9}`} /> <span class="mono">{one.name}</span>
            </li>
          ))}
        </ul>
      </div>
      <div class="figure" ref={figure}>
        <div
          class="chart"
          ref={gestures}
          role="img"
          aria-label={`memory in use; ${describe(chosen)}`}
          id="memory-chart"
          data-from={view.from}
          data-to={view.to}
          onPointerMove={(event) => setHover({ x: event.offsetX, y: event.offsetY })}
          onPointerLeave={() => setHover(null)}
          onClick={(event) => count && choose(pointAtPixel(event.offsetX, event.currentTarget.clientWidth))}
        >
          <Canvas theme={theme} draw={draw} />
        </div>
        {hovered >= 0 && hover && (
          <div class="tooltip" style={{ left: `${Math.max(0, Math.min(hover.x + 14, width - 260))}px`, top: `${hover.y + 14}px` }}>
            <b>{format.bytes(usage.total[hovered])}</b> after call {format.count(usage.call[hovered])}
            {hasTimes(profile) && `, at ${format.ns(profile.positionOf(usage.call[hovered], "time"))}`}
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
      <div class="moment" style={{ paddingLeft: `${LEFT - THUMB}px` }}>
        <input
          type="range"
          id="moment"
          aria-label="moment: arrow keys go from change to change"
          aria-valuetext={describe(chosen)}
          disabled={count === 0}
          min={view.from}
          max={view.to}
          step="any"
          value={moment}
          onKeyDown={move}
          onInput={(event) => choose(pointAtValue(Number(event.currentTarget.value)))}
        />
      </div>
      <Alive profile={profile} state={state} search={search} theme={theme} call={usage.call[chosen] ?? 0} total={usage.total[chosen] ?? 0} />
    </div>
  );
}

// Returns round values, of which there are at most six.
function byteTicks(most: number): number[] {
  let step = 1;
  while (most / step > 5) step *= 2;
  const out: number[] = [];
  for (let value = 0; value <= most; value += step) out.push(value);
  return out;
}

// A tick is exact, also where it is a quarter of a unit: 1.25 KiB.
function byteText(value: number): string {
  const unit = 1024 ** Math.floor(Math.log2(Math.max(1, value)) / 10);
  return Number.isInteger((value / unit) * 10) ? format.bytes(value) : format.bytes(value).replace(/[\d.]+/, (value / unit).toFixed(2));
}
