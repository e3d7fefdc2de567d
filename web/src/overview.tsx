// SPDX-License-Identifier: Apache-2.0
// The overview: the peak and the achievable peak, the findings, which patterns were searched for, and notes that
// limit the results.
import { useEffect, useMemo, useState } from "preact/hooks";
import * as format from "./format";
import { matches, Words, type ViewProps } from "./parts";
import { go } from "./state";
import { Table, type Column } from "./table";

function Bar(props: { label: string; value: number; most: number; class: string; note?: string }) {
  const width = props.most > 0 ? Math.max(0.4, (props.value / props.most) * 100) : 0;
  return (
    <div class="bar-row">
      <span class="bar-label">{props.label}</span>
      <span class="bar-track">
        <span class={`bar ${props.class}`} style={{ width: `${width}%` }} />
      </span>
      <span class="bar-value">
        {format.bytes(props.value)}
        {props.note && <span class="soft"> {props.note}</span>}
      </span>
    </div>
  );
}

function Peaks({ profile }: ViewProps) {
  const { peak_bytes: peak, achievable_peak_bytes: achievable, least_peak_bytes: least } = profile.head.summary;
  if (peak === 0) return <p>The profile contains no allocation of device memory.</p>;
  const less = profile.head.summary.lowers_peak ? peak - achievable : 0;
  return (
    <div class="peaks">
      <p class="headline">
        {less > 0 ? (
          <>
            The peak of <b>{format.bytes(peak)}</b> of device memory can be lowered to <b>{format.bytes(achievable)}</b>:{" "}
            <b>{format.share(less, peak)}</b> less.
          </>
        ) : (
          <>
            The peak is <b>{format.bytes(peak)}</b> of device memory. No worthwhile finding lowers it.
          </>
        )}
      </p>
      <Bar label="peak" value={peak} most={peak} class="is-peak" note={`reached by call ${profile.head.peaks[0]?.start ?? "?"}`} />
      <Bar label="achievable" value={achievable} most={peak} class="is-achievable" note="all findings followed" />
      <Bar label="lower bound" value={least} most={peak} class="is-least" note="no layout needs less" />
    </div>
  );
}

