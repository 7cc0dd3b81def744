import { RequestFailed } from '@parley/client'
import { t } from '../texts/texts.ts'
import { Field } from './form.tsx'

interface NewPasswordProps {
  label?: string
  /** Whether it is asked for twice. */
  isRepeated?: boolean
  isOptional?: boolean
  autoFocus?: boolean
}

/** The fields of a form for a password that somebody chooses. `readNewPassword` reads them. */
export const NewPassword = ({ label, isRepeated = false, isOptional = false, autoFocus = false }: NewPasswordProps) => (
  <>
    <Field
      label={label ?? t('New password')}
      hint={t('At least 8 characters')}
      name="newPassword"
      type="password"
      autoComplete="new-password"
      required={!isOptional}
      autoFocus={autoFocus}
    />
    {isRepeated && (
      <Field label={t('Repeat password')} name="repeated" type="password" autoComplete="new-password" required />
    )}
  </>
)

/** The chosen password. @throws RequestFailed when it was repeated differently. */
export function readNewPassword({ newPassword = '', repeated }: Record<string, string>): string {
  if (repeated !== undefined && repeated !== newPassword) throw new RequestFailed(400, t('The two passwords differ'))
  return newPassword
}
