// SPDX-License-Identifier: Apache-2.0
// A horizontal axis that can be zoomed and moved: the visible range, tick marks, and hooks that handle the wheel,
// dragging and keys. What is selected stays in view while the reader zooms.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import * as format from "./format";
import type { Axis } from "./data";

export interface Range {
  from: number;
  to: number;
}

export interface Window extends Range {
  zoom(factor: number, center?: number): void;
  move(distance: number): void;
  show(from: number, to: number): void;
  reset(): void;
  isWhole: boolean;
}

// Returns the range after zooming by a factor. `keep`, if given, stays in view: at its place if it is in view, else in
// the middle. Of a part that is longer than the new range, some remains.
export function zoomed(range: Range, factor: number, least: number, end: number, keep: Range | null): Range {
  const span = Math.min(end, Math.max(least, (range.to - range.from) * factor));
  const [from, to] = keep ? [Math.max(keep.from, range.from), Math.min(keep.to, range.to)] : [range.from, range.to];
  const middle = from <= to ? (from + to) / 2 : range.from;
  let start = middle - ((middle - range.from) / (range.to - range.from)) * span;
  if (keep && from > to) start = (keep.from + keep.to) / 2 - span / 2;
  if (keep) {
    const [one, other] = [keep.from, keep.to - span];
    start = Math.min(Math.max(start, Math.min(one, other)), Math.max(one, other));
  }
  start = Math.min(Math.max(0, start), end - span);
  return { from: start, to: start + span };
}

// `keep` is what is selected on the axis.
export function useWindow(end: number, least: number, keep: Range | null = null): Window {
  const [range, set] = useState<Range>({ from: 0, to: end });
  useEffect(() => set({ from: 0, to: end }), [end]);
  return useMemo(() => {
    const show = (from: number, to: number) => {
      const span = Math.min(end, Math.max(least, to - from));
      const start = Math.min(Math.max(0, from), end - span);
      set({ from: start, to: start + span });
    };
    const { from, to } = range.to > end ? { from: 0, to: end } : range;
    return {
      from,
      to,
      isWhole: from <= 0 && to >= end,
      show,
      reset: () => set({ from: 0, to: end }),
      zoom: (factor, center) => set(zoomed({ from, to }, factor, least, end, center === undefined ? keep : { from: center, to: center })),
      move: (distance) => show(from + distance, to + distance),
    };
  }, [range, end, least, keep?.from, keep?.to]);
}

export const toPixel = (range: Range, width: number, value: number): number =>
  ((value - range.from) / (range.to - range.from)) * width;

export const fromPixel = (range: Range, width: number, pixel: number): number =>
  range.from + (pixel / width) * (range.to - range.from);

// Returns a round step that gives about one tick for every `every` pixels. All axes count something, so no step is
// below 1.
function stepOf(range: Range, width: number, every: number): number {
  const rough = Math.max(1, ((range.to - range.from) * every) / Math.max(1, width));
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough * (1 - 1e-9)) ?? rough;
}

const UNITS: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "us"],
  [1, "ns"],
];

// Returns the text of a value, with as many digits as values need that are a step apart.
function valueText(axis: Axis, value: number, step: number, range: Range): string {
  if (axis !== "time") return format.count(value);
  const [size, unit] = UNITS.find(([one]) => range.to - range.from >= 2 * one) ?? [1, "ns"];
  return `${(value / size).toFixed(Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9)))} ${unit}`;
}

// Returns round values with their texts, of which no two are the same.
export function ticks(axis: Axis, range: Range, width: number, every = 110): { value: number; text: string }[] {
  const step = stepOf(range, width, every);
  const out: { value: number; text: string }[] = [];
  for (let i = Math.ceil(range.from / step); i * step <= range.to; i++) out.push({ value: i * step, text: valueText(axis, i * step, step, range) });
  return out;
}

export function axisText(axis: Axis, value: number, range: Range): string {
  return valueText(axis, value, Math.max(1, (range.to - range.from) / 100), range);
}

// The wheel zooms with Ctrl, and moves sideways or with Shift; dragging moves; a double click shows everything.
// `area` is where the axis is: an offset from the element's left edge in pixels, or a selector of an element
// inside it.
export function useGestures(view: Window, area: number | string) {
  const ref = useRef<HTMLDivElement>(null);
  const latest = useRef(view);
  latest.current = view;
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const box = (): { left: number; width: number } => {
      const whole = element.getBoundingClientRect();
      const part = typeof area === "string" ? element.querySelector(area)?.getBoundingClientRect() : null;
      if (part) return { left: part.left, width: Math.max(1, part.width) };
      const from = typeof area === "number" ? area : 0;
      return { left: whole.left + from, width: Math.max(1, whole.width - from) };
    };
    const wheel = (event: WheelEvent) => {
      const { from, to, zoom, move } = latest.current;
      const { left, width } = box();
      if (event.ctrlKey || event.metaKey || event.altKey) {
        zoom(Math.exp(event.deltaY * 0.003), fromPixel({ from, to }, width, event.clientX - left));
        event.preventDefault();
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        move(((event.deltaX || event.deltaY) * (to - from)) / width);
        event.preventDefault();
      }
    };
    let last: number | null = null;
    const down = (event: PointerEvent) => {
      last = event.button === 0 && event.clientX >= box().left ? event.clientX : null;
    };
    const drag = (event: PointerEvent) => {
      if (last === null || !(event.buttons & 1)) return;
      const { from, to, move, isWhole } = latest.current;
      if (!isWhole) move(((last - event.clientX) * (to - from)) / box().width);
      last = event.clientX;
    };
    const double = () => latest.current.reset();
    element.addEventListener("wheel", wheel, { passive: false });
    element.addEventListener("pointerdown", down);
    element.addEventListener("pointermove", drag);
    element.addEventListener("dblclick", double);
    return () => {
      element.removeEventListener("wheel", wheel);
      element.removeEventListener("pointerdown", down);
      element.removeEventListener("pointermove", drag);
      element.removeEventListener("dblclick", double);
    };
  }, [area]);
  return ref;
}

// Returns whether the focused control uses a key itself: a text field any, a slider those that move it.
export function isTaken(event: KeyboardEvent): boolean {
  const { target } = event;
  if (target instanceof HTMLSelectElement) return true;
  if (!(target instanceof HTMLInputElement) || target.type === "checkbox") return false;
  return target.type !== "range" || /^(Arrow|Home|End|Page)/.test(event.key);
}

// Handles keys of a view wherever the focus is, so that they work before the reader has clicked anything: except in
// the details, in controls that use the key, and where something else has handled it.
export function useKeys(handle: (event: KeyboardEvent) => void): void {
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const isDetail = event.target instanceof Element && event.target.closest(".detail") && /^(Arrow|Home|End|Page)/.test(event.key);
      if (!event.defaultPrevented && !isDetail && !isTaken(event)) latest.current(event);
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  }, []);
}

// Plus and minus zoom, 0 shows everything, Shift with an arrow key moves. Returns whether the key was one of
// these.
export function zoomKey(event: KeyboardEvent, view: Window): boolean {
  const span = view.to - view.from;
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key === "+" || event.key === "=") view.zoom(0.5);
  else if (event.key === "-") view.zoom(2);
  else if (event.key === "0") view.reset();
  else if (event.shiftKey && event.key === "ArrowLeft") view.move(-span / 4);
  else if (event.shiftKey && event.key === "ArrowRight") view.move(span / 4);
  else return false;
  event.preventDefault();
  return true;
}
