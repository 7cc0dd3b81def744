import type { Group } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { foldName } from '../app/names.ts'
import type { Workspace } from '../app/workspace.ts'
import { ConfirmRequest } from '../dialogs/confirm-request.tsx'
import { MemberList } from '../dialogs/member-list.tsx'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { passFocus } from '../ui/focus.ts'
import { Field, Form } from '../ui/form.tsx'
import { maxGroupName, maxUserName } from '../ui/limits.ts'
import { Menu } from '../ui/menu.tsx'
import { ListTable } from '../ui/table.tsx'

type OpenDialog = { task: 'create' } | { task: 'edit' | 'members' | 'remove'; id: string }

/** The groups of the server. Groups of a directory can only be changed in the directory. */
export function Groups({ workspace }: { workspace: Workspace }) {
  const groups = useGroups(workspace)
  const query = useSignal('')
  const openDialog = useSignal<OpenDialog | null>(null)
  const { client } = workspace
  const close = () => {
    openDialog.value = null
  }

  const wanted = foldName(query.value.trim().replace(/^@/, ''))
  const shown = groups?.filter(({ handle, name }) => foldName(`${handle} ${name}`).includes(wanted))
  const { value: dialog } = openDialog
  const chosen = dialog && 'id' in dialog ? groups?.find(({ id }) => id === dialog.id) : undefined
  return (
    <>
      <div class="page-bar">
        <input
          class="input"
          type="search"
          aria-label={t('Find a group')}
          placeholder={t('Find a group')}
          onInput={(event) => (query.value = event.currentTarget.value)}
        />
        <button type="button" class="button primary" onClick={() => (openDialog.value = { task: 'create' })}>
          {t('Create group')}
        </button>
      </div>
      <ListTable
        list={shown}
        none={wanted === '' ? t('There are no groups yet.') : t('Nothing was found')}
        heads={[t('Handle'), t('Name'), t('Members'), t('Managed by')]}
        hasActions
      >
        {(group) => (
          <GroupRow key={group.id} group={group} onTask={(task) => (openDialog.value = { task, id: group.id })} />
        )}
      </ListTable>
      {dialog?.task === 'create' && <EditGroup workspace={workspace} onClose={close} />}
      {dialog?.task === 'edit' && chosen && <EditGroup workspace={workspace} group={chosen} onClose={close} />}
      {dialog?.task === 'members' && chosen && <GroupMembers workspace={workspace} group={chosen} onClose={close} />}
      {dialog?.task === 'remove' && chosen && (
        <ConfirmRequest
          name={t('Delete group')}
          question={t('Members who are in a channel only through {name} leave that channel.', {
            name: `@${chosen.handle}`,
          })}
          confirmLabel={t('Delete')}
          onConfirm={() => client.request('DELETE /groups/:groupId', { params: { groupId: chosen.id } })}
          onClose={close}
        />
      )}
    </>
  )
}

/** All groups, sorted by handle: `@team-2` before `@team-10`. After a lost connection they are fetched again. */
function useGroups({ groups, connection }: Workspace): readonly Group[] | undefined {
  const { value: state } = connection
  useEffect(() => void groups.load(), [state])
  return groups.isKnown()
    ? groups.all().sort((a, b) => a.handle.localeCompare(b.handle, undefined, { numeric: true }))
    : undefined
}

function GroupRow({ group, onTask }: { group: Group; onTask: (task: 'edit' | 'members' | 'remove') => void }) {
  const { handle, name, memberCount, source } = group
  const sources = { local: t('Admins'), scim: t('A directory, by SCIM'), sso: t('A sign-in provider') }
  return (
    <tr ref={passFocus}>
      <th scope="row" dir="auto">
        @{handle}
      </th>
      <td dir="auto">{name}</td>
      <td>{memberCount}</td>
      <td>{sources[source]}</td>
      <td>
        <Menu
          name={t('Actions for {name}', { name: handle })}
          items={[
            { name: t('Members'), onChoose: () => onTask('members') },
            ...(source === 'local'
              ? [
                  { name: t('Edit'), onChoose: () => onTask('edit') },
                  { name: t('Delete'), isDangerous: true, onChoose: () => onTask('remove') },
                ]
              : []),
          ]}
        />
      </td>
    </tr>
  )
}

interface EditGroupProps {
  workspace: Workspace
  /** The group to change. Without it, a new one is created. */
  group?: Group
  onClose: () => void
}

const EditGroup = ({ workspace: { client }, group, onClose }: EditGroupProps) => (
  <Dialog name={group ? t('Edit group') : t('Create group')} onClose={onClose}>
    <Form
      submitLabel={group ? t('Save') : t('Create')}
      onSubmit={async ({ handle = '', name = '' }) => {
        const body = { handle: handle.trim().replace(/^@/, ''), name }
        if (group) await client.request('PUT /groups/:groupId', { params: { groupId: group.id }, body })
        else await client.request('POST /groups', { body })
        onClose()
      }}
    >
      <Field
        label={t('Handle')}
        hint={t('The name for mentions, such as @sales')}
        name="handle"
        defaultValue={group?.handle}
        maxLength={maxUserName}
        required
        autoFocus
      />
      <Field label={t('Name')} name="name" defaultValue={group?.name} maxLength={maxGroupName} required />
    </Form>
  </Dialog>
)

function GroupMembers({ workspace, group, onClose }: Required<EditGroupProps>) {
  const { client } = workspace
  const params = { groupId: group.id }
  const change = (body: { add?: string[]; remove?: string[] }) =>
    client.request('PUT /groups/:groupId/members', { params, body })
  return (
    <Dialog name={t('Members of {name}', { name: `@${group.handle}` })} onClose={onClose}>
      {group.source !== 'local' && <p>{t('The directory of the organisation manages this group. Change it there.')}</p>}
      <MemberList
        workspace={workspace}
        count={group.memberCount}
        fetchPage={(query) => client.request('GET /groups/:groupId/members', { params, query })}
        {...(group.source === 'local' && {
          onAdd: (userId) => change({ add: [userId] }),
          onRemove: (userId) => change({ remove: [userId] }),
        })}
      />
    </Dialog>
  )
}
