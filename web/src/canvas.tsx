// SPDX-License-Identifier: Apache-2.0
// A canvas that fits its box at the screen's resolution. It is redrawn at most once per frame, in the colors of
// the style sheet.
import { useEffect, useRef } from "preact/hooks";

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
export const drawn = { items: 0 };

export function Canvas(props: { draw: Draw; class?: string; label?: string; theme: string }) {
  const ref = useRef<HTMLCanvasElement>(null);
  const draw = useRef(props.draw);
  draw.current = props.draw;
  const request = useRef(0);
  const redraw = () => {
    cancelAnimationFrame(request.current);
    request.current = requestAnimationFrame(() => {
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
      draw.current(context, width, height);
      canvas.dataset.items = String(drawn.items);
    });
  };
  useEffect(redraw);
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
