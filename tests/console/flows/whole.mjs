// From an empty database to a run that uses a webhook tool and an MCP server: whole.mjs, in a stack
// of its own.
import { spawn } from 'node:child_process';
import { check } from '../harness.mjs';

const own_stack = (environment) =>
  new Promise((resolve) => {
    const given = ['tests/console/whole.mjs'];
    const child = spawn('dev/stack/with-stack', [process.execPath, ...given], {
      env: { ...process.env, MODEL: 'none', ...environment },
    });
    let text = '';
    child.stdout.on('data', (piece) => (text += piece));
    child.stderr.on('data', (piece) => (text += piece));
    child.on('close', (status) => resolve({ status, text }));
  });

export const flows = {
  'an empty platform becomes one whose agent calls a webhook tool and an MCP server': async () => {
    const { status, text } = await own_stack({ PICTURES: '' });
    check(status === 0, text.slice(-3000));
  },
};
