import './styles/index.css'
import { effect } from '@preact/signals'
import { render } from 'preact'
import { readPreferences } from './app/preferences.ts'
import { session, startSession } from './app/session.ts'
import { App } from './app.tsx'
import { startFonts } from './fonts/fonts.ts'
import { announceMessages } from './notifications/announce.ts'
import { hasSnapshot, keepSnapshots, removeSnapshot } from './offline/snapshot.ts'
import { UpdateNotice } from './offline/update-notice.tsx'
import { startWorker, tellWorker } from './offline/worker.ts'
import { prepareFormats, startTexts } from './texts/texts.ts'

/** When the store takes longer, the page is drawn without it. Behind a snapshot there is more time. */
const patienceMs = 500
const patienceBehindSnapshotMs = 3_000

void start()

// The built page is a classic script, which cannot wait at its top level.
async function start() {
  const preferences = readPreferences()
  let wasSignedIn = false
  effect(() => {
    const { state } = session.value
    if (state === 'signed-in') wasSignedIn = true
    // Nothing stays of somebody who has left.
    if (state === 'signed-out' && wasSignedIn) void tellWorker({ kind: 'forget' })
  })
  // What it asks for is on its way while the page is drawn.
  void startSession()
  startFonts()
  await startTexts(preferences.language)
  prepareFormats()
  await untilRestored()
  removeSnapshot()
  render(
    <>
      <App />
      <UpdateNotice />
    </>,
    document.getElementById('app')!,
  )

  effect(() => {
    const { value } = session
    return value.state === 'signed-in' ? announceMessages(value.workspace) : undefined
  })
  keepSnapshots()
  // After everything that the first view needs.
  if (document.readyState === 'complete') void startWorker()
  else addEventListener('load', () => void startWorker(), { once: true })
}

/**
 * Waits a moment for what the browser has stored, so that the page is not drawn twice: first without it, then with it.
 */
function untilRestored(): Promise<unknown> {
  const { value } = session
  const longest = hasSnapshot() ? patienceBehindSnapshotMs : patienceMs
  const patience = new Promise((resolve) => setTimeout(resolve, longest))
  return value.state === 'signed-in' ? Promise.race([value.workspace.restored, patience]) : Promise.resolve()
}
