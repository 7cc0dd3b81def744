import { RequestFailed, type ResponseOf, type Routes } from '@parley/client'
import { useSignal } from '@preact/signals'
import { client } from '../app/session.ts'
import { t } from '../texts/texts.ts'
import { CodeField } from '../ui/code-field.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'
import { proofOf } from './second-factors.ts'

export type Confirmation = NonNullable<Routes['POST /auth/totp']['body']>

interface Waiting {
  /** The factors of the person, or null when they confirm with their password. */
  factors: ResponseOf<'GET /auth/second-factors'> | null
  /** Requests the change again. Throws when the proof is wrong. */
  confirm: (body: Confirmation) => Promise<void>
  cancel: () => void
}

/**
 * Makes changes for which the server may ask for a proof, because the person signed in long ago. Then the person shows a passkey, or
 * types a code or their password into `dialog`, and the change is requested again.
 */
export function useConfirmation() {
  const waiting = useSignal<Waiting | null>(null)

  /** Requests the change with an empty proof first. */
  async function confirmed<Result>(change: (body: Confirmation) => Promise<Result>): Promise<Result> {
    try {
      return await change({})
    } catch (error) {
      const code = error instanceof RequestFailed ? error.code : undefined
      if (code === 'password_required') return ask(null, change)
      if (code !== 'mfa_required') throw error
      const factors = await client.request('GET /auth/second-factors')
      return factors.totp ? ask(factors, change) : change(await proofOf('', factors))
    }
  }

  const ask = <Result,>(factors: Waiting['factors'], change: (body: Confirmation) => Promise<Result>) =>
    new Promise<Result>((resolve, reject) => {
      waiting.value = {
        factors,
        confirm: async (body) => resolve(await change(body)),
        cancel: () => reject(new RequestFailed(403, t('This was not confirmed, so nothing was changed'))),
      }
    })

  function close() {
    waiting.value?.cancel()
    waiting.value = null
  }

  const { value: asked } = waiting
  const dialog = asked && (
    <Dialog
      name={asked.factors ? t('Confirm with your second factor') : t('Confirm with your password')}
      onClose={close}
    >
      <Form
        submitLabel={t('Confirm')}
        onSubmit={async ({ code = '', currentPassword = '' }) => {
          await asked.confirm(asked.factors ? await proofOf(code, asked.factors) : { currentPassword })
          close()
        }}
      >
        {asked.factors ? <CodeField autoFocus orRecovery /> : <PasswordField />}
      </Form>
    </Dialog>
  )
  return { confirmed, dialog }
}

const PasswordField = () => (
  <Field
    label={t('Current password')}
    hint={t('You signed in long ago')}
    name="currentPassword"
    type="password"
    autoComplete="current-password"
    autoFocus
    required
  />
)
