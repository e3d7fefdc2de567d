// SPDX-License-Identifier: Apache-2.0
// A flame graph of allocations: call paths from the outermost frame at the top to the object at the bottom, each as wide
// as what it allocated. A click on a frame shows it at full width; a click on an object selects it.
import { useMemo, useRef, useState } from "preact/hooks";
import type { Frame, Profile } from "./data";
import * as format from "./format";
import { matches } from "./parts";

interface Node {
  name: string;
  places: Set<string>; // file:line
  value: number;
  objects: number; // how many
  largest: number; // index of the largest object; -1 in a frame
  parent: Node | null;
  children: Map<string, Node>;
}

export type Measure = "bytes" | "count";

const ROW = 22; // pixels
const LEAST = 0.004; // of the width: narrower boxes are joined
const MOST = 600; // boxes

const newNode = (name: string, parent: Node | null): Node => ({ name, places: new Set(), value: 0, objects: 0, largest: -1, parent, children: new Map() });

function childOf(node: Node, key: string, name: string): Node {
  let child = node.children.get(key);
  if (!child) node.children.set(key, (child = newNode(name, node)));
  return child;
}

// What runs before main, or before the function of a thread.
const STARTS = /^(_start|__libc_start_\w+|start_thread|clone3?|__clone3?)$/;

// Returns the frames of a path, the outermost first.
function framesOf(profile: Profile, path: number): Frame[] {
  const frames = profile.frames(path).reverse();
  const first = frames.findIndex((frame) => !STARTS.test(frame.name ?? ""));
  return frames.slice(Math.max(0, first));
}

// A function without its parameters, which differ only where it is overloaded.
const shortName = (name: string): string => name.replace(/\s*\([^()]*\)( const)?$/, "") || name;

const placeOf = (frame: Frame): string | null => (frame.file ? `${format.baseName(frame.file)}${frame.line ? `:${frame.line}` : ""}` : null);

// Makes the tree of the given objects. `missing` is what objects use that are not in the page.
function treeOf(profile: Profile, objects: readonly number[], measure: Measure, missing: number): Node {
  const { objects: all } = profile;
  const root = newNode("all", null);
  const frames = new Map<number, Frame[]>();
  for (const object of objects) {
    const path = all.path[object];
    let outer = frames.get(path);
    if (!outer) frames.set(path, (outer = framesOf(profile, path)));
    const value = measure === "bytes" ? all.bytes[object] : 1;
    let node = root;
    const add = () => {
      node.value += value;
      node.objects++;
    };
    add();
    if (outer.length === 0) {
      node = childOf(node, "?", "call path unknown");
      add();
    }
    for (const frame of outer) {
      const place = placeOf(frame);
      node = childOf(node, `f${frame.name ?? place ?? "?"}`, shortName(frame.name ?? place ?? "?"));
      if (place) node.places.add(place);
      add();
    }
    node = childOf(node, `o${profile.objectName(object)}`, profile.objectName(object));
    add();
    if (node.largest < 0 || all.bytes[object] > all.bytes[node.largest]) node.largest = object;
  }
  if (missing > 0) {
    const rest = childOf(root, "rest", "objects that are not in this page");
    rest.value = missing;
    root.value += missing;
  }
  return root;
}

interface Box {
  node: Node | null; // null: several that are too narrow
  text: string;
  depth: number;
  left: number; // of 1
  width: number;
  isAbove: boolean; // it contains the box at full width
}

// Lays out a node at full width below those that contain it.
function layOut(focus: Node): Box[] {
  const boxes: Box[] = [];
  for (let node: Node | null = focus.parent; node; node = node.parent) boxes.unshift({ node, text: node.name, depth: 0, left: 0, width: 1, isAbove: true });
  boxes.forEach((box, i) => (box.depth = i));
  const queue: Box[] = [{ node: focus, text: focus.name, depth: boxes.length, left: 0, width: 1, isAbove: false }];
  for (let at = 0; at < queue.length && boxes.length < MOST; at++) {
    const box = queue[at];
    boxes.push(box);
    if (!box.node) continue;
    let { left } = box;
    let narrow = 0;
    let count = 0;
    for (const child of [...box.node.children.values()].sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1))) {
      const width = (box.width * child.value) / Math.max(1, box.node.value);
      if (width < LEAST) {
        narrow += width;
        count++;
        continue;
      }
      queue.push({ node: child, text: child.name, depth: box.depth + 1, left, width, isAbove: false });
      left += width;
    }
    if (narrow >= LEAST) queue.push({ node: null, text: `${format.count(count)} more`, depth: box.depth + 1, left, width: narrow, isAbove: false });
  }
  return boxes;
}

