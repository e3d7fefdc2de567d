// SPDX-License-Identifier: Apache-2.0
// The data of the page: the JSON that src/report/html*.c writes, and the same data with decoded columns and
// indexes: calls by number, accesses by call, findings by object. Numbers of calls, objects and so on are those
// of the profile; 0 means none. Times are nanoseconds since the recording started.

import type { RawFlow } from "./flow_graph";

export interface Finding {
  pattern: string;
  object: number;
  other_object: number;
  peak_bytes: number;
  traffic_bytes: number;
  gpu_ns: number;
  is_bound: boolean; // traffic_bytes and gpu_ns are upper bounds
  is_estimate: boolean; // but gpu_ns may also be less than what is gained
  host_ns: number; // saved run time
  host_is_bound: boolean;
  waited_ns: number;
  waits: number; // avoided waits; used if times are not real
  worthwhile: boolean;
  worth: string; // as text
  peak: number;
  times: number;
  count: number; // number of similar matches
  objects: number[]; // of the first matches, if there are several
  distance: number | null;
  message: string;
  suggestion: string;
  place: string | null;
  call: number;
  other_call: number;
  last_call: number;
  path: number;
  other_path: number;
  last_path: number;
  places: number[]; // pairs: index in the pattern's places, call path
  elements?: number;
  touched?: number;
  element_bytes?: number;
  untouched_first?: number;
  untouched_elements?: number;
}

// A pattern, from its description in src/analyze/patterns.
export interface Pattern {
  pattern: string;
  title: string;
  definition: string;
  waste: "before-first-use" | "until-free" | "after-last-use" | "between-calls" | null; // part of an object's life
  other_object: string | null; // label of the finding's other_object
  roles: (string | null)[]; // labels of `call`, `other_call` and `last_call`
  places: string[]; // labels of other call paths
  findings: number;
  skipped: string | null;
}

export interface Peak {
  bytes: number;
  start: number;
  end: number | null;
  times: number;
  device?: number; // from 0, only if memory of several devices was in use; the highest peak of each comes first
}

export interface Head {
  glint: string;
  argv: string[];
  executable: string | null;
  folder: string | null;
  ended: string;
  code: number;
  complete: boolean;
  simulated: boolean;
  timestamps: boolean;
  start_unix_ns: number | null;
  end_ns: number | null;
  driver_version: number;
  summary: {
    peak_bytes: number;
    achievable_peak_bytes: number;
    run_ns: number;
    achievable_run_ns: number;
    least_peak_bytes: number;
    objects: number;
    calls: number;
    launches: number;
    failed_calls: number;
    failure: string | null; // a sentence that leads the page
    dropped: number;
    findings: number;
    worthwhile: number; // these findings come first
    lowers_peak: boolean; // following them lowers the peak
    waits: string | null; // on the calls that waited for the GPU
    coverage: string | null; // how launches were observed, and the largest kernels that were not
    accesses: number;
    unseen_launches: number;
    last_ns: number;
  };
  peaks: Peak[];
  analyses: Pattern[];
  notes: { severity: string; text: string }[];
  settings: [string, string][];
  devices: { name: string | null; memory_bytes: number }[];
  ranges: { name: number; domain: number; count: number; ended: number; total_ns: number; longest_ns: number }[]; // of NVTX; ended: those whose times are known
  kernels: { name: number; whole: number; launches: number; timed: number; total_ns: number; longest_ns: number; watched: number; passed: number }[]; // passed: launches that are known by their arguments
  streams: { number: number; context: number; legacy: boolean; non_blocking: boolean }[];
  threads: { number: number; name: string | null }[];
}

interface RawObjects {
  number: number[];
  name: number[];
  kind: number[];
  counted: number[];
  bytes: number[];
  call: number[];
  end: number[];
  first: number[];
  last: number[];
  path: number[];
  reads: number[];
  writes: number[];
  passed: number[]; // launches that are known by their arguments
  bytes_read: number[];
  bytes_written: number[];
  element_bytes: number[];
  elements: number[];
  touched: number[];
  shared: number[];
  kinds: string[];
}

