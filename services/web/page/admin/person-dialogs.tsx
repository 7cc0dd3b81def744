import type { Role, User } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { endOfDay } from '../ui/days.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Form, Select } from '../ui/form.tsx'
import { NewPassword, readNewPassword } from '../ui/new-password.tsx'
import { ignoreFailure } from '../ui/retries.ts'

interface AddPersonProps {
  workspace: Workspace
  onAdded: () => void
  onClose: () => void
}

/** Adds a person. If the server sends mails, the person gets an invitation with a link to choose a password. */
export function AddPerson({ workspace, onAdded, onClose }: AddPersonProps) {
  const { client } = workspace
  const role = useSignal<Role>('member')
  const hasMail = useSignal<boolean | undefined>(undefined)
  useEffect(() => {
    client.request('GET /config.json').then(({ auth }) => {
      hasMail.value = auth.hasEmail
    }, ignoreFailure)
  }, [])
  const roles: [Role, string][] = [
    ['member', t('Member')],
    ['guest', t('Guest')],
    ['admin', t('Admin')],
  ]
  return (
    <Dialog name={t('Add person')} onClose={onClose}>
      <Form
        submitLabel={t('Add')}
        onSubmit={async (fields) => {
          const { email = '', expiresAt: lastDay = '' } = fields
          const [password, expiresAt] = [readNewPassword(fields), endOfDay(lastDay)]
          await client.request('POST /users/add', {
            body: {
              email,
              role: role.value,
              ...(expiresAt !== undefined && { expiresAt }),
              ...(password !== '' && { password }),
            },
          })
          onClose()
          onAdded()
        }}
      >
        <Field label={t('Email')} name="email" type="email" required autoFocus />
        <Select label={t('Role')} value={role.value} options={roles} onSelect={(chosen) => (role.value = chosen)} />
        {role.value === 'guest' && <LastDay />}
        {hasMail.value === false && <NewPassword label={t('Password')} isOptional />}
      </Form>
    </Dialog>
  )
}

const LastDay = () => (
  <Field
    label={t('Last day')}
    hint={t('At the end of this day the guest is deactivated. Without a date the guest stays')}
    name="expiresAt"
    type="date"
  />
)

interface PersonDialogProps {
  workspace: Workspace
  user: User
  onClose: () => void
}

interface MakeGuestProps extends PersonDialogProps {
  onChanged: (user: User) => void
}

/** Makes a person a guest, or changes the last day of a guest. */
export const MakeGuest = ({ workspace, user, onChanged, onClose }: MakeGuestProps) => (
  <Dialog name={t('Guest')} onClose={onClose}>
    <p>{t('Guests see only the channels that they were added to, and the people in them.')}</p>
    <Form
      submitLabel={user.role === 'guest' ? t('Save') : t('Make a guest')}
      onSubmit={async ({ expiresAt: lastDay = '' }) => {
        const expiresAt = endOfDay(lastDay)
        const changed = await workspace.client.request('PUT /users/:id/role', {
          params: { id: user.id },
          body: { role: 'guest', ...(expiresAt !== undefined && { expiresAt }) },
        })
        onChanged(changed.user)
        onClose()
      }}
    >
      <LastDay />
    </Form>
  </Dialog>
)

interface SetPasswordProps extends PersonDialogProps {
  onSet: () => void
}

export const SetPassword = ({ workspace, user, onSet, onClose }: SetPasswordProps) => (
  <Dialog name={t('Set a new password')} onClose={onClose}>
    <p>{t('{name} will be signed out everywhere.', { name: user.userName })}</p>
    <Form
      submitLabel={t('Set password')}
      onSubmit={async (fields) => {
        await workspace.client.request('POST /users/:id/reset-password', {
          params: { id: user.id },
          body: { password: readNewPassword(fields) },
        })
        onSet()
        onClose()
      }}
    >
      <NewPassword autoFocus />
    </Form>
  </Dialog>
)
