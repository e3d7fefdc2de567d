// SPDX-License-Identifier: Apache-2.0
// Drives the page in Chromium: its contents beside the JSON, what can be done, and large and hostile profiles.
// page_look.mjs tests how it looks.
import { readFileSync, readdirSync } from "node:fs";
import { resolve } from "node:path";
import assert from "node:assert/strict";
import { bytes, comes, finish, folder, hash, open, plain, report, settle, source, test, text, texts, worthwhile } from "./page_open.mjs";

// --- Contents, beside the JSON

test("the overview has the numbers of the JSON", async (page) => {
  const values = await texts(page, ".bar-value");
  const { peak_bytes, achievable_peak_bytes, least_peak_bytes } = report.summary;
  [peak_bytes, achievable_peak_bytes, least_peak_bytes].forEach((value, i) => assert.ok(values[i].startsWith(bytes(value)), `${values[i]}: ${value}`));
  assert.equal(await page.locator("#findings").getAttribute("aria-rowcount"), String(worthwhile.length + 1));
  const observed = await text(page, ".facts");
  assert.match(observed, new RegExp(`calls ${report.summary.calls},`));
  assert.match(observed, new RegExp(`objects ${report.summary.objects}\\b`));
  for (const pattern of new Set(report.findings.map((finding) => finding.pattern))) {
    const count = report.findings.filter((finding) => finding.pattern === pattern).length;
    const row = await text(page, `.analyses li:has(:text-is("${pattern}"))`);
    assert.equal(row, `${pattern} ${count} finding${count === 1 ? "" : "s"}`);
  }
});

test("the list has what is worthwhile, and all others when asked for", async (page) => {
  const hidden = report.findings.length - worthwhile.length;
  assert.ok(worthwhile.length > 0 && hidden > 0, "the example is to have both");
  assert.ok(report.findings.slice(0, worthwhile.length).every((finding) => finding.worthwhile));
  assert.equal(await page.locator("#findings [role=row]").count(), worthwhile.length + 1);
  await page.check("#all-findings");
  await comes(async () => assert.equal(await page.locator("#findings").getAttribute("aria-rowcount"), String(report.findings.length + 1)));
});

test("the page of a simulated GPU says so, and shows no times in any view", async (page) => {
  assert.match(await text(page, "header"), /on a simulated .*: no times/);
  for (const view of ["overview", "memory", "objects", "timeline", "source", "flow"]) {
    await page.evaluate((name) => (location.hash = `view=${name}`), view);
    await comes(async () => assert.equal(await page.locator(`#view-${view}`).getAttribute("aria-current"), "page"));
    await settle(page);
    const words = (await page.locator("body").innerText()) + (await page.evaluate(() => [...document.querySelectorAll("canvas")].map((one) => one.dataset.labels ?? "").join()));
    assert.doesNotMatch(words, /\d (s|ms|us|ns)\b/);
    assert.doesNotMatch(words, /on the host|on the GPU|GPU time\b/);
  }
  await page.evaluate((number) => (location.hash = `call=${number}`), report.calls.find((call) => call.kind === "launch").id);
  await comes(async () => assert.match(await text(page, ".view"), /The GPU is simulated, so there are no times/));
  assert.doesNotMatch(await text(page, "#detail"), /\d (s|ms|us|ns)\b/);
  // One step for each call, of threads and of streams.
  const [from, to] = await page.locator("#timeline-lanes").evaluate((lanes) => [Number(lanes.dataset.from), Number(lanes.dataset.to)]);
  assert.ok(to <= report.calls.length + 1 && to > from && from >= 0, `${from} to ${to}`);
});

test("every finding has a link, and its words are those of the JSON", async (page) => {
  for (let i = 0; i < report.findings.length; i++) {
    await page.evaluate((number) => (location.hash = `finding=${number}`), i + 1);
    await comes(async () => {
      const words = await text(page, "#detail");
      assert.ok(words.includes(plain(report.findings[i].message)), words);
      assert.ok(words.includes(plain(report.findings[i].suggestion)), words);
    });
  }
});

