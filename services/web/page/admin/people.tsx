import type { User } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { attempt } from '../app/problems.ts'
import { peopleByName, type Workspace } from '../app/workspace.ts'
import { dateTimeOf, t } from '../texts/texts.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Field, Form } from '../ui/form.tsx'

export function People({ workspace }: { workspace: Workspace }) {
  const isAdding = useSignal(false)
  const removed = useSignal<User | null>(null)
  const { client } = workspace
  return (
    <>
      <p>
        <button type="button" class="button primary" onClick={() => (isAdding.value = true)}>
          {t('Add person')}
        </button>
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">{t('Name')}</th>
            <th scope="col">{t('Email')}</th>
            <th scope="col">{t('Since')}</th>
            <th scope="col">{t('Role')}</th>
            <th scope="col">
              <span class="visually-hidden">{t('Actions')}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {peopleByName(workspace.users.value).map((user) => (
            <tr key={user.id}>
              <th scope="row" dir="auto">
                {user.userName}
              </th>
              <td>{user.email}</td>
              <td>{dateTimeOf(user.createdAt)}</td>
              <td>
                <select
                  class="input"
                  aria-label={t('Role')}
                  value={user.isAdmin ? 'admin' : 'user'}
                  onChange={({ currentTarget }) =>
                    void attempt(
                      client.request('PUT /users/:id/role', {
                        params: { id: user.id },
                        body: { role: currentTarget.value as 'user' | 'admin' },
                      }),
                    )
                  }
                >
                  <option value="user">{t('Member')}</option>
                  <option value="admin">{t('Admin')}</option>
                </select>
              </td>
              <td>
                {user.id !== workspace.myId && (
                  <button type="button" class="button" onClick={() => (removed.value = user)}>
                    {t('Remove')}
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {isAdding.value && <AddPerson workspace={workspace} onClose={() => (isAdding.value = false)} />}
      {removed.value && (
        <Confirm
          name={t('Remove person')}
          question={t('{name} will be signed out everywhere and cannot come back. Their messages stay.', {
            name: removed.value.userName,
          })}
          action={t('Remove')}
          onConfirm={() => void attempt(client.request('DELETE /users/:id', { params: { id: removed.value!.id } }))}
          onClose={() => (removed.value = null)}
        />
      )}
    </>
  )
}

function AddPerson({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  return (
    <Dialog name={t('Add person')} onClose={onClose}>
      <Form
        action={t('Add')}
        onSubmit={async ({ email = '', role, password = '' }) => {
          const body = { email, role: role as 'user' | 'admin', ...(password !== '' && { password }) }
          await workspace.client.request('POST /users/add', { body })
          onClose()
        }}
      >
        <Field label={t('Email')} name="email" type="email" required autoFocus />
        <label class="field">
          <span class="label">{t('Role')}</span>
          <select class="input" name="role">
            <option value="user">{t('Member')}</option>
            <option value="admin">{t('Admin')}</option>
          </select>
        </label>
        <Field
          label={t('Password')}
          hint={t('Only where the server sends no mail')}
          name="password"
          type="password"
          autoComplete="new-password"
        />
      </Form>
    </Dialog>
  )
}
