// SPDX-License-Identifier: Apache-2.0
// Small things that views share: links to what there is, call paths, words for calls.
import type { Frame, Profile } from "./data";
import * as format from "./format";
import { link, type State, type View } from "./state";

export interface ViewProps {
  profile: Profile;
  state: State;
  search: string;
  theme: string;
}

// Names stand between backquotes in sentences.
export function Words({ text }: { text: string }) {
  return <>{text.split("`").map((part, i) => (i % 2 ? <code>{part}</code> : part))}</>;
}

export function FindingLink(props: { number: number; profile: Profile; view?: View | undefined }) {
  const finding = props.profile.findings[props.number - 1];
  if (!finding) return <span>finding {props.number}, which is not in this page</span>;
  return (
    <a href={link({ finding: props.number, ...(props.view ? { view: props.view } : {}) })}>
      <span class="rank">{props.number}</span> {finding.pattern}
    </a>
  );
}

export function ObjectLink(props: { number: number; profile: Profile }) {
  const index = props.profile.objectAt(props.number);
  if (!props.number) return null;
  if (index < 0) return <span>object {props.number}</span>;
  return (
    <a href={link({ object: props.number })} class="mono">
      {props.profile.objectName(index)}
    </a>
  );
}

export function CallLink(props: { number: number; profile: Profile }) {
  const { profile, number } = props;
  if (!number) return null;
  const call = profile.callAt(number);
  const title = call < 0 ? "" : ` ${profile.callTitle(call)}`;
  return call < 0 ? (
    <span>call {number}</span>
  ) : (
    <a href={link({ call: number })} title={title.trim()}>
      call {number}
      <span class="mono soft">{title}</span>
    </a>
  );
}

export function Path(props: { frames: Frame[]; profile: Profile }) {
  if (props.frames.length === 0) return <p class="soft">The call path is not in this page.</p>;
  return (
    <ol class="path">
      {props.frames.map((frame) => (
        <li class={frame.file ? "" : "soft"}>
          <span class="mono">{frame.name ?? "?"}</span>
          {frame.file && (
            <span class="soft" title={`${frame.file}:${frame.line}`}>
              {" "}
              {format.baseName(frame.file)}
              {frame.line ? `:${frame.line}` : ""}
            </span>
          )}
        </li>
      ))}
    </ol>
  );
}

// What a finding's calls are, by pattern: of `call`, `other_call` and `last_call`.
const ROLES: Record<string, [string, string, string]> = {
  "early-allocation": ["allocated", "first used", ""],
  "late-deallocation": ["freed", "last used", ""],
  "redundant-allocation": ["allocated", "first used", "last use of what it could reuse"],
  "unused-allocation": ["allocated", "", ""],
  "memory-leak": ["allocated", "last used", ""],
  "temporary-idleness": ["used before", "used again", ""],
  "dead-write": ["written in vain", "overwritten", ""],
  overallocation: ["allocated", "", ""],
  "non-uniform-access": ["launched", "allocated", ""],
  "structured-access": ["first launched", "allocated", ""],
  "unnecessary-sync": ["waits", "", ""],
  "misplaced-sync": ["waits", "", ""],
  "synchronous-transfer": ["copied", "", ""],
  "duplicate-transfer": ["copied again", "copied before", ""],
  "alloc-free-churn": ["freed", "allocated", ""],
};

// What is at call paths of a finding that are no call's.
export const PLACES: ["use_path" | "allocated_path" | "freed_path", string][] = [
  ["use_path", "first used by the CPU"],
  ["allocated_path", "host memory allocated"],
  ["freed_path", "host memory freed"],
];

export function role(pattern: string, which: number): string {
  return ROLES[pattern]?.[which] || ["call", "other call", "last call"][which];
}

export const matches = (search: string, ...texts: (string | null | undefined)[]): boolean =>
  !search || texts.some((text) => !!text && text.toLowerCase().includes(search));
