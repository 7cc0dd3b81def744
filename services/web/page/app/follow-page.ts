import type { SyncEngine } from '@parley/client'
import type { Deletions } from './deletions.ts'

/** Wakes the engine when the page is used again, and saves what waits when the page is left or hidden, until `signal` aborts. */
export function followPage(engine: SyncEngine, deletions: Deletions, signal: AbortSignal) {
  const wake = () => engine.wake()
  addEventListener('online', wake, { signal })
  // Safari keeps a page that is left for "back", and takes its Web Lock from it. So another tab may lead now, and this page starts again.
  addEventListener('pageshow', ({ persisted }) => (persisted ? location.reload() : wake()), { signal })
  const onHide = () => {
    void deletions.flush()
    void engine.save()
  }
  addEventListener('pagehide', onHide, { signal })
  const onVisibility = () => {
    // A phone that is locked may end a hidden page without the event `pagehide`.
    if (document.visibilityState === 'hidden') void deletions.flush()
    wake()
  }
  document.addEventListener('visibilitychange', onVisibility, { signal })
}
