// SPDX-License-Identifier: Apache-2.0
// Memory in use after each call that changed it, and the series of it that a chart stacks.
import { lowerBound, type Profile } from "./data";

export interface Series {
  name: string;
  values: ArrayLike<number>;
}

export interface Usage {
  call: number[]; // the call of each point
  total: Float64Array;
}

export const REST = "the rest";
const LARGEST = 8;

export function usageOf(profile: Profile): Usage {
  let number = 0;
  const call = profile.raw.usage.call.map((step) => (number += step));
  const total = new Float64Array(call.length);
  for (const values of Object.values(profile.raw.usage.kinds)) values.forEach((value, i) => (total[i] += value));
  return { call, total };
}

// Returns the last point that is not after the call.
export const pointAt = (usage: Usage, call: number): number => Math.max(0, lowerBound(usage.call, call + 1) - 1);

export function byKind(profile: Profile): Series[] {
  return Object.entries(profile.raw.usage.kinds).map(([name, values]) => ({ name, values }));
}

// Groups objects by name: the groups that are largest at the peak, and the rest.
export function byObject(profile: Profile, usage: Usage): Series[] {
  const { objects } = profile;
  const peak = profile.head.peaks[0]?.start ?? 0;
  const sizes = new Map<string, number>();
  for (let i = 0; i < profile.objectCount; i++) {
    if (!objects.counted[i]) continue;
    const name = profile.objectName(i);
    const at = profile.isAlive(i, peak) ? objects.bytes[i] : 0;
    sizes.set(name, (sizes.get(name) ?? 0) + at);
  }
  const largest = [...sizes].sort((a, b) => b[1] - a[1]).slice(0, LARGEST).map(([name]) => name);
  const changes = new Map(largest.map((name) => [name, new Float64Array(usage.call.length + 1)]));
  for (let i = 0; i < profile.objectCount; i++) {
    const row = objects.counted[i] ? changes.get(profile.objectName(i)) : undefined;
    if (!row) continue;
    row[lowerBound(usage.call, objects.call[i])] += objects.bytes[i];
    if (objects.end[i]) row[lowerBound(usage.call, objects.end[i])] -= objects.bytes[i];
  }
  const rest = Float64Array.from(usage.total);
  const series: Series[] = largest.map((name) => {
    const values = changes.get(name) as Float64Array;
    for (let i = 1; i < values.length; i++) values[i] += values[i - 1];
    for (let i = 0; i < rest.length; i++) rest[i] -= values[i];
    return { name, values };
  });
  if (rest.some((value) => value > 0)) series.push({ name: REST, values: rest });
  return series;
}
