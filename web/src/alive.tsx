// SPDX-License-Identifier: Apache-2.0
// What is live at a moment: a table of objects, in which alike ones are one row, or a flame graph of the call paths that
// allocated them. The flame graph can also show all allocations of the run.
import { useMemo, useState } from "preact/hooks";
import { Flame, type Measure } from "./flame";
import * as format from "./format";
import { useGroups } from "./groups";
import { GroupName, matches, type ViewProps } from "./parts";
import { go, type List } from "./state";
import { Table, type Column } from "./table";

type Shown = "live" | "all" | "count"; // of the flame graph

const LISTS: [List, string][] = [
  ["objects", "objects"],
  ["paths", "call paths"],
];

export function Alive(props: ViewProps & { call: number; total: number }) {
  const { profile, state, search, call, total } = props;
  const { objects } = profile;
  const [shown, setShown] = useState<Shown>("live");
  const counted = useMemo(() => objects.number.map((_, i) => i).filter((i) => objects.counted[i]), [profile]);
  const live = useMemo(() => counted.filter((i) => profile.isAlive(i, call)), [profile, call]);
  const missing = Math.max(0, total - live.reduce((sum, i) => sum + objects.bytes[i], 0));
  const isPaths = state.list === "paths";
  const isLive = !isPaths || shown === "live";
  const sum = useMemo(() => counted.reduce((bytes, i) => bytes + objects.bytes[i], 0), [counted]);
  const select = (object: number) => go({ view: "memory", object: objects.number[object], at: state.at, list: state.list });
  const measure: Measure = shown === "count" ? "count" : "bytes";
  return (
    <>
      <div class="above-table">
        <h2>
          {isLive ? (
            <>
              {format.bytes(total)} in use after call {format.count(call)}{" "}
            </>
          ) : (
            <>{format.bytes(sum)} allocated in all </>
          )}
          <span class="soft">
            {format.plural((isLive ? live : counted).length, "object")}
            {isLive && missing > 0 ? `; objects that are not in this page use another ${format.bytes(missing)}` : ""}
            {!isLive && profile.objectCount < profile.head.summary.objects ? " of this page" : ""}
          </span>
        </h2>
        <span class="buttons" role="group" aria-label="list by">
          {LISTS.map(([list, word]) => (
            <button type="button" id={`list-${list}`} aria-pressed={state.list === list} onClick={() => go({ ...state, view: "memory", list })}>
              {word}
            </button>
          ))}
        </span>
        {isPaths && (
          <select aria-label="what the flame graph shows" id="flame-shown" value={shown} onChange={(event) => setShown(event.currentTarget.value as Shown)}>
            <option value="live">live at this moment</option>
            <option value="all">bytes allocated in all</option>
            <option value="count">number of allocations</option>
          </select>
        )}
      </div>
      {isPaths ? (
        <Flame profile={profile} objects={isLive ? live : counted} measure={measure} missing={isLive ? missing : 0} search={search} selected={profile.objectAt(state.object)} select={select} />
      ) : (
        <LiveTable {...props} live={live} select={select} />
      )}
    </>
  );
}

function LiveTable({ profile, state, search, theme, total, live, select }: ViewProps & { total: number; live: number[]; select(object: number): void }) {
  const { objects } = profile;
  const found = useMemo(() => live.filter((i) => matches(search, profile.objectName(i), profile.kindOf(i))), [live, search]);
  const groups = useGroups(profile, found, profile.objectAt(state.object));
  const first = (row: number) => groups.objectsOf(row)[0] ?? 0;
  const isOne = (row: number) => row < profile.objectCount;
  const bytes = (row: number) => groups.objectsOf(row).reduce((sum, i) => sum + objects.bytes[i], 0);
  const findings = (row: number) => profile.findingsOf.get(objects.number[first(row)])?.length ?? 0;
  const columns: Column[] = [
    { key: "name", title: "object", width: "minmax(8rem, 1fr)", value: (row) => <GroupName groups={groups} row={row} />, sort: (row) => profile.objectName(first(row)) },
    { key: "kind", title: "kind", width: "6rem", minor: 3, value: (row) => profile.kindOf(first(row)), sort: (row) => profile.kindOf(first(row)) },
    { key: "bytes", title: "size", width: "6.5rem", numeric: true, descending: true, value: (row) => format.bytes(bytes(row)), sort: bytes },
    { key: "share", title: "share of total", width: "7rem", numeric: true, value: (row) => format.share(bytes(row), total) },
    { key: "call", title: "made by call", width: "7.5rem", numeric: true, minor: 1, value: (row) => (isOne(row) ? format.count(objects.call[row]) : ""), sort: (row) => objects.call[first(row)] },
    { key: "end", title: "ended by", width: "7.5rem", numeric: true, minor: 2, value: (row) => (!isOne(row) ? "" : objects.end[row] ? format.count(objects.end[row]) : "never"), sort: (row) => objects.end[first(row)] || Infinity },
    { key: "findings", title: "findings", width: "5.5rem", numeric: true, descending: true, minor: 4, value: (row) => findings(row) || "", sort: findings },
  ];
  return (
    <Table id="alive" label="objects in use at the chosen time" theme={theme} rows={groups.rows} columns={columns} rowHeight={24} initial={{ key: "bytes", descending: true }}
      grouping={groups.grouping} selected={groups.selected} onSelect={(row) => groups.mark(row) || select(row)} empty="No object of this page is in use at that time." />
  );
}