interface RawCalls {
  number: number[]; // differences to the row before; so are order and start
  order: number[];
  start: number[];
  ns: number[];
  shape: number[];
  gpu_start: number[]; // relative to start
  gpu_ns: number[]; // -1: unknown
  waited: number[]; // pairs: index, nanoseconds
  shapes: {
    kind: number[];
    function: number[];
    name: number[];
    thread: number[];
    stream: number[];
    path: number[];
    result: number[];
    flags: number[];
    bytes: number[];
    event: number[];
    record: number[];
  };
  kinds: string[];
  rest: Rest;
}

// Sums of the calls that are not in the page.
export interface Rest {
  calls: number;
  buckets: number;
  end: number; // of the axis that the buckets divide: nanoseconds, or calls if the GPU is simulated
  lanes: { stream: number; count: number[]; busy_ns: number[] }[];
}

export interface Elements {
  object: number;
  element_bytes?: number;
  elements?: number;
  touched?: string; // one digit of base 36 per cell
  shared?: string;
  counts?: {
    call: number;
    sum: number;
    most: number;
    variation: number;
    bins: number[]; // pairs: least count, number of elements
    hottest: number[]; // triples: first element, number of elements, sum of counts
  };
}

// An array of shared memory, in the launch of its kernel that accessed it most often.
export interface SharedArray {
  call: number;
  node: number; // of a graph launch: 1 + index
  kernel: number; // text
  name: string | null;
  bytes: number; // in one block
  blocks: number;
  missed: number; // loads and stores of the launch that were not counted
  complete: boolean; // the counts are exact
  untouched_is_known: boolean;
  runs: number[]; // triples: words that follow one another, loads and stores of each, by all blocks
}

// What the model of the caches found about an object in all launches of a kernel.
export interface CacheObject {
  object: number; // 0: unknown
  l1: number[]; // pairs: sectors and hits of loads, stores and atomic operations
  l2: number[];
  read: number; // sectors of device memory
  written: number;
  errors: (number | null)[]; // of the hit rates of L1 and L2, in percentage points; null: unknown
  taken: number; // sectors, by requests of warps; 0: unknown
  needed: number;
  reuse: (number[] | null)[]; // of L1 and L2: sectors used first, then those used again, by distance as in the profile
}

export interface CacheKernel {
  kernel: number; // text
  preset: string | null;
  launches: number;
  share: number; // of 65536 lines
  records: number;
  lost: number;
  l1_bytes: number;
  l2_bytes: number;
  dram: number; // sectors
  objects: CacheObject[]; // most sectors of device memory first
}

export interface SourceFile {
  name: string;
  path: string | null;
  changed: boolean;
  lines?: (number | string)[]; // pairs: number, text
  marks: number[]; // triples: line, finding (from 1), role
  requests: number[]; // by fives: line, sectors, those needed, wavefronts, those needed
}

export interface Raw {
  head: Head;
  findings: Finding[];
  objects: RawObjects;
  usage: { call: number[]; kinds: Record<string, number[]> };
  sources: SourceFile[];
  elements: Elements[];
  shared: SharedArray[];
  caches: CacheKernel[];
  flow: RawFlow;
  calls: RawCalls;
  touches: number[][]; // by object: distance to the previous call * 8 + how
  paths: number[][]; // number, then function, file and line of each frame
  texts: (string | null)[];
  omitted: { what: string; shown: number; of: number; how: string }[];
}

export interface Frame {
  name: string | null;
  file: string | null;
  line: number;
}

export const READ = 1;
export const WRITE = 2;
export const PASSED = 4; // to a launch that is known by its arguments, and may have read and written it
export const ASYNC = 1;
export const WAITED = 2;

const AXES = ["order", "call", "time"] as const;
export type Axis = (typeof AXES)[number];

const sums = (steps: number[]): Float64Array => {
  const out = new Float64Array(steps.length);
  let sum = 0;
  for (let i = 0; i < steps.length; i++) out[i] = sum += steps[i];
  return out;
};

