import { RequestFailed } from '@parley/client'
import { t } from '../texts/texts.ts'
import { Field } from './form.tsx'

interface NewPasswordProps {
  label?: string
  /** Whether the password must be typed twice. */
  isRepeated?: boolean
  isOptional?: boolean
  autoFocus?: boolean
}

/** The fields for a new password. `readNewPassword` reads them. */
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

/** Returns the new password. @throws RequestFailed when the two passwords differ. */
export function readNewPassword({ newPassword = '', repeated }: Record<string, string>): string {
  if (repeated !== undefined && repeated !== newPassword)
    throw new RequestFailed(400, t('The two passwords differ'), { code: 'repeated' })
  return newPassword
}
