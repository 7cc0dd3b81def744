/**
 * Loaded into each process of the cluster: it ends with the launcher, even when that is killed and can tell nobody. At once,
 * as if killed as well: the next start needs the ports, and whatever was acknowledged is committed.
 */
process.stdin.resume().once('close', () => process.exit(1))
