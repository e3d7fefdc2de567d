// SPDX-License-Identifier: Apache-2.0
// Finds what a call depends on and what depends on it, as far as the page's data shows: neighbors on its stream,
// events, and objects that both touch. Calls are given by index.
import { lowerBound, PASSED, WRITE, type Profile } from "./data";

export interface Edge {
  call: number;
  why: string;
}

const MOST = 40;

function neighbours(profile: Profile, call: number, step: number): number {
  const stream = profile.callColumn(call, "stream");
  for (let at = call + step; at >= 0 && at < profile.callCount; at += step)
    if (profile.hasGpuTime(at) && profile.callColumn(at, "stream") === stream) return at;
  return -1;
}

// A wait for an event depends on its last record.
function events(profile: Profile, call: number, before: Edge[], after: Edge[]) {
  const event = profile.callColumn(call, "event");
  const kind = profile.callKind(call);
  if (!event) return;
  if (kind === "event-wait" || kind === "sync") {
    let record = -1;
    for (let at = 0; at < call; at++)
      if (profile.callKind(at) === "event-record" && profile.callColumn(at, "event") === event) record = at;
    if (record >= 0) before.push({ call: record, why: "event" });
  } else if (kind === "event-record") {
    for (let at = call + 1; at < profile.callCount; at++) {
      if (profile.callColumn(at, "event") !== event) continue;
      if (profile.callKind(at) === "event-record") break;
      after.push({ call: at, why: "event" });
    }
  }
}

const MAY_WRITE = WRITE | PASSED;

// A read depends on the last write; a write depends on the last write and on the reads since.
function objects(profile: Profile, call: number, before: Edge[], after: Edge[]) {
  const number = profile.numbers[call];
  for (const object of profile.objectsOf(number)) {
    const { call: calls, how } = profile.touches[object];
    const at = lowerBound(calls, number);
    const writes = (how[at] & MAY_WRITE) !== 0;
    const why = profile.objectName(object);
    for (let i = at - 1; i >= 0; i--) {
      const other = how[i] & MAY_WRITE;
      if (writes || other) push(before, profile.callAt(calls[i]), why);
      if (other) break;
    }
    for (let i = at + 1; i < calls.length; i++) {
      const other = how[i] & MAY_WRITE;
      if (writes || other) push(after, profile.callAt(calls[i]), why);
      if (other) break;
    }
    if (before.length + after.length > 2 * MOST) return;
  }
}

function push(edges: Edge[], call: number, why: string) {
  if (call < 0 || edges.length >= MOST) return;
  const known = edges.find((edge) => edge.call === call);
  if (!known) edges.push({ call, why });
  else if (!known.why.split(", ").includes(why)) known.why += `, ${why}`;
}

export function dependencies(profile: Profile, call: number): { before: Edge[]; after: Edge[] } {
  const before: Edge[] = [];
  const after: Edge[] = [];
  objects(profile, call, before, after);
  events(profile, call, before, after);
  if (profile.hasGpuTime(call)) {
    push(before, neighbours(profile, call, -1), "stream");
    push(after, neighbours(profile, call, 1), "stream");
  }
  return { before, after };
}
