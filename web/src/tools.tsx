// SPDX-License-Identifier: Apache-2.0
// Controls of an axis that views share: which axis, and buttons that zoom.
import type { Axis } from "./data";

const WORDS: Record<Axis, string> = { order: "order of GPU APIs", call: "calls", time: "time" };

export function AxisChoice(props: { axis: Axis; set(axis: Axis): void; choices: Axis[] }) {
  if (props.choices.length < 2) return null;
  return (
    <label>
      along{" "}
      <select value={props.axis} onChange={(event) => props.set(event.currentTarget.value as Axis)}>
        {props.choices.map((axis) => (
          <option value={axis}>{WORDS[axis]}</option>
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
      <button type="button" onClick={() => view.zoom(2)} disabled={view.isWhole} aria-label="zoom out" title="zoom out (-)">
        −
      </button>
      <button type="button" onClick={view.reset} disabled={view.isWhole} title="show all (0)">
        all
      </button>
    </span>
  );
}
