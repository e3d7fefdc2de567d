// SPDX-License-Identifier: Apache-2.0
// How the page looks and moves, in Chromium: narrow and wide, light and dark, zoomed and on paper. Canvases publish the
// labels that they drew, with their boxes, and views the range that they show.
import { readFileSync } from "node:fs";
import { inflateSync } from "node:zlib";
import assert from "node:assert/strict";
import { bytes, comes, finish, folder, hash, open, plain, report, settle, test, text, texts, worthwhile } from "./page_open.mjs";

const VIEWS = ["overview", "memory", "objects", "timeline", "source", "flow"];

// --- Nothing is cut off, and no label overlaps or repeats another

// Returns the texts in the page that leave the window or their box. Code and names in tables may be cut: code scrolls,
// and the details have the whole name.
const cutOff = (page) =>
  page.evaluate(() => {
    const found = [];
    for (const element of document.querySelectorAll("main *, header *")) {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      if (!own || element.closest(".code, .mono, code, .flame, #flow-graph, .tooltip, option") || !element.checkVisibility({ visibilityProperty: true })) continue;
      const box = element.getBoundingClientRect();
      const cell = element.closest(".cell");
      const isCut = cell && getComputedStyle(cell).whiteSpace === "nowrap" && element.closest(".headings") === null && cell.scrollWidth > cell.clientWidth + 1;
      if (box.width && (box.right > innerWidth + 1 || box.left < -1 || isCut)) found.push(`${element.className} ${element.textContent.slice(0, 40)}`);
    }
    if (document.documentElement.scrollWidth > innerWidth) found.push("the page scrolls sideways");
    return found;
  });

async function checkLabels(page, where) {
  const canvases = await page.evaluate(() => [...document.querySelectorAll("canvas[data-labels]")].map((one) => [one.clientWidth, JSON.parse(one.dataset.labels)]));
  for (const [width, labels] of canvases) {
    assert.equal(new Set(labels.map(([words]) => words)).size, labels.length, `${where} repeats: ${labels.map(([words]) => words)}`);
    labels.forEach(([words, left, top, right, bottom], i) => {
      assert.ok(left >= 0 && right <= width + 1, `${where}: ${words} leaves the canvas`);
      for (const [other, l, t, r, b] of labels.slice(i + 1)) assert.ok(right <= l || r <= left || bottom <= t || b <= top, `${where}: ${words} overlaps ${other}`);
    });
  }
  return canvases.length;
}

for (const width of [500, 1400])
  for (const colorScheme of ["light", "dark"])
    test(`at ${width} pixels, ${colorScheme}, nothing is cut off and no labels overlap`, async () => {
      for (const file of ["small.html", "large.html", "edges/values.html", "edges/caches.html", "edges/sample.html", "edges/bare.html"]) {
        const page = await open(file, { viewport: { width, height: 900 }, colorScheme });
        for (const view of VIEWS) {
          for (const selection of ["", "&object=1", "&call=4", "&finding=1"]) {
            await page.evaluate((state) => (location.hash = state), `view=${view}${selection}`);
            await comes(async () => assert.equal(await page.locator(`#view-${view}`).getAttribute("aria-current"), "page"));
            await settle(page);
            await checkLabels(page, `${file} ${view}${selection}`);
            await comes(async () => assert.deepEqual(await cutOff(page), [], `${file} ${view}${selection}`));
          }
        }
        await page.close();
      }
    });

test("ticks do not repeat at any zoom", async (page, large) => {
  for (const of of [page, large]) {
    for (const view of ["memory", "objects", "timeline"]) {
      await of.click(`#view-${view}`);
      let seen = 0;
      for (let i = 0; i < 24; i++) {
        await settle(of);
        seen += await checkLabels(of, `${view}, zoomed ${i} times`);
        await of.keyboard.press("+");
      }
      assert.ok(seen >= 24, `${view} has labels`);
      await of.keyboard.press("0");
    }
  }
});

// --- The overview

test("the headline has memory and time, and rows have what to do", async (page, large) => {
  const { peak_bytes, achievable_peak_bytes } = report.summary;
  assert.match(await text(page, "#headline"), new RegExp(`peak of device memory is ${bytes(peak_bytes)}; ${bytes(achievable_peak_bytes)} is enough.*calls? waited for the GPU`));
  await large.click("#view-overview");
  await comes(async () => assert.match(await text(large, "#headline"), /peak of device memory is .* It ran for [\d.]+ (ms|s)/));
  for (const width of [500, 1400]) {
    await page.setViewportSize({ width, height: 900 });
    const rows = (await texts(page, "#findings .row")).map((row) => row.replace(/\s+/g, " "));
    assert.equal(rows.length, worthwhile.length);
    worthwhile.forEach((finding, i) => assert.ok(rows[i].includes(plain(finding.message)) && rows[i].includes(`→ ${plain(finding.suggestion)}`), rows[i]));
  }
});

