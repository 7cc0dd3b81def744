import type { KnownChannel } from '@parley/client'
import { useSignal } from '@preact/signals'
import { attempt } from '../app/problems.ts'
import { peopleByName, type Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'

interface ChannelSettingsProps {
  workspace: Workspace
  channel: KnownChannel
  onClose: () => void
}

/** Name, topic and members, for whoever may change them; the others see them. */
export function ChannelSettings({ workspace, channel, onClose }: ChannelSettingsProps) {
  const { id, name, topic, isPrivate, createdBy } = channel
  const mayChange = createdBy === workspace.myId || workspace.me.value?.isAdmin === true
  const isDeleting = useSignal(false)
  const params = { channelId: id }
  if (isDeleting.value) {
    return (
      <Confirm
        name={t('Delete channel')}
        question={t('All messages of {name} will be gone for everybody.', { name })}
        action={t('Delete')}
        onConfirm={() =>
          void attempt(workspace.client.request('DELETE /channels/:channelId', { params })).then(onClose)
        }
        onClose={() => (isDeleting.value = false)}
      />
    )
  }
  return (
    <Dialog name={t('Channel settings')} onClose={onClose}>
      {mayChange ? (
        <Form
          action={t('Save')}
          onSubmit={async ({ name: newName = '', topic: newTopic = '', isPrivate: newPrivate }) => {
            const body = { name: newName, topic: newTopic, isPrivate: newPrivate === 'on' }
            await workspace.client.request('PUT /channels/:channelId', { params, body })
            onClose()
          }}
        >
          <Field label={t('Name')} name="name" defaultValue={name} maxLength={80} required />
          <Field label={t('Topic')} name="topic" defaultValue={topic ?? ''} maxLength={250} />
          <label class="check">
            <input type="checkbox" name="isPrivate" defaultChecked={isPrivate} />
            {t('Private')}
          </label>
        </Form>
      ) : (
        <p dir="auto">{topic}</p>
      )}
      <Members workspace={workspace} channel={channel} mayChange={mayChange && channel.members !== undefined} />
      {mayChange && (
        <button type="button" class="button danger" onClick={() => (isDeleting.value = true)}>
          {t('Delete channel')}
        </button>
      )}
    </Dialog>
  )
}

function Members({
  workspace,
  channel,
  mayChange,
}: {
  workspace: Workspace
  channel: KnownChannel
  mayChange: boolean
}) {
  const { id, members = [], createdBy } = channel
  const isMember = new Set(members)
  const everybody = peopleByName(workspace.users.value)
  const others = everybody.filter((user) => !isMember.has(user.id))
  const change = (next: string[]) =>
    void attempt(
      workspace.client.request('PUT /channels/:channelId', { params: { channelId: id }, body: { members: next } }),
    )
  return (
    <section aria-label={t('Members')}>
      <h3>{t('Members')}</h3>
      <ul class="rows">
        {everybody
          .filter((user) => isMember.has(user.id))
          .map(({ id: userId, userName }) => (
            <li key={userId} class="option">
              <span class="name" dir="auto">
                {userName}
              </span>
              {mayChange && userId !== createdBy && (
                <button
                  type="button"
                  class="link-button"
                  aria-label={t('Remove {name}', { name: userName })}
                  onClick={() => change(members.filter((member) => member !== userId))}
                >
                  {t('Remove')}
                </button>
              )}
            </li>
          ))}
      </ul>
      {mayChange && others.length > 0 && (
        <select
          class="input"
          aria-label={t('Add a member')}
          value=""
          onChange={(event) => {
            if (event.currentTarget.value !== '') change([...members, event.currentTarget.value])
          }}
        >
          <option value="">{t('Add a member')}</option>
          {others.map(({ id: userId, userName }) => (
            <option key={userId} value={userId}>
              {userName}
            </option>
          ))}
        </select>
      )}
    </section>
  )
}
