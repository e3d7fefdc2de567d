// SPDX-License-Identifier: Apache-2.0
// The overview: what can be gained in memory and time, the findings with what to do, which patterns were searched for,
// and notes that limit the results.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { hasTimes } from "./clock";
import type { Finding, Peak } from "./data";
import * as format from "./format";
import { matches, Words, type ViewProps } from "./parts";
import { go, link } from "./state";
import { Table, type Column } from "./table";

function Bar(props: { label: string; value: number; most: number; class: string; note?: string; text?: string }) {
  const width = props.most > 0 ? Math.max(0.4, (props.value / props.most) * 100) : 0;
  return (
    <div class="bar-row">
      <span class="bar-label">{props.label}</span>
      <span class="bar-track">
        <span class={`bar ${props.class}`} style={{ width: `${width}%` }} />
      </span>
      <span class="bar-value">
        {props.text ?? format.bytes(props.value)}
        {props.note && <span class="soft"> {props.note}</span>}
      </span>
    </div>
  );
}

// What there is to gain in time: run time where waits were judged, otherwise how many calls waited.
function Time({ profile }: ViewProps) {
  const { run_ns: run, achievable_run_ns: after, waits } = profile.head.summary;
  const isReal = hasTimes(profile);
  if (isReal && run > after)
    return (
      <>
        {" "}
        It ran for <b>{format.ns(run)}</b>; <b>{format.ns(run - after)}</b> less is possible.
      </>
    );
  const ran = profile.head.end_ns ?? profile.head.summary.last_ns;
  return (
    <>
      {isReal && ran > 0 && (
        <>
          {" "}
          It ran for <b>{format.ns(ran)}</b>.
        </>
      )}
      {waits && <span class="soft"> {waits.charAt(0).toUpperCase() + waits.slice(1)}.</span>}
    </>
  );
}

// Where the highest peak was reached, or with several devices, what of it is on which.
function peakNote(peaks: Peak[]): string {
  const first = peaks.filter((one, i) => one.device !== undefined && peaks.findIndex((other) => other.device === one.device) === i);
  if (first.length) return first.map((one) => `${format.bytes(one.bytes)} on device ${one.device}`).join(", ");
  return `reached by call ${peaks[0]?.start ?? "?"}`;
}

function Headline(props: ViewProps) {
  const { profile } = props;
  const { peak_bytes: peak, achievable_peak_bytes: achievable, least_peak_bytes: least, lowers_peak, run_ns: run, achievable_run_ns: after } = profile.head.summary;
  const less = lowers_peak ? peak - achievable : 0;
  return (
    <div class="peaks">
      <p class="headline" id="headline">
        {peak === 0 ? (
          <>No device memory was allocated.</>
        ) : less > 0 ? (
          <>
            The peak of device memory is <b>{format.bytes(peak)}</b>; <b>{format.bytes(achievable)}</b> is enough: <b>{format.share(less, peak)}</b> less.
          </>
        ) : (
          <>
            The peak of device memory is <b>{format.bytes(peak)}</b>. No worthwhile finding lowers it.
          </>
        )}
        <Time {...props} />
      </p>
      {peak > 0 && (
        <>
          <Bar label="peak" value={peak} most={peak} class="is-peak" note={peakNote(profile.head.peaks)} />
          <Bar label="achievable" value={achievable} most={peak} class="is-achievable" note="all findings followed" />
          <Bar label="lower bound" value={least} most={peak} class="is-least" note="no layout needs less" />
        </>
      )}
      {hasTimes(profile) && run > after && (
        <>
          <Bar label="run time" value={run} most={run} class="is-peak" text={format.ns(run)} />
          <Bar label="achievable" value={after} most={run} class="is-achievable" text={format.ns(after)} note="all synchronization fixes together" />
        </>
      )}
    </div>
  );
}

