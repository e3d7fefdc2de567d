// SPDX-License-Identifier: Apache-2.0
// What the caches serve, by a model: of a kernel, a bar for the traffic, the hit rates and the coalescing of each of its
// objects; of an object, the hit rates of fully associative caches of all sizes, by its reuse distances.
import { useState } from "preact/hooks";
import { Canvas, colours, drawn, Labels } from "./canvas";
import type { CacheKernel, CacheObject, Profile } from "./data";
import * as format from "./format";
import { ObjectLink } from "./parts";

const LINE_BYTES = 128;
const SECTOR_BYTES = 32;
const ALL = 65536; // the share of a model that looks at all lines
const LEVELS = ["L1", "L2"];

// --- Bars of a kernel's objects

function total(kinds: number[]): [number, number] {
  let [sectors, hits] = [0, 0];
  for (let i = 0; i < kinds.length; i += 2) {
    sectors += kinds[i];
    hits += kinds[i + 1];
  }
  return [hits, sectors];
}

// The kind chooses the color.
function Bar(props: { kind: string; part: number; whole: number; about: string; error?: number | null }) {
  const { kind, part, whole, error } = props;
  if (whole <= 0) return <td class="cache-cell soft">-</td>;
  const within = error === undefined ? "" : error === null ? "; the sampling error is unknown" : `; within ${error.toFixed(1)} percentage points by sampling`;
  return (
    <td class="cache-cell" title={`${format.count(part)} of ${format.count(whole)} ${props.about}${within}`}>
      <span class={`cache-bar is-${kind}`} style={{ width: `${Math.min(1, part / whole) * 100}%` }} />
      <span class="cache-value">{format.share(part, whole)}</span>
    </td>
  );
}

function ObjectBars({ row, kernel, profile }: { row: CacheObject; kernel: CacheKernel; profile: Profile }) {
  const [l1, l2] = [total(row.l1), total(row.l2)];
  const dram = row.read + row.written;
  const name = row.object === 0 ? "unknown" : profile.objectAt(row.object) < 0 ? `object ${row.object}` : <ObjectLink number={row.object} profile={profile} />;
  return (
    <tr>
      <th scope="row">
        {name} <span class="soft">{format.bytes(dram * SECTOR_BYTES)}</span>
      </th>
      <Bar kind="traffic" part={dram} whole={kernel.dram} about="sectors that device memory delivers and receives" />
      <Bar kind="l1" part={l1[0]} whole={l1[1]} about="sectors that L1 is asked for" error={row.errors[0]} />
      <Bar kind="l2" part={l2[0]} whole={l2[1]} about="sectors that L2 is asked for" error={row.errors[1]} />
      <Bar kind="needed" part={row.needed} whole={row.taken} about="sectors that warps took were needed" />
    </tr>
  );
}

// Returns how many lines the model looked at: "1 in 16 lines".
function sampled(kernel: CacheKernel): string {
  return kernel.share === ALL ? "all lines" : `1 in ${Math.round(ALL / kernel.share)} lines`;
}

export function KernelCaches({ profile, call }: { profile: Profile; call: number }) {
  const name = profile.callKind(call) === "launch" ? profile.raw.calls.shapes.name[profile.shapeOf(call)] : 0;
  const kernel = profile.raw.caches.find((row) => name > 0 && row.kernel === name);
  if (!kernel) return null;
  return (
    <section class="caches">
      <h3>Caches</h3>
      <p class="soft small">
        Modelled, not measured: {format.plural(kernel.launches, "launch", "launches")} of the kernel on {kernel.preset ?? "an unknown GPU"}, with {format.bytes(kernel.l1_bytes)} of L1 and {format.bytes(kernel.l2_bytes)} of L2;{" "}
        {sampled(kernel)}. Coalesced is what warps needed of the sectors that they took.
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">object</th>
            <th scope="col">DRAM traffic</th>
            <th scope="col">L1 hits</th>
            <th scope="col">L2 hits</th>
            <th scope="col">coalesced</th>
          </tr>
        </thead>
        <tbody>
          {kernel.objects.map((row) => (
            <ObjectBars row={row} kernel={kernel} profile={profile} />
          ))}
        </tbody>
      </table>
      {kernel.lost > 0 && (
        <p class="warning small">
          {format.count(kernel.lost)} of {format.plural(kernel.records + kernel.lost, "record")} of accesses were lost: there was more traffic than this.
        </p>
      )}
    </section>
  );
}

// --- Reuse curves of an object

// The part of uses that a fully associative cache of so many lines serves. As in src/analyze/caches.c, distances between
// powers of two are evenly spread.
export function hitRate(reuse: number[], lines: number): number {
  let all = reuse[0];
  let hits = 0;
  for (let place = 0; place + 1 < reuse.length; place++) {
    const least = place === 0 ? 0 : 2 ** (place - 1);
    const width = place === 0 ? 1 : least;
    all += reuse[place + 1];
    hits += reuse[place + 1] * Math.max(0, Math.min(1, (lines - least) / width));
  }
  return all > 0 ? hits / all : 0;
}

interface Curves {
  levels: { level: number; reuse: number[]; now: number }[]; // now: bytes
  steps: number; // powers of two of lines, from 0 on
}

