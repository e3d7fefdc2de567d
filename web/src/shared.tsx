// SPDX-License-Identifier: Apache-2.0
// The arrays of shared memory that a launch used: a grid of their words, 32 in a row as there are banks, colored by how
// often each was loaded and stored.
import { useState } from "preact/hooks";
import { Canvas, colours, drawn, hatch } from "./canvas";
import type { Profile, SharedArray } from "./data";
import * as format from "./format";
import { CallLink } from "./parts";

const BANKS = 32;
const WORD_BYTES = 4;
const FEW_ROWS = 64; // with high cells
const [HIGH, LOW] = [12, 6]; // pixels

interface Words {
  loads: Float64Array;
  stores: Float64Array;
  count: number; // in this page, which may be fewer than there are
  untouched: number;
  most: { loads: number; stores: number };
}

function wordsOf(array: SharedArray): Words {
  let count = 0;
  for (let i = 0; i < array.runs.length; i += 3) count += array.runs[i];
  const out: Words = { loads: new Float64Array(count), stores: new Float64Array(count), count, untouched: 0, most: { loads: 0, stores: 0 } };
  for (let i = 0, at = 0; i < array.runs.length; i += 3) {
    const [words, loads, stores] = array.runs.slice(i, i + 3);
    out.loads.fill(loads, at, at + words);
    out.stores.fill(stores, at, at + words);
    out.most = { loads: Math.max(out.most.loads, loads), stores: Math.max(out.most.stores, stores) };
    if (loads + stores === 0) out.untouched += words;
    at += words;
  }
  return out;
}

// Counts of words often differ by orders of magnitude.
function strength(count: number, most: number): number {
  return count === 0 ? 0 : 0.2 + (0.8 * Math.log1p(count)) / Math.log1p(most);
}

// The left half of a cell shows loads and the right one stores. Words that no block touched are hatched.
function drawWords(context: CanvasRenderingContext2D, width: number, words: Words, high: number, at: number | null) {
  const palette = colours();
  const wide = width / BANKS;
  for (let i = 0; i < words.count; i++) {
    const [x, y] = [(i % BANKS) * wide, Math.floor(i / BANKS) * high];
    context.fillStyle = palette.line;
    context.fillRect(x, y, wide - 1, high - 1);
    if (words.loads[i] + words.stores[i] === 0) hatch(context, x, y, wide - 1, high - 1, palette.muted);
    context.fillStyle = palette.read;
    context.globalAlpha = strength(words.loads[i], words.most.loads);
    context.fillRect(x, y, (wide - 1) / 2, high - 1);
    context.fillStyle = palette.write;
    context.globalAlpha = strength(words.stores[i], words.most.stores);
    context.fillRect(x + (wide - 1) / 2, y, (wide - 1) / 2, high - 1);
    context.globalAlpha = 1;
    drawn.items++;
  }
  if (at === null) return;
  context.strokeStyle = palette.text;
  context.strokeRect((at % BANKS) * wide - 0.5, Math.floor(at / BANKS) * high - 0.5, wide, high);
}

function about(words: Words, at: number): string {
  return `word ${format.count(at)} (byte ${format.count(at * WORD_BYTES)}, bank ${at % BANKS}): ${format.plural(words.loads[at], "load")}, ${format.plural(words.stores[at], "store")}`;
}

function Grid({ array, profile, theme }: { array: SharedArray; profile: Profile; theme: string }) {
  const words = wordsOf(array);
  const [at, setAt] = useState<number | null>(null);
  const rows = Math.ceil(words.count / BANKS);
  const high = rows > FEW_ROWS ? LOW : HIGH;
  const missing = Math.ceil(array.bytes / WORD_BYTES) - words.count;
  const untouched = array.untouched_is_known ? `${format.plural(words.untouched, "word")} never touched` : "which words were never touched is unknown";
  const move = (event: MouseEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const word = Math.floor((event.clientY - box.top) / high) * BANKS + Math.min(BANKS - 1, Math.floor(((event.clientX - box.left) / box.width) * BANKS));
    setAt(word >= 0 && word < words.count ? word : null);
  };
  const key = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -BANKS, ArrowDown: BANKS }[event.key];
    if (!step || words.count === 0) return;
    event.preventDefault();
    event.stopPropagation();
    setAt(at === null ? 0 : Math.max(0, Math.min(words.count - 1, at + step)));
  };
  return (
    <section class="shared-array">
      <h4>
        <span class="mono">{array.name ?? "?"}</span>{" "}
        <span class="soft">
          {format.bytes(array.bytes)} in each of {format.plural(array.blocks, "block")}
          {array.node > 0 && ` of ${profile.text(array.kernel) ?? "a kernel"} in the graph`}
        </span>
      </h4>
      <div class="words" tabIndex={0} role="group" aria-label={`words of ${array.name ?? "an array"}; arrow keys move`} onKeyDown={key}>
        <div style={{ height: `${rows * high}px` }} onMouseMove={move} onMouseLeave={() => setAt(null)}>
          <Canvas
            theme={theme}
            label={`${format.plural(words.count, "word")}: up to ${format.plural(words.most.loads, "load")} and ${format.plural(words.most.stores, "store")} of a word, ${untouched}`}
            draw={(context, width) => drawWords(context, width, words, high, at)}
          />
        </div>
      </div>
      <p class="small word" aria-live="polite">
        {at === null ? `${format.plural(words.count, "word")}, ${untouched}; of one word up to ${format.plural(words.most.loads, "load")} and ${format.plural(words.most.stores, "store")}` : about(words, at)}
      </p>
      {missing > 0 && <p class="warning small">This page does not contain the other {format.plural(missing, "word")}.</p>}
      {!array.complete && (
        <p class="warning small">
          There were more accesses than these counts{array.missed > 0 ? `: ${format.count(array.missed)} in all arrays of the launch were not counted` : ""}.
        </p>
      )}
    </section>
  );
}

// Of each kernel, one launch is in the page, which may be that of a graph.
export function SharedMemory(props: { profile: Profile; call: number; number: number; theme: string }) {
  const { profile, call, number, theme } = props;
  const { shared, calls } = profile.raw;
  const own = shared.filter((array) => array.call === number);
  const kernel = profile.callKind(call) === "launch" ? calls.shapes.name[profile.shapeOf(call)] : 0;
  const other = shared.find((array) => kernel > 0 && array.kernel === kernel);
  if (own.length === 0 && !other) return null;
  return (
    <>
      <h3>Shared memory</h3>
      {own.length === 0 && other ? (
        <p class="small">
          The words of its arrays are shown for <CallLink number={other.call} profile={profile} />, which accessed those of this kernel most often.
        </p>
      ) : (
        <p class="soft small">
          A row has 32 words of 4 bytes, one in each bank. <span class="words-key is-read" /> loads, <span class="words-key is-write" /> stores, of all blocks together; hatched: no block touched the word.
        </p>
      )}
      {own.map((array) => (
        <Grid array={array} profile={profile} theme={theme} />
      ))}
    </>
  );
}
