// The console's sources against docs/openapi.yaml: a call, or a member of an answer, that the
// document does not have fails here.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import assert from 'node:assert/strict';

const tools = process.env.CONSOLE_TOOLS;
const out = 'build/console_types';

test('calls nothing, and reads no member, that the document does not have', () => {
  mkdirSync(out, { recursive: true });
  const json = join(out, 'openapi.json');
  const types = join(out, 'document.d.ts');
  execFileSync('/usr/bin/python3', [
    'docs/openapi_to_json.py',
    'docs/openapi.yaml',
    json,
    join(out, 'openapi_json.h'),
  ]);
  execFileSync(process.execPath, ['console/types/from_openapi.mjs', json, types]);
  assert.match(readFileSync(types, 'utf8'), /"GET \/v1\/runs\/\*": \{ query/);
  const tsc = join(tools, 'node_modules/typescript/bin/tsc');
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', 'console/tsconfig.json'], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stdout);
});
