/**
 * Preloaded into each process of the cluster, so that the process ends with the launcher, even when the launcher is
 * killed. It exits at once, because the next start needs its port. Nothing is lost: acknowledged writes are committed
 * already.
 */
process.stdin.resume().once('close', () => process.exit(1))
