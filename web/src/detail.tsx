// SPDX-License-Identifier: Apache-2.0
// The panel beside every view: the details of the selected finding, object, call or vertex.
import { useMemo } from "preact/hooks";
import { KernelCaches, ReuseCurves } from "./caches";
import { Canvas, colours } from "./canvas";
import { hasTimes } from "./clock";
import { PASSED, READ, WRITE, type Profile, type SourceFile } from "./data";
import { dependencies, type Edge } from "./depend";
import * as format from "./format";
import { VertexDetail } from "./flow_detail";
import { Heat } from "./heat";
import { drawLife } from "./objects";
import { CallLink, FindingLink, ObjectLink, Path, Words, type ViewProps } from "./parts";
import { SharedMemory } from "./shared";
import { go, link } from "./state";

function Life({ profile, object, theme }: { profile: Profile; object: number; theme: string }) {
  return (
    <div class="mini-life">
      <Canvas
        theme={theme}
        label={`life of ${profile.objectName(object)}`}
        draw={(context, width, height) => {
          context.fillStyle = colours().line;
          context.fillRect(0, height / 2, width, 1);
          drawLife(context, profile, object, "order", { from: 0, to: profile.endOf("order") }, 0, height, width);
        }}
      />
    </div>
  );
}

// Shows the source lines around a finding, if the page has them: in a kernel if it names a line there, else at its call.
function Snippet({ profile, finding }: { profile: Profile; finding: number }) {
  const isMark = (file: SourceFile, i: number, role: number) => file.marks[i + 1] === finding && file.marks[i + 2] === role;
  const inKernel = profile.raw.sources.some((file) => file.lines && file.marks.some((_, i) => i % 3 === 0 && isMark(file, i, 3)));
  for (const file of profile.raw.sources) {
    for (let i = 0; i < file.marks.length; i += 3) {
      if (!isMark(file, i, inKernel ? 3 : 0) || !file.lines) continue;
      const line = file.marks[i];
      const rows: { number: number; text: string }[] = [];
      for (let k = 0; k < file.lines.length; k += 2) {
        const number = file.lines[k] as number;
        if (Math.abs(number - line) <= 2) rows.push({ number, text: file.lines[k + 1] as string });
      }
      return (
        <div class="code snippet">
          {rows.map((row) => (
            <div class={row.number === line ? "line has-finding is-selected" : "line"}>
              <span class="line-number">{row.number}</span>
              <code>{row.text || " "}</code>
            </div>
          ))}
        </div>
      );
    }
  }
  return null;
}

function FindingDetail({ profile, number, theme }: { profile: Profile; number: number; theme: string }) {
  const finding = profile.findings[number - 1];
  if (!finding) return <p>Finding {number} is not in this page.</p>;
  const object = profile.objectAt(finding.object);
  const calls: [number, number, number][] = [
    [finding.call, finding.path, 0],
    [finding.other_call, finding.other_path, 1],
    [finding.last_call, finding.last_path, 2],
  ];
  return (
    <>
      <h2>
        <span class="rank">{number}</span> {finding.pattern}
      </h2>
      <p class="soft">
        {profile.patterns.get(finding.pattern)?.definition} <span class="mono">glint explain {finding.pattern}</span> explains it.
      </p>
      <p>
        <Words text={finding.message} />.
      </p>
      <p class="suggestion">
        <span class="soft">What to do: </span>
        <Words text={finding.suggestion} />.
      </p>
      <dl class="facts">
        <dt>worth</dt>
        <dd>
          {finding.worth}
        </dd>
        {finding.count > 1 && (
          <>
            <dt>matches</dt>
            <dd>{format.count(finding.count)} similar ones; this one gains most alone, and the worth is that of all together</dd>
          </>
        )}
        {finding.waited_ns > 0 && hasTimes(profile) && (
          <>
            <dt>waited</dt>
            <dd>{format.ns(finding.waited_ns)}</dd>
          </>
        )}
        {finding.object > 0 && (
          <>
            <dt>object</dt>
            <dd>
              <ObjectLink number={finding.object} profile={profile} />
            </dd>
          </>
        )}
        {finding.other_object > 0 && (
          <>
            <dt>{profile.patterns.get(finding.pattern)?.other_object ?? "other object"}</dt>
            <dd>
              <ObjectLink number={finding.other_object} profile={profile} />
            </dd>
          </>
        )}
        {finding.distance !== null && (
          <>
            <dt>distance</dt>
            <dd>{format.plural(finding.distance, "GPU API call")}</dd>
          </>
        )}
        {finding.times > 1 && (
          <>
            <dt>times</dt>
            <dd>{format.count(finding.times)}</dd>
          </>
        )}
        {finding.elements !== undefined && (
          <>
            <dt>touched</dt>
            <dd>
              {format.count(finding.touched ?? 0)} of {format.count(finding.elements)} elements ({format.share(finding.touched ?? 0, finding.elements)})
            </dd>
          </>
        )}
      </dl>
      {object >= 0 && <Life profile={profile} object={object} theme={theme} />}
      <Snippet profile={profile} finding={number} />
      <p>
        <a href={link({ view: "source", finding: number })}>show in the source</a>
      </p>
      {calls.map(
        ([call, path, which]) =>
          call > 0 && (
            <section>
              <h3>
                {profile.role(finding, which)}: <CallLink number={call} profile={profile} />
              </h3>
              <Path frames={profile.frames(path)} profile={profile} />
            </section>
          ),
      )}
      {profile.places(finding).map(({ label, path }) => (
        <section>
          <h3>{label}</h3>
          <Path frames={profile.frames(path)} profile={profile} />
        </section>
      ))}
      {object >= 0 && <Heat profile={profile} object={finding.object} theme={theme} />}
    </>
  );
}

