// SPDX-License-Identifier: Apache-2.0
// The data of the page of a job: the JSON that src/report/html_job.c writes, and the same data by rank. Ranks are
// positions in the columns of `profiles`, from 0.

export interface Finding {
  pattern: string;
  place: string;
  message: string;
  suggestion: string;
  worth: string; // as text; "": none is known
  profiles: number; // how many ranks have it
  worthwhile: boolean;
  worst: number; // the rank on which it is worth most
}

export interface Difference {
  name: string;
  words: string;
  outliers: number[]; // ranks
}

interface Raw {
  job: {
    glint: string;
    program: string | null;
    ranks: number; // 0: unknown
    missing: number;
    profiles: number;
    hosts: number;
    simulated: boolean; // its times are not real
    warnings: string[];
  };
  profiles: {
    names: string[];
    hosts: (string | null)[];
    peak: number[];
    gpu: number[]; // nanoseconds of kernels
    waited: number[]; // nanoseconds
    findings: number[]; // worthwhile ones
    launches: number[];
    calls: number[];
    objects: number[];
    incomplete: number[]; // 1: the recording is
    links: (number | string)[]; // pairs: rank, file of its own page
  };
  findings: Finding[];
  differences: Difference[];
  kernels: (string | number)[][]; // each its name, and then rank, launches and nanoseconds
  waits: (string | number)[][]; // likewise
  collectives: (string | number)[][]; // each its name, and then rank, calls and bytes sent and received
  ranges: (string | number)[][]; // of NVTX: each its name, and then rank, ranges and nanoseconds
  having: number[]; // pairs: finding, rank
  omitted: string[]; // what is only in part in the page
}

// What a rank has of a kernel, wait, collective or range, and the mean over the ranks that have it.
export interface Use {
  name: string;
  count: number;
  amount: number; // nanoseconds; bytes of collectives
  meanCount: number;
  meanAmount: number;
}

export interface Rank {
  index: number;
  name: string;
  host: string;
  peak: number;
  gpu: number;
  waited: number;
  findings: number;
  launches: number;
  calls: number;
  objects: number;
  incomplete: boolean;
  link: string | null;
}

export interface Job {
  about: Raw["job"];
  ranks: Rank[];
  findings: Finding[];
  differences: Difference[];
  omitted: string[];
  kernels(rank: number): Use[]; // those that take most time first
  waits(rank: number): Use[];
  collectives(rank: number): Use[];
  ranges(rank: number): Use[];
  findingsOf(rank: number): Finding[];
}

function usesOf(rows: (string | number)[][], rank: number): Use[] {
  const uses: Use[] = [];
  for (const row of rows) {
    let own = -1;
    let count = 0;
    let amount = 0;
    for (let at = 1; at < row.length; at += 3) {
      if (row[at] === rank) own = at;
      count += row[at + 1] as number;
      amount += row[at + 2] as number;
    }
    const ranks = (row.length - 1) / 3;
    if (own > 0)
      uses.push({
        name: row[0] as string,
        count: row[own + 1] as number,
        amount: row[own + 2] as number,
        meanCount: count / ranks,
        meanAmount: amount / ranks,
      });
  }
  return uses.sort((a, b) => b.amount - a.amount || b.count - a.count);
}

export function load(): Job {
  const raw = JSON.parse(document.getElementById("data")?.textContent ?? "{}") as Raw;
  const of = raw.profiles;
  const links = new Map<number, string>();
  for (let at = 0; at < of.links.length; at += 2) links.set(of.links[at] as number, of.links[at + 1] as string);
  const ranks = of.names.map((name, index) => ({
    index,
    name,
    host: of.hosts[index] ?? "",
    peak: of.peak[index],
    gpu: of.gpu[index],
    waited: of.waited[index],
    findings: of.findings[index],
    launches: of.launches[index],
    calls: of.calls[index],
    objects: of.objects[index],
    incomplete: of.incomplete[index] === 1,
    link: links.get(index) ?? null,
  }));
  return {
    about: raw.job,
    ranks,
    findings: raw.findings,
    differences: raw.differences,
    omitted: raw.omitted,
    kernels: (rank) => usesOf(raw.kernels, rank),
    waits: (rank) => usesOf(raw.waits, rank),
    collectives: (rank) => usesOf(raw.collectives ?? [], rank),
    ranges: (rank) => usesOf(raw.ranges ?? [], rank),
    findingsOf: (rank) => {
      const found: Finding[] = [];
      for (let at = 0; at < raw.having.length; at += 2)
        if (raw.having[at + 1] === rank) found.push(raw.findings[raw.having[at]]);
      return found.filter((finding) => finding);
    },
  };
}