// The first call that failed: what follows from it explains other findings.
function Failure({ profile }: ViewProps) {
  const { failed_calls: failed, failure } = profile.head.summary;
  if (failed === 0 && !failure) return null;
  let first = 0;
  while (first < profile.callCount && profile.callColumn(first, "result") === 0) first++;
  const place = first < profile.callCount ? profile.frames(profile.callColumn(first, "path")).find((frame) => frame.file) : undefined;
  return (
    <p class="failure" id="failure">
      <b>{failure ?? `${format.plural(failed, "call")} failed`}</b>.
      {first < profile.callCount && (
        <>
          {" "}
          The first failed call is{" "}
          <a href={link({ call: profile.numbers[first] })}>call {format.count(profile.numbers[first])}</a>, <code>{profile.functionOf(first)}</code>
          {place && ` at ${format.baseName(place.file ?? "")}:${place.line}`} (CUresult {profile.callColumn(first, "result")}).
        </>
      )}
    </p>
  );
}

// A place in the program's own sources has a relative name; others have names that are long and say little.
const shortPlace = (place: string | null): string => (place?.startsWith("/") ? format.baseName(place) : (place ?? ""));

// Lists the worthwhile findings, or all: what was found, and what to do.
function Findings({ profile, state, search, theme, all }: ViewProps & { all: boolean }) {
  const rows = useMemo(() => {
    const kept: number[] = [];
    profile.findings.forEach((finding, i) => {
      if (!all && !finding.worthwhile) return;
      const object = profile.objectAt(finding.object);
      if (matches(search, finding.pattern, finding.message, finding.suggestion, finding.place, object < 0 ? null : profile.objectName(object)))
        kept.push(i + 1);
    });
    return kept;
  }, [profile, search, all]);
  const of = (row: number) => profile.findings[row - 1];
  const has = (some: (finding: Finding) => number) => profile.findings.some((finding) => (all || finding.worthwhile) && some(finding));
  const upTo = (isBound: boolean, text: string, word = "up to") => (
    <>
      {isBound && <span class="soft">{word} </span>}
      {text}
    </>
  );
  // A column of gains; a finding that gains nothing of the kind has an empty cell.
  const gain = (key: string, title: string, width: string, amount: (finding: Finding) => number, text: (finding: Finding) => ComponentChildren): Column => ({
    key,
    title,
    width,
    numeric: true,
    descending: true,
    value: (row) => (amount(of(row)) ? text(of(row)) : null),
    sort: (row) => amount(of(row)),
  });
  const columns: Column[] = [
    { key: "rank", title: "#", width: "3.2rem", numeric: true, value: (row) => row, sort: (row) => row },
    {
      key: "finding",
      title: "finding, and what to do",
      width: "minmax(0, 1fr)",
      sort: (row) => of(row).pattern,
      value: (row) => (
        <>
          <div>
            <span class="pattern">{of(row).pattern}</span>{" "}
            <span class="soft place" title={of(row).place ?? ""}>
              {shortPlace(of(row).place)}
            </span>
          </div>
          <div class="message">
            <Words text={of(row).message} />
          </div>
          <div class="to-do">
            <span aria-hidden="true">→ </span>
            <Words text={of(row).suggestion} />
          </div>
        </>
      ),
    },
  ];
  const { peak_bytes: peak } = profile.head.summary;
  if (has((finding) => finding.peak_bytes)) {
    columns.push(gain("peak", "off the peak", "7rem", (finding) => finding.peak_bytes, (finding) => format.bytes(finding.peak_bytes)));
    columns.push(gain("share", "share", "5rem", (finding) => finding.peak_bytes, (finding) => format.share(finding.peak_bytes, peak)));
  }
  if (has((finding) => finding.traffic_bytes))
    columns.push(gain("traffic", "less traffic", "8.5rem", (finding) => finding.traffic_bytes, (finding) => upTo(finding.is_bound, format.bytes(finding.traffic_bytes))));
  if (hasTimes(profile) && has((finding) => finding.gpu_ns))
    columns.push(gain("time", "GPU time", "8rem", (finding) => finding.gpu_ns, (finding) => upTo(finding.is_bound, format.ns(finding.gpu_ns), finding.is_estimate ? "about" : "up to")));
  if (hasTimes(profile) && has((finding) => finding.host_ns))
    columns.push(gain("run", "run time", "8rem", (finding) => finding.host_ns, (finding) => upTo(finding.host_is_bound, format.ns(finding.host_ns))));
  if (has((finding) => finding.waits)) columns.push(gain("waits", "fewer waits", "6rem", (finding) => finding.waits, (finding) => format.count(finding.waits)));
  return (
    <Table
      id="findings"
      label="findings"
      theme={theme}
      rows={rows}
      columns={columns}
      rowHeight={64}
      isText
      selected={state.finding || -1}
      onSelect={(row) => go({ view: "overview", finding: row })}
      initial={{ key: "rank", descending: false }}
      empty={search ? "No finding matches the search." : "Nothing worth fixing was found."}
    />
  );
}

