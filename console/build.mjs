// Bundles the console:   node build.mjs OUT_DIR NODE_MODULES      called by `make console`. Writes
// OUT_DIR from scratch: index.html, everything else under a name with its hash, a .gz beside what
// is text and the licences of what is bundled. Fails when the first page is over its size.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const first_page_bytes = 90 * 1024;
const here = dirname(fileURLToPath(import.meta.url));
const [out, modules] = process.argv.slice(2, 4).map((path) => resolve(path));
const require = createRequire(join(modules, 'x.js'));
const esbuild = require('esbuild');

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const result = await esbuild.build({
  absWorkingDir: here,
  entryPoints: { app: 'main.mjs', style: 'style.css' },
  outdir: out,
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  charset: 'utf8',
  legalComments: 'none',
  nodePaths: [modules],
  metafile: true,
  logLevel: 'warning',
});

const outputs = Object.entries(result.metafile.outputs).map(([path, about]) => ({
  name: path.slice(path.lastIndexOf('/') + 1),
  entry: about.entryPoint,
  imports: about.imports,
  inputs: Object.keys(about.inputs),
}));
const name_of = (entry) => outputs.find((output) => output.entry === entry).name;

// Pictures are files too: each gets a name with its hash, which the page and the code find in the
// page.
const picture = (source) => {
  const bytes = readFileSync(join(here, source));
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 8).toUpperCase();
  const name = source.replace('.svg', `-${hash}.svg`);
  writeFileSync(join(out, name), bytes);
  return name;
};
const static_imports = (name) =>
  outputs
    .find((output) => output.name === name)
    .imports.filter((used) => used.kind === 'import-statement')
    .map((used) => used.path.split('/').pop());
// With these the browser asks for modules before it has read the file that imports them.
const preloads = (name) =>
  static_imports(name).map((used) => `<link rel="modulepreload" href="${used}">`);
const words = {
  APP: name_of('main.mjs'),
  PRELOADS: preloads(name_of('main.mjs')).join('\n'),
  STYLE: name_of('style.css'),
  ICON: picture('icon.svg'),
  NOTICE_ICON: picture('icon_notice.svg'),
  ICONS: readFileSync(join(here, 'icons.svg'), 'utf8').replace(/^<!--.*-->\n/, '').trimEnd(),
};
const page = readFileSync(join(here, 'index.html'), 'utf8').replace(
  /@([A-Z_]+)@/g,
  (whole, word) => words[word] ?? whole,
);
writeFileSync(join(out, 'index.html'), page);

// ------------------------------------------------ licences of what is in the bundle

const packages = new Set();
for (const output of outputs) {
  for (const input of output.inputs) {
    const found = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
    if (found) packages.add(found[1]);
  }
}
const licences = [...packages].sort().map((name) => {
  const folder = join(modules, name);
  const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} comes without the text of its licence`);
  const text = readFileSync(join(folder, file), 'utf8').trim();
  return `${name} ${about.version} (${about.license})\n\n${text}\n`;
});
const line = `\n${'-'.repeat(78)}\n\n`;
const preface = 'The console contains these packages.\n';
const of_icons = readFileSync(join(here, 'icons_licence.txt'), 'utf8').trim();
licences.push(`Lucide icons (ISC)\n\n${of_icons}\n`);
writeFileSync(join(out, 'licences.txt'), [preface, ...licences].join(line));

// ------------------------------------------------ compressed beside it, and weighed

const first = new Set(['index.html', words.STYLE]);
const add_with_imports = (name) => {
  if (first.has(name)) return;
  first.add(name);
  static_imports(name).forEach(add_with_imports);
};
add_with_imports(words.APP);

let first_size = 0;
for (const name of readdirSync(out)) {
  const packed = gzipSync(readFileSync(join(out, name)), { level: 9 });
  writeFileSync(join(out, `${name}.gz`), packed);
  if (first.has(name)) first_size += packed.length;
}
console.log(`  the console's first page: ${(first_size / 1024).toFixed(1)} KiB compressed`);
if (first_size > first_page_bytes) {
  rmSync(out, { recursive: true, force: true });
  throw new Error(`the first page may have ${first_page_bytes} bytes, and has ${first_size}`);
}
