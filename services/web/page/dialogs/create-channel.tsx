import { channelAddress, navigateLater } from '../app/address.ts'
import { storeDraft } from '../app/drafts.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'
import { maxChannelName, maxTopic } from '../ui/limits.ts'
import { watchTyping } from '../ui/watch-typing.ts'
import { useCloseForGuests } from './close-for-guests.ts'
import { PrivateField } from './private-field.tsx'

export function CreateChannel({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  useCloseForGuests(workspace, onClose)
  return (
    <Dialog name={t('Create channel')} onClose={onClose}>
      <Form
        submitLabel={t('Create')}
        onSubmit={async ({ name = '', topic = '', isPrivate }) => {
          const body = { name, ...(topic !== '' && { topic }), isPrivate: isPrivate === 'on' }
          const open = navigateLater()
          // What the person types during the request is the beginning of a message.
          const field = document.activeElement
          // In Safari, a button that is clicked does not get the focus.
          const typed = field instanceof HTMLInputElement ? watchTyping(field) : () => ''
          const { channel } = await workspace.client.request('POST /channels', { body })
          storeDraft(workspace.myId, channel.id, typed())
          onClose()
          open(channelAddress(channel.id))
        }}
      >
        <Field label={t('Name')} name="name" maxLength={maxChannelName} required autoFocus />
        <Field label={t('Topic')} name="topic" maxLength={maxTopic} />
        <PrivateField />
      </Form>
    </Dialog>
  )
}
