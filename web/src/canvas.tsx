// SPDX-License-Identifier: Apache-2.0
// A canvas that fits its box at the screen's resolution. It is redrawn at most once per frame, in the colors of
// the style sheet.
import { useEffect, useRef } from "preact/hooks";
import { lighten } from "./state";

export interface Palette {
  text: string;
  muted: string;
  line: string;
  background: string;
  panel: string;
  accent: string;
  read: string;
  write: string;
  waste: string;
  idle: string;
  life: string;
  redundant: string;
  fresh: string;
  series: string[];
}

let palette: { theme: string; colours: Palette } | null = null;

export function colours(): Palette {
  const theme = document.documentElement.dataset.theme ?? "light";
  if (palette?.theme === theme) return palette.colours;
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const found: Palette = {
    text: of("text"),
    muted: of("muted"),
    line: of("line"),
    background: of("background"),
    panel: of("panel"),
    accent: of("accent"),
    read: of("read"),
    write: of("write"),
    waste: of("waste"),
    idle: of("idle"),
    life: of("life"),
    redundant: of("redundant"),
    fresh: of("fresh"),
    series: Array.from({ length: 9 }, (_, i) => of(`series-${i}`)),
  };
  palette = { theme, colours: found };
  return found;
}

export type Draw = (context: CanvasRenderingContext2D, width: number, height: number) => void;

// The number of items that the last drawing drew. Tests check that it is limited by the screen, not by the data.
export const drawn = { items: 0, labels: [] as Box[] };

// A label and where it is.
type Box = [text: string, left: number, top: number, right: number, bottom: number];

const LABEL_GAP = 4;

// Draws labels of which none overlaps another: one that would is left out. A halo separates a label from what is
// behind it.
export class Labels {
  private readonly boxes: Box[] = [];

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly width: number,
  ) {}

  // Draws the text, moved so that it does not leave the canvas sideways. Returns whether there was room. `y` is its
  // middle; `x` is its left edge, middle or right edge.
  put(text: string, x: number, y: number, align: "left" | "center" | "right", colour: string, halo = ""): boolean {
    const { context } = this;
    const wide = context.measureText(text).width;
    const start = align === "left" ? x : align === "center" ? x - wide / 2 : x - wide;
    const left = Math.max(0, Math.min(start, this.width - wide));
    const box: Box = [text, left, y - 7, left + wide, y + 7];
    if (this.boxes.some((one) => box[1] < one[3] + LABEL_GAP && one[1] < box[3] + LABEL_GAP && box[2] < one[4] && one[2] < box[4])) return false;
    this.boxes.push(box);
    drawn.labels.push(box);
    context.textAlign = "left";
    context.textBaseline = "middle";
    if (halo) {
      context.lineWidth = 3;
      context.lineJoin = "round";
      context.strokeStyle = halo;
      context.strokeText(text, left, y);
      context.lineWidth = 1;
    }
    context.fillStyle = colour;
    context.fillText(text, left, y);
    return true;
  }
}

// Returns the text, or its beginning if it is too wide.
export function fitting(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 0 && context.measureText(text.slice(0, length) + "\u2026").width > width) length--;
  return length ? text.slice(0, length) + "\u2026" : "";
}

export function Canvas(props: { draw: Draw; class?: string; label?: string; theme: string }) {
  const ref = useRef<HTMLCanvasElement>(null);
  const draw = useRef(props.draw);
  draw.current = props.draw;
  const request = useRef(0);
  const paint = () => {
    const canvas = ref.current;
    if (!canvas) return;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
    }
    const context = canvas.getContext("2d");
    if (!context || width === 0 || height === 0) return;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = '11px system-ui, -apple-system, "Segoe UI", sans-serif';
    drawn.items = 0;
    drawn.labels = [];
    draw.current(context, width, height);
    canvas.dataset.items = String(drawn.items);
    if (drawn.labels.length) canvas.dataset.labels = JSON.stringify(drawn.labels);
  };
  const redraw = () => {
    cancelAnimationFrame(request.current);
    request.current = requestAnimationFrame(paint);
  };
  useEffect(redraw);
  // Paper does not wait for a frame.
  useEffect(() => {
    const print = () => {
      lighten();
      paint();
    };
    addEventListener("beforeprint", print);
    addEventListener("afterprint", redraw);
    return () => {
      removeEventListener("beforeprint", print);
      removeEventListener("afterprint", redraw);
    };
  }, []);
  useEffect(() => {
    const observer = new ResizeObserver(redraw);
    if (ref.current) observer.observe(ref.current);
    return () => {
      observer.disconnect();
      cancelAnimationFrame(request.current);
    };
  }, []);
  return <canvas ref={ref} class={props.class ?? ""} aria-hidden={props.label ? undefined : "true"} aria-label={props.label} role={props.label ? "img" : undefined} />;
}

// Draws diagonal lines, so that hatched areas differ from filled ones even without color.
export function hatch(context: CanvasRenderingContext2D, x: number, y: number, width: number, height: number, colour: string): void {
  if (width <= 0) return;
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  const from = x - (x % 6) - height;
  const to = x + width;
  for (let at = from; at < to; at += 6) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}
