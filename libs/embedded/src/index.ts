export {
  createPortFinder,
  type DataDirectoryLock,
  freePort,
  loadOrCreateSecret,
  loadOrPickPort,
  lockDataDirectory,
  storedPostgresUrl,
} from './data-directory.ts'
export { cachedEntry, fetchDebianPackages, unpackedLibraries } from './fetched-programs.ts'
export { type EmbeddedOptions, startPostgres } from './postgres.ts'
export { listProcesses, type RunningProcess, sendSignal } from './processes.ts'
export { findRedis, type RedisBinary, startRedis } from './redis.ts'
export type { EmbeddedServer, ServerExit } from './server-process.ts'