function Analyses({ profile }: ViewProps) {
  return (
    <ul class="analyses">
      {profile.head.analyses.map((analysis) => (
        <li class={analysis.skipped ? "is-skipped" : analysis.findings ? "is-found" : "is-clean"}>
          <span class="pattern">{analysis.pattern}</span>
          <span>{analysis.skipped ? `skipped: ${analysis.skipped}` : analysis.findings ? format.plural(analysis.findings, "finding") : "clean"}</span>
        </li>
      ))}
    </ul>
  );
}

function Observed({ profile }: ViewProps) {
  const { head, raw } = profile;
  const analyses = head.settings.find(([name]) => name === "analyses")?.[1];
  return (
    <dl class="facts">
      <dt>calls</dt>
      <dd>
        {format.count(head.summary.calls)}, of which {format.plural(head.summary.failed_calls, "failed", "failed")}
      </dd>
      <dt>kernel runs</dt>
      <dd>{format.count(head.summary.launches)}</dd>
      <dt>objects</dt>
      <dd>{format.count(head.summary.objects)}</dd>
      <dt>accesses</dt>
      <dd>
        {format.count(head.summary.accesses)} of kernels to objects{analyses ? `; recorded: ${analyses}` : ""}
      </dd>
      {head.summary.coverage && (
        <>
          <dt>coverage</dt>
          <dd>{head.summary.coverage}</dd>
        </>
      )}
      {head.summary.unseen_launches > 0 && (
        <>
          <dt>unknown</dt>
          <dd>{format.plural(head.summary.unseen_launches, "launch", "launches")} that may access more memory than was observed</dd>
        </>
      )}
      <dt>lost records</dt>
      <dd>{head.summary.dropped ? format.count(head.summary.dropped) : "none"}</dd>
      {head.notes.map((note) => (
        <>
          <dt class={`note is-${note.severity}`}>{note.severity}</dt>
          <dd>{note.text}</dd>
        </>
      ))}
      {raw.omitted.map((row) => (
        <>
          <dt class="note is-info">left out</dt>
          <dd>
            This page has {format.count(row.shown)} of {format.count(row.of)} {row.what}: {row.how}.
          </dd>
        </>
      ))}
    </dl>
  );
}

const numberColumn = (key: string, title: string, amount: (row: number) => number, text = format.count, isKnown: (row: number) => boolean = () => true): Column => ({
  key,
  title,
  width: "6rem",
  numeric: true,
  descending: true,
  value: (row) => (isKnown(row) ? text(amount(row)) : "-"),
  sort: amount,
});

function Kernels({ profile, search, theme }: ViewProps) {
  const kernels = profile.head.kernels;
  const name = (row: number) => profile.text(kernels[row].name) ?? "?";
  const whole = (row: number) => profile.text(kernels[row].whole) ?? name(row);
  const rows = useMemo(() => kernels.map((_, i) => i).filter((row) => matches(search, name(row)) || matches(search, whole(row))), [profile, search]);
  if (kernels.length === 0) return null;
  const number = numberColumn;
  const isTimed = (row: number) => kernels[row].timed > 0;
  const times = [number("time", "GPU time", (row) => kernels[row].total_ns, format.ns, isTimed), number("longest", "longest", (row) => kernels[row].longest_ns, format.ns, isTimed)];
  const columns: Column[] = [
    { key: "name", title: "kernel", width: "minmax(0, 1fr)", value: (row) => <span class="mono" title={whole(row)}>{name(row)}</span>, sort: name },
    number("launches", "launches", (row) => kernels[row].launches),
    ...(hasTimes(profile) ? times : []),
    number("watched", "watched", (row) => kernels[row].watched),
    ...(kernels.some((kernel) => kernel.passed) ? [number("passed", "by arguments", (row) => kernels[row].passed)] : []),
  ];
  return (
    <section>
      <h2>Kernels</h2>
      <Table id="kernels" label="kernels" theme={theme} rows={rows} columns={columns} rowHeight={26} isText selected={-1} empty="No kernel matches the search." />
    </section>
  );
}

