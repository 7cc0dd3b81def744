import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Field } from '../ui/form.tsx'
import { maxServerName } from '../ui/limits.ts'
import { SavingForm } from '../ui/saving-form.tsx'

export const Settings = ({ workspace: { client, settings } }: { workspace: Workspace }) => (
  <SavingForm onSubmit={({ name = '' }) => client.request('PUT /server/settings', { body: { name } })}>
    <Field label={t('Server name')} name="name" defaultValue={settings().name} maxLength={maxServerName} required />
  </SavingForm>
)
