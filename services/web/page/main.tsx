import './styles/index.css'
import { effect } from '@preact/signals'
import { render } from 'preact'
import { importPart } from './app/import-part.ts'
import { readPreferences } from './app/preferences.ts'
import { currentWorkspace, session, startSession, streamRequested } from './app/session.ts'
import { App } from './app.tsx'
import { startFonts } from './fonts/fonts.ts'
import { hasSnapshot, keepSnapshots, removeSnapshot } from './offline/snapshot.ts'
import { UpdateNotice } from './offline/update-notice.tsx'
import { postToWorker, startWorker } from './offline/worker.ts'
import { background } from './shell/loaded-background.ts'
import { prepareFormats } from './texts/formats.ts'
import { startTexts } from './texts/texts.ts'
import { pause } from './ui/pause.ts'

/** The longest wait for the stored data before the page renders. While a snapshot is shown, the page can wait longer. */
const storeTimeoutMs = 500
const storeTimeoutWithSnapshotMs = 3_000
/** The longest wait for the request for the event stream after that, while a snapshot is shown. */
const streamTimeoutMs = 50

void start().catch((error) => {
  removeSnapshot()
  throw error
})

// The built page is a classic script, which cannot wait at its top level.
async function start() {
  globalThis.parleyImport = importPart
  const preferences = readPreferences()
  let wasSignedIn = false
  effect(() => {
    const { state } = session.value
    if (state === 'signed-in') wasSignedIn = true
    // The service worker removes the snapshot of a person who has signed out.
    if (state === 'signed-out' && wasSignedIn) void postToWorker({ kind: 'forget' })
  })
  // Its requests are sent before the page renders.
  void startSession()
  const addFonts = startFonts()
  await startTexts(preferences.language)
  prepareFormats()
  await untilRestored()
  // Rendering occupies a slow processor for a long time, in which the browser cannot send the request.
  if (hasSnapshot()) await Promise.race([streamRequested, pause(streamTimeoutMs)])
  removeSnapshot()
  addFonts()
  render(
    <>
      <App />
      <UpdateNotice />
    </>,
    document.getElementById('app')!,
  )

  effect(() => {
    const workspace = currentWorkspace()
    if (!workspace?.isReady.value) return
    const part = background()
    return typeof part === 'object' ? part.startBackground(workspace) : undefined
  })
  keepSnapshots(background)
  // After all files that the first view needs.
  if (document.readyState === 'complete') void startWorker()
  else addEventListener('load', () => void startWorker(), { once: true })
}

/**
 * Waits for the stored data for a short time, so that the page does not render twice: first without them, then with them.
 */
function untilRestored(): Promise<unknown> {
  const workspace = currentWorkspace()
  const timeoutMs = hasSnapshot() ? storeTimeoutWithSnapshotMs : storeTimeoutMs
  return workspace ? Promise.race([workspace.restored, pause(timeoutMs)]) : Promise.resolve()
}