test("a failed call comes first", async () => {
  const page = await open("edges/sample.html");
  const words = await text(page, ".view");
  const { failure } = JSON.parse(readFileSync(`${folder}/sample.json`, "utf8")).summary;
  assert.ok(failure && words.startsWith(`${failure}. The first failed call is call `), words);
  assert.match(words, /is call \d+, \w+.*\(CUresult \d+\)\. (The peak|No device memory)/);
  await page.close();
});

// --- Zoom

const range = (page, selector) => page.locator(selector).evaluate((one) => [Number(one.dataset.from), Number(one.dataset.to)]);

test("zoom works by keyboard at once, and keeps the selection in view", async () => {
  const object = report.objects.at(-1);
  const orders = new Map(report.calls.map((call) => [call.id, call.order]));
  const call = report.calls.at(-2);
  const cases = [
    [`#view=objects&object=${object.id}`, "#objects-view", ([from, to]) => from <= orders.get(object.freed_by) && to >= orders.get(object.allocated_by)],
    [`#view=timeline&call=${call.id}`, "#timeline-lanes", ([from, to]) => from <= call.id && to >= call.id + 1],
    [`#view=memory&at=${object.allocated_by}`, "#memory-chart", ([from, to]) => from <= object.allocated_by && to >= object.allocated_by],
  ];
  for (const [address, selector, holds] of cases) {
    for (const how of ["keys", "buttons"]) {
      const page = await open("small.html", { hash: address });
      await page.waitForSelector(selector);
      await page.keyboard.press("0");
      await settle(page);
      const whole = await range(page, selector);
      for (let i = 0; i < 6; i++) {
        const [before] = [await range(page, selector)];
        if (how === "keys") await page.keyboard.press("+");
        else await page.click('button[aria-label="zoom in"]');
        await settle(page);
        const now = await range(page, selector);
        assert.ok(now[1] - now[0] <= before[1] - before[0] && holds(now), `${address}: ${now}`);
      }
      const near = await range(page, selector);
      assert.ok(near[1] - near[0] < (whole[1] - whole[0]) / 2, `${address}: ${near} of ${whole}`);
      await page.keyboard.press("Shift+ArrowLeft"); // away from the selection
      await page.keyboard.press("Shift+ArrowLeft");
      await page.keyboard.press("-");
      await settle(page);
      assert.ok(holds(await range(page, selector)), `${address}: after moving`);
      await page.close();
    }
  }
});

test("a slider and a field for text keep their keys", async (page) => {
  await page.click("#view-memory");
  const before = await range(page, "#memory-chart");
  await page.fill("#search", "");
  await page.focus("#search");
  await page.keyboard.type("+2");
  await settle(page);
  assert.deepEqual(await range(page, "#memory-chart"), before);
  assert.equal(await page.locator("#view-memory").getAttribute("aria-current"), "page");
});

// --- Groups