test("every object has a link, and its size and accesses are those of the JSON", async (page) => {
  for (const object of report.objects) {
    await page.evaluate((number) => (location.hash = `object=${number}`), object.id);
    await comes(async () => {
      const words = await text(page, "#detail");
      assert.ok(words.startsWith(`× ${object.name} `), words);
      assert.ok(words.includes(`size ${bytes(object.bytes)}`), words);
      if (object.accesses) assert.match(words, new RegExp(`read by ${object.accesses.reads} launch(es)?, written by ${object.accesses.writes}\\b`));
      if (object.accesses?.touched != null) assert.ok(words.replaceAll(",", "").includes(`${object.accesses.touched} of ${object.accesses.elements} touched`), words);
    });
  }
});

test("what launches without probes get is passed to them, neither read nor written", async () => {
  const report = JSON.parse(readFileSync(`${folder}/passed.json`, "utf8"));
  const objects = report.objects.filter((object) => object.accesses?.passed);
  assert.ok(objects.length > 0);
  const page = await open("passed.html", { hash: `#object=${objects[0].id}` });
  for (const object of objects) {
    await page.evaluate((number) => (location.hash = `object=${number}`), object.id);
    await comes(async () => {
      const words = await text(page, "#detail");
      assert.ok(words.startsWith(`× ${object.name} `), words);
      assert.match(words, new RegExp(`read by 0 launches, written by 0, was passed to ${object.accesses.passed} launch(es)? without probes`));
    });
    const launches = report.calls.filter((call) => call.launches?.accesses?.length || call.accesses?.some((access) => access.object === object.id && access.known_by === "arguments"));
    assert.equal(await page.locator("#detail .accesses .is-passed").count(), launches.length);
  }
  await page.close();
});

