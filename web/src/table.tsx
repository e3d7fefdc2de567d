// SPDX-License-Identifier: Apache-2.0
// A table of any number of rows; only visible rows are in the document. Columns can be sorted, and the arrow keys
// move the selection. The last column may be a lane, which draws all rows on one canvas over a common axis. A row may
// stand for a group of others, which follow it while it is open. Where the table is narrow, minor columns are left out,
// which the details of a row have too. A table of sentences is as high as these need; it shows the first rows until the
// reader asks for more, and where it is narrow, a row's numbers follow its sentences.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Canvas } from "./canvas";
import * as format from "./format";
import { useGestures, type Window } from "./axis";

export interface Column {
  key: string;
  title: string;
  width: string; // a track size of the CSS grid
  numeric?: boolean;
  value(row: number): ComponentChildren;
  sort?(row: number): number | string;
  descending?: boolean; // sort order at the first click
  minor?: number; // the higher, the sooner it is left out where there is no room; none: never
}

// Rows that stand for others.
export interface Grouping {
  members(row: number): readonly number[]; // of an open group; empty for other rows
  isOpen(row: number): boolean | null; // null: the row is no group
  toggle(row: number): void;
}

export interface Lane {
  view: Window;
  heading: (context: CanvasRenderingContext2D, width: number, height: number) => void;
  draw(context: CanvasRenderingContext2D, row: number, y: number, height: number, width: number): void;
  title?(row: number, x: number, width: number): string;
}

interface Props {
  label: string;
  rows: ArrayLike<number>;
  columns: Column[];
  rowHeight: number;
  selected: number; // row; -1: none
  onSelect?(row: number): void;
  grouping?: Grouping;
  isText?: boolean; // a table of sentences
  initial?: { key: string; descending: boolean };
  lane?: Lane;
  theme: string;
  height?: string;
  empty: string;
  id: string;
}

// Distance of lanes from the edges, which leaves room for marks at their ends.
const INSET = 8;

function inset(context: CanvasRenderingContext2D, draw: () => void): void {
  context.save();
  context.translate(INSET, 0);
  draw();
  context.restore();
}

const compare = (a: number | string, b: number | string): number =>
  typeof a === "string" || typeof b === "string" ? String(a).localeCompare(String(b)) : a - b;

function useSorted(rows: ArrayLike<number>, columns: Column[], sort: { key: string; descending: boolean } | undefined, grouping: Grouping | undefined): number[] {
  return useMemo(() => {
    const by = columns.find((column) => column.key === sort?.key)?.sort;
    const sign = sort?.descending ? -1 : 1;
    const sorted = (list: number[]): number[] => {
      if (!by) return list;
      const keys = new Map<number, number | string>();
      for (const row of list) keys.set(row, by(row));
      return list.sort((a, b) => sign * compare(keys.get(a) as number, keys.get(b) as number) || a - b);
    };
    const list = sorted(Array.from(rows));
    return grouping ? list.flatMap((row) => [row, ...sorted([...grouping.members(row)])]) : list;
  }, [rows, sort?.key, sort?.descending, grouping]);
}

