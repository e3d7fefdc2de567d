// SPDX-License-Identifier: Apache-2.0
// Small components that views share: links, call paths and sentences.
import type { Frame, Profile } from "./data";
import * as format from "./format";
import type { Groups } from "./groups";
import { link, type State, type View } from "./state";

export interface ViewProps {
  profile: Profile;
  state: State;
  search: string;
  theme: string;
}

// Shows names between backquotes as code.
export function Words({ text }: { text: string }) {
  return <>{text.split("`").map((part, i) => (i % 2 ? <code>{part}</code> : part))}</>;
}

export function FindingLink(props: { number: number; profile: Profile; view?: View | undefined }) {
  const finding = props.profile.findings[props.number - 1];
  if (!finding) return <span>finding {props.number} (not in this page)</span>;
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

export const matches = (search: string, ...texts: (string | null | undefined)[]): boolean =>
  !search || texts.some((text) => !!text && text.toLowerCase().includes(search));

// The name of an object, or of a group with how many there are.
export function GroupName({ groups, row }: { groups: Groups; row: number }) {
  const objects = groups.objectsOf(row);
  const isOpen = groups.grouping.isOpen(row);
  const name = groups.nameOf(row);
  return (
    <span class="mono" title={name}>
      {isOpen !== null && (
        <span class="group-count">
          {isOpen ? "\u25be" : "\u25b8"} {format.count(objects.length)}×{" "}
        </span>
      )}
      {name}
    </span>
  );
}
