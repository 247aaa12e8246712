// The daemon of the private stack, killed with SIGKILL and started again as it was: for tests from
// outside. Needs the names of the stack's environment (dev/stack/with-stack).
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { spawn } = require('node:child_process');

const nulls = (file) => fs.readFileSync(file, 'utf8').split('\0').filter((part) => part !== '');

class Runner {
  constructor() {
    this.record = path.join(path.dirname(process.env.METRICS_RUNNER), 'hostler-runner.pid');
    // As it runs now: another test may have started it again with settings of its own.
    this.pid = Number(fs.readFileSync(this.record, 'utf8').split(' ')[0]);
    const proc = `/proc/${this.pid}`;
    this.command = nulls(`${proc}/cmdline`);
    this.environment = Object.fromEntries(nulls(`${proc}/environ`).map((entry) => {
      const at = entry.indexOf('=');
      return [entry.slice(0, at), entry.slice(at + 1)];
    }));
    const status = fs.readFileSync(`${proc}/status`, 'utf8');
    this.uid = Number(status.match(/^Uid:\s+(\d+)/m)[1]);
    this.gid = Number(status.match(/^Gid:\s+(\d+)/m)[1]);
    this.log = fs.readlinkSync(`${proc}/fd/1`);
  }

  async kill() {
    process.kill(this.pid, 'SIGKILL');
    // Its lock is free when the last of its threads has gone.
    const ended = () => {
      try {
        const state = fs.readFileSync(`/proc/${this.pid}/stat`, 'utf8').split(') ')[1];
        return state.startsWith('Z') && fs.readdirSync(`/proc/${this.pid}/task`).length === 1;
      } catch {
        return true;
      }
    };
    while (!ended()) await new Promise((resolve) => { setTimeout(resolve, 5); });
  }

  // The stack ends whom its record names (dev/stack/programs.sh).
  start() {
    const out = fs.openSync(this.log, 'a');
    const child = spawn(this.command[0], this.command.slice(1), { env: this.environment, cwd: '/',
      uid: this.uid, gid: this.gid, detached: true, stdio: ['ignore', out, out] });
    fs.closeSync(out);
    child.unref();
    this.pid = child.pid;
    const started = fs.readFileSync(`/proc/${this.pid}/stat`, 'utf8').split(') ')[1].split(' ')[19];
    fs.writeFileSync(this.record, `${this.pid} ${started}\n`);
  }
}

module.exports = { Runner };
