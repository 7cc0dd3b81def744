import type { Role, User } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { NotFetched } from '../app/fetched.tsx'
import type { Workspace } from '../app/workspace.ts'
import { ConfirmRequest } from '../dialogs/confirm-request.tsx'
import { t } from '../texts/texts.ts'
import { attempt } from '../ui/problems.ts'
import { ResultCount } from '../ui/result-count.tsx'
import { ShowMore } from '../ui/show-more.tsx'
import { Table } from '../ui/table.tsx'
import { useFoundPeople } from './found-people.ts'
import { PersonAccess } from './person-access.tsx'
import { AddPerson, MakeGuest, SetPassword } from './person-dialogs.tsx'
import { PersonRow, type PersonTask } from './person-row.tsx'

type OpenDialog = { task: 'add' } | { task: Exclude<PersonTask, 'invite' | 'activate'>; user: User }

/** The people of the server, page by page, with a search by name or address. */
export function People({ workspace }: { workspace: Workspace }) {
  const dialog = useSignal<OpenDialog | null>(null)
  const note = useSignal('')
  const { client } = workspace
  const { data, query, search, showMore, change } = useFoundPeople(workspace)
  const roles = useRoleChanges(workspace, (changed) => change(changed.id, () => changed))
  const { value: found } = data.fetched
  const close = () => {
    dialog.value = null
  }

  /**
   * Shows the change. After a refusal a copy of the user is set, so that the table renders again with the old value.
   */
  async function settle(user: User, changing: Promise<{ user: User }>) {
    const changed = await attempt(changing)
    change(user.id, () => changed?.user ?? { ...user })
  }

  function setRole(user: User, role: Role) {
    if (role === 'guest') {
      dialog.value = { task: 'guest', user }
      return
    }
    void roles.set(user.id, role)
  }

  function openAdd() {
    // The same text is announced again only when it was gone meanwhile.
    note.value = ''
    dialog.value = { task: 'add' }
  }

  async function begin(task: PersonTask, user: User) {
    if (task === 'activate') {
      const body = { isActive: true }
      return settle(user, client.request('PUT /users/:id/active', { params: { id: user.id }, body }))
    }
    if (task !== 'invite') {
      dialog.value = { task, user }
      return
    }
    if (await attempt(client.request('POST /users/:id/invite', { params: { id: user.id } })))
      note.value = t('An invitation is on its way to {email}', { email: user.email })
  }

  return (
    <>
      <div class="page-bar">
        <input
          class="input"
          type="search"
          aria-label={t('Find a person')}
          placeholder={t('Find a person')}
          onInput={(event) => search(event.currentTarget.value)}
        />
        <button type="button" class="button primary" onClick={openAdd}>
          {t('Add person')}
        </button>
      </div>
      <p role="status">{note.value}</p>
      <NotFetched of={data} />
      <ResultCount count={query === '' ? undefined : found?.users.length} />
      {found && found.users.length > 0 && (
        <Table heads={[t('Name'), t('Email'), t('Since'), t('Role')]} hasActions>
          {found.users.map((user) => (
            <PersonRow
              key={user.id}
              workspace={workspace}
              user={user}
              role={roles.wanted(user.id) ?? user.role}
              isMe={user.id === workspace.myId}
              onRole={(role) => setRole(user, role)}
              onTask={(task) => void begin(task, user)}
            />
          ))}
        </Table>
      )}
      {found?.hasMore && <ShowMore onMore={showMore} />}
      {dialog.value?.task === 'add' ? (
        <AddPerson workspace={workspace} onAdded={() => (note.value = t('The person was added'))} onClose={close} />
      ) : (
        dialog.value && (
          <PersonDialog
            {...dialog.value}
            workspace={workspace}
            onChanged={(changed) => change(changed.id, () => changed)}
            onNote={(text) => (note.value = text)}
            onClose={() => {
              // Renders the row again, so that the role field shows the current role when nothing was changed.
              change((dialog.value as { user: User }).user.id, (user) => ({ ...user }))
              close()
            }}
          />
        )
      )}
    </>
  )
}

/**
 * The roles that were chosen and are being sent. Only one request for a person is sent at a time, so that the last choice wins. Until then
 * the row shows this choice, and not the earlier ones that responses and events tell.
 */
function useRoleChanges({ client }: Workspace, onChanged: (user: User) => void) {
  const roles = useSignal<ReadonlyMap<string, Role>>(new Map())
  const wanted = (id: string) => roles.value.get(id)
  const change = (changed: (roles: Map<string, Role>) => unknown) => {
    const next = new Map(roles.value)
    changed(next)
    roles.value = next
  }

  async function set(id: string, chosen: Role) {
    const isSending = wanted(id) !== undefined
    change((next) => next.set(id, chosen))
    if (isSending) return
    for (let role: Role | undefined; role !== wanted(id); ) {
      role = wanted(id)!
      const changed = await attempt(client.request('PUT /users/:id/role', { params: { id }, body: { role } }))
      if (changed) onChanged(changed.user)
    }
    change((next) => next.delete(id))
  }

  return { wanted, set }
}

type PersonDialogProps = Exclude<OpenDialog, { task: 'add' }> & {
  workspace: Workspace
  onChanged: (user: User) => void
  /** Called with what was done, when the table does not show it. */
  onNote: (text: string) => void
  onClose: () => void
}

/** The dialog of an action on a person. */
function PersonDialog({ task, user, workspace, onChanged, onNote, onClose }: PersonDialogProps) {
  const { client } = workspace
  const { userName: name } = user
  const params = { id: user.id }
  switch (task) {
    case 'guest':
      return <MakeGuest workspace={workspace} user={user} onChanged={onChanged} onClose={onClose} />
    case 'password':
      return (
        <SetPassword
          workspace={workspace}
          user={user}
          onSet={() => onNote(t('{name} has a new password', { name }))}
          onClose={onClose}
        />
      )
    case 'access':
      return <PersonAccess workspace={workspace} user={user} onClose={onClose} />
    case 'deactivate':
      return (
        <ConfirmRequest
          name={t('Deactivate')}
          question={t('{name} will be signed out everywhere and cannot sign in. Name, memberships and messages stay.', {
            name,
          })}
          confirmLabel={t('Deactivate')}
          onConfirm={async () => {
            const body = { isActive: false }
            onChanged((await client.request('PUT /users/:id/active', { params, body })).user)
          }}
          onClose={onClose}
        />
      )
    case 'factors':
      return (
        <ConfirmRequest
          name={t('Remove second factors')}
          question={t('{name} can sign in without the authenticator app and passkeys that are set up now.', { name })}
          confirmLabel={t('Remove')}
          onConfirm={async () => {
            await client.request('DELETE /users/:id/second-factors', { params })
            onNote(t('{name} has no second factors any more', { name }))
          }}
          onClose={onClose}
        />
      )
    case 'remove':
      return (
        <ConfirmRequest
          name={t('Remove person')}
          question={t('{name} will be signed out everywhere and cannot come back. Their messages stay.', { name })}
          confirmLabel={t('Remove')}
          onConfirm={() => client.request('DELETE /users/:id', { params })}
          onClose={onClose}
        />
      )
  }
}
