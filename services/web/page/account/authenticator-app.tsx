import type { ResponseOf } from '@parley/client'
import { useSignal } from '@preact/signals'
import { client } from '../app/session.ts'
import { t } from '../texts/texts.ts'
import { CodeField } from '../ui/code-field.tsx'
import { copy } from '../ui/copy.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'
import { attempt } from '../ui/problems.ts'
import { QrCode } from '../ui/qr-code.tsx'
import { RequestButton } from '../ui/request-button.tsx'
import { useConfirmation } from './confirmation.tsx'
import { type Factors, proofOf } from './second-factors.ts'

interface AuthenticatorAppProps {
  factors: Factors
  onChange: () => Promise<void>
}

/** Sets up an authenticator app and removes it. */
export function AuthenticatorApp({ factors, onChange }: AuthenticatorAppProps) {
  /** What the app needs, once the person has begun the set-up. */
  const setUp = useSignal<ResponseOf<'POST /auth/totp'> | null>(null)
  const recoveryCodes = useSignal<readonly string[] | null>(null)
  const isRemoving = useSignal(false)

  const { confirmed, dialog } = useConfirmation()
  const begin = () =>
    attempt(
      confirmed(async (body) => {
        setUp.value = await client.request('POST /auth/totp', { body })
      }),
    )
  async function confirm(code: string) {
    const confirmed = await client.request('POST /auth/totp/confirm', { body: { code: code.trim() } })
    setUp.value = null
    recoveryCodes.value = confirmed.recoveryCodes
    await onChange()
  }

  return (
    <section>
      <h2>{t('Authenticator app')}</h2>
      {factors.totp ? (
        <p>{t('It is set up. {count} recovery codes are left.', { count: factors.recoveryCodes })}</p>
      ) : (
        <p>{t('An app on your phone shows a code. You need it when you sign in.')}</p>
      )}
      {recoveryCodes.value && <RecoveryCodes codes={recoveryCodes.value} />}
      {setUp.value && <Confirmation {...setUp.value} onCode={confirm} />}
      {!factors.totp && !setUp.value && <RequestButton onRequest={begin}>{t('Set up')}</RequestButton>}
      {factors.totp && (
        <button type="button" class="button" onClick={() => (isRemoving.value = true)}>
          {t('Remove authenticator app')}
        </button>
      )}
      {isRemoving.value && (
        <Dialog name={t('Remove authenticator app')} onClose={() => (isRemoving.value = false)}>
          <Form
            submitLabel={t('Remove')}
            onSubmit={async ({ code = '' }) => {
              await client.request('DELETE /auth/totp', { body: await proofOf(code, factors) })
              isRemoving.value = false
              recoveryCodes.value = null
              await onChange()
            }}
          >
            <CodeField autoFocus orRecovery />
          </Form>
        </Dialog>
      )}
      {dialog}
    </section>
  )
}

interface ConfirmationProps {
  secret: string
  otpauthUrl: string
  onCode: (code: string) => Promise<void>
}

const Confirmation = ({ secret, otpauthUrl, onCode }: ConfirmationProps) => (
  <>
    <p>{t('Scan this with the app, or type the secret into the app. Then type the code that the app shows.')}</p>
    <QrCode text={otpauthUrl} name={t('QR code')} />
    <Form name={t('Set up')} submitLabel={t('Confirm')} onSubmit={({ code = '' }) => onCode(code)}>
      <Field label={t('Secret')} name="secret" value={secret} readOnly />
      <CodeField autoFocus />
    </Form>
  </>
)

/** The codes come when the field with the focus is removed. */
const focusCodes = (codes: HTMLElement | null) => codes?.focus()

/** The recovery codes, which are shown only once. */
function RecoveryCodes({ codes }: { codes: readonly string[] }) {
  const isCopied = useSignal(false)
  async function copyCodes() {
    isCopied.value = await copy(codes.join('\n'))
  }
  return (
    <section ref={focusCodes} tabIndex={-1} aria-label={t('Recovery codes')}>
      <p>
        {t(
          'Save these recovery codes now. They are shown only once. With each of them you can sign in once without the app.',
        )}
      </p>
      <ul>
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ul>
      {/* Pages without https have no access to the clipboard. */}
      {navigator.clipboard && (
        <button type="button" class="button" onClick={() => void copyCodes()}>
          {t('Copy')}
        </button>
      )}
      <p role="status">{isCopied.value && t('Copied')}</p>
    </section>
  )
}
