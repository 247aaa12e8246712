// Processor time of this process in ms. Bounds of work are checked against it, not against the
// clock, because a machine that is busy with other things makes nothing slower than it is.
export function cpu_ms() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
