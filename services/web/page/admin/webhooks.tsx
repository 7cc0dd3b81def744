import type { ListedWebhook } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { NotFetched, useFetched } from '../app/fetched.tsx'
import { nameOfPlace } from '../app/places.ts'
import type { Workspace } from '../app/workspace.ts'
import { ConfirmRequest } from '../dialogs/confirm-request.tsx'
import { dateTimeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { passFocus } from '../ui/focus.ts'
import { Field, Form, Select } from '../ui/form.tsx'
import { maxWebhookName } from '../ui/limits.ts'
import { SecretDialog } from '../ui/secret-dialog.tsx'
import { SecretField } from '../ui/secret-field.tsx'
import { ListTable } from '../ui/table.tsx'

export function Webhooks({ workspace }: { workspace: Workspace }) {
  const { client } = workspace
  const data = useFetched(() => client.request('GET /webhooks'))
  const { fetched, load } = data
  const webhooks = fetched.value?.webhooks
  const isCreating = useSignal(false)
  const removing = useSignal<ListedWebhook | null>(null)
  const renewing = useSignal<ListedWebhook | null>(null)

  useEffect(
    () =>
      workspace.listen(({ type }) => {
        if (type === 'NEW_WEBHOOK' || type === 'UPDATE_WEBHOOK' || type === 'DELETE_WEBHOOK') void load()
      }),
    [],
  )

  const nameOf = (channelId: string) => {
    const place = workspace.place(channelId)
    return place ? `#${nameOfPlace(place)}` : t('A channel that you have not joined')
  }
  return (
    <>
      <p>
        <button type="button" class="button primary" onClick={() => (isCreating.value = true)}>
          {t('Create webhook')}
        </button>
      </p>
      <NotFetched of={data} />
      <ListTable
        list={webhooks}
        none={t('There are no webhooks yet.')}
        heads={[t('Name'), t('Channel'), t('Last posted')]}
        hasActions
      >
        {(webhook) => (
          <tr ref={passFocus} key={webhook.id}>
            <th scope="row">
              <bdi id={`${webhook.id}-name`}>{webhook.name}</bdi>{' '}
              {webhook.isOrphaned && <span class="bot">{t('No responsible admin')}</span>}
            </th>
            <td dir="auto">{nameOf(webhook.channelId)}</td>
            <td class="moment">{webhook.lastPostedAt === null ? t('Never') : dateTimeOf(webhook.lastPostedAt)}</td>
            <td>
              <button
                type="button"
                class="button"
                aria-describedby={`${webhook.id}-name`}
                onClick={() => (renewing.value = webhook)}
              >
                {t('New URL')}
              </button>{' '}
              <button
                type="button"
                class="button"
                aria-describedby={`${webhook.id}-name`}
                onClick={() => (removing.value = webhook)}
              >
                {t('Remove')}
              </button>
            </td>
          </tr>
        )}
      </ListTable>
      {isCreating.value && <CreateWebhook workspace={workspace} onClose={() => (isCreating.value = false)} />}
      {renewing.value && (
        <NewAddress workspace={workspace} webhook={renewing.value} onClose={() => (renewing.value = null)} />
      )}
      {removing.value && (
        <ConfirmRequest
          name={t('Remove webhook')}
          question={t('{name} cannot post any more. Its messages stay.', { name: removing.value.name })}
          confirmLabel={t('Remove')}
          onConfirm={() => {
            const params = { webhookId: removing.value!.id }
            return client.request('DELETE /webhooks/:webhookId', { params })
          }}
          onClose={() => (removing.value = null)}
        />
      )}
    </>
  )
}

function CreateWebhook({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const created = useSignal<{ token: string; url: string } | null>(null)
  return (
    <Dialog name={t('Create webhook')} onClose={onClose}>
      {created.value === null ? (
        <Form
          submitLabel={t('Create')}
          onSubmit={async ({ name = '', channelId = '' }) => {
            const { webhook } = await workspace.client.request('POST /webhooks', { body: { name, channelId } })
            created.value = webhook
          }}
        >
          <Field label={t('Name')} name="name" maxLength={maxWebhookName} required autoFocus />
          <Select
            label={t('Channel')}
            name="channelId"
            options={workspace.channels.value.map(({ id, name }) => [id, name])}
          />
        </Form>
      ) : (
        <>
          <SecretField label={t('Token')} value={created.value.token} />
          <SecretField label={t('URL')} hint={addressHint()} value={created.value.url} />
        </>
      )}
    </Dialog>
  )
}

interface NewAddressProps {
  workspace: Workspace
  webhook: ListedWebhook
  onClose: () => void
}

const NewAddress = ({ workspace, webhook: { id, name }, onClose }: NewAddressProps) => (
  <SecretDialog
    name={t('New URL')}
    submitLabel={t('Make a new URL')}
    secretLabel={t('URL')}
    secretHint={addressHint()}
    onSubmit={async () => {
      const params = { webhookId: id }
      return (await workspace.client.request('POST /webhooks/:webhookId/url', { params })).url
    }}
    onClose={onClose}
  >
    <p>{t('The current URL of {name} stops working.', { name })}</p>
  </SecretDialog>
)

/** The purpose of the address of a webhook. The address contains the secret, and is shown only once. */
const addressHint = () => t('For programs that can post to Slack.')