test("the timeline's table has every call of the JSON", async (page) => {
  await page.click("#view-timeline");
  await comes(async () => assert.equal(await page.locator("#calls").getAttribute("aria-rowcount"), String(report.calls.length + 1)));
  const launch = report.calls.find((call) => call.kind === "launch");
  await page.evaluate((number) => (location.hash = `call=${number}`), launch.id);
  await comes(async () => {
    const words = await text(page, "#detail");
    assert.ok(words.includes(launch.kernel.replace(/\(.*/, "")), words);
    assert.match(words, /Comes after call \d+/);
    for (const access of launch.accesses) assert.ok(words.includes(report.objects.find((object) => object.id === access.object).name));
  });
});

test("the source has the text of the lines that findings point to", async (page) => {
  await page.click("#view-source");
  const finding = report.findings.findIndex((one) => one.pattern.endsWith("allocation"));
  const frame = report.findings[finding].call_path.find((one) => one.file && /\.(cu|c)$/.test(one.file));
  const file = resolve(source, frame.file.replace(/^(\.\.\/)+/, ""));
  const line = readFileSync(file, "utf8").split("\n")[frame.line - 1];
  await page.evaluate((number) => (location.hash = `view=source&finding=${number}`), finding + 1);
  await comes(async () => {
    const marked = await texts(page, ".view .line.is-selected");
    assert.ok(marked.some((shown) => shown.replace(/\s+/g, " ").includes(line.trim())), `${line} is not in ${marked}`);
  });
});

// What the sites of a JSON report took, by "file:line": sectors and wavefronts, each with those that were needed.
function takenByLine(kernels) {
  const lines = new Map();
  for (const { file, line, requests } of kernels.flatMap((kernel) => kernel.sites)) {
    if (!requests || !file || !line) continue;
    const sum = lines.get(`${file}:${line}`) ?? [0, 0, 0, 0];
    lines.set(`${file}:${line}`, sum);
    const at = requests.sectors === null ? 2 : 0;
    sum[at] += requests.sectors ?? requests.wavefronts;
    sum[at + 1] += requests.needed;
  }
  return lines;
}

async function checkTaken(page, lines) {
  const ratio = (taken, needed) => (needed ? `${(taken / needed).toFixed(1)}x` : "");
  const wanted = [...lines].map(([place, [a, b, c, d]]) => `${place} ${ratio(a, b)} ${ratio(c, d)}`).sort();
  await comes(async () => {
    const shown = [];
    for (const file of await page.locator("details.file").all()) {
      const name = (await file.locator("summary .mono").textContent()).trim();
      for (const row of await file.locator(".line:has(.line-ratio)").all()) {
        const [sectors, wavefronts] = await row.locator(".line-ratio").allTextContents();
        if (/^[\d.]+x$|^$/.test(sectors) && sectors + wavefronts) shown.push(`${name}:${await row.locator(".line-number").textContent()} ${sectors} ${wavefronts}`);
      }
    }
    assert.deepEqual(shown.sort(), wanted);
  });
}

test("source lines have what requests took in the JSON", async (page) => {
  await page.click("#view-source");
  await checkTaken(page, takenByLine(report.kernels));
  const sample = await open("edges/sample.html", { hash: "#view=source" });
  const lines = takenByLine(JSON.parse(readFileSync(`${folder}/sample.json`, "utf8")).kernels);
  assert.deepEqual([...lines.values()], [[3200, 1600, 0, 0]]);
  await checkTaken(sample, lines); // the source is not there
  assert.equal(await sample.locator(".line-ratio.is-poor").count(), 1);
  await sample.close();
});

test("a launch has a grid of the words of shared memory", async () => {
  const sample = await open("edges/sample.html", { hash: "#view=timeline&call=9" });
  const word = () => text(sample, ".shared-array .word");
  await comes(async () => assert.equal(await sample.locator(".shared-array").count(), 1));
  assert.match(await text(sample, ".shared-array h4"), /^rest 1\.0 KiB in each of 8 blocks of .* in the graph$/);
  // The rows of the array are 200 words, 57 that nobody touched, and 4 more.
  assert.match(await sample.locator(".words canvas").getAttribute("aria-label"), /^261 words: up to 32 loads and 2 stores of a word, .* is unknown$/);
  await comes(async () => assert.equal(await sample.locator(".words canvas").getAttribute("data-items"), "261"));
  await sample.focus(".words");
  const found = [];
  for (const key of ["ArrowRight", ...Array(6).fill("ArrowDown"), ...Array(8).fill("ArrowRight"), "ArrowDown", "ArrowDown", "ArrowDown"]) {
    await sample.keyboard.press(key);
    found.push(await word());
  }
  assert.equal(found[0], "word 0 (byte 0, bank 0): 32 loads, 2 stores");
  assert.equal(found[6], "word 192 (byte 768, bank 0): 32 loads, 2 stores");
  assert.equal(found[14], "word 200 (byte 800, bank 8): 0 loads, 0 stores");
  assert.equal(found.at(-1), "word 260 (byte 1,040, bank 4): 0 loads, 1 store"); // the last
  const box = await sample.locator(".words canvas").boundingBox();
  await sample.mouse.move(box.x + (box.width * 1.5) / 32, box.y + 18);
  await comes(async () => assert.equal(await word(), "word 33 (byte 132, bank 1): 32 loads, 2 stores"));
  assert.match(await text(sample, ".shared-array .warning"), /^There were more accesses than these counts/);
  // Another launch of the kernel leads there.
  await sample.evaluate(() => (location.hash = "view=timeline&call=5"));
  await comes(async () => assert.equal(await sample.locator(".shared-array").count(), 0));
  await sample.click('#detail a[href*="call=9"]');
  await comes(async () => assert.equal(await sample.locator(".shared-array").count(), 1));
  await sample.close();
});

// --- Caches: calls 4 to 8 and 21 of this profile launch its kernels, in their order

const launchOf = { product: 4, transpose: 5, stencil: 6, tiny: 7, many: 8, lossy: 21 };
const hitsOf = (kinds) => Object.values(kinds).reduce(([hits, sectors], kind) => [hits + kind.hits, sectors + kind.sectors], [0, 0]);
// As text reports have shares: rounded down.
const percent = (part, whole) => (whole === 0 ? "-" : part >= whole ? "100%" : part === 0 ? "0.0%" : `${(Math.floor((part * 1000) / whole) / 10).toFixed(1)}%`);

test("a launch has bars of what caches serve of its kernel's objects", async () => {
  const page = await open("edges/caches.html");
  const { kernels, objects } = JSON.parse(readFileSync(`${folder}/caches.json`, "utf8"));
  for (const { short, caches } of kernels.filter((kernel) => kernel.short !== "tiny")) {
    await page.evaluate((call) => (location.hash = `view=timeline&call=${call}`), launchOf[short]);
    await comes(async () => assert.equal(await page.locator(".caches tbody tr").count(), caches.objects.length));
    const dram = caches.dram_read_sectors + caches.dram_written_sectors;
    for (const [i, row] of caches.objects.entries()) {
      const own = row.dram_read_sectors + row.dram_written_sectors;
      const cells = await page.locator(".caches tbody tr").nth(i).locator("th, td").allInnerTexts();
      const wanted = [percent(own, dram), percent(...hitsOf(row.l1)), percent(...hitsOf(row.l2)), short === "transpose" && row.object === 1 ? "12.5%" : "-"];
      assert.deepEqual(cells.slice(1).map((cell) => cell.trim()), wanted);
      const name = row.object === null ? "unknown" : objects.find((object) => object.id === row.object).name;
      assert.ok(cells[0].startsWith(name.trim()) && cells[0].includes(bytes(own * 32)), cells[0]);
      const width = await page.locator(".caches tbody tr").nth(i).locator(".is-traffic").evaluate((bar) => bar.style.width);
      assert.ok(Math.abs(parseFloat(width) - (own / dram) * 100) < 0.01, width);
    }
    assert.equal(await page.locator(".caches .warning").count(), caches.lost > 0 ? 1 : 0);
  }
  assert.match(await text(page, ".caches .warning"), /^5,000 of 105,000 records of accesses were lost/);
  assert.match(await page.locator(".caches .cache-cell").nth(2).getAttribute("title"), /^320,000 of 2,560,000 sectors that L2 is asked for; within 1\.5 percentage points by sampling$/);
  assert.match(await text(page, ".caches p"), /^Modelled, not measured: 1 launch of the kernel on h200, with 224\.0 KiB of L1 and 60\.0 MiB of L2; 1 in 16 lines\./);
  // A kernel that takes less than 1 % of the time.
  await page.evaluate((call) => (location.hash = `view=timeline&call=${call}`), launchOf.tiny);
  await comes(async () => assert.match(await text(page, "#detail h2"), /^call 7:/));
  assert.equal(await page.locator(".caches").count(), 0);
  await page.close();
});

test("an object has a curve of hits by the size of a cache", async () => {
  const page = await open("edges/caches.html", { hash: "#object=2" });
  const size = (i) => page.locator(".reuse .size").nth(i).innerText();
  await comes(async () => assert.deepEqual(await texts(page, ".reuse h4"), ["product", "stencil"]));
  assert.equal(await size(0), "L1 of today's 224.0 KiB would serve 50.0%, of twice that 50.0%; L2 of today's 60.0 MiB would serve 25.0%, of twice that 25.0%");
  assert.equal(await size(1), "L1 of today's 224.0 KiB would serve 25.0%, of twice that 71.8%; L2 of today's 60.0 MiB would serve 8.3%, of twice that 8.3%");
  assert.equal(await page.locator(".reuse canvas").first().getAttribute("aria-label"), await size(0));
  await comes(async () => assert.ok(Number(await page.locator(".reuse canvas").first().getAttribute("data-items")) > 100));
  await page.locator(".reuse-curve").first().focus();
  const found = [];
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press("ArrowRight");
    await settle(page);
    found.push(await size(0));
  }
  assert.equal(found[0], "128 B: L1 would serve 0.0%, L2 would serve 0.0%");
  assert.equal(found[8], "32.0 KiB: L1 would serve 50.0%, L2 would serve 0.0%");
  assert.equal(found[14], "2.0 MiB: L1 would serve 50.0%, L2 would serve 25.0%");
  assert.equal(found[21], "256.0 MiB: L1 would serve 50.0%, L2 would serve 25.0%");
  assert.equal(found[22], "512.0 MiB: L1 would serve 50.0%, L2 would serve 87.5%");
  assert.equal(found.at(-1), found.at(-2)); // the end
  const box = await page.locator(".reuse-curve").nth(1).boundingBox();
  await page.mouse.move(box.x + box.width - 5, box.y + 20);
  await comes(async () => assert.match(await size(1), /: L1 would serve 87\.5%, L2 would serve 91\.6%$/));
  await page.evaluate(() => (location.hash = "object=4")); // has no distances
  await comes(async () => assert.equal(await page.locator(".reuse").count(), 0));
  await page.close();
});