// Returns the index of the first value that is not below `value`.
export function lowerBound(sorted: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class Profile {
  readonly head: Head;
  readonly findings: Finding[];
  readonly patterns = new Map<string, Pattern>(); // pattern by name
  readonly objects: RawObjects;
  readonly objectCount: number;
  readonly callCount: number;
  readonly numbers: Float64Array;
  readonly orders: Float64Array;
  readonly starts: Float64Array;
  readonly waited = new Map<number, number>(); // index of a call to nanoseconds
  readonly touches: { call: Float64Array; how: Uint8Array }[] = [];
  readonly findingsOf = new Map<number, number[]>(); // number of an object to its findings, counted from 1
  readonly lastOrder: number;
  readonly lastCall: number;
  readonly lastNs: number;
  private readonly objectIndex = new Map<number, number>();
  private readonly pathIndex = new Map<number, number[]>();
  private readonly positions = new Map<number, Float64Array>();
  private byCall: Map<number, number[]> | null = null; // number of a call to indices of objects

  constructor(readonly raw: Raw) {
    this.head = raw.head;
    this.findings = raw.findings;
    for (const pattern of raw.head.analyses) this.patterns.set(pattern.pattern, pattern);
    this.objects = raw.objects;
    this.objectCount = raw.objects.number.length;
    this.numbers = sums(raw.calls.number);
    this.orders = sums(raw.calls.order);
    this.starts = sums(raw.calls.start);
    this.callCount = this.numbers.length;
    for (let i = 0; i < raw.calls.waited.length; i += 2) this.waited.set(raw.calls.waited[i], raw.calls.waited[i + 1]);
    raw.objects.number.forEach((number, i) => this.objectIndex.set(number, i));
    for (const path of raw.paths) this.pathIndex.set(path[0], path);
    for (const row of raw.touches) {
      const call = new Float64Array(row.length);
      const how = new Uint8Array(row.length);
      let number = 0;
      row.forEach((value, i) => {
        number += Math.floor(value / 8);
        call[i] = number;
        how[i] = value % 8;
      });
      this.touches.push({ call, how });
    }
    raw.findings.forEach((finding, i) => {
      for (const object of new Set([finding.object, ...finding.objects])) {
        const list = this.findingsOf.get(object);
        if (list) list.push(i + 1);
        else this.findingsOf.set(object, [i + 1]);
      }
    });
    this.lastOrder = this.orders.reduce((most, order) => Math.max(most, order), 1);
    this.lastCall = this.callCount ? this.numbers[this.callCount - 1] : 1;
    this.lastNs = Math.max(raw.head.summary.last_ns, this.gpuEnd(), 1);
  }

  private gpuEnd(): number {
    let most = 0;
    for (let i = 0; i < this.callCount; i++) most = Math.max(most, this.gpuStartOf(i) + Math.max(0, this.raw.calls.gpu_ns[i]));
    return most;
  }

  // Returns the label of a finding's call: 0 is `call`, 1 is `other_call`, 2 is `last_call`; 3 is an instruction.
  role(finding: Finding, which: number): string {
    return this.patterns.get(finding.pattern)?.roles[which] ?? ["call", "other call", "last call", "instruction"][which];
  }

  // Returns the call paths of a finding that do not belong to one of its calls.
  places(finding: Finding): { label: string; path: number }[] {
    const labels = this.patterns.get(finding.pattern)?.places ?? [];
    const places: { label: string; path: number }[] = [];
    for (let i = 0; i < finding.places.length; i += 2)
      places.push({ label: labels[finding.places[i]] ?? "place", path: finding.places[i + 1] });
    return places;
  }

  text(index: number): string | null {
    return this.raw.texts[index] ?? null;
  }

  // --- Objects

  objectAt(number: number): number {
    return this.objectIndex.get(number) ?? -1;
  }

  objectName(index: number): string {
    return this.text(this.objects.name[index]) || `object ${this.objects.number[index]}`;
  }

  kindOf(index: number): string {
    return this.objects.kinds[this.objects.kind[index]] ?? "?";
  }

  // Returns whether the object is in use after the call.
  isAlive(index: number, call: number): boolean {
    const end = this.objects.end[index];
    return this.objects.call[index] <= call && (end === 0 || end > call);
  }

  // --- Calls

  // Returns the index of the call; -1 if it is not in the page.
  callAt(number: number): number {
    const at = lowerBound(this.numbers, number);
    return at < this.callCount && this.numbers[at] === number ? at : -1;
  }

  shapeOf(call: number): number {
    return this.raw.calls.shape[call];
  }

  callKind(call: number): string {
    const { shapes, kinds } = this.raw.calls;
    return kinds[shapes.kind[this.shapeOf(call)]] ?? "?";
  }

  functionOf(call: number): string {
    return this.text(this.raw.calls.shapes.function[this.shapeOf(call)]) ?? "?";
  }

  // Returns the kernel, or the direction of a copy, or else the function.
  callTitle(call: number): string {
    return this.text(this.raw.calls.shapes.name[this.shapeOf(call)]) ?? this.functionOf(call);
  }

  callColumn(call: number, column: "thread" | "stream" | "path" | "result" | "flags" | "bytes" | "event" | "record"): number {
    return this.raw.calls.shapes[column][this.shapeOf(call)];
  }

  hasGpuTime(call: number): boolean {
    return this.raw.calls.gpu_ns[call] >= 0;
  }

  gpuStartOf(call: number): number {
    return this.starts[call] + this.raw.calls.gpu_start[call];
  }

  // Returns the position of a call on an axis; it is interpolated if the call is not in the page.
  positionOf(number: number, axis: Axis): number {
    if (axis === "call" || this.callCount === 0) return number;
    const column = axis === "order" ? this.orders : this.starts;
    const at = lowerBound(this.numbers, number);
    if (at < this.callCount && this.numbers[at] === number) return column[at];
    if (at === 0) return 0;
    if (at === this.callCount) return column[at - 1];
    const part = (number - this.numbers[at - 1]) / (this.numbers[at] - this.numbers[at - 1]);
    return column[at - 1] + part * (column[at] - column[at - 1]);
  }

  endOf(axis: Axis): number {
    return axis === "order" ? this.lastOrder + 1 : axis === "call" ? this.lastCall + 1 : this.lastNs;
  }

  frames(path: number): Frame[] {
    const row = this.pathIndex.get(path);
    const frames: Frame[] = [];
    for (let i = 1; row && i < row.length; i += 3)
      frames.push({ name: this.text(row[i]), file: this.text(row[i + 1]), line: row[i + 2] });
    return frames;
  }

  // --- What calls touched

  objectsOf(call: number): number[] {
    if (!this.byCall) {
      this.byCall = new Map();
      for (let object = 0; object < this.touches.length; object++) {
        for (const number of this.touches[object].call) {
          const list = this.byCall.get(number);
          if (list) list.push(object);
          else this.byCall.set(number, [object]);
        }
      }
    }
    return this.byCall.get(call) ?? [];
  }

  // Returns the positions along an axis where an object is read or written, in ascending order.
  accesses(object: number, axis: Axis, kind: number): Float64Array {
    const key = (object * 3 + AXES.indexOf(axis)) * 8 + kind;
    let positions = this.positions.get(key);
    if (!positions) {
      const { call, how } = this.touches[object];
      positions = Float64Array.from(
        Array.from(call.filter((_, i) => how[i] & kind), (number) => this.positionOf(number, axis)),
      ).sort();
      this.positions.set(key, positions);
    }
    return positions;
  }

  howTouched(object: number, call: number): number {
    const { call: calls, how } = this.touches[object];
    const at = lowerBound(calls, call);
    return at < calls.length && calls[at] === call ? how[at] : 0;
  }
}

export function load(): Profile {
  const text = document.getElementById("data")?.textContent ?? "";
  return new Profile(JSON.parse(text) as Raw);
}
