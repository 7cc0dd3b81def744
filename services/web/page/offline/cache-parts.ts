import { postToWorker } from './worker.ts'

/** Until then a slow computer is busy with the start of the page. */
const startedMs = 5_000

/** Lets the service worker fetch all parts of the page, so that they can be opened without a network. Returns a function that cancels it. */
export function cacheParts(): () => void {
  const timer = setTimeout(postToWorker, startedMs, { kind: 'cache parts' })
  return () => clearTimeout(timer)
}