test("without requests there are no columns for them", async (_, large) => {
  await large.click("#view-source");
  await comes(async () => assert.ok((await large.locator(".line").count()) > 0));
  assert.equal(await large.locator(".line-ratio").count(), 0);
  await large.click("#view-overview");
});

test("the value flow has the vertices and edges of the JSON", async (page) => {
  const { vertices, edges } = report.value_flow;
  const shown = vertices.filter((vertex) => vertex.calls > 0 || edges.some((edge) => edge.from === vertex.id || edge.to === vertex.id));
  await page.click("#view-flow");
  await comes(async () => {
    const label = await page.locator("#flow-graph").getAttribute("aria-label");
    assert.match(label, new RegExp(`^value flow graph with ${shown.length} vertices and ${edges.length} edges`));
    assert.equal(await page.locator("#vertices").getAttribute("aria-rowcount"), String(shown.length + 1));
  });
  for (const vertex of shown) {
    await page.evaluate((number) => (location.hash = `vertex=${number}`), vertex.id);
    await comes(async () => {
      const words = await text(page, "#detail");
      assert.ok(words.startsWith(`× ${vertex.id} ${vertex.name} kind ${vertex.kind}`), words);
      for (const edge of edges.filter((one) => one.from === vertex.id || one.to === vertex.id)) assert.ok(words.includes(bytes(edge.bytes)), `${words}: ${edge.bytes}`);
    });
  }
});

