import { useSignal } from '@preact/signals'
import { Dialog } from './dialog.tsx'
import { Form, type FormProps } from './form.tsx'
import { SecretField } from './secret-field.tsx'

interface SecretDialogProps extends Pick<FormProps, 'submitLabel' | 'children'> {
  name: string
  /** Sends the form, and returns the secret of the response. Null when it has none: then the dialog closes. */
  onSubmit: (fields: Record<string, string>) => Promise<string | null>
  /** The label of the secret, and its purpose. */
  secretLabel: string
  secretHint?: string
  onClose: () => void
}

/** A dialog with a form. The response has a secret, which is shown once instead of the form. */
export function SecretDialog({ name, onSubmit, secretLabel, secretHint, onClose, ...form }: SecretDialogProps) {
  const secret = useSignal<string | null>(null)
  return (
    <Dialog name={name} onClose={onClose}>
      {secret.value === null ? (
        <Form
          {...form}
          onSubmit={async (fields) => {
            secret.value = await onSubmit(fields)
            if (secret.value === null) onClose()
          }}
        />
      ) : (
        <SecretField label={secretLabel} {...(secretHint && { hint: secretHint })} value={secret.value} />
      )}
    </Dialog>
  )
}