const MOST_ACCESSES = 200;

// What a call does with an object. What a launch does to which it was only passed is unknown.
function How({ how }: { how: number }) {
  if (how & PASSED) return <span class="how is-passed">passed</span>;
  return (
    <>
      <span class={how & READ ? "how is-read" : "how"}>{how & READ ? "R" : ""}</span>
      <span class={how & WRITE ? "how is-write" : "how"}>{how & WRITE ? "W" : ""}</span>
    </>
  );
}

function Accesses({ profile, object }: { profile: Profile; object: number }) {
  const { call, how } = profile.touches[object];
  if (call.length === 0) return <p class="soft">No accesses were recorded.</p>;
  const rows = Array.from(call.slice(0, MOST_ACCESSES));
  return (
    <ol class="accesses">
      {rows.map((number, i) => (
        <li>
          <How how={how[i]} />
          <CallLink number={number} profile={profile} />
        </li>
      ))}
      {call.length > rows.length && <li class="soft">and {format.count(call.length - rows.length)} more</li>}
    </ol>
  );
}

function ObjectDetail({ profile, number, theme }: { profile: Profile; number: number; theme: string }) {
  const object = profile.objectAt(number);
  if (object < 0) return <p>Object {number} is not in this page.</p>;
  const { objects } = profile;
  const findings = profile.findingsOf.get(number) ?? [];
  const elements = objects.element_bytes[object] > 0;
  return (
    <>
      <h2 class="mono">{profile.objectName(object)}</h2>
      <dl class="facts">
        <dt>object</dt>
        <dd>
          {number}, {profile.kindOf(object)}
          {objects.counted[object] ? "" : ", not counted as device memory in use"}
        </dd>
        <dt>size</dt>
        <dd>
          {format.bytes(objects.bytes[object])} <span class="soft">({format.count(objects.bytes[object])} bytes)</span>
        </dd>
        <dt>made by</dt>
        <dd>{objects.call[object] ? <CallLink number={objects.call[object]} profile={profile} /> : "no known call"}</dd>
        <dt>ended by</dt>
        <dd>{objects.end[object] ? <CallLink number={objects.end[object]} profile={profile} /> : "nothing: it exists until the program ends"}</dd>
        <dt>accesses</dt>
        <dd>
          read by {format.plural(objects.reads[object], "launch", "launches")}, written by {format.count(objects.writes[object])}
          {objects.passed[object] > 0 && `, was passed to ${format.plural(objects.passed[object], "launch", "launches")} without probes`}
        </dd>
        {objects.bytes_read[object] + objects.bytes_written[object] > 0 && (
          <>
            <dt>moved</dt>
            <dd>
              {format.bytes(objects.bytes_read[object])} read, {format.bytes(objects.bytes_written[object])} written
            </dd>
          </>
        )}
        {elements && (
          <>
            <dt>elements</dt>
            <dd>
              {format.count(objects.touched[object])} of {format.count(objects.elements[object])} touched (
              {format.share(objects.touched[object], objects.elements[object])}), {format.count(objects.shared[object])} by more than one launch
            </dd>
          </>
        )}
      </dl>
      <Life profile={profile} object={object} theme={theme} />
      <h3>Findings</h3>
      {findings.length === 0 ? (
        <p class="soft">none</p>
      ) : (
        <ul class="plain">
          {findings.map((finding) => (
            <li>
              <FindingLink number={finding} profile={profile} />
              <p class="suggestion">
                <Words text={profile.findings[finding - 1].suggestion} />.
              </p>
            </li>
          ))}
        </ul>
      )}
      <Heat profile={profile} object={number} theme={theme} />
      <ReuseCurves profile={profile} number={number} theme={theme} />
      <h3>Allocated from</h3>
      <Path frames={profile.frames(objects.path[object])} profile={profile} />
      <h3>
        Accesses <span class="soft">{format.count(profile.touches[object].call.length)}</span>
      </h3>
      <Accesses profile={profile} object={object} />
    </>
  );
}

