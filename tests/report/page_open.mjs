// SPDX-License-Identifier: Apache-2.0
// What the tests of the page share: a browser, pages that must neither fail nor ask for anything, and helpers that read
// them. FILE.mjs BROWSER FOLDER SOURCE, with small.html, small.json and large.html in FOLDER.
import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import assert from "node:assert/strict";

const [browserPath] = process.argv.slice(2);
export const [folder, source] = process.argv.slice(3);
export const report = JSON.parse(readFileSync(`${folder}/small.json`, "utf8"));
export const worthwhile = report.findings.filter((finding) => finding.worthwhile);
export const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
const troubles = [];

export async function open(file, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1300, height: 800 }, ...options });
  page.on("console", (message) => troubles.push(`${file}: console: ${message.text()}`));
  page.on("pageerror", (error) => troubles.push(`${file}: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(`file://${folder}/${file}`) && !request.url().startsWith("data:"))
      troubles.push(`${file}: asks for ${request.url()}`);
  });
  await page.goto(`file://${folder}/${file}${options.hash ?? ""}`);
  await page.waitForSelector("nav");
  return page;
}

// Formats bytes like src/report/units.c.
export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let unit = 0;
  for (; value >= 1024; unit++) value /= 1024;
  return unit ? `${value.toFixed(1)} ${units[unit]}` : `${value} B`;
}

export const text = async (page, selector) => (await page.locator(selector).first().innerText()).replace(/\s+/g, " ").trim();
export const plain = (sentence) => sentence.replaceAll("`", "").replace(/\s+/g, " ");
export const texts = (page, selector) => page.locator(selector).allInnerTexts();
export const settle = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
// The page reacts to an action asynchronously, so a check is repeated until it holds or time is up.
export async function comes(check) {
  for (const end = Date.now() + 120000; ; ) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((done) => setTimeout(done, 50));
    }
  }
}
export const hash = (page) => page.evaluate(() => location.hash);
const tests = [];
export const test = (name, run) => tests.push([name, run]);

// Runs the tests, each with a new small page and all with one large page, and ends the process.
export async function finish() {
  let failed = 0;
  const large = await open("large.html");
  for (const [name, run] of tests) {
    const page = await open("small.html");
    try {
      await run(page, large);
      assert.deepEqual(troubles, []);
      console.log(`ok: ${name}`);
    } catch (error) {
      failed++;
      troubles.length = 0;
      console.log(`FAILED: ${name}\n${error.stack}`);
    }
    await page.close();
  }
  await browser.close();
  process.exit(failed ? 1 : 0);
}
