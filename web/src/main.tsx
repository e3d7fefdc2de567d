// SPDX-License-Identifier: Apache-2.0
// The page: its header, the views, and the details panel.
import { render } from "preact";
import { useDeferred } from "./deferred";
import { useEffect, useRef, useState } from "preact/hooks";
import { isTaken } from "./axis";
import { hasTimes } from "./clock";
import { load, type Profile } from "./data";
import { Detail } from "./detail";
import { Flow } from "./flow";
import * as format from "./format";
import { Memory } from "./memory";
import { Objects } from "./objects";
import { Overview } from "./overview";
import { Source } from "./source";
import { go, link, useAddress, useTheme, VIEWS, type View } from "./state";
import { Timeline } from "./timeline";
import "./style.css";

const SHOWN = { overview: Overview, memory: Memory, objects: Objects, timeline: Timeline, source: Source, flow: Flow };
const TITLES: Record<View, string> = { overview: "Overview", memory: "Memory", objects: "Objects", timeline: "Timeline", source: "Source", flow: "Value flow" };

function ended(profile: Profile): string[] {
  const { head } = profile;
  const how = head.ended === "exited" ? `exited with status ${head.code}` : head.ended === "signalled" ? `ended by signal ${head.code}` : head.ended;
  const device = head.devices[0]?.name;
  const parts = [how];
  if (hasTimes(profile)) parts.push(`ran for ${format.ns(head.end_ns ?? head.summary.last_ns)}`);
  if (device) parts.push(`on ${hasTimes(profile) ? device : `a simulated ${device}: no times`}`);
  if (head.start_unix_ns) parts.push(new Date(head.start_unix_ns / 1e6).toISOString().slice(0, 16).replace("T", " ") + " UTC");
  return parts;
}

const HELP: [string, string][] = [
  ["1 to 6", "views"],
  ["/", "search"],
  ["↑ ↓ Page Home End", "move through a table"],
  ["+ − 0", "zoom in, out, show all"],
  ["Shift ← →", "move along the axis"],
  ["← →", "previous or next moment or call; open or close a group"],
  ["f", "on the timeline: fit the selected call"],
  ["← → ↑ ↓", "in the value flow: another vertex; with Shift, move"],
  ["t", "light or dark"],
  ["Escape", "close the details"],
];

function Page({ profile }: { profile: Profile }) {
  const state = useAddress();
  const [theme, toggle] = useTheme();
  const [text, setText] = useState("");
  const [help, setHelp] = useState(false);
  const search = useDeferred(text.trim().toLowerCase());
  const box = useRef<HTMLInputElement>(null);

  useEffect(() => {
    const key = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (event.defaultPrevented) return;
      if (event.key === "Escape") {
        if (help) setHelp(false);
        else if (typing) (event.target as HTMLElement).blur();
        else go({ view: state.view, at: state.at, list: state.list });
        return;
      }
      if (isTaken(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      const view = VIEWS[Number(event.key) - 1];
      if (view) go({ ...state, view });
      else if (event.key === "/") box.current?.focus();
      else if (event.key === "t") toggle();
      else if (event.key === "?") setHelp(!help);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", key);
    return () => removeEventListener("keydown", key);
  });

  const command = profile.head.argv.join(" ") || profile.head.executable || "a program";
  useEffect(() => {
    document.title = `glint: ${format.baseName(profile.head.argv[0] ?? command)}`;
  }, []);
  const Shown = SHOWN[state.view];
  const props = { profile, state, search, theme };
  return (
    <div class="page">
      <header>
        <div class="program">
          <h1>
            <span class="brand">glint</span> <span class="mono">{command}</span>
          </h1>
          <p class="soft">
            {ended(profile).map((part, i) => (
              <>
                {i > 0 && " · "}
                <span class="part">{part}</span>
              </>
            ))}
          </p>
        </div>
        <nav aria-label="views">
          {VIEWS.map((view) => (
            <a href={link({ ...state, view })} aria-current={view === state.view ? "page" : undefined} id={`view-${view}`}>
              {TITLES[view]}
            </a>
          ))}
        </nav>
        <div class="search">
          <input
            ref={box}
            type="search"
            id="search"
            aria-label="search findings, objects, calls and files"
            placeholder="search  /"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="button" id="theme" onClick={toggle} aria-label={`change to ${theme === "dark" ? "light" : "dark"} colors`} title="light or dark (t)">
            {theme === "dark" ? "☀" : "☾"}
          </button>
          <button type="button" id="help" aria-expanded={help} aria-label="keys" title="keys (?)" onClick={() => setHelp(!help)}>
            ?
          </button>
        </div>
      </header>
      {help && (
        <dl class="help facts" aria-label="keys">
          {HELP.map(([keys, what]) => (
            <>
              <dt>{keys}</dt>
              <dd>{what}</dd>
            </>
          ))}
        </dl>
      )}
      <main class={state.finding || state.object || state.call || state.vertex ? "has-detail" : ""}>
        <Shown {...props} />
        <Detail {...props} />
      </main>
    </div>
  );
}

const root = document.getElementById("app");
if (root) render(<Page profile={load()} />, root);