function curvesOf(row: CacheObject, kernel: CacheKernel): Curves {
  const now = [kernel.l1_bytes, kernel.l2_bytes];
  const levels = row.reuse.flatMap((reuse, level) => (reuse ? [{ level, reuse, now: now[level] }] : []));
  const longest = Math.max(1, ...levels.map(({ reuse }) => reuse.length));
  const largest = Math.max(1, ...levels.map((level) => Math.log2(Math.max(1, level.now / LINE_BYTES))));
  return { levels, steps: Math.max(longest, Math.ceil(largest) + 1) };
}

const [LEFT, BOTTOM, TOP] = [34, 18, 8]; // pixels around the curves

function drawCurves(context: CanvasRenderingContext2D, width: number, height: number, { levels, steps }: Curves, at: number | null) {
  const palette = colours();
  const colour = [palette.read, palette.write];
  const x = (step: number) => LEFT + (step / steps) * (width - LEFT - 4);
  const y = (rate: number) => TOP + (1 - rate) * (height - BOTTOM - TOP);
  const labels = new Labels(context, width);
  context.strokeStyle = palette.line;
  for (const rate of [0, 0.5, 1]) {
    context.strokeRect(x(0), Math.round(y(rate)) + 0.5, x(steps) - x(0), 0);
    labels.put(`${rate * 100}%`, LEFT - 4, y(rate), "right", palette.muted);
  }
  for (let step = 0; step <= steps; step += Math.ceil(steps / 5)) labels.put(format.bytes(2 ** step * LINE_BYTES).replace(".0", ""), x(step), height - 8, "center", palette.muted);
  for (const { level, reuse, now } of levels) {
    context.strokeStyle = colour[level];
    context.lineWidth = 2;
    context.beginPath();
    for (let pixel = x(0); pixel <= x(steps); pixel += 2) {
      const lines = 2 ** (((pixel - x(0)) / (x(steps) - x(0))) * steps);
      context.lineTo(pixel, y(hitRate(reuse, lines)));
      drawn.items++;
    }
    context.stroke();
    context.lineWidth = 1;
    context.setLineDash([4, 3]);
    const today = x(Math.log2(Math.max(1, now / LINE_BYTES)));
    context.strokeRect(today, TOP, 0, height - BOTTOM - TOP);
    context.setLineDash([]);
    for (const below of [7, 21]) if (labels.put(LEVELS[level], today + 3, TOP + below, "left", colour[level], palette.panel)) break;
  }
  if (at === null) return;
  context.strokeStyle = palette.text;
  context.strokeRect(x(at), TOP, 0, height - BOTTOM - TOP);
}

function about({ levels }: Curves, step: number): string {
  const lines = 2 ** step;
  return `${format.bytes(lines * LINE_BYTES)}: ${levels.map(({ level, reuse }) => `${LEVELS[level]} would serve ${format.share(hitRate(reuse, lines), 1)}`).join(", ")}`;
}

function aboutNow({ levels }: Curves): string {
  return levels.map(({ level, reuse, now }) => `${LEVELS[level]} of today's ${format.bytes(now)} would serve ${format.share(hitRate(reuse, now / LINE_BYTES), 1)}, of twice that ${format.share(hitRate(reuse, (2 * now) / LINE_BYTES), 1)}`).join("; ");
}

function Curve({ row, kernel, profile, theme }: { row: CacheObject; kernel: CacheKernel; profile: Profile; theme: string }) {
  const curves = curvesOf(row, kernel);
  const [at, setAt] = useState<number | null>(null);
  const move = (event: MouseEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const step = Math.round(((event.clientX - box.left - LEFT) / (box.width - LEFT - 4)) * curves.steps);
    setAt(Math.max(0, Math.min(curves.steps, step)));
  };
  const key = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    setAt(Math.max(0, Math.min(curves.steps, (at ?? -1) + step)));
  };
  return (
    <section class="reuse">
      <h4 class="mono">{profile.text(kernel.kernel) ?? "a kernel"}</h4>
      <div class="reuse-curve" tabIndex={0} role="group" aria-label="hits by the size of a cache; arrow keys move" onKeyDown={key} onMouseMove={move} onMouseLeave={() => setAt(null)}>
        <Canvas theme={theme} label={aboutNow(curves)} draw={(context, width, height) => drawCurves(context, width, height, curves, at)} />
      </div>
      <p class="small size" aria-live="polite">
        {at === null ? aboutNow(curves) : about(curves, at)}
      </p>
    </section>
  );
}

export function ReuseCurves({ profile, number, theme }: { profile: Profile; number: number; theme: string }) {
  const rows = profile.raw.caches.flatMap((kernel) => kernel.objects.filter((row) => row.object === number && row.reuse.some((reuse) => reuse)).map((row) => ({ row, kernel })));
  if (rows.length === 0) return null;
  return (
    <>
      <h3>Hits by the size of a cache</h3>
      <p class="soft small">
        Of fully associative caches in which the line leaves that was not used for the longest time, by reuse distances within launches. Dashed: today's sizes. L2 is asked for what today's L1 does not have.
      </p>
      {rows.map(({ row, kernel }) => (
        <Curve row={row} kernel={kernel} profile={profile} theme={theme} />
      ))}
    </>
  );
}
