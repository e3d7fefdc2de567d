// SPDX-License-Identifier: Apache-2.0
// The source lines that findings point to, and what the requests of warps took at each line of a kernel, if that was
// recorded. Lines are those that the recording stored.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Profile, SourceFile } from "./data";
import * as format from "./format";
import { matches, Words, type ViewProps } from "./parts";
import { link } from "./state";

interface Mark {
  finding: number;
  role: number;
}

function marksOf(file: SourceFile): Map<number, Mark[]> {
  const out = new Map<number, Mark[]>();
  for (let i = 0; i < file.marks.length; i += 3) {
    const list = out.get(file.marks[i]);
    const mark = { finding: file.marks[i + 1], role: file.marks[i + 2] };
    if (list) list.push(mark);
    else out.set(file.marks[i], [mark]);
  }
  return out;
}

// What the instructions of a line took, and how much of it they needed.
interface Taken {
  sectors: [number, number];
  wavefronts: [number, number];
}

function takenOf(file: SourceFile): Map<number, Taken> {
  const out = new Map<number, Taken>();
  for (let i = 0; i < file.requests.length; i += 5) {
    const [line, sectors, neededSectors, wavefronts, neededWavefronts] = file.requests.slice(i, i + 5);
    out.set(line, { sectors: [sectors, neededSectors], wavefronts: [wavefronts, neededWavefronts] });
  }
  return out;
}

const POOR = 1.5; // as the thresholds of poor-coalescing and bank-conflicts are, unless they are changed

function Ratio({ taken: [taken, needed], what }: { taken: [number, number]; what: string }) {
  if (needed === 0) return <span class="line-ratio" />;
  return (
    <span class={taken > POOR * needed ? "line-ratio is-poor" : "line-ratio"} title={`${format.count(taken)} ${what}, ${format.count(needed)} needed`}>
      {(taken / needed).toFixed(1)}x
    </span>
  );
}

const NOTHING: Taken = { sectors: [0, 0], wavefronts: [0, 0] };

// The two columns of a line; nothing if no line of the file has numbers.
function Ratios({ lines, line }: { lines: Map<number, Taken>; line: number }) {
  const taken = lines.get(line) ?? NOTHING;
  if (lines.size === 0) return null;
  return (
    <>
      <Ratio taken={taken.sectors} what="sectors" />
      <Ratio taken={taken.wavefronts} what="wavefronts" />
    </>
  );
}

const MOST_NOTES = 6;
const MOST_LINES = 400; // shown per file, until the reader asks for all

function Notes(props: { marks: Mark[]; profile: Profile; selected: number }) {
  const { marks, profile, selected } = props;
  const shown = marks.slice(0, MOST_NOTES);
  const hidden = marks.find((mark, i) => i >= MOST_NOTES && mark.finding === selected);
  if (hidden) shown.push(hidden);
  return (
    <ul class="line-notes">
      {shown.map((mark) => {
        const finding = profile.findings[mark.finding - 1];
        return (
          <li class={mark.finding === selected ? "is-selected" : ""}>
            <a href={link({ view: "source", finding: mark.finding })}>
              <span class="rank">{mark.finding}</span> {finding.pattern}
            </a>{" "}
            <span class="role">{profile.role(finding, mark.role)} here</span> <span class="soft">
              <Words text={finding.message} />
            </span>
          </li>
        );
      })}
      {marks.length > shown.length && <li class="soft">and {format.plural(marks.length - shown.length, "more finding")} on this line</li>}
    </ul>
  );
}

function File(props: { file: SourceFile; profile: Profile; selected: number; open: boolean }) {
  const { file, profile, selected } = props;
  const marks = useMemo(() => marksOf(file), [file]);
  const taken = useMemo(() => takenOf(file), [file]);
  const lines: { number: number; text: string }[] = [];
  for (let i = 0; file.lines && i < file.lines.length; i += 2) lines.push({ number: file.lines[i] as number, text: file.lines[i + 1] as string });
  const [all, setAll] = useState(false);
  const isSelected = file.marks.some((value, i) => i % 3 === 1 && value === selected);
  const named = new Set([...marks.keys(), ...taken.keys()]);
  const unmarked = [...named].filter((line) => !lines.some((row) => row.number === line)).sort((a, b) => a - b);
  const most = all || isSelected ? Infinity : unmarked.length > lines.length ? MOST_LINES / 8 : MOST_LINES;
  return (
    <details class="file" open={props.open || isSelected}>
      <summary>
        <span class="mono">{file.name}</span> {marks.size > 0 && <span class="soft">{format.plural(marks.size, "line")} with findings</span>}
        {!file.path && <span class="warning"> not found when the program was recorded: only line numbers are known</span>}
        {file.changed && <span class="warning"> edited since the program was built: its lines are not those that ran, and are not shown</span>}
      </summary>
      {file.path && file.path !== file.name && <p class="soft mono where">{file.path}</p>}
      <div class="code">
        {taken.size > 0 && (
          <div class="line soft">
            <span class="line-number">line</span>
            <span class="line-ratio" title="sectors of 32 bytes that warps took in global memory, as a multiple of what they needed">sectors</span>
            <span class="line-ratio" title="wavefronts that warps took in shared memory, as a multiple of what they needed">wavefronts</span>
            <span>taken, as a multiple of what was needed</span>
          </div>
        )}
        {lines.slice(0, most).map((line, i) => {
          const found = marks.get(line.number);
          const gap = i > 0 && lines[i - 1].number + 1 < line.number;
          return (
            <>
              {gap && <div class="gap" aria-hidden="true">⋯</div>}
              <div class={found ? (found.some((mark) => mark.finding === selected) ? "line has-finding is-selected" : "line has-finding") : "line"}>
                <span class="line-number">{line.number}</span>
                <Ratios lines={taken} line={line.number} />
                <code>{line.text || " "}</code>
              </div>
              {found && <Notes marks={found} profile={profile} selected={selected} />}
            </>
          );
        })}
        {unmarked.slice(0, Math.max(0, most - lines.length)).map((line) => (
          <>
            <div class={marks.has(line) ? "line has-finding" : "line"}>
              <span class="line-number">{line}</span>
              <Ratios lines={taken} line={line} />
              <code class="soft">this page does not contain the text of this line</code>
            </div>
            {marks.has(line) && <Notes marks={marks.get(line) as Mark[]} profile={profile} selected={selected} />}
          </>
        ))}
        {lines.length + unmarked.length > most && (
          <button type="button" class="more" onClick={() => setAll(true)}>
            show all {format.count(lines.length + unmarked.length)} lines
          </button>
        )}
      </div>
    </details>
  );
}

export function Source({ profile, state, search }: ViewProps) {
  const ref = useRef<HTMLDivElement>(null);
  const files = profile.raw.sources.filter(
    (file) =>
      (file.marks.length > 0 || file.requests.length > 0) &&
      (!search || matches(search, file.name) || file.marks.some((value, i) => i % 3 === 1 && matches(search, profile.findings[value - 1].pattern, profile.findings[value - 1].message))),
  );
  useEffect(() => {
    ref.current?.querySelector(".line.is-selected")?.scrollIntoView({ block: "center" });
  }, [state.finding]);
  return (
    <div class="view scrolls" ref={ref}>
      {files.length === 0 && <p class="empty">{profile.findings.length ? "No finding points to a source line: build with -g (and -lineinfo) to get source lines." : "Nothing was found."}</p>}
      {files.map((file, i) => (
        <File file={file} profile={profile} selected={state.finding} open={i < 4} />
      ))}
    </div>
  );
}