// Ranges that the program announced by NVTX, those of one name together.
function Ranges({ profile, search, theme }: ViewProps) {
  const ranges = profile.head.ranges;
  const name = (row: number) => profile.text(ranges[row].name) ?? "?";
  const domain = (row: number) => profile.text(ranges[row].domain) ?? "";
  const rows = useMemo(() => ranges.map((_, i) => i).filter((row) => matches(search, name(row)) || matches(search, domain(row))), [profile, search]);
  if (ranges.length === 0) return null;
  const isTimed = (row: number) => ranges[row].ended > 0;
  const times = [numberColumn("time", "time", (row) => ranges[row].total_ns, format.ns, isTimed), numberColumn("longest", "longest", (row) => ranges[row].longest_ns, format.ns, isTimed)];
  const columns: Column[] = [
    { key: "name", title: "NVTX range", width: "minmax(0, 1fr)", value: (row) => <span title={name(row)}>{name(row)}</span>, sort: name },
    ...(rows.some((row) => domain(row)) ? [{ key: "domain", title: "domain", width: "8rem", value: domain, sort: domain }] : []),
    numberColumn("count", "times", (row) => ranges[row].count),
    ...(hasTimes(profile) ? times : []),
  ];
  return (
    <section>
      <h2>NVTX ranges</h2>
      <Table id="ranges" label="NVTX ranges" theme={theme} rows={rows} columns={columns} rowHeight={26} isText selected={-1} empty="No range matches the search." />
    </section>
  );
}

function usePrinting(): boolean {
  const [printing, set] = useState(false);
  useEffect(() => {
    const media = matchMedia("print");
    const update = () => set(media.matches);
    media.addEventListener("change", update);
    return () => media.removeEventListener("change", update);
  }, []);
  return printing;
}

const MOST_PRINTED = 200;

// Lists all worthwhile findings with their suggestions, for printing.
function Printed({ profile }: ViewProps) {
  return (
    <ol class="printed">
      {profile.findings.filter((finding) => finding.worthwhile).slice(0, MOST_PRINTED).map((finding) => (
        <li>
          <b>{finding.pattern}</b>
          {finding.place && ` ${shortPlace(finding.place)}`}, {finding.worth}
          <br />
          <Words text={finding.message} />
          <br />→ <Words text={finding.suggestion} />
        </li>
      ))}
    </ol>
  );
}

export function Overview(props: ViewProps) {
  const { profile } = props;
  const { summary } = profile.head;
  const printing = usePrinting();
  const [all, setAll] = useState(false);
  const hidden = summary.findings - summary.worthwhile;
  return (
    <div class="view scrolls">
      <section>
        <Failure {...props} />
        <Headline {...props} />
      </section>
      <section>
        <h2>
          Findings{" "}
          <span class="soft">
            {format.count(summary.worthwhile)}, by worth
            {all && profile.findings.length < summary.findings ? `; the first ${format.count(profile.findings.length)} are in this page` : ""}
          </span>
        </h2>
        <Findings {...props} all={all} />
        {hidden > 0 && (
          <p class="soft">
            <label>
              <input type="checkbox" id="all-findings" checked={all} onChange={(event) => setAll(event.currentTarget.checked)} /> also show{" "}
              {format.plural(hidden, "finding")} worth less than 0.1% or 4 KiB, or with unknown gain
            </label>
          </p>
        )}
        {printing && <Printed {...props} />}
      </section>
      <div class="columns">
        <section>
          <h2>What was checked</h2>
          <Analyses {...props} />
        </section>
        <section>
          <h2>What was observed</h2>
          <Observed {...props} />
        </section>
      </div>
      <Kernels {...props} />
      <Ranges {...props} />
    </div>
  );
}
