import { renameSync, writeFileSync } from 'node:fs'

/**
 * Preloaded into the process whose memory is measured: SIGUSR2 starts a garbage collection. `?to=<file>` names a file
 * to which the memory that is still used is then written.
 */
const to = new URL(import.meta.url).searchParams.get('to')

process.on('SIGUSR2', () => {
  globalThis.gc?.()
  if (to === null) return
  const { heapUsed, external } = process.memoryUsage()
  writeFileSync(`${to}.new`, JSON.stringify({ heapUsed, external }))
  renameSync(`${to}.new`, to)
})
