import { useEffect } from 'preact/hooks'
import { Workspace } from '../shell/workspace.tsx'
import { SignIn } from '../sign-in/sign-in.tsx'
import { t } from '../texts/texts.ts'
import { address, followLink } from './address.ts'
import { session, startSession } from './session.ts'

export function App() {
  useEffect(() => {
    document.addEventListener('click', followLink)
    void startSession()
    return () => document.removeEventListener('click', followLink)
  }, [])

  const { state } = session.value
  if (address.value.view === 'reset' || state === 'signed-out') return <SignIn />
  if (state === 'signed-in') return <Workspace workspace={session.value.workspace} />
  return (
    <div class="sign-in">
      <p role="status">{state === 'unreachable' ? t('Reconnecting…') : t('Connecting…')}</p>
    </div>
  )
}
