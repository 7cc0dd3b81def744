import type { ResponseOf } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useConfirmation } from '../account/confirmation.tsx'
import { NotFetched, useFetched } from '../app/fetched.tsx'
import type { Workspace } from '../app/workspace.ts'
import { ConfirmRequest } from '../dialogs/confirm-request.tsx'
import { dateTimeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { passFocus } from '../ui/focus.ts'
import { Field } from '../ui/form.tsx'
import { maxTokenName } from '../ui/limits.ts'
import { SecretDialog } from '../ui/secret-dialog.tsx'
import { ListTable } from '../ui/table.tsx'

type ScimClient = ResponseOf<'GET /admin/scim-clients'>['clients'][number]

/** The directories that provision people and groups. */
export function ScimClients({ workspace }: { workspace: Workspace }) {
  const { client } = workspace
  const data = useFetched(() => client.request('GET /admin/scim-clients'))
  const { fetched, load } = data
  const isCreating = useSignal(false)
  const removing = useSignal<ScimClient | null>(null)
  const clients = fetched.value?.clients
  return (
    <>
      <p>{t('A directory such as Entra ID or Okta adds, changes and deactivates people by SCIM 2.0.')}</p>
      <dl>
        <dt>{t('Address for the directory')}</dt>
        <dd>
          <code>{`${location.origin}/scim/v2`}</code>
        </dd>
      </dl>
      <p>
        <button type="button" class="button primary" onClick={() => (isCreating.value = true)}>
          {t('Create SCIM client')}
        </button>
      </p>
      <NotFetched of={data} />
      <ListTable
        list={clients}
        none={t('No directory is connected yet.')}
        heads={[t('Name'), t('Since'), t('Last used')]}
        hasActions
      >
        {(one) => (
          <tr ref={passFocus} key={one.id}>
            <th scope="row" dir="auto" id={`${one.id}-name`}>
              {one.name}
            </th>
            <td class="moment">{dateTimeOf(one.createdAt)}</td>
            <td class="moment">{one.lastUsedAt === null ? t('Never') : dateTimeOf(one.lastUsedAt)}</td>
            <td>
              <button
                type="button"
                class="button"
                aria-describedby={`${one.id}-name`}
                onClick={() => (removing.value = one)}
              >
                {t('Remove')}
              </button>
            </td>
          </tr>
        )}
      </ListTable>
      {isCreating.value && (
        <CreateClient workspace={workspace} onCreated={() => void load()} onClose={() => (isCreating.value = false)} />
      )}
      {removing.value && (
        <ConfirmRequest
          name={t('Remove SCIM client')}
          question={t('{name} has no access any more. The people stay.', { name: removing.value.name })}
          confirmLabel={t('Remove')}
          onConfirm={() => {
            const params = { clientId: removing.value!.id }
            return client.request('DELETE /admin/scim-clients/:clientId', { params }).finally(() => void load())
          }}
          onClose={() => (removing.value = null)}
        />
      )}
    </>
  )
}

interface CreateClientProps {
  workspace: Workspace
  onCreated: () => void
  onClose: () => void
}

function CreateClient({ workspace: { client }, onCreated, onClose }: CreateClientProps) {
  const { confirmed, dialog } = useConfirmation()
  return (
    <>
      <SecretDialog
        name={t('Create SCIM client')}
        submitLabel={t('Create')}
        secretLabel={t('Token')}
        secretHint={t('The directory signs in with it.')}
        onSubmit={async ({ name = '' }) => {
          const { token } = await confirmed((proof) =>
            client.request('POST /admin/scim-clients', { body: { name, ...proof } }),
          )
          onCreated()
          return token
        }}
        onClose={onClose}
      >
        <Field
          label={t('Name')}
          hint={t('The name of the directory')}
          name="name"
          maxLength={maxTokenName}
          required
          autoFocus
        />
      </SecretDialog>
      {dialog}
    </>
  )
}
