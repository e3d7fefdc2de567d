// SPDX-License-Identifier: Apache-2.0
// The elements of an object: a map of those that were touched, and for the launch with the most uneven counts,
// how often each was touched.
import { Canvas, colours } from "./canvas";
import type { Elements, Profile } from "./data";
import * as format from "./format";
import { CallLink } from "./parts";

const CELLS = 512;
const COLUMNS = 64;

function cellsOf(text: string, elements: number): number[] {
  const count = Math.min(CELLS, elements);
  const digits = text.length === 1 ? text.repeat(count) : text;
  return Array.from(digits, (digit) => parseInt(digit, 36) / 35);
}

function drawCells(context: CanvasRenderingContext2D, width: number, height: number, cells: number[]) {
  const palette = colours();
  const columns = Math.min(COLUMNS, cells.length);
  const rows = Math.ceil(cells.length / columns);
  const [w, h] = [width / columns, Math.min(14, height / rows)];
  cells.forEach((part, i) => {
    const [x, y] = [(i % columns) * w, Math.floor(i / columns) * h];
    context.fillStyle = palette.line;
    context.fillRect(x, y, w - 0.5, h - 0.5);
    context.globalAlpha = part === 0 ? 0 : 0.25 + 0.75 * part;
    context.fillStyle = palette.accent;
    context.fillRect(x, y, w - 0.5, h - 0.5);
    context.globalAlpha = 1;
  });
}

function Cells({ row, theme }: { row: Elements; theme: string }) {
  if (!row.touched || !row.elements) return null;
  const cells = cellsOf(row.touched, row.elements);
  const rows = Math.ceil(cells.length / COLUMNS);
  const each = Math.ceil(row.elements / cells.length);
  const some = cells.filter((part) => part > 0).length;
  return (
    <>
      <div style={{ height: `${rows * 14}px` }} class="heat">
        <Canvas theme={theme} label={`map of touched elements: ${some} of ${cells.length} cells are touched`} draw={(context, width, height) => drawCells(context, width, height, cells)} />
      </div>
      <p class="soft small">
        {format.count(row.elements)} elements of {format.plural(row.element_bytes ?? 0, "byte")}, from left to right, row by row; a cell is up to {format.plural(each, "element")}. Full color: all were touched; gray: none.
      </p>
    </>
  );
}

// A histogram: how many elements were touched how often.
function Counts({ row, profile }: { row: Elements; profile: Profile }) {
  const counts = row.counts;
  if (!counts) return null;
  const bins: { least: number; elements: number }[] = [];
  for (let i = 0; i < counts.bins.length; i += 2) bins.push({ least: counts.bins[i], elements: counts.bins[i + 1] });
  const most = Math.max(...bins.map((bin) => bin.elements), 1);
  const hot: { first: number; elements: number; sum: number }[] = [];
  for (let i = 0; i < counts.hottest.length; i += 3) hot.push({ first: counts.hottest[i], elements: counts.hottest[i + 1], sum: counts.hottest[i + 2] });
  return (
    <>
      <p class="small">
        How often <CallLink number={counts.call} profile={profile} /> touched each element: coefficient of variation {(counts.variation * 100).toFixed(0)}%, at most {format.plural(counts.most, "time")}.
      </p>
      <table class="bins">
        <thead>
          <tr>
            <th scope="col">at least</th>
            <th scope="col">elements</th>
            <th scope="col" aria-hidden="true" />
          </tr>
        </thead>
        <tbody>
          {bins.map((bin) => (
            <tr>
              <td class="number">{format.count(bin.least)}×</td>
              <td class="number">{format.count(bin.elements)}</td>
              <td class="bin-bar" aria-hidden="true">
                <span style={{ width: `${Math.max(1, (bin.elements / most) * 100)}%` }} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {hot.length > 0 && (
        <p class="small">
          Hottest: elements {format.count(hot[0].first)} to {format.count(hot[0].first + hot[0].elements - 1)} take {format.share(hot[0].sum, counts.sum)} of these accesses.
        </p>
      )}
    </>
  );
}

export function Heat({ profile, object, theme }: { profile: Profile; object: number; theme: string }) {
  const row = profile.raw.elements.find((one) => one.object === object);
  return (
    <>
      <h3>Elements</h3>
      {row ? (
        <>
          <Cells row={row} theme={theme} />
          {!row.touched && <p class="soft small">The map of touched elements was not recorded; glint record --maps records it.</p>}
          <Counts row={row} profile={profile} />
        </>
      ) : (
        <p class="soft small">The elements of this object were not recorded; glint record --analyses elements,counts --maps records them.</p>
      )}
    </>
  );
}
