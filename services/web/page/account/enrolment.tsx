import { NotFetched } from '../app/fetched.tsx'
import { continueSession, signOut } from '../app/session.ts'
import { t } from '../texts/texts.ts'
import { attempt } from '../ui/problems.ts'
import { AuthenticatorApp } from './authenticator-app.tsx'
import { Passkeys } from './passkeys.tsx'
import { useFactors } from './second-factors.ts'

/** The view in which a person must set up a second factor before they can continue. */
export function Enrolment() {
  const data = useFactors()
  const { load } = data
  const { value: own } = data.fetched
  return (
    <>
      <h1>{t('Set up a second factor')}</h1>
      <p>{t('This server requires a second factor from everybody.')}</p>
      <NotFetched of={data} />
      {own && <AuthenticatorApp factors={own} onChange={load} />}
      {own && <Passkeys factors={own} onChange={load} />}
      {own && (own.totp || own.passkeys > 0) && (
        <button type="button" class="button primary" onClick={() => void attempt(continueSession())}>
          {t('Continue')}
        </button>
      )}
      <button type="button" class="link-button" onClick={() => void attempt(signOut())}>
        {t('Sign out')}
      </button>
    </>
  )
}
