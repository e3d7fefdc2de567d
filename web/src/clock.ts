// SPDX-License-Identifier: Apache-2.0
// The clock of the timeline, one for all its lanes. It is time, as measured on the host and the GPU. On the simulated
// GPU neither is real: the CPU's times are those of simulating, the GPU's those of a model. There the clock is the order
// of calls, and every call takes one step of it.
import type { Axis, Profile } from "./data";

const WORK = ["launch", "graph-launch", "copy", "set"];

export const hasTimes = (profile: Profile): boolean => !profile.head.simulated;

export const clockOf = (profile: Profile): Axis => (hasTimes(profile) ? "time" : "call");

// Returns the axes that a view may offer.
export const axesOf = (profile: Profile, ...axes: Axis[]): Axis[] => axes.filter((axis) => axis !== "time" || hasTimes(profile));

// Returns whether the GPU worked for the call, so that it has a place on the lane of its stream.
export function isOnGpu(profile: Profile, call: number): boolean {
  return profile.hasGpuTime(call) || (!hasTimes(profile) && WORK.includes(profile.callKind(call)) && profile.callColumn(call, "result") === 0);
}

// Returns when the call began and ended, on the GPU or on its thread.
export function spanOf(profile: Profile, call: number, onGpu: boolean): [number, number] {
  if (!hasTimes(profile)) return [profile.numbers[call], profile.numbers[call] + 1];
  const from = onGpu ? profile.gpuStartOf(call) : profile.starts[call];
  return [from, from + (onGpu ? profile.raw.calls.gpu_ns[call] : profile.raw.calls.ns[call])];
}
