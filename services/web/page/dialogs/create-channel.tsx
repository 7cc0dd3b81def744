import { channelAddress, navigateLater } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'
import { PrivateField } from './private-field.tsx'

export const CreateChannel = ({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) => (
  <Dialog name={t('Create channel')} onClose={onClose}>
    <Form
      submitLabel={t('Create')}
      onSubmit={async ({ name = '', topic = '', isPrivate }) => {
        const body = { name, ...(topic !== '' && { topic }), isPrivate: isPrivate === 'on' }
        const open = navigateLater()
        const { channel } = await workspace.client.request('POST /channels', { body })
        onClose()
        open(channelAddress(channel.id))
      }}
    >
      <Field label={t('Name')} name="name" maxLength={80} required autoFocus />
      <Field label={t('Topic')} name="topic" maxLength={250} />
      <PrivateField />
    </Form>
  </Dialog>
)