// The same name always has the same color.
function series(name: string): number {
  let hash = 7;
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
  return hash % 8;
}

interface Props {
  profile: Profile;
  objects: readonly number[];
  measure: Measure;
  missing: number;
  search: string;
  selected: number; // index of an object; -1: none
  select(object: number): void;
}

export function Flame({ profile, objects, measure, missing, search, selected, select }: Props) {
  const root = useMemo(() => treeOf(profile, objects, measure, missing), [profile, objects, measure, missing]);
  const [steps, setSteps] = useState<string[]>([]); // keys from the root to the frame at full width
  const [current, setCurrent] = useState(0); // the box that has the focus
  const area = useRef<HTMLDivElement>(null);
  // The tree may have lost the frame since, at another moment.
  let focus = root;
  for (const key of steps) focus = focus.children.get(key) ?? focus;
  const boxes = useMemo(() => layOut(focus), [focus]);
  const text = (value: number) => (measure === "bytes" ? format.bytes(value) : format.plural(value, "allocation"));
  if (root.value === 0) return <p class="empty">No object of this page is in use at that time.</p>;

  const activate = (box: Box) => {
    if (!box.node) return;
    if (box.node.largest >= 0) return select(box.node.largest);
    const keys: string[] = [];
    for (let node = box.node; node.parent; node = node.parent) {
      const parent = node.parent;
      keys.unshift([...parent.children].find(([, child]) => child === node)?.[0] ?? "");
    }
    setSteps(keys);
    setCurrent(keys.length);
  };
  const move = (event: KeyboardEvent) => {
    const here = boxes[Math.min(current, boxes.length - 1)];
    const middle = here.left + here.width / 2;
    const near = (candidates: Box[]) => candidates.sort((a, b) => Math.abs(a.left + a.width / 2 - middle) - Math.abs(b.left + b.width / 2 - middle))[0];
    const row = (depth: number) => boxes.filter((box) => box.depth === depth);
    const steps: Record<string, () => Box | undefined> = {
      ArrowUp: () => near(row(here.depth - 1)),
      ArrowDown: () => row(here.depth + 1).find((box) => box.node?.parent === here.node) ?? near(row(here.depth + 1)),
      ArrowLeft: () => near(row(here.depth).filter((box) => box.left < here.left)),
      ArrowRight: () => near(row(here.depth).filter((box) => box.left > here.left)),
    };
    const found = steps[event.key]?.();
    if (!steps[event.key]) return;
    event.preventDefault();
    if (!found) return;
    setCurrent(boxes.indexOf(found));
    (area.current?.children[boxes.indexOf(found)] as HTMLElement | undefined)?.focus();
  };
  const depth = Math.max(...boxes.map((box) => box.depth));
  return (
    <div class="flame-frame">
      <div class="flame" id="flame" role="group" aria-label="flame graph of allocations by call path: arrow keys move, Enter shows a frame at full width" ref={area} style={{ height: `${(depth + 1) * ROW}px` }} onKeyDown={move}>
        {boxes.map((box, i) => {
          const { node } = box;
          const places = node ? [...node.places] : [];
          const place = places.length === 1 ? places[0] : places.length > 1 ? `${format.count(places.length)} lines` : "";
          const found = !search || matches(search, box.text, place);
          const kind = !node || !node.parent ? "is-plain" : node.largest >= 0 ? "is-object" : `series-${series(node.name)}`;
          const value = node ? text(node.value) : "";
          return (
            <button
              type="button"
              key={`${box.depth} ${box.left}`}
              class={`flame-box ${kind}${box.isAbove ? " is-above" : ""}${found ? "" : " is-faded"}${node && node.largest >= 0 && node.largest === selected ? " is-selected" : ""}`}
              style={{ left: `${box.left * 100}%`, width: `${box.width * 100}%`, top: `${box.depth * ROW}px` }}
              tabIndex={i === Math.min(current, boxes.length - 1) ? 0 : -1}
              title={node ? `${box.text}${place ? ` ${place}` : ""}: ${value}, ${format.share(node.value, root.value)}${node.objects > 1 ? ` in ${format.count(node.objects)} objects` : ""}` : box.text}
              onClick={() => activate(box)}
              onFocus={() => setCurrent(i)}
            >
              {box.text} {node && <span class="flame-value">{value}</span>}
            </button>
          );
        })}
      </div>
    </div>
  );
}
