// SPDX-License-Identifier: Apache-2.0
// A horizontal axis that can be zoomed and moved: the visible range, tick marks, and hooks that handle the wheel,
// dragging and keys.
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

export function useWindow(end: number, least: number): Window {
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
      zoom: (factor, center = (from + to) / 2) => {
        const span = Math.min(end, Math.max(least, (to - from) * factor));
        const start = center - ((center - from) / (to - from)) * span;
        show(start, start + span);
      },
      move: (distance) => show(from + distance, to + distance),
    };
  }, [range, end, least]);
}

export const toPixel = (range: Range, width: number, value: number): number =>
  ((value - range.from) / (range.to - range.from)) * width;

export const fromPixel = (range: Range, width: number, pixel: number): number =>
  range.from + (pixel / width) * (range.to - range.from);

// Returns round values, about one for every `every` pixels.
export function ticks(range: Range, width: number, every = 110): number[] {
  const span = range.to - range.from;
  const rough = (span * every) / Math.max(1, width);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough) ?? rough;
  const out: number[] = [];
  for (let value = Math.ceil(range.from / step) * step; value <= range.to; value += step) out.push(value);
  return out;
}

export function axisText(axis: Axis, value: number, range: Range): string {
  if (axis !== "time") return format.count(value);
  const span = range.to - range.from;
  const [size, unit] = span >= 2e9 ? [1e9, "s"] : span >= 2e6 ? [1e6, "ms"] : span >= 2e3 ? [1e3, "us"] : [1, "ns"];
  const step = span / size;
  return `${(value / (size as number)).toFixed(step < 2 ? 2 : step < 20 ? 1 : 0)} ${unit}`;
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