test("alike objects are one row, which opens", async (_, large) => {
  await large.goto(`file://${folder}/large.html#view=objects`);
  const count = async () => Number(await large.locator("#objects").getAttribute("aria-rowcount")) - 1;
  await large.waitForSelector("#objects .group-count");
  const closed = await count();
  assert.ok(closed < 5000, `${closed} rows`);
  const row = large.locator("#objects .row:has(.group-count)").first();
  const size = Number((await row.locator(".group-count").innerText()).match(/([\d,]+)×/)[1].replace(",", ""));
  assert.ok(size >= 3);
  await row.click();
  await comes(async () => assert.equal(await count(), closed + size));
  assert.equal(await row.getAttribute("aria-expanded"), "true");
  await large.focus("#objects .body");
  await large.keyboard.press("ArrowLeft");
  await comes(async () => assert.equal(await count(), closed));
  await large.keyboard.press("Enter");
  await comes(async () => assert.equal(await count(), closed + size));
  await large.keyboard.press("ArrowDown");
  await comes(async () => assert.match(await hash(large), /^#object=\d+$/)); // its first member
  // A link to a member opens its group.
  await large.goto(`file://${folder}/large.html#object=4321`);
  await comes(async () => assert.equal(await large.locator("#objects .row[aria-selected=true] .cell").first().innerText(), "4321"));
});

// --- What was live when

test("the slider shows what was live at each moment, as the JSON has it", async (page) => {
  await page.click("#view-memory");
  const { objects } = report;
  await page.keyboard.press("Home"); // at once, without a click
  for (let step = 0; ; step++) {
    await settle(page);
    const words = await page.locator("#moment").getAttribute("aria-valuetext");
    const call = Number(words.match(/after call ([\d,]+)/)[1].replace(",", ""));
    const live = objects.filter((object) => object.allocated_by <= call && !(object.freed_by && object.freed_by <= call));
    const sum = live.reduce((total, object) => total + object.bytes, 0);
    assert.ok(words.endsWith(`${bytes(sum)} in use`), `${words}: ${sum}`);
    await comes(async () => assert.deepEqual((await texts(page, "#alive .row .cell:nth-child(1)")).sort(), live.map((object) => object.name).sort()));
    await page.keyboard.press("ArrowRight");
    await settle(page);
    if ((await page.locator("#moment").getAttribute("aria-valuetext")) === words) {
      assert.ok(step >= objects.length, `${step} moments`);
      break;
    }
  }
  await comes(async () => assert.match(await hash(page), /^#view=memory&at=\d+$/)); // a moment is a link
});

test("the flame graph has the bytes of the JSON by call path", async (page) => {
  await page.evaluate(() => (location.hash = "view=memory&list=paths"));
  const boxes = () => page.locator(".flame-box").evaluateAll((all) => all.map((one) => [one.title, one.offsetTop, one.offsetLeft, one.offsetWidth]));
  const { peaks } = report.summary;
  await page.waitForSelector("#flame");
  const live = report.objects.filter((object) => peaks[0].objects.includes(object.id));
  const sum = live.reduce((total, object) => total + object.bytes, 0);
  const found = await boxes();
  assert.ok(found[0][0].startsWith(`all: ${bytes(sum)}, 100%`), found[0][0]);
  for (const object of live) assert.ok(found.some(([title]) => title.startsWith(`${object.name}: ${bytes(object.bytes)}, `)), object.name);
  assert.ok(found.some(([title]) => /^main .*: /.test(title) && title.includes(bytes(sum))), "main");
  // Boxes of a row do not overlap, and lie within that of their caller.
  for (const [, top, left, width] of found) {
    const row = found.filter((box) => box[1] === top && box[2] > left);
    assert.ok(row.every((box) => box[2] + 1 >= left + width), "boxes overlap");
    if (top > 0) assert.ok(found.some((box) => box[1] === top - 22 && box[2] <= left + 1 && box[2] + box[3] + 1 >= left + width), "a box without a caller");
  }
  // A frame at full width, by keyboard; then an object.
  await page.selectOption("#flame-shown", "count");
  await comes(async () => assert.ok((await boxes())[0][0].startsWith(`all: ${report.objects.length} allocations`)));
  await page.locator(".flame-box").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await comes(async () => assert.equal(await page.locator(".flame-box.is-above").count(), 1));
  await page.click(".flame-box.is-object");
  await comes(async () => assert.match(await hash(page), /object=\d+&list=paths$/));
  await comes(async () => assert.equal(await page.locator(".flame-box.is-selected").count(), 1));
});

test("the flame graph of a large profile has few boxes", async (_, large) => {
  await large.goto(`file://${folder}/large.html#view=memory&list=paths`);
  await large.waitForSelector("#flame");
  const count = await large.locator(".flame-box").count();
  assert.ok(count >= 4 && count <= 600, `${count} boxes`);
  assert.match(await text(large, "#flame"), /500 more$/); // each of which is too narrow
  const widths = await large.locator(".flame-box").evaluateAll((all) => all.map((one) => one.offsetWidth));
  assert.ok(Math.min(...widths) >= 4);
});

// --- Paper

test("paper has the bars, in light colors", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open("small.html", { colorScheme });
    const pdf = await page.pdf({ printBackground: false });
    let drawing = "";
    for (let at = pdf.indexOf("stream\n"); at >= 0; at = pdf.indexOf("stream\n", at + 1)) {
      try {
        drawing += inflateSync(pdf.subarray(at + 7)).toString("latin1");
      } catch {
        // not compressed, or the end of a stream
      }
    }
    assert.match(drawing, /\.164\d+ \.541\d+ \.388\d+ rg/, "the bar of the achievable peak"); // #2a8a63
    assert.doesNotMatch(drawing, /\.082\d+ \.094\d+ \.109\d+ rg/, "the dark background"); // #15181c
    assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), colorScheme);
    await page.close();
  }
  // Charts are drawn again for paper.
  const charts = [];
  for (const colorScheme of ["light", "dark"]) {
    const page = await open("small.html", { colorScheme, hash: "#view=memory" });
    await settle(page);
    const [shown, printed] = await page.evaluate(() => {
      const canvas = document.querySelector("#memory-chart canvas");
      const before = canvas.toDataURL();
      dispatchEvent(new Event("beforeprint"));
      return [before, canvas.toDataURL()];
    });
    assert.equal(shown === printed, colorScheme === "light");
    charts.push(printed);
    await page.close();
  }
  assert.equal(charts[0], charts[1]);
});

await finish();
