import type { KnownChannel } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { openAnotherAfter } from '../app/open-another.ts'
import type { Workspace } from '../app/workspace.ts'
import { renderTopic } from '../messages/markup.tsx'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'
import { Icon } from '../ui/icons.tsx'
import { maxChannelName, maxTopic } from '../ui/limits.ts'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'
import { ChannelGroups } from './channel-groups.tsx'
import { ChannelMembers } from './channel-members.tsx'
import { NotificationChoice } from './channel-notifications.tsx'
import { ConfirmRequest } from './confirm-request.tsx'
import { LeavePrivate } from './leave-private.tsx'
import { PrivateField } from './private-field.tsx'

interface ChannelSettingsProps {
  workspace: Workspace
  channel: KnownChannel
  onClose: () => void
}

/** Name, topic, notifications and members of a channel. People who may not change them can only see them. */
export function ChannelSettings({ workspace, channel, onClose }: ChannelSettingsProps) {
  const { id, name, topic, isPrivate, isMember, createdBy } = channel
  const { client, myId } = workspace
  const mayChange = createdBy === myId || workspace.me.value.isAdmin
  const isDeleting = useSignal(false)
  const isLeaving = useSignal(false)
  const isEnding = useRef(false)
  const params = { channelId: id }

  /**
   * Waits until the person is no longer in the channel, and closes the dialog. If the channel is open, another one is opened. A second
   * request is not sent before the response: the button is busy until then, but the person may close the confirmation and open it again.
   */
  async function end(send: () => Promise<unknown>) {
    if (isEnding.current) return
    isEnding.current = true
    try {
      await openAnotherAfter(workspace, id, { send, onEnded: onClose })
    } finally {
      isEnding.current = false
    }
  }

  const leave = () => end(() => client.request('POST /channels/:channelId/leave', { params }))

  if (isDeleting.value) {
    return (
      <ConfirmRequest
        name={t('Delete channel')}
        question={t('All messages of {name} will be gone for everybody.', { name })}
        confirmLabel={t('Delete')}
        onConfirm={() => end(() => client.request('DELETE /channels/:channelId', { params }))}
        onClose={() => (isDeleting.value = false)}
      />
    )
  }
  if (isLeaving.value) {
    return <LeavePrivate name={name} onConfirm={leave} onClose={() => (isLeaving.value = false)} />
  }
  return (
    <Dialog name={t('Channel settings')} onClose={onClose}>
      {mayChange ? (
        <Form
          submitLabel={t('Save')}
          onSubmit={async ({ name: newName = '', topic: newTopic = '', isPrivate: newPrivate }) => {
            const body = { name: newName, topic: newTopic, isPrivate: newPrivate === 'on' }
            await client.request('PUT /channels/:channelId', { params, body })
            onClose()
          }}
        >
          <Field label={t('Name')} name="name" defaultValue={name} maxLength={maxChannelName} required />
          <Field label={t('Topic')} name="topic" defaultValue={topic ?? ''} maxLength={maxTopic} />
          <PrivateField isPrivate={isPrivate} />
        </Form>
      ) : (
        <>
          <p>
            <Icon name={isPrivate ? 'lock' : 'hash'} /> <strong dir="auto">{name}</strong>
          </p>
          {topic && <p dir="auto">{renderTopic(topic)}</p>}
        </>
      )}
      {isMember && <NotificationChoice workspace={workspace} channel={channel} onClose={onClose} />}
      <ChannelMembers workspace={workspace} channel={channel} mayChange={mayChange} />
      {workspace.me.value.role !== 'guest' && (
        <ChannelGroups workspace={workspace} channel={channel} mayChange={mayChange} />
      )}
      <div class="dialog-actions settings-end">
        {isMember && (
          <RequestButton
            onRequest={async () => {
              if (isPrivate) isLeaving.value = true
              else await attempt(leave())
            }}
          >
            {t('Leave channel')}
          </RequestButton>
        )}
        {mayChange && (
          <button type="button" class="button danger" onClick={() => (isDeleting.value = true)}>
            {t('Delete channel')}
          </button>
        )}
      </div>
    </Dialog>
  )
}
