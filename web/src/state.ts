// SPDX-License-Identifier: Apache-2.0
// The current view and selection. They are stored in the URL after '#', so that every state is a link:
// #finding=12, #object=3, #call=7, #vertex=5, #view=memory, or a combination. The view of memory adds the moment, as the
// number of a call, and what it lists: #view=memory&at=12&list=paths.
import { useEffect, useState } from "preact/hooks";

export const VIEWS = ["overview", "memory", "objects", "timeline", "source", "flow"] as const;
export type View = (typeof VIEWS)[number];

export interface State {
  view: View;
  finding: number; // counted from 1; 0: none
  object: number; // number of the profile; 0: none
  call: number;
  vertex: number; // id, of the value flow graph
  at: number; // call after which memory is listed; 0: at the peak
  list: List;
}

export type List = "objects" | "paths";

// Returns the view of a selection if the URL does not name one.
function usualView(state: Omit<State, "view" | "at" | "list">): View {
  return state.finding ? "overview" : state.object ? "objects" : state.call ? "timeline" : state.vertex ? "flow" : "overview";
}

export function parse(hash: string): State {
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  const number = (key: string) => Math.max(0, Math.floor(Number(fields.get(key) ?? 0)) || 0);
  const selected = { finding: number("finding"), object: number("object"), call: number("call"), vertex: number("vertex") };
  const view = VIEWS.find((name) => name === fields.get("view"));
  return { ...selected, view: view ?? usualView(selected), at: number("at"), list: fields.get("list") === "paths" ? "paths" : "objects" };
}

export function link(state: Partial<State>): string {
  const selected = { finding: state.finding ?? 0, object: state.object ?? 0, call: state.call ?? 0, vertex: state.vertex ?? 0 };
  const fields: string[] = [];
  if (state.view && state.view !== usualView(selected)) fields.push(`view=${state.view}`);
  if (selected.finding) fields.push(`finding=${selected.finding}`);
  if (selected.object) fields.push(`object=${selected.object}`);
  if (selected.call) fields.push(`call=${selected.call}`);
  if (selected.vertex) fields.push(`vertex=${selected.vertex}`);
  if (state.view === "memory" && state.at) fields.push(`at=${state.at}`);
  if (state.view === "memory" && state.list === "paths") fields.push("list=paths");
  return "#" + (fields.join("&") || "view=overview");
}

export function go(state: Partial<State>): void {
  location.hash = link(state);
}

// Changes the address without another step in the browser's history.
export function replace(state: Partial<State>): void {
  location.replace(link(state));
}

export function useAddress(): State {
  const [state, set] = useState(() => parse(location.hash));
  useEffect(() => {
    const update = () => set(parse(location.hash));
    addEventListener("hashchange", update);
    return () => removeEventListener("hashchange", update);
  }, []);
  return state;
}

// --- Light and dark: the system's setting, until the reader chooses.

export type Theme = "light" | "dark";

export function systemTheme(): Theme {
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

// Paper is light. It does not wait for a rendering, and listeners run in any order, so canvases call this too.
export function lighten(): void {
  document.documentElement.dataset.theme = "light";
}

export function useTheme(): [Theme, () => void] {
  const [theme, set] = useState<Theme>(systemTheme);
  const [chosen, choose] = useState(false);
  useEffect(() => {
    const media = matchMedia("(prefers-color-scheme: dark)");
    const update = () => {
      if (!chosen) set(systemTheme());
    };
    media.addEventListener("change", update);
    return () => media.removeEventListener("change", update);
  }, [chosen]);
  document.documentElement.dataset.theme = theme;
  useEffect(() => {
    const after = () => (document.documentElement.dataset.theme = theme);
    addEventListener("beforeprint", lighten);
    addEventListener("afterprint", after);
    return () => {
      removeEventListener("beforeprint", lighten);
      removeEventListener("afterprint", after);
    };
  }, [theme]);
  return [
    theme,
    () => {
      choose(true);
      set(theme === "dark" ? "light" : "dark");
    },
  ];
}
