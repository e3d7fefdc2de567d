// SPDX-License-Identifier: Apache-2.0
// The value flow graph of the page, and the parts of it that a view shows: slices (definition 5.2 of the
// ValueExpert paper) and what is important (5.3). docs/reference/flow.md describes it. Vertices and edges are
// indices here; the id of a vertex is its number in JSON and in Graphviz.

export interface RawFlow {
  vertices: {
    id: number[];
    kind: number[];
    name: number[]; // texts
    place: number[];
    path: number[];
    call: number[]; // the first; 0: none
    object: number[]; // the first that it allocates; 0: none
    calls: number[];
    unknown: number[]; // calls that may access more than was observed
    bytes: number[]; // that it allocates
    gpu_ns: number[];
  };
  edges: {
    from: number[];
    to: number[];
    object: number[]; // the vertex that allocates it
    flags: number[];
    times: number[];
    bytes: number[];
    compared: number[]; // bytes whose old values are known; 0: none
    redundant: number[]; // of these, bytes that were the same before
  };
  kinds: string[];
  redundant_percent: number; // a write with at least this share is highlighted
}

const WRITE = 1;
const BOUND = 2;
const UNCERTAIN = 4;

export interface Choice {
  leastBytes: number; // of an edge
  leastCalls: number; // of a vertex without such an edge
  leastShare: number; // of redundant bytes, in percent; 0: also edges for which it is unknown
  slice: number; // vertex; -1: none
}

export interface Part {
  vertices: number[];
  edges: number[];
}

export class FlowGraph {
  readonly vertexCount: number;
  readonly edgeCount: number;
  readonly mostBytes: number; // of an edge
  readonly mostCalls: number; // of a vertex
  readonly host: number; // the vertex; -1: none
  readonly leaving: number[][] = []; // edges, by vertex
  readonly entering: number[][] = [];
  private readonly byId = new Map<number, number>();

  constructor(
    readonly raw: RawFlow,
    private readonly text: (index: number) => string | null,
  ) {
    const { vertices, edges } = raw;
    this.vertexCount = vertices.id.length;
    this.edgeCount = edges.from.length;
    this.mostBytes = edges.bytes.reduce((most, bytes) => Math.max(most, bytes), 1);
    this.mostCalls = vertices.calls.reduce((most, calls) => Math.max(most, calls), 1);
    for (let i = 0; i < this.vertexCount; i++) {
      this.leaving.push([]);
      this.entering.push([]);
      this.byId.set(vertices.id[i], i);
    }
    this.host = vertices.kind.findIndex((_, i) => this.kind(i) === "host");
    for (let i = 0; i < this.edgeCount; i++) {
      this.leaving[edges.from[i]].push(i);
      this.entering[edges.to[i]].push(i);
    }
  }

  at(id: number): number {
    return this.byId.get(id) ?? -1;
  }

  id(vertex: number): number {
    return this.raw.vertices.id[vertex];
  }

  kind(vertex: number): string {
    return this.raw.kinds[this.raw.vertices.kind[vertex]] ?? "?";
  }

  name(vertex: number): string {
    return this.text(this.raw.vertices.name[vertex]) ?? `${this.kind(vertex)} ${this.id(vertex)}`;
  }

  place(vertex: number): string {
    return this.text(this.raw.vertices.place[vertex]) ?? "";
  }

  // Returns the name of the data of an edge.
  objectName(edge: number): string {
    const object = this.raw.edges.object[edge];
    return object === this.host ? "host memory" : this.name(object);
  }

  isWrite(edge: number): boolean {
    return (this.raw.edges.flags[edge] & WRITE) !== 0;
  }

  isBound(edge: number): boolean {
    return (this.raw.edges.flags[edge] & BOUND) !== 0;
  }

  isUncertain(edge: number): boolean {
    return (this.raw.edges.flags[edge] & UNCERTAIN) !== 0;
  }

  // Returns the redundant part of a write, from 0 to 1; null if it is unknown.
  share(edge: number): number | null {
    const { compared, redundant } = this.raw.edges;
    return this.isWrite(edge) && compared[edge] > 0 ? redundant[edge] / compared[edge] : null;
  }

  isRedundant(edge: number): boolean {
    const share = this.share(edge);
    return share !== null && share * 100 >= this.raw.redundant_percent;
  }

  // Returns for each edge whether it is in the slice of the vertex: of each object that the vertex uses, the edges
  // on paths to and from it. Paths do not lead through the host.
  slice(vertex: number): Uint8Array {
    const { from, to, object } = this.raw.edges;
    const kept = new Uint8Array(this.edgeCount);
    const objects = new Set([...this.leaving[vertex], ...this.entering[vertex]].map((edge) => object[edge]));
    for (const one of objects) {
      for (const [edges, other] of [
        [this.leaving, to],
        [this.entering, from],
      ] as const) {
        const reached = new Set([vertex]);
        for (const at of reached) {
          if (at === this.host && at !== vertex) continue;
          for (const edge of edges[at]) {
            if (object[edge] !== one) continue;
            kept[edge] = 1;
            reached.add(other[edge]); // a set is walked in the order of insertion, new members included
          }
        }
      }
    }
    return kept;
  }

  // Chooses what is shown. A sliced vertex is always shown.
  choose(choice: Choice): Part {
    const { from, to, bytes } = this.raw.edges;
    const slice = choice.slice >= 0 ? this.slice(choice.slice) : null;
    const isShown = new Uint8Array(this.vertexCount);
    const edges: number[] = [];
    if (slice) isShown[choice.slice] = 1;
    for (let i = 0; i < this.edgeCount; i++) {
      const share = this.share(i);
      if ((slice && !slice[i]) || bytes[i] < choice.leastBytes) continue;
      if (choice.leastShare > 0 && (share === null || share * 100 < choice.leastShare)) continue;
      isShown[from[i]] = isShown[to[i]] = 1;
      edges.push(i);
    }
    const vertices: number[] = [];
    for (let i = 0; i < this.vertexCount; i++) {
      const alone = !slice && choice.leastCalls <= this.raw.vertices.calls[i] && this.raw.vertices.calls[i] > 0;
      if (isShown[i] || alone) vertices.push(i);
    }
    return { vertices, edges };
  }
}