// --- What can be done

test("a vertex is selected by a click, its slice is shown, and limits leave out edges", async (page) => {
  const { vertices, edges } = report.value_flow;
  const counts = async () => {
    const label = await page.locator("#flow-graph").getAttribute("aria-label");
    return label.match(/[\d,]+/g).map(Number);
  };
  await page.click("#view-flow");
  await comes(async () => assert.equal((await counts())[1], edges.length));
  // The middle of the figure has something: a click on the canvas where the pointer says so selects it.
  const box = await page.locator("#flow-graph").boundingBox();
  let found = false;
  for (let y = box.y + 10; y < box.y + box.height && !found; y += 12) {
    for (let x = box.x + 10; x < box.x + box.width - 130 && !found; x += 24) {
      await page.mouse.move(x, y);
      found = (await page.locator(".flow-tip .soft").count()) > 0 && /^(launch|allocation)/.test(await text(page, ".flow-tip .soft"));
      if (found) await page.mouse.click(x, y);
    }
  }
  assert.ok(found, "no vertex under the pointer");
  await comes(async () => assert.match(await hash(page), /^#vertex=\d+$/));
  const id = Number((await hash(page)).slice(8));
  const used = new Set(edges.filter((edge) => edge.from === id || edge.to === id).map((edge) => edge.object));
  await page.check("#flow-only");
  await comes(async () => {
    const [, shown] = await counts();
    assert.ok(shown > 0 && shown <= edges.filter((edge) => used.has(edge.object)).length && shown < edges.length, `${shown} of ${edges.length}`);
  });
  await page.uncheck("#flow-only");
  await comes(async () => assert.equal((await counts())[1], edges.length));
  await page.focus("#flow-bytes");
  await page.keyboard.press("End");
  const most = Math.max(...edges.map((edge) => edge.bytes));
  await comes(async () => assert.equal((await counts())[1], edges.filter((edge) => edge.bytes === most).length));
  await page.keyboard.press("Home");
  await page.focus("#flow-calls");
  await page.keyboard.press("End");
  const joined = vertices.filter((vertex) => edges.some((edge) => edge.from === vertex.id || edge.to === vertex.id)).length;
  await comes(async () => assert.equal((await counts())[0], joined));
});

test("the keyboard moves through the value flow", async (page) => {
  const launch = report.value_flow.vertices.find((vertex) => vertex.kind === "launch");
  await page.evaluate((number) => (location.hash = `vertex=${number}`), launch.id);
  await page.waitForSelector("#flow-graph");
  await page.focus("#flow-graph");
  await page.keyboard.press("ArrowLeft");
  await comes(async () => assert.notEqual(await hash(page), `#vertex=${launch.id}`));
  const sight = () => page.evaluate(() => document.querySelector("#flow-graph canvas").toDataURL());
  const before = await sight();
  await page.keyboard.press("+");
  await settle(page);
  await comes(async () => assert.notEqual(await sight(), before));
  await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("0");
  await page.keyboard.press("Escape");
  await comes(async () => assert.equal(await page.locator("#detail").count(), 0));
});

test("tables are sorted by their headings", async (page) => {
  await page.click("#view-objects");
  const sizes = async () => (await texts(page, "#objects .row .cell:nth-child(1)")).map(Number);
  const heading = page.locator('#objects [role="columnheader"]').first();
  await comes(async () => assert.equal(await heading.getAttribute("aria-sort"), "ascending"));
  const before = await sizes();
  await heading.locator("button").click();
  await comes(async () => assert.equal(await heading.getAttribute("aria-sort"), "descending"));
  await comes(async () => assert.deepEqual(await sizes(), [...before].reverse()));
});

test("the search filters, and says when nothing is left", async (page) => {
  const name = report.objects[0].name;
  await page.click("#view-objects");
  await page.fill("#search", name);
  await page.waitForFunction((count) => document.querySelectorAll("#objects .row").length === count, report.objects.filter((object) => object.name.includes(name)).length);
  await page.fill("#search", "no such thing");
  await page.waitForSelector("text=No object matches the search.");
});

test("a finding is selected by a click, and leads to its object and its calls", async (page) => {
  await page.click("#findings-1");
  await comes(async () => assert.equal(await hash(page), "#finding=1"));
  await comes(async () => assert.equal(await page.locator("#findings-1").getAttribute("aria-selected"), "true"));
  const object = report.findings[0].object;
  await page.click(`#detail a[href="#object=${object}"]`);
  await page.waitForSelector("#objects");
  const index = report.objects.findIndex((one) => one.id === object);
  await comes(async () => assert.equal(await page.locator(`#objects-${index}`).getAttribute("aria-selected"), "true"));
  await page.click('#detail a[href^="#call="]');
  await page.waitForSelector("#timeline-lanes");
  await page.click(".close");
  await comes(async () => assert.equal(await page.locator("#detail").count(), 0));
});

test("light and dark: the system's, then the reader's, and text can be read in both", async (page) => {
  const dark = await open("small.html", { colorScheme: "dark" });
  const theme = (of) => of.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(dark), "dark");
  assert.equal(await theme(page), "light");
  for (const of of [dark, page]) {
    const contrast = await of.evaluate(() => {
      const style = getComputedStyle(document.documentElement);
      const light = (name) => {
        const hex = style.getPropertyValue(name).trim();
        const part = (at) => {
          const value = parseInt(hex.slice(at, at + 2), 16) / 255;
          return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
        };
        return 0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5);
      };
      const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
      return ["--text", "--muted", "--accent", "--waste"].flatMap((name) => ["--background", "--panel", "--selected"].map((on) => [name, on, ratio(name, on)]));
    });
    for (const [name, on, ratio] of contrast) assert.ok(ratio >= 4.5, `${name} on ${on}: ${ratio}`);
  }
  const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await colour();
  await page.click("#theme");
  await comes(async () => assert.equal(await theme(page), "dark"));
  await comes(async () => assert.notEqual(await colour(), before));
  await dark.close();
});

