// SPDX-License-Identifier: Apache-2.0
// Drives the page of a job. page.mjs BROWSER FOLDER, with job.html, job.json and simulated.html in FOLDER.
import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import assert from "node:assert/strict";

const [browserPath, folder] = process.argv.slice(2);
const report = JSON.parse(readFileSync(`${folder}/job.json`, "utf8"));
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
const troubles = [];

async function open(file) {
  const page = await browser.newPage({ viewport: { width: 1300, height: 800 } });
  page.on("console", (message) => troubles.push(`${file}: console: ${message.text()}`));
  page.on("pageerror", (error) => troubles.push(`${file}: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(`file://${folder}/${file}`) && !request.url().startsWith("data:")) troubles.push(`${file}: asks for ${request.url()}`);
  });
  await page.goto(`file://${folder}/${file}`);
  await page.waitForSelector(".row");
  return page;
}
// What a click changes is drawn a moment later, on a busy machine after many.
async function eventually(check) {
  for (let tries = 0; tries < 100; tries++) {
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof assert.AssertionError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  return check();
}
const rows = (page) => page.locator(".row").allInnerTexts();
const heat = (page, row, cell) => page.locator(".row").nth(row).locator(".number").nth(cell).evaluate((element) => Number(/,\s*([\d.]+)\)$/.exec(getComputedStyle(element).backgroundColor)?.[1] ?? 1));
const words = (text) => text.replace(/\s+/g, " ").trim();

const page = await open("job.html");
assert.match(words(await page.locator("header").innerText()), /stencil --steps 100 200 of 200 ranks on 50 hosts/);
// Only the rows in view are in the document.
assert.ok((await rows(page)).length < 100);
assert.match(words((await rows(page))[0]), /^rank 0 node0 73\.0 MiB 520\.0 us 130\.0 us 1$/);
// The rank with the most memory comes first when sorted, is the hottest, and links to its own page.
await page.getByRole("button", { name: "Peak" }).click();
await eventually(async () => assert.match(words((await rows(page))[0]), /^rank 150 node37 137\.0 MiB .* page$/));
assert.equal(await heat(page, 0, 0), 0.75);
assert.equal(await heat(page, 1, 0), 0);
assert.equal(await page.locator(".row a").first().getAttribute("href"), "rank-00150.html");
assert.equal(await page.locator(".row a").count(), 1);
// So is the one that waits.
await page.getByRole("button", { name: "Waiting" }).click();
await eventually(async () => assert.match(words((await rows(page))[0]), /^rank 2 node0 73\.0 MiB 520\.0 us 1\.3 ms 1$/));
// A click shows the numbers of one rank, beside the means.
await page.locator(".row").first().click();
const aside = async (page) => words(await page.locator("aside").innerText());
await eventually(async () => assert.match(await aside(page), /^rank 2 on node0, peak 73\.0 MiB, GPU time 520\.0 us, waiting 1\.3 ms/));
const detail = await aside(page);
assert.match(detail, /kernel_1 7 7 140\.0 us 140\.0 us/);
assert.match(detail, /cuStreamSynchronize at stencil\.cu:60 13 13 1\.3 ms 135\.8 us/);
assert.match(detail, /Collectives times mean bytes mean ncclAllReduce of float32 among 200 ranks at stencil\.cu:100 13 13 26\.0 MiB 26\.0 MiB /);
assert.match(detail, /Ranges of NVTX times mean time mean range exchange 13 13 156\.0 us 156\.0 us /);
assert.match(detail, /unused-allocation at stencil\.cu:30/);
assert.equal(new URL(page.url()).hash, "#rank%202");
await page.keyboard.press("ArrowDown");
await eventually(async () => assert.notEqual(new URL(page.url()).hash, "#rank%202"));
// Findings and differences are those of the report.
const sections = words(await page.locator("section").innerText());
for (const finding of report.findings.filter(({ worthwhile }) => worthwhile)) assert.ok(sections.includes(finding.message));
assert.ok(sections.includes("field` at stencil.cu:10, at the peak: rank 150 128.0 MiB; median 64.0 MiB"));
await page.getByRole("button", { name: "rank 150" }).first().click();
await eventually(async () => assert.match(await aside(page), /^rank 150 .* The page of this rank/));
await eventually(async () => assert.equal(await page.locator('.row[aria-selected="true"]').count(), 1));
// The address names the rank.
await page.goto(`file://${folder}/job.html#rank%207`);
await page.reload();
await page.waitForSelector("aside h2");
assert.equal(await page.locator("aside h2").first().innerText(), "rank 7");

// Times of the simulated GPU are not shown; missing ranks are.
const simulated = await open("simulated.html");
assert.equal(await simulated.getByRole("button", { name: "GPU time" }).count(), 0);
assert.match(words(await simulated.locator("header").innerText()), /2 of 3 ranks on 1 host; on a simulated GPU, whose times are not real missing: rank 1/);
await simulated.locator(".row").first().click();
assert.doesNotMatch(await simulated.locator("body").innerText(), /\d (ns|us|ms|s)\b/);

assert.deepEqual(troubles, []);
await browser.close();
