// SPDX-License-Identifier: Apache-2.0
// The page of a job: its ranks as rows of a heat map, what to fix first, what differs between ranks, and the numbers
// of the rank that was chosen. The address names that rank.
import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import * as format from "./format";
import { load, type Job, type Rank, type Use } from "./job_data";
import "./job.css";

const ROW = 22; // pixels

interface Column {
  key: "peak" | "gpu" | "waited" | "findings";
  title: string;
  show: (value: number) => string;
  isTime: boolean;
}

const COLUMNS: Column[] = [
  { key: "peak", title: "Peak", show: format.bytes, isTime: false },
  { key: "gpu", title: "GPU time", show: format.ns, isTime: true },
  { key: "waited", title: "Waiting", show: format.ns, isTime: true },
  { key: "findings", title: "Findings", show: format.count, isTime: false },
];

// From 0 to 1: where the value lies between the least and the most. Differences of less than 20 % do not get to 1.
function heat(value: number, least: number, most: number): number {
  if (most <= least) return 0;
  return ((value - least) / (most - least)) * Math.min(1, (most - least) / (0.2 * most));
}

function Heat({ job, chosen, choose }: { job: Job; chosen: number; choose: (rank: number) => void }) {
  const columns = COLUMNS.filter((column) => !(column.isTime && job.about.simulated));
  const few = columns.length < COLUMNS.length ? " few" : "";
  const [order, setOrder] = useState<{ key: string; down: boolean }>({ key: "rank", down: false });
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const scroll = useRef<HTMLDivElement>(null);
  const limits = columns.map(({ key }) => {
    let least = Infinity;
    let most = -Infinity;
    for (const rank of job.ranks) {
      least = Math.min(least, rank[key]);
      most = Math.max(most, rank[key]);
    }
    return { least, most };
  });
  const rows = [...job.ranks];
  const column = columns.find(({ key }) => key === order.key);
  if (column) rows.sort((a, b) => a[column.key] - b[column.key] || a.index - b.index);
  if (order.down) rows.reverse();
  useEffect(() => {
    const measure = () => setHeight(scroll.current?.clientHeight ?? 600);
    measure();
    addEventListener("resize", measure);
    return () => removeEventListener("resize", measure);
  }, []);
  useEffect(() => {
    const at = rows.findIndex((rank) => rank.index === chosen) * ROW;
    const box = scroll.current;
    if (box && at >= 0 && (at < box.scrollTop || at + ROW > box.scrollTop + box.clientHeight)) box.scrollTop = at - ROW * 3;
  }, [chosen, order]);
  const sort = (key: string) => setOrder({ key, down: order.key === key ? !order.down : key !== "rank" });
  const arrow = (key: string) => (order.key === key ? (order.down ? " \u2193" : " \u2191") : "");
  const move = (event: KeyboardEvent) => {
    const at = rows.findIndex((rank) => rank.index === chosen);
    const next = event.key === "ArrowDown" ? at + 1 : event.key === "ArrowUp" ? at - 1 : -1;
    if (next < 0 || next >= rows.length) return;
    event.preventDefault();
    choose(rows[next].index);
  };
  const first = Math.max(0, Math.floor(top / ROW) - 10);
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW) + 10);
  return (
    <div>
      <div class={`head${few}`}>
        <button class="left" onClick={() => sort("rank")}>{`Rank${arrow("rank")}`}</button>
        <span class="host" />
        {columns.map(({ key, title }) => (
          <button key={key} onClick={() => sort(key)}>{`${title}${arrow(key)}`}</button>
        ))}
        <span />
      </div>
      <div class="scroll" ref={scroll} tabIndex={0} role="listbox" aria-label="Ranks" onKeyDown={move} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <div style={{ height: `${rows.length * ROW}px` }}>
          {rows.slice(first, last).map((rank, at) => (
            <div key={rank.index} class={`row${few}`} role="option" aria-selected={rank.index === chosen} style={{ top: `${(first + at) * ROW}px` }} onClick={() => choose(rank.index)}>
              <span title={rank.incomplete ? "the recording is incomplete" : undefined}>
                {rank.name}
                {rank.incomplete ? " \u26a0" : ""}
              </span>
              <span class="host muted">{rank.host}</span>
              {columns.map(({ key, show }, i) => (
                <span key={key} class="number" style={{ background: `rgba(var(--heat), ${(0.75 * heat(rank[key], limits[i].least, limits[i].most)).toFixed(3)})` }}>
                  {show(rank[key])}
                </span>
              ))}
              <span>{rank.link ? <a href={encodeURIComponent(rank.link)} onClick={(event) => event.stopPropagation()}>page</a> : null}</span>
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

// Without `show`, what the uses amount to is not shown.
function Uses({ title, uses, amount, show }: { title: string; uses: Use[]; amount: string; show: ((value: number) => string) | null }) {
  const [all, setAll] = useState(false);
  if (uses.length === 0) return null;
  const shown = all ? uses : uses.slice(0, 10);
  return (
    <>
      <h2>{title}</h2>
      <table>
        <tr>
          <th />
          <th>times</th>
          <th>mean</th>
          {show ? <th>{amount}</th> : null}
          {show ? <th>mean</th> : null}
        </tr>
        {shown.map((use) => (
          <tr key={use.name}>
            <td>{use.name}</td>
            <td>{format.count(use.count)}</td>
            <td class="muted">{format.count(use.meanCount)}</td>
            {show ? <td>{show(use.amount)}</td> : null}
            {show ? <td class="muted">{show(use.meanAmount)}</td> : null}
          </tr>
        ))}
      </table>
      {shown.length < uses.length ? (
        <button class="link" onClick={() => setAll(true)}>{`${uses.length - shown.length} more`}</button>
      ) : null}
    </>
  );
}

function Detail({ job, rank }: { job: Job; rank: Rank | undefined }) {
  if (!rank) return <aside><p class="muted">Choose a rank to see its numbers.</p></aside>;
  const times = !job.about.simulated;
  const found = job.findingsOf(rank.index);
  return (
    <aside>
      <h2>{rank.name}</h2>
      <p>
        {rank.host ? `on ${rank.host}, ` : ""}
        {`peak ${format.bytes(rank.peak)}`}
        {times ? `, GPU time ${format.ns(rank.gpu)}, waiting ${format.ns(rank.waited)}` : ""}
      </p>
      <p class="muted">{`${format.plural(rank.calls, "call")}, ${format.plural(rank.launches, "kernel run")}, ${format.plural(rank.objects, "object")}`}</p>
      {rank.incomplete ? <p class="warning">The recording of this rank is incomplete.</p> : null}
      {rank.link ? <p><a href={encodeURIComponent(rank.link)}>The page of this rank</a></p> : null}
      <Uses title="Kernels" uses={job.kernels(rank.index)} amount="time" show={times ? format.ns : null} />
      <Uses title="Waits" uses={job.waits(rank.index)} amount="time" show={times ? format.ns : null} />
      <Uses title="Collectives" uses={job.collectives(rank.index)} amount="bytes" show={format.bytes} />
      <Uses title="Ranges of NVTX" uses={job.ranges(rank.index)} amount="time" show={times ? format.ns : null} />
      <h2>Findings</h2>
      {found.length === 0 ? <p class="muted">none</p> : null}
      {found.map((finding) => (
        <p key={finding.pattern + finding.place + finding.message} class={finding.worthwhile ? "" : "muted"}>
          <b>{finding.pattern}</b>
          {finding.place ? ` at ${finding.place}` : ""}
        </p>
      ))}
    </aside>
  );
}

function chosenByAddress(job: Job): number {
  const name = decodeURIComponent(location.hash.slice(1));
  return job.ranks.findIndex((rank) => rank.name === name);
}

function Page({ job }: { job: Job }) {
  const [chosen, setChosen] = useState(() => chosenByAddress(job));
  const choose = (rank: number) => {
    setChosen(rank);
    history.replaceState(null, "", `#${encodeURIComponent(job.ranks[rank].name)}`);
  };
  useEffect(() => {
    const follow = () => setChosen(chosenByAddress(job));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  const { about } = job;
  const worthwhile = job.findings.filter((finding) => finding.worthwhile);
  return (
    <>
      <header>
        <h1>{about.program ?? "A job"}</h1>
        <p class="muted">
          {about.ranks ? `${format.count(about.ranks - about.missing)} of ${format.plural(about.ranks, "rank")}` : format.plural(about.profiles, "process", "processes")}
          {about.hosts ? ` on ${format.plural(about.hosts, "host")}` : ""}
          {about.simulated ? "; on a simulated GPU, whose times are not real" : ""}
        </p>
        {about.warnings.map((warning) => <p key={warning} class="warning">{warning}</p>)}
        {job.omitted.map((text) => <p key={text} class="muted">{text}</p>)}
      </header>
      <main>
        <section>
          <Heat job={job} chosen={chosen} choose={choose} />
          <h2>What to fix first</h2>
          {worthwhile.length === 0 ? <p class="muted">No finding is worth fixing on any rank.</p> : null}
          {worthwhile.map((finding) => (
            <div class="finding" key={finding.pattern + finding.place + finding.message}>
              <p>
                <b>{finding.pattern}</b>
                {finding.place ? ` at ${finding.place}` : ""}
                {`, on ${format.count(finding.profiles)} of ${format.count(about.profiles)}; worst: `}
                {job.ranks[finding.worst] ? <button class="link" onClick={() => choose(finding.worst)}>{job.ranks[finding.worst].name}</button> : "?"}
              </p>
              {finding.worth ? <p>{finding.worth}</p> : null}
              <p>{finding.message}</p>
              <p>{`\u2192 ${finding.suggestion}`}</p>
            </div>
          ))}
          <h2>What differs between ranks by more than 20 %</h2>
          {job.differences.length === 0 ? <p class="muted">nothing</p> : null}
          {job.differences.map((difference) => (
            <p key={difference.name + difference.words}>
              <b>{difference.name}</b>
              {`, ${difference.words} `}
              {difference.outliers.map((rank) => (job.ranks[rank] ? <button key={rank} class="link" onClick={() => choose(rank)}>{job.ranks[rank].name}</button> : null))}
            </p>
          ))}
        </section>
        <Detail job={job} rank={job.ranks[chosen]} />
      </main>
    </>
  );
}

const root = document.getElementById("app");
if (root) render(<Page job={load()} />, root);