function Edges({ title, edges, profile }: { title: string; edges: Edge[]; profile: Profile }) {
  if (edges.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul class="plain">
        {edges.map((edge) => (
          <li>
            <CallLink number={profile.numbers[edge.call]} profile={profile} /> <span class="soft">by {edge.why}</span>
          </li>
        ))}
      </ul>
    </>
  );
}

function CallDetail({ profile, number, theme }: { profile: Profile; number: number; theme: string }) {
  const call = profile.callAt(number);
  const edges = useMemo(() => (call < 0 ? { before: [], after: [] } : dependencies(profile, call)), [profile, call]);
  if (call < 0) return <p>Call {number} is not in this page: only sums include it.</p>;
  const raw = profile.raw.calls;
  const result = profile.callColumn(call, "result");
  const touched = profile.objectsOf(number);
  const findings = profile.findings.map((_, i) => i + 1).filter((i) => [profile.findings[i - 1].call, profile.findings[i - 1].other_call].includes(number));
  return (
    <>
      <h2>
        call {number}: <span class="mono">{profile.callTitle(call)}</span>
      </h2>
      <dl class="facts">
        <dt>function</dt>
        <dd class="mono">{profile.functionOf(call)}</dd>
        <dt>kind</dt>
        <dd>{profile.callKind(call)}</dd>
        {profile.callColumn(call, "stream") > 0 && (
          <>
            <dt>stream</dt>
            <dd>{profile.callColumn(call, "stream")}</dd>
          </>
        )}
        <dt>order</dt>
        <dd>{format.count(profile.orders[call])}</dd>
        {profile.callColumn(call, "bytes") > 0 && (
          <>
            <dt>bytes</dt>
            <dd>
              {format.bytes(profile.callColumn(call, "bytes"))} <span class="soft">({format.count(profile.callColumn(call, "bytes"))})</span>
            </dd>
          </>
        )}
        {hasTimes(profile) && (
          <>
            <dt>on the host</dt>
            <dd>
              {format.ns(raw.ns[call])}, at {format.ns(profile.starts[call])}
            </dd>
          </>
        )}
        {hasTimes(profile) && profile.hasGpuTime(call) && (
          <>
            <dt>on the GPU</dt>
            <dd>
              {format.ns(raw.gpu_ns[call])}, at {format.ns(profile.gpuStartOf(call))}
            </dd>
          </>
        )}
        {profile.waited.has(call) && (
          <>
            <dt>waited</dt>
            <dd>{hasTimes(profile) ? `${format.ns(profile.waited.get(call) as number)} for the GPU` : "for the GPU"}</dd>
          </>
        )}
        {result !== 0 && (
          <>
            <dt>failed</dt>
            <dd>CUresult {result}</dd>
          </>
        )}
      </dl>
      {findings.length > 0 && (
        <>
          <h3>Findings</h3>
          <ul class="plain">
            {findings.slice(0, 20).map((finding) => (
              <li>
                <FindingLink number={finding} profile={profile} />
              </li>
            ))}
          </ul>
        </>
      )}
      {touched.length > 0 && (
        <>
          <h3>Touches</h3>
          <ul class="plain">
            {touched.slice(0, 50).map((object) => {
              const how = profile.howTouched(object, number);
              return (
                <li>
                  <How how={how} />
                  <ObjectLink number={profile.objects.number[object]} profile={profile} /> <span class="soft">{format.bytes(profile.objects.bytes[object])}</span>
                </li>
              );
            })}
          </ul>
        </>
      )}
      <KernelCaches profile={profile} call={call} />
      <SharedMemory profile={profile} call={call} number={number} theme={theme} />
      <Edges title="Comes after" edges={edges.before} profile={profile} />
      <Edges title="Comes before" edges={edges.after} profile={profile} />
      <h3>Called from</h3>
      <Path frames={profile.frames(profile.callColumn(call, "path"))} profile={profile} />
    </>
  );
}

export function Detail({ profile, state, theme }: ViewProps) {
  if (!state.finding && !state.object && !state.call && !state.vertex) return null;
  return (
    <aside class="detail" aria-label="details of the selection" id="detail" tabIndex={-1}>
      <button type="button" class="close" aria-label="close the details" title="close (Escape)" onClick={() => go({ view: state.view, at: state.at, list: state.list })}>
        ×
      </button>
      {state.finding ? (
        <FindingDetail profile={profile} number={state.finding} theme={theme} />
      ) : state.object ? (
        <ObjectDetail profile={profile} number={state.object} theme={theme} />
      ) : state.call ? (
        <CallDetail profile={profile} number={state.call} theme={theme} />
      ) : (
        <VertexDetail profile={profile} id={state.vertex} />
      )}
    </aside>
  );
}
