// The source archive brings the console along, and what is made of the archive needs no network.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import assert from 'node:assert/strict';

const folder = mkdtempSync(join(tmpdir(), 'archive-'));
after(() => rmSync(folder, { recursive: true }));
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(MAKE|MFLAGS)/.test(name)),
);
const make_dist = (cwd) => {
  execFileSync('make', ['-s', 'dist'], { cwd, env: environment, stdio: 'ignore' });
  const [name] = readdirSync(join(cwd, 'build')).filter((each) => each.endsWith('.tar.gz'));
  return join(cwd, 'build', name);
};
const listed = (archive) =>
  execFileSync('tar', ['-tzf', archive], { encoding: 'utf8', maxBuffer: 1 << 26 }).split('\n');

const first = make_dist('.');
execFileSync('tar', ['-xzf', first, '-C', folder]);
const unpacked = join(folder, readdirSync(folder)[0]);

test('the archive has the console as it was built, its names hashed, with licences', () => {
  const built = readdirSync(join(unpacked, 'build/console'));
  assert.deepEqual(built.sort(), readdirSync('build/console').sort());
  for (const name of built) {
    assert.match(name, /^([a-z_]+-[0-9A-Z]{8}|index|licences)\./);
  }
  const licences = readFileSync(join(unpacked, 'build/console/licences.txt'), 'utf8');
  for (const name of ['preact', 'htm', 'uplot', 'lean-qr']) {
    assert.match(licences, new RegExp(`^${name} \\d[\\d.]+ \\(`, 'm'));
  }
});

test('an unpacked archive makes the same archive again', () => {
  assert.deepEqual(listed(make_dist(unpacked)), listed(first));
});

test('where npm is missing the console stays as it came, until its sources change', () => {
  const programs = join(folder, 'programs');
  mkdirSync(programs);
  for (const name of ['bash', 'dirname', 'find', 'realpath', 'rm']) {
    symlinkSync(`/usr/bin/${name}`, join(programs, name));
  }
  const build = () =>
    execFileSync('bash', ['console/build.sh', 'build/console', 'build/console_tools'], {
      cwd: unpacked,
      env: { PATH: programs },
      encoding: 'utf8',
    });
  const touch = (path, time) => utimesSync(join(unpacked, path), time, time);
  touch('build/console/index.html', new Date());
  assert.match(build(), /^The console stays as it is: node is missing/);
  assert.ok(existsSync(join(unpacked, 'build/console/index.html')));
  touch('console/main.mjs', new Date(Date.now() + 1000));
  assert.match(build(), /^No console: node is missing/);
  assert.ok(!existsSync(join(unpacked, 'build/console')));
});
