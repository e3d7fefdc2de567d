// SPDX-License-Identifier: Apache-2.0
// Bundles the page of a profile and that of a job, and writes them as C string literals, one per line. web/build runs this in the build folder.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";

// preact's licence asks for its text in every copy, and its files have no comment that esbuild would keep.
const { version } = JSON.parse(readFileSync("node_modules/preact/package.json", "utf8"));
const licence = readFileSync("node_modules/preact/LICENSE", "utf8").trim();
if (licence.includes("*/")) throw new Error("preact's licence would end its comment");

await build({
  entryPoints: { page: "src/main.tsx", job: "src/job.tsx" },
  outdir: ".",
  bundle: true,
  minify: true,
  charset: "ascii",
  format: "iife",
  target: ["chrome100", "firefox100", "safari16"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "inline",
  banner: { js: `/*! With preact ${version}, under this licence:\n\n${licence}\n*/` },
});

for (const name of ["page.js", "page.css", "job.js", "job.css"]) {
  const text = readFileSync(name, "utf8");
  if (/<\/(script|style)/i.test(text)) throw new Error(`${name} would end its element`);
  const pieces = text.match(/[^]{1,200}/g) ?? [""];
  const literal = (piece) =>
    '"' + piece.replace(/[\\"?]/g, "\\$&").replace(/\n/g, "\\n").replace(/[^\x20-\x7e]/g, octal) + '"';
  writeFileSync(`${name}.inc`, pieces.map(literal).join("\n") + "\n");
}

// Escapes each byte of a character that is not plain ASCII.
function octal(character) {
  return [...Buffer.from(character, "utf8")].map((byte) => "\\" + byte.toString(8).padStart(3, "0")).join("");
}