// Lists the worthwhile findings, or all.
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
  const hasPeak = profile.findings.some((finding) => finding.peak_bytes);
  const hasTraffic = profile.findings.some((finding) => finding.traffic_bytes);
  const hasTime = profile.findings.some((finding) => finding.gpu_ns);
  const hasRun = profile.findings.some((finding) => finding.host_ns);
  const hasWaits = profile.findings.some((finding) => finding.waits);
  const dash = <span class="soft">-</span>;
  const upTo = (isBound: boolean, text: string, word = "up to") => (
    <>
      {isBound && <span class="soft">{word} </span>}
      {text}
    </>
  );
  const columns: Column[] = [
    { key: "rank", title: "#", width: "3.2rem", numeric: true, value: (row) => row, sort: (row) => row },
    {
      key: "finding",
      title: "finding",
      width: "minmax(0, 1fr)",
      sort: (row) => of(row).pattern,
      value: (row) => (
        <div class="two-lines">
          <div>
            <span class="pattern">{of(row).pattern}</span>
            <span class="soft place">{of(row).place}</span>
          </div>
          <div class="message">
            <Words text={of(row).message} />
          </div>
        </div>
      ),
    },
  ];
  if (hasPeak)
    columns.push(
      {
        key: "peak",
        title: "off the peak",
        width: "7rem",
        numeric: true,
        descending: true,
        value: (row) => (of(row).peak_bytes ? format.bytes(of(row).peak_bytes) : dash),
        sort: (row) => of(row).peak_bytes,
      },
      {
        key: "share",
        title: "share",
        width: "5rem",
        numeric: true,
        value: (row) => (of(row).peak_bytes ? format.share(of(row).peak_bytes, profile.head.summary.peak_bytes) : dash),
      },
    );
  if (hasTraffic)
    columns.push({
      key: "traffic",
      title: "less traffic",
      width: "8.5rem",
      numeric: true,
      descending: true,
      value: (row) => (of(row).traffic_bytes ? upTo(of(row).is_bound, format.bytes(of(row).traffic_bytes)) : dash),
      sort: (row) => of(row).traffic_bytes,
    });
  if (hasTime)
    columns.push({
      key: "time",
      title: "GPU time",
      width: "8rem",
      numeric: true,
      descending: true,
      value: (row) => (of(row).gpu_ns ? upTo(of(row).is_bound, format.ns(of(row).gpu_ns), of(row).is_estimate ? "about" : "up to") : dash),
      sort: (row) => of(row).gpu_ns,
    });
  if (hasRun)
    columns.push({
      key: "run",
      title: "run time",
      width: "8rem",
      numeric: true,
      descending: true,
      value: (row) => (of(row).host_ns ? upTo(of(row).host_is_bound, format.ns(of(row).host_ns)) : dash),
      sort: (row) => of(row).host_ns,
    });
  if (hasWaits)
    columns.push({
      key: "waits",
      title: "fewer waits",
      width: "6rem",
      numeric: true,
      descending: true,
      value: (row) => (of(row).waits ? format.count(of(row).waits) : dash),
      sort: (row) => of(row).waits,
    });
  const height = `min(${Math.max(1, rows.length) * 46 + 32}px, 65vh)`;
  return (
    <Table
      id="findings"
      label="findings"
      theme={theme}
      rows={rows}
      columns={columns}
      rowHeight={46}
      selected={state.finding || -1}
      onSelect={(row) => go({ view: "overview", finding: row })}
      height={height}
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

function Kernels({ profile, search, theme }: ViewProps) {
  const kernels = profile.head.kernels;
  const name = (row: number) => profile.text(kernels[row].name) ?? "?";
  const whole = (row: number) => profile.text(kernels[row].whole) ?? name(row);
  const rows = useMemo(() => kernels.map((_, i) => i).filter((row) => matches(search, name(row)) || matches(search, whole(row))), [profile, search]);
  if (kernels.length === 0) return null;
  const columns: Column[] = [
    { key: "name", title: "kernel", width: "minmax(0, 1fr)", value: (row) => <span class="mono" title={whole(row)}>{name(row)}</span>, sort: name },
    { key: "launches", title: "launches", width: "6rem", numeric: true, descending: true, value: (row) => format.count(kernels[row].launches), sort: (row) => kernels[row].launches },
    { key: "time", title: "GPU time", width: "6rem", numeric: true, descending: true, value: (row) => (kernels[row].timed ? format.ns(kernels[row].total_ns) : "-"), sort: (row) => kernels[row].total_ns },
    { key: "longest", title: "longest", width: "6rem", numeric: true, descending: true, value: (row) => (kernels[row].timed ? format.ns(kernels[row].longest_ns) : "-"), sort: (row) => kernels[row].longest_ns },
    { key: "watched", title: "watched", width: "6rem", numeric: true, descending: true, value: (row) => format.count(kernels[row].watched), sort: (row) => kernels[row].watched },
  ];
  return (
    <section>
      <h2>Kernels{profile.head.simulated && <span class="soft"> GPU times are modelled, not measured</span>}</h2>
      <Table id="kernels" label="kernels" theme={theme} rows={rows} columns={columns} rowHeight={26} selected={-1} onSelect={() => {}}
        height={`min(${Math.max(1, rows.length) * 26 + 32}px, 40vh)`} empty="No kernel matches the search." />
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
          <b>{finding.pattern}</b>, {finding.worth}
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
        <Peaks {...props} />
      </section>
      <section>
        <h2>
          Findings{" "}
          <span class="soft">
            {format.count(summary.worthwhile)}, by worth
            {summary.run_ns > summary.achievable_run_ns
              ? `; all synchronization fixes together: run time ${format.ns(summary.achievable_run_ns)} instead of ${format.ns(summary.run_ns)}`
              : ""}
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
    </div>
  );
}
