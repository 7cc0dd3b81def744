import { useSignal } from '@preact/signals'
import { attempt } from '../app/problems.ts'
import type { Workspace } from '../app/workspace.ts'
import { dateTimeOf, t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'

export function Webhooks({ workspace }: { workspace: Workspace }) {
  const isCreating = useSignal(false)
  const nameOf = (channelId: string) => workspace.channels.value.find(({ id }) => id === channelId)?.name ?? ''
  return (
    <>
      <p>
        <button type="button" class="button primary" onClick={() => (isCreating.value = true)}>
          {t('Create webhook')}
        </button>
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">{t('Name')}</th>
            <th scope="col">{t('Channel')}</th>
            <th scope="col">{t('Last posted')}</th>
            <th scope="col">
              <span class="visually-hidden">{t('Actions')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {workspace.webhooks().map(({ id, name, channelId, lastPostedAt, isOrphaned }) => (
            <tr key={id}>
              <th scope="row">
                {name} {isOrphaned && <span class="bot">{t('Nobody answers for it')}</span>}
              </th>
              <td>#{nameOf(channelId)}</td>
              <td>{lastPostedAt === null ? t('Never') : dateTimeOf(lastPostedAt)}</td>
              <td>
                <button
                  type="button"
                  class="button"
                  onClick={() =>
                    void attempt(workspace.client.request('DELETE /webhooks/:webhookId', { params: { webhookId: id } }))
                  }
                >
                  {t('Remove')}
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {isCreating.value && <CreateWebhook workspace={workspace} onClose={() => (isCreating.value = false)} />}
    </>
  )
}

function CreateWebhook({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const token = useSignal<string | null>(null)
  return (
    <Dialog name={t('Create webhook')} onClose={onClose}>
      {token.value === null ? (
        <Form
          action={t('Create')}
          onSubmit={async ({ name = '', channelId = '' }) => {
            const { webhook } = await workspace.client.request('POST /webhooks', { body: { name, channelId } })
            token.value = webhook.token
          }}
        >
          <Field label={t('Name')} name="name" maxLength={80} required autoFocus />
          <label class="field">
            <span class="label">{t('Channel')}</span>
            <select class="input" name="channelId">
              {workspace.channels.value.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        </Form>
      ) : (
        <Field
          label={t('Token')}
          hint={t('Keep it now: it is shown only this once.')}
          name="token"
          value={token.value}
          readOnly
        />
      )}
    </Dialog>
  )
}
