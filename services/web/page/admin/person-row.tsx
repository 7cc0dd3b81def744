import type { Role, User } from '@parley/contract'
import type { Workspace } from '../app/workspace.ts'
import { Avatar } from '../messages/avatar.tsx'
import { dateOf, dateTimeOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { passFocus } from '../ui/focus.ts'
import { Menu, type MenuItem } from '../ui/menu.tsx'

/** The actions on a person, besides a change of their role. */
export type PersonTask = 'invite' | 'password' | 'access' | 'guest' | 'activate' | 'deactivate' | 'factors' | 'remove'

interface PersonRowProps {
  workspace: Workspace
  user: User
  /** The role that is shown: while another one is being sent, that one. */
  role: Role
  isMe: boolean
  onRole: (role: Role) => void
  onTask: (task: PersonTask) => void
}

/** The row of a person in the table of people. */
export const PersonRow = ({ workspace, user, role, isMe, onRole, onTask }: PersonRowProps) => (
  <tr ref={passFocus} data-inactive={!user.isActive || undefined}>
    <th scope="row">
      <div class="person">
        <Avatar workspace={workspace} name={user.userName} id={user.id} size="small" />
        <div>
          <bdi id={`${user.id}-name`}>{user.userName}</bdi> {user.isBot && <span class="bot">{t('BOT')}</span>}{' '}
          {!user.isActive && <span class="bot">{t('Deactivated')}</span>}
          {user.displayName !== null && (
            <div class="quiet" dir="auto">
              {user.displayName}
            </div>
          )}
        </div>
      </div>
    </th>
    <td>{user.isBot ? '' : user.email}</td>
    <td class="moment">{dateTimeOf(user.createdAt)}</td>
    <td>
      <select
        class="input"
        aria-label={t('Role')}
        aria-describedby={`${user.id}-name`}
        value={role}
        onChange={({ currentTarget }) => onRole(currentTarget.value as Role)}
      >
        <option value="member">{t('Member')}</option>
        <option value="guest">{t('Guest')}</option>
        {!user.isBot && <option value="admin">{t('Admin')}</option>}
      </select>
      {user.role === 'guest' && user.expiresAt && (
        <div class="quiet">{t('Until {day}', { day: dateOf(user.expiresAt - 1) })}</div>
      )}
    </td>
    <td>
      <Menu
        name={t('Actions for {name}', { name: user.userName })}
        items={tasksOf(user, isMe).map((item) => ({ ...item, onChoose: () => onTask(item.task) }))}
      />
    </td>
  </tr>
)

function tasksOf({ role, isActive, isBot }: User, isMe: boolean): (MenuItem & { task: PersonTask })[] {
  return [
    { task: 'access' as const, name: t('Sessions and API tokens') },
    ...(isBot || !isActive
      ? []
      : [
          { task: 'invite' as const, name: t('Invite again') },
          { task: 'password' as const, name: t('Set a new password') },
        ]),
    ...(role === 'guest' ? [{ task: 'guest' as const, name: t('Set the last day') }] : []),
    ...(isMe
      ? []
      : [
          ...(isBot ? [] : [{ task: 'factors' as const, name: t('Remove second factors') }]),
          isActive
            ? { task: 'deactivate' as const, name: t('Deactivate') }
            : { task: 'activate' as const, name: t('Reactivate') },
          { task: 'remove' as const, name: t('Remove'), isDangerous: true },
        ]),
  ]
}
