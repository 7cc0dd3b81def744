import { RequestFailed } from '@parley/client'
import { useSignal } from '@preact/signals'
import { t } from '../texts/texts.ts'
import { CodeField } from '../ui/code-field.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Form } from '../ui/form.tsx'
import { type Factors, type Proof, proofOf } from './second-factors.ts'

/** A change of the second factors. It is requested with an empty proof first. */
type Change = (proof: Proof) => Promise<void>

/**
 * Makes changes for which the server may ask for a second factor, because the person signed in long ago. Then the person shows a passkey, or
 * types a code into `dialog`, and the change is requested again.
 */
export function useConfirmation(factors: Factors) {
  const waiting = useSignal<Change | null>(null)

  async function confirmed(change: Change): Promise<void> {
    try {
      await change({})
    } catch (error) {
      if (!(error instanceof RequestFailed && error.code === 'mfa_required')) throw error
      if (factors.totp) waiting.value = change
      else await change(await proofOf('', factors))
    }
  }

  const dialog = waiting.value && (
    <Dialog name={t('Confirm with your second factor')} onClose={() => (waiting.value = null)}>
      <Form
        submitLabel={t('Confirm')}
        onSubmit={async ({ code = '' }) => {
          await waiting.value!(await proofOf(code, factors))
          waiting.value = null
        }}
      >
        <CodeField autoFocus orRecovery />
      </Form>
    </Dialog>
  )
  return { confirmed, dialog }
}
