import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { NotFetched } from '../app/fetched.tsx'
import { client } from '../app/session.ts'
import { t } from '../texts/texts.ts'
import { CodeField } from '../ui/code-field.tsx'
import { Field, Form } from '../ui/form.tsx'
import { NewPassword, readNewPassword } from '../ui/new-password.tsx'
import { ignoreFailure } from '../ui/retries.ts'
import { AuthenticatorApp } from './authenticator-app.tsx'
import { Passkeys } from './passkeys.tsx'
import { type Factors, proofOf, useFactors } from './second-factors.ts'

/** The ways in which the person signs in: password, authenticator app and passkeys, if the server supports them. */
export function Security() {
  const data = useFactors()
  const hasPasswords = useSignal(false)
  useEffect(() => {
    client.request('GET /config.json').then(({ auth }) => {
      hasPasswords.value = auth.mode === 'password'
    }, ignoreFailure)
  }, [])
  const { load } = data
  const { value: own } = data.fetched
  if (own === undefined) return <NotFetched of={data} />
  return (
    <>
      {hasPasswords.value && <ChangePassword factors={own} />}
      {own && <AuthenticatorApp factors={own} onChange={load} />}
      {own && <Passkeys factors={own} onChange={load} />}
    </>
  )
}

function ChangePassword({ factors }: { factors: Factors | null }) {
  const changes = useSignal(0)
  const hasFactor = factors !== null && (factors.totp || factors.passkeys > 0)
  return (
    <section>
      <h2>{t('Password')}</h2>
      <Form
        // Another key clears the fields after a change.
        key={changes.value}
        name={t('Change password')}
        submitLabel={t('Change password')}
        onSubmit={async (fields) => {
          const { currentPassword = '', code = '' } = fields
          const newPassword = readNewPassword(fields)
          const proof = hasFactor ? await proofOf(code, factors) : {}
          await client.request('PUT /auth/password', { body: { currentPassword, newPassword, ...proof } })
          changes.value++
        }}
      >
        <Field
          label={t('Current password')}
          name="currentPassword"
          type="password"
          autoComplete="current-password"
          required
        />
        <NewPassword isRepeated />
        {factors?.totp && <CodeField orRecovery />}
      </Form>
      <p role="status">{changes.value > 0 && t('The password was changed. Your other sessions have ended')}</p>
    </section>
  )
}
