import { useSignal } from '@preact/signals'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Field, Form } from '../ui/form.tsx'

export function Settings({ workspace }: { workspace: Workspace }) {
  const isSaved = useSignal(false)
  return (
    <>
      <Form
        submitLabel={t('Save')}
        onSubmit={async ({ name = '' }) => {
          isSaved.value = false
          await workspace.client.request('PUT /server/settings', { body: { name } })
          isSaved.value = true
        }}
      >
        <Field label={t('Server name')} name="name" defaultValue={workspace.settings().name} maxLength={80} required />
      </Form>
      <p role="status">{isSaved.value ? t('Saved') : ''}</p>
    </>
  )
}
