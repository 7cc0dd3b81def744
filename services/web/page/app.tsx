import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { address, followLink } from './app/address.ts'
import { NotLoaded } from './app/page.tsx'
import { createPart, type Part } from './app/part.ts'
import { session } from './app/session.ts'
import { requestSignInOptions } from './app/sign-in-options.ts'
import { SignedInPage } from './shell/signed-in-page.tsx'
import { t } from './texts/texts.ts'
import { refuseOtherFiles } from './ui/file-drop.ts'
import { ProblemList } from './ui/problem-list.tsx'

const signIn = createPart(() => {
  requestSignInOptions()
  return import('./sign-in/sign-in-page.tsx').then(({ SignIn }) => SignIn)
})
const notFound = createPart(() => import('./app/not-found.tsx').then(({ NotFound }) => NotFound))
const enrolment = createPart(() => import('./account/enrolment.tsx').then(({ Enrolment }) => Enrolment))

export function App() {
  useEffect(() => {
    document.addEventListener('click', followLink)
    document.addEventListener('dragover', refuseOtherFiles)
    return () => {
      document.removeEventListener('click', followLink)
      document.removeEventListener('dragover', refuseOtherFiles)
    }
  }, [])

  const { state } = session.value
  if (address.value.view === 'unknown') return <Alone content={notFound()} />
  if (address.value.view === 'link' || state === 'signed-out') return <Alone content={signIn()} />
  if (state === 'signed-in') return <SignedInPage workspace={session.value.workspace} />
  if (state === 'enrolling') return <Alone content={enrolment()} />
  return (
    <div class="sign-in">
      <p role="status">{state === 'unreachable' ? t('Reconnecting…') : t('Connecting…')}</p>
    </div>
  )
}

/** A view without a channel, such as the sign-in. */
const Alone = ({ content: Content }: { content: Part<ComponentType> }) => (
  <div class="sign-in">
    <main aria-busy={Content === 'loading'}>
      {Content === 'failed' && <NotLoaded />}
      {typeof Content !== 'string' && <Content />}
      <ProblemList />
    </main>
  </div>
)