test("a link opens where it points to", async () => {
  const page = await open("small.html", { hash: "#view=memory&object=1" });
  await page.waitForSelector("#memory-chart");
  await comes(async () => assert.ok((await text(page, "#detail")).includes(report.objects[0].name)));
  await comes(async () => assert.equal(await page.locator("#view-memory").getAttribute("aria-current"), "page"));
  await page.close();
});

test("the keyboard is enough", async (page) => {
  await page.keyboard.press("3");
  await page.waitForSelector("#objects");
  await page.focus("#objects .body");
  await page.keyboard.press("ArrowDown");
  await comes(async () => assert.equal(await hash(page), `#object=${report.objects[0].id}`));
  await page.keyboard.press("End");
  await comes(async () => assert.equal(await hash(page), `#object=${report.objects.at(-1).id}`));
  await page.keyboard.press("Escape");
  await comes(async () => assert.equal(await page.locator("#detail").count(), 0));
  await page.keyboard.press("2");
  await page.focus("#moment");
  const moment = () => page.locator("#moment").getAttribute("aria-valuetext");
  const peak = await moment();
  await page.keyboard.press("Home");
  await comes(async () => assert.notEqual(await moment(), peak));
  const first = await moment();
  await page.keyboard.press("ArrowRight");
  await comes(async () => assert.notEqual(await moment(), first));
  await page.keyboard.press("/");
  await comes(async () => assert.equal(await page.evaluate(() => document.activeElement?.id), "search"));
  await page.keyboard.press("Escape");
  await comes(async () => assert.notEqual(await page.evaluate(() => document.activeElement?.id), "search"));
  await page.keyboard.press("t");
  await comes(async () => assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark"));
});

test("the peak is chosen at first, and the objects alive then are those of the JSON", async (page) => {
  await page.click("#view-memory");
  const peak = report.summary.peaks[0];
  const names = peak.objects.map((id) => report.objects.find((object) => object.id === id).name).sort();
  await comes(async () => {
    assert.match(await text(page, ".above-table"), new RegExp(`^${bytes(peak.bytes)} in use after call ${peak.start}\\b`));
    assert.deepEqual((await texts(page, "#alive .row .cell:nth-child(1)")).map((name) => name.trim()).sort(), names);
  });
});

test("on paper all findings that are worthwhile stand with what to do", async (page) => {
  await page.emulateMedia({ media: "print" });
  await page.waitForSelector(".printed");
  await comes(async () => assert.equal(await page.locator(".printed li").count(), worthwhile.length));
  await comes(async () => assert.equal(await page.locator("nav").isVisible(), false));
});

// --- Large, and hostile

const WAIT = { timeout: 20000 };
const nodes = (page) => page.evaluate(() => document.querySelectorAll("*").length);
const items = (page, selector) => page.evaluate((one) => Number(document.querySelector(`${one} canvas`)?.dataset.items), selector);

test("large: only what is in sight exists and is drawn", async (_, page) => {
  assert.ok((await nodes(page)) < 2000, `${await nodes(page)} nodes`);
  await page.click("#view-objects");
  await page.focus("#objects .body");
  await page.keyboard.press("End"); // a group of alike objects
  await page.waitForSelector("#objects .row[aria-selected=true][aria-expanded=false]", WAIT);
  await page.keyboard.press("ArrowRight");
  await page.waitForSelector("#objects .row[aria-selected=true][aria-expanded=true]", WAIT);
  await page.keyboard.press("End");
  await page.waitForFunction(() => location.hash === "#object=4500", null, WAIT);
  assert.ok((await nodes(page)) < 2000, `${await nodes(page)} nodes`);
  for (let i = 0; i < 6; i++) await page.keyboard.press("+");
  await settle(page);
  assert.ok((await items(page, "#objects .lane-canvas")) < 20000);
  await page.click("#view-timeline");
  await page.waitForSelector("#calls .row", WAIT);
  assert.ok((await items(page, ".timeline-canvas")) < 20000);
  await page.focus("#calls .body");
  await page.keyboard.press("End");
  await page.waitForFunction(() => location.hash.includes("call=100000"), null, WAIT);
  await page.fill("#search", "kernel_7");
  await page.waitForFunction(() => [...document.querySelectorAll("#calls .row .cell:nth-child(3)")].every((cell) => cell.textContent === "kernel_7"), null, WAIT);
  await page.fill("#search", "");
  await page.click("#view-source");
  assert.ok((await nodes(page)) < 8000, `${await nodes(page)} nodes`);
});

test("large: the value flow starts with what is important, and draws only what is in sight", async (_, page) => {
  await page.click("#view-flow");
  await page.waitForSelector("#vertices .row", WAIT);
  const edges = async () => Number((await page.locator("#flow-graph").getAttribute("aria-label")).match(/ ([\d,]+) edges/)[1].replace(",", ""));
  assert.ok((await edges()) > 0 && (await edges()) <= 400, `${await edges()} edges`);
  await page.focus("#flow-bytes");
  await page.keyboard.press("Home");
  await page.waitForFunction(() => / 5,000 edges/.test(document.querySelector("#flow-graph").getAttribute("aria-label")), null, WAIT);
  assert.ok(Number(await page.locator("#flow-graph").getAttribute("data-operations")) < 20e6);
  assert.ok((await nodes(page)) < 2000, `${await nodes(page)} nodes`);
  await settle(page);
  const whole = await items(page, ".flow-canvas");
  await page.focus("#flow-graph");
  for (let i = 0; i < 12; i++) await page.keyboard.press("+");
  await settle(page);
  await comes(async () => assert.ok((await items(page, ".flow-canvas")) < whole / 2));
});

test("names that look like the page's own are only text", async (_, page) => {
  await page.goto(`file://${folder}/large.html#object=5`);
  await page.waitForFunction(() => document.querySelector("#detail h2")?.textContent?.startsWith("</script><img src=x"), null, WAIT);
  assert.equal(await page.locator("img").count(), 0);
  assert.notEqual(await page.title(), "harmed");
});

test("the value flow says how much of a write was redundant, and can leave out the rest", async () => {
  const page = await open("edges/flow.html", { hash: "#vertex=8" });
  await comes(async () => {
    const words = await text(page, "#detail");
    assert.match(words, /^× 8 fill kind launch/);
    assert.match(words, /B_dev 8.0 KiB, 50.0% redundant cudaMemset figure.cu:4/);
    assert.match(words, /B_dev 16.0 KiB, 0.0% redundant move figure.cu:7/);
    assert.match(words, /Called from main figure.cu:6/);
  });
  const label = () => page.locator("#flow-graph").getAttribute("aria-label");
  assert.match(await label(), /with 9 vertices and 8 edges/);
  await page.focus("#flow-share");
  for (let percent = 0; percent < 51; percent++) await page.keyboard.press("ArrowRight");
  await page.focus("#flow-calls");
  await page.keyboard.press("End");
  await comes(async () => assert.match(await label(), /with 2 vertices and 1 edge:/));
  await page.close();
});

test("gains that are upper bounds are shown as such", async () => {
  const { findings } = JSON.parse(readFileSync(`${folder}/values.json`, "utf8"));
  const wanted = findings.filter((finding) => finding.worthwhile && finding.worth.traffic_bytes);
  const words = wanted.map((finding) => `${finding.evidence.upper_bound ? "up to " : ""}${bytes(finding.worth.traffic_bytes)}`);
  assert.ok(words.some((one) => one.startsWith("up to ")) && words.some((one) => !one.startsWith("up to ")));
  const page = await open("edges/values.html", { viewport: { width: 1300, height: 3000 } });
  await comes(async () => {
    const rows = await page.locator("#findings [role=row]").all();
    const cells = await Promise.all(rows.map(async (row) => (await row.innerText()).replace(/\s+/g, " ")));
    for (const [i, one] of words.entries()) {
      const row = cells.find((cell) => cell.includes(plain(wanted[i].message)));
      assert.ok(row?.endsWith(` ${one}`) && (one.startsWith("up to ") || !row.endsWith(` up to ${one}`)), `${row}: ${one}`);
    }
  });
  await page.close();
});

test("profiles at the edges are shown in every view", async () => {
  const files = readdirSync(`${folder}/edges`).filter((name) => name.endsWith(".html"));
  assert.equal(files.length, 8);
  for (const file of files) {
    const page = await open(`edges/${file}`, { hash: "#view=memory&object=1" });
    for (const view of ["overview", "memory", "objects", "timeline", "source", "flow"]) {
      await page.click(`#view-${view}`);
      await comes(async () => assert.ok(await page.locator(".view").isVisible(), `${file}: ${view}`));
    }
    await page.close();
  }
});

await finish();
