import { t } from '../texts/texts.ts'
import { Field } from './form.tsx'

interface CodeFieldProps {
  autoFocus?: boolean
  /** Whether a recovery code is accepted too. */
  orRecovery?: boolean
}

/** The field for a code of an authenticator app. */
export const CodeField = ({ autoFocus = false, orRecovery = false }: CodeFieldProps) => (
  <Field
    label={t('Code')}
    hint={
      orRecovery
        ? t('Six digits of your authenticator app, or a recovery code')
        : t('Six digits of your authenticator app')
    }
    name="code"
    {...(!orRecovery && { inputMode: 'numeric' })}
    autoComplete="one-time-code"
    maxLength={64}
    autoFocus={autoFocus}
    required
  />
)
