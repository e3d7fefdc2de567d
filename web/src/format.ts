// SPDX-License-Identifier: Apache-2.0
// Formats numbers for people, like src/report/units.c.

const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

export function bytes(value: number): string {
  let unit = 0;
  while (value >= 1024 && unit < BYTES.length - 1) {
    value /= 1024;
    unit++;
  }
  // A value that would round to 1024.0 is shown as 1.0 of the next unit.
  if (unit > 0 && unit < BYTES.length - 1 && value >= 1023.95) {
    value /= 1024;
    unit++;
  }
  return unit === 0 ? `${value} B` : `${value.toFixed(1)} ${BYTES[unit]}`;
}

const TIMES: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "us"],
];

export function ns(value: number): string {
  for (const [size, unit] of TIMES) if (Math.abs(value) >= size) return `${(value / size).toFixed(1)} ${unit}`;
  return `${Math.round(value)} ns`;
}

export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function plural(value: number, one: string, many = one + "s"): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

// Rounds down, so that only the whole is 100%.
export function share(part: number, whole: number): string {
  if (whole <= 0) return "-";
  const percent = (part / whole) * 100;
  if (part >= whole) return "100%";
  if (part > 0 && percent < 0.1) return "<0.1%";
  return `${(Math.floor(percent * 10) / 10).toFixed(1)}%`;
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
