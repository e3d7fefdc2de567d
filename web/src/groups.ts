// SPDX-License-Identifier: Apache-2.0
// Groups of alike objects: those with the same name, kind and call path, as loops make them, and variables of libraries
// that nothing accesses, of which Thrust brings dozens. A table shows a group as one row until the reader opens it. Rows of groups are numbered from profile.objectCount on.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Profile } from "./data";
import type { Grouping } from "./table";

const LEAST = 3; // alike objects that become a group

const LIBRARY = /^(cuda::(std|__)|thrust|cub|std|__gnu_cxx)/;

const isIdleOfLibrary = (profile: Profile, i: number): boolean =>
  profile.kindOf(i) === "global" &&
  LIBRARY.test(profile.objectName(i)) &&
  profile.touches[i].call.length === 0 &&
  !profile.findingsOf.has(profile.objects.number[i]);

const known = new WeakMap<Profile, Int32Array>();

// Returns for each object the first one that is like it.
function alike(profile: Profile): Int32Array {
  let out = known.get(profile);
  if (out) return out;
  const { objects } = profile;
  const first = new Map<string, number>();
  out = Int32Array.from(objects.number, (_, i) => {
    const key = isIdleOfLibrary(profile, i) ? "library" : `${objects.path[i]} ${objects.kind[i]} ${objects.counted[i]} ${profile.objectName(i)}`;
    const found = first.get(key);
    if (found === undefined) first.set(key, i);
    return found ?? i;
  });
  known.set(profile, out);
  return out;
}

export interface Groups {
  rows: number[];
  selected: number; // row; -1: none
  grouping: Grouping;
  // Returns the name of an object, or what all objects of a group have in common.
  nameOf(row: number): string;
  // Returns the objects of a row.
  objectsOf(row: number): readonly number[];
  // Marks a row: an object is selected by the caller, a group is only marked.
  mark(row: number): boolean;
}

// `objects` are those to be shown, `selected` is one of them or -1. The group of a selected object opens.
export function useGroups(profile: Profile, objects: number[], selected: number): Groups {
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const [marked, setMarked] = useState(-1);
  const firstOf = alike(profile);
  const parts = useMemo(() => {
    const members = new Map<number, number[]>();
    for (const object of objects) {
      const list = members.get(firstOf[object]);
      if (list) list.push(object);
      else members.set(firstOf[object], [object]);
    }
    const rows: number[] = [];
    for (const [first, list] of members) {
      if (list.length >= LEAST) rows.push(profile.objectCount + first);
      else rows.push(...list);
    }
    return { members, rows };
  }, [profile, objects]);
  useEffect(() => {
    setMarked(-1);
    if (selected >= 0) setOpen((now) => new Set(now).add(profile.objectCount + firstOf[selected]));
  }, [selected]);
  const objectsOf = (row: number): readonly number[] => (row < profile.objectCount ? [row] : (parts.members.get(row - profile.objectCount) ?? []));
  const nameOf = (row: number): string => {
    const [first, ...others] = objectsOf(row);
    const name = profile.objectName(first ?? 0);
    return others.some((object) => profile.objectName(object) !== name) ? "idle variables of libraries" : name;
  };
  const toggle = (row: number) => {
    const next = new Set(open);
    if (!next.delete(row)) next.add(row);
    setOpen(next);
    setMarked(row);
  };
  const grouping = useMemo<Grouping>(
    () => ({
      members: (row) => (row >= profile.objectCount && open.has(row) ? objectsOf(row) : []),
      isOpen: (row) => (row < profile.objectCount ? null : open.has(row)),
      toggle,
    }),
    [parts, open],
  );
  const mark = (row: number): boolean => {
    setMarked(row < profile.objectCount ? -1 : row);
    return row >= profile.objectCount;
  };
  return { rows: parts.rows, selected: marked >= 0 ? marked : selected, grouping, nameOf, objectsOf, mark };
}
