// What this process has worked, in ms. Bounds of work are held against it, not against the clock: a
// machine that is busy with other things makes nothing slower than it is.
export function cpu_ms() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
