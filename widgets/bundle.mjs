/**
 * Builds the widget to the one file that the package ships.
 *
 * Two things are done on the way: the style is minified before it becomes a string, and
 * of marked only the lexer is taken; its renderers make markup, which nothing here does.
 */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";

const TARGET = "es2022";
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const style = {
  name: "style",
  setup(plugin) {
    plugin.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const options = { loader: "css", minify: true, target: TARGET };
      const { code } = await transform(await readFile(path, "utf8"), options);
      return { contents: code.trim(), loader: "text" };
    });
  },
};

const lexer = {
  name: "lexer",
  setup(plugin) {
    plugin.onLoad({ filter: /marked\.esm\.js$/ }, async ({ path }) => {
      const whole = await readFile(path, "utf8");
      return { contents: onlyLexer(whole) ?? whole, loader: "js" };
    });
  },
};

/** The module up to the instance it makes of itself, exporting only the lexer. */
function onlyLexer(source) {
  const instance = /;var \w+=new \w+;function \w+\(\w+,\w+\)\{return \w+\.parse\(/;
  const end = source.search(instance);
  const name = /export\{.*?(\w+) as Lexer\b/.exec(source)?.[1];
  if (end === -1 || name === undefined) return null;
  return `${source.slice(0, end + 1)}export{${name} as Lexer};`;
}

await build({
  entryPoints: [here("src/index.ts")],
  outfile: process.argv[2] ?? here("../bread_nb/notebook/static/widget.js"),
  bundle: true,
  minify: true,
  format: "esm",
  target: TARGET,
  charset: "utf8",
  legalComments: "eof",
  logLevel: "warning",
  plugins: [style, lexer],
});