// Returns the columns that fit, without the most minor ones. A lane has its own widths in the style sheet.
function fittingColumns(columns: Column[], width: number): Column[] {
  const size = parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
  const least = (column: Column) => size * (parseFloat(column.width.replace(/^minmax\(/, "")) || 8);
  const kept = [...columns];
  while (kept.reduce((sum, column) => sum + least(column), 0) > width) {
    const minor = Math.max(...kept.map((column) => column.minor ?? 0));
    if (minor === 0) break;
    kept.splice(kept.findIndex((column) => column.minor === minor), 1);
  }
  return kept;
}

const FIRST_ROWS = 50;
const MORE_ROWS = 200;

export function Table(props: Props) {
  const { rowHeight, lane, grouping, isText } = props;
  const [sort, setSort] = useState(props.initial);
  const [scroll, setScroll] = useState(0);
  const [height, setHeight] = useState(400);
  const [width, setWidth] = useState(0);
  const [shown, setShown] = useState(FIRST_ROWS);
  const [scrollbar, setScrollbar] = useState(0); // width of the scrollbar
  const body = useRef<HTMLDivElement>(null);
  const rows = useSorted(props.rows, props.columns, sort, grouping);
  const columns = lane || isText || !width ? props.columns : fittingColumns(props.columns, width);
  const left = lane ? "var(--lane-left)" : "0px";
  const grid = columns.map((column) => column.width).join(" ") + (lane ? " minmax(0, 1fr)" : "");
  const gestures = lane ? useGestures(lane.view, ".lane-area") : null;

  useEffect(() => {
    const element = body.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      setHeight(element.clientHeight);
      setWidth(element.clientWidth);
      setScrollbar(element.offsetWidth - element.clientWidth);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  // Scrolls to the selected row when it is selected elsewhere.
  const position = useMemo(() => rows.indexOf(props.selected), [rows, props.selected]);
  useEffect(() => {
    const element = body.current;
    if (!element || position < 0) return;
    if (isText) {
      if (position >= shown) setShown(position + FIRST_ROWS);
      else element.querySelector('.row[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
      return;
    }
    const top = position * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = top + rowHeight - element.clientHeight;
  }, [position, height, shown]);

  const first = isText ? 0 : Math.max(0, Math.floor(scroll / rowHeight) - 2);
  const last = Math.min(rows.length, isText ? shown : Math.ceil((scroll + height) / rowHeight) + 2);

  const key = (event: KeyboardEvent) => {
    const page = isText ? 10 : Math.max(1, Math.floor(height / rowHeight) - 1);
    const isOpen = grouping?.isOpen(props.selected) ?? null;
    if (isOpen !== null && (event.key === "Enter" || event.key === " " || event.key === (isOpen ? "ArrowLeft" : "ArrowRight"))) {
      event.preventDefault();
      return grouping?.toggle(props.selected);
    }
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length };
    const step = steps[event.key];
    if (step === undefined || rows.length === 0 || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const from = position < 0 ? (step > 0 ? -1 : rows.length) : position;
    props.onSelect?.(rows[Math.min(rows.length - 1, Math.max(0, from + step))]);
  };
  const click = (row: number) => {
    if ((grouping?.isOpen(row) ?? null) !== null) grouping?.toggle(row);
    else props.onSelect?.(row);
  };

  const heading = (column: Column) => {
    const sorted = sort?.key === column.key;
    const direction = sorted ? (sort?.descending ? "descending" : "ascending") : "none";
    return (
      <div role="columnheader" class={column.numeric ? "cell number" : "cell"} aria-sort={column.sort ? direction : undefined}>
        {column.sort ? (
          <button type="button" class="sort" onClick={() => setSort({ key: column.key, descending: sorted ? !sort?.descending : !!column.descending })}>
            {column.title}
            <span aria-hidden="true" class="arrow">
              {sorted ? (sort?.descending ? "▾" : "▴") : ""}
            </span>
          </button>
        ) : (
          column.title
        )}
      </div>
    );
  };

  const visible: number[] = rows.slice(first, last);
  const place = (i: number) => (isText ? {} : { height: `${rowHeight}px`, transform: `translateY(${(first + i) * rowHeight}px)` });
  return (
    <div class={`table${lane ? " has-lane" : ""}${isText ? " is-text" : ""}`} role="grid" aria-label={props.label} aria-rowcount={rows.length + 1} id={props.id} style={{ height: props.height }}>
      <div class="headings" role="row" style={{ gridTemplateColumns: grid, paddingRight: `${scrollbar}px` }}>
        {columns.map(heading)}
        {lane && (
          <div role="columnheader" class="cell lane-heading" aria-label="life on the axis">
            <Canvas theme={props.theme} draw={(context, width, high) => inset(context, () => lane.heading(context, width - 2 * INSET, high))} />
          </div>
        )}
      </div>
      <div class="body-frame" ref={gestures}>
        <div
          class="body"
          role="rowgroup"
          tabIndex={0}
          ref={body}
          aria-activedescendant={position >= first && position < last ? `${props.id}-${props.selected}` : undefined}
          onScroll={(event) => setScroll(event.currentTarget.scrollTop)}
          onKeyDown={key}
        >
          <div class="spacer" style={isText ? {} : { height: `${rows.length * rowHeight}px` }}>
            {visible.map((row, i) => (
              <div
                key={row}
                id={`${props.id}-${row}`}
                role="row"
                aria-rowindex={first + i + 2}
                aria-selected={row === props.selected}
                aria-expanded={grouping?.isOpen(row) ?? undefined}
                class={props.onSelect ? "row is-active" : "row"}
                style={{ gridTemplateColumns: grid, ...place(i) }}
                onClick={() => click(row)}
              >
                {columns.map((column) => (
                  <div role="gridcell" class={column.numeric ? "cell number" : "cell"} data-title={column.title}>
                    {column.value(row)}
                  </div>
                ))}
                {lane && (
                  <div
                    role="gridcell"
                    class="cell lane-cell"
                    onPointerMove={(event) => {
                      const cell = event.currentTarget;
                      const box = cell.getBoundingClientRect();
                      cell.title = lane.title?.(row, event.clientX - box.left - INSET, box.width - 2 * INSET) ?? "";
                    }}
                  />
                )}
              </div>
            ))}
          </div>
          {isText && rows.length > shown && (
            <button type="button" class="more" onClick={() => setShown(shown + MORE_ROWS)}>
              show {format.count(Math.min(MORE_ROWS, rows.length - shown))} of {format.count(rows.length - shown)} more
            </button>
          )}
          {rows.length === 0 && <p class="empty">{props.empty}</p>}
        </div>
        {lane && (
          <div class="lane-canvas" style={{ left, right: `${scrollbar}px` }}>
            <div class="lane-area" style={{ margin: `0 ${INSET}px` }} />
            <Canvas
              theme={props.theme}
              draw={(context, width) =>
                inset(context, () => visible.forEach((row, i) => lane.draw(context, row, (first + i) * rowHeight - scroll, rowHeight, width - 2 * INSET)))
              }
            />
          </div>
        )}
      </div>
    </div>
  );
}
