import { useSignal } from '@preact/signals'
import { t } from '../texts/texts.ts'
import { copy } from './copy.ts'
import { Field } from './form.tsx'

interface SecretFieldProps {
  label: string
  value: string
  /** The purpose of the secret. */
  hint?: string
}

/** A secret that is shown only once, with a button to copy it. */
export function SecretField({ label, value, hint }: SecretFieldProps) {
  const isCopied = useSignal(false)
  const now = t('Save it now. It is shown only once.')
  return (
    <>
      <Field label={label} hint={hint ? `${hint} ${now}` : now} name="secret" value={value} readOnly />
      <div class="dialog-actions">
        <span role="status">{isCopied.value && t('Copied')}</span>
        <button
          type="button"
          class="button"
          aria-label={t('Copy {name}', { name: label })}
          onClick={() => void copy(value).then((hasCopied) => (isCopied.value = hasCopied))}
        >
          {t('Copy')}
        </button>
      </div>
    </>
  )
}
