import { useSignal } from '@preact/signals'
import { t } from '../texts/texts.ts'
import { Form, type FormProps } from './form.tsx'

/** A form that changes what exists already. It says when the changes are saved, until the person changes a field again. */
export function SavingForm({ onSubmit, children }: Pick<FormProps, 'onSubmit' | 'children'>) {
  const isSaved = useSignal(false)
  return (
    <>
      <Form
        submitLabel={t('Save')}
        onInput={() => (isSaved.value = false)}
        onSubmit={async (fields) => {
          isSaved.value = false
          await onSubmit(fields)
          isSaved.value = true
        }}
      >
        {children}
      </Form>
      <p role="status">{isSaved.value && t('Saved')}</p>
    </>
  )
}
