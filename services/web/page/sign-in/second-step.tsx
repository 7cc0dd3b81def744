import { useState } from 'preact/hooks'
import { askForPasskey, supportsPasskeys } from '../app/passkeys.ts'
import { client } from '../app/session.ts'
import { t } from '../texts/texts.ts'
import { CodeField } from '../ui/code-field.tsx'
import { Field, Form } from '../ui/form.tsx'
import { completeSignIn, type WaitingSignIn } from './complete-sign-in.ts'

/** Asks for the second factor of a sign-in. */
export function SecondStep({ signIn: { mfaToken, methods }, onBack }: { signIn: WaitingSignIn; onBack: () => void }) {
  const [isLost, setLost] = useState(false)
  const asksForCode = methods.includes('totp') && !isLost
  return (
    <>
      <h1>{t('Second step')}</h1>
      {methods.includes('passkey') && (
        <PasskeyForm
          onSubmit={async () => {
            const credential = await askForPasskey(client, mfaToken)
            await completeSignIn(() => client.signIn('POST /auth/mfa', { body: { mfaToken, credential } }))
          }}
        />
      )}
      {(asksForCode || isLost) && (
        <Form
          key={asksForCode}
          submitLabel={t('Verify')}
          onSubmit={({ code = '', recoveryCode = '' }) => {
            const body = asksForCode ? { mfaToken, code: code.trim() } : { mfaToken, recoveryCode: recoveryCode.trim() }
            return completeSignIn(() => client.signIn('POST /auth/mfa', { body }))
          }}
        >
          {asksForCode ? (
            <CodeField autoFocus />
          ) : (
            <Field label={t('Recovery code')} name="recoveryCode" autoFocus required />
          )}
        </Form>
      )}
      {methods.includes('recovery') && !isLost && (
        <button type="button" class="link-button" onClick={() => setLost(true)}>
          {t('Use a recovery code')}
        </button>
      )}
      {methods.includes('totp') && isLost && (
        <button type="button" class="link-button" onClick={() => setLost(false)}>
          {t('Use the authenticator app')}
        </button>
      )}
      <button type="button" class="link-button" onClick={onBack}>
        {t('Back to sign in')}
      </button>
    </>
  )
}

/** The button for signing in with a passkey, if the browser supports passkeys. */
export const PasskeyForm = ({ onSubmit }: { onSubmit: () => Promise<unknown> }) =>
  supportsPasskeys ? (
    <Form submitLabel={t('Use a passkey')} onSubmit={onSubmit} isSecondary>
      {null}
    </Form>
  ) : null
