import type { User } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { customStatusOf, lineOf } from '../app/custom-status.ts'
import { shownPerson } from '../app/shown-person.ts'
import type { Workspace } from '../app/workspace.ts'
import { Avatar } from '../messages/avatar.tsx'
import { dateOf, momentOf } from '../texts/formats.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { openConversation } from './new-direct-message.tsx'

interface PersonCardProps {
  workspace: Workspace
  person: { id: string; userName: string }
}

/** The card of a person, with a button to write to them. */
export function PersonCard({ workspace, person: { id, userName } }: PersonCardProps) {
  const { known, isGone } = useKnownPerson(workspace, id)
  const isReady = workspace.isReady.value
  useEffect(() => (isReady ? workspace.showPresence([id]) : undefined), [id, isReady])
  const close = () => {
    if (shownPerson.value?.id === id) shownPerson.value = null
  }
  const name = known?.userName ?? userName
  return (
    <Dialog name={name} onClose={close}>
      <div class="person-card">
        <Avatar workspace={workspace} name={name} id={id} size="256" />
        {isGone && <p class="quiet">{t('This person is no longer on this server.')}</p>}
        {known && <PersonFacts workspace={workspace} person={known} />}
      </div>
      <div class="dialog-actions">
        {id === workspace.myId ? (
          <a class="button" href="/profile" onClick={close}>
            {t('Profile')}
          </a>
        ) : (
          known?.isActive && (
            <button
              type="button"
              class="button primary"
              onClick={async () => {
                if (await openConversation(workspace, id, () => '')) close()
              }}
            >
              {t('Message {name}', { name })}
            </button>
          )
        )}
      </div>
    </Dialog>
  )
}

/** The person, who is requested unless they are known, and whether the server does not have them any more. */
function useKnownPerson(workspace: Workspace, id: string) {
  const hasResponse = useSignal(false)
  const known = id === workspace.myId ? workspace.me.value : workspace.user(id)
  // After missed events all people are unknown until they are fetched again. So a response counts only until the person is known.
  useEffect(() => {
    if (known) return
    let isAwaited = true
    void workspace.loadUser(id).then((isLoaded) => {
      if (isAwaited) hasResponse.value = isLoaded
    })
    return () => {
      isAwaited = false
      hasResponse.value = false
    }
  }, [id, !known])
  // Guests do not see people with whom they share no channel any more, so for them it is not known.
  return { known, isGone: !known && hasResponse.value && workspace.me.value.role !== 'guest' }
}

function PersonFacts({
  workspace,
  person,
}: {
  workspace: Workspace
  person: Omit<User, 'createdAt' | 'customStatus'>
}) {
  const { displayName, title, isBot, email, role, expiresAt, isActive } = person
  const status = workspace.presence(person.id)
  const customStatus = customStatusOf(workspace, person.id)
  const statuses = { online: t('Online'), away: t('Away'), offline: t('Not here') }
  const roles = { admin: t('Admin'), member: t('Member'), guest: t('Guest') }
  return (
    <div>
      {displayName && <p dir="auto">{displayName}</p>}
      {title && (
        <p class="quiet" dir="auto">
          {title}
        </p>
      )}
      {customStatus && (
        <p dir="auto">
          {lineOf(customStatus)}
          {customStatus.expiresAt !== null && (
            <span class="quiet"> {t('Until {day}', { day: momentOf(customStatus.expiresAt) })}</span>
          )}
        </p>
      )}
      <p>
        <span class="presence" data-status={status} aria-hidden="true" /> {statuses[status]}
      </p>
      {!isBot && (
        <p>
          <a href={`mailto:${email}`}>{email}</a>
        </p>
      )}
      <p class="quiet">
        {roles[role]}
        {expiresAt ? `, ${t('Until {day}', { day: dateOf(expiresAt - 1) })}` : ''}
        {!isActive && `, ${t('Deactivated')}`}
      </p>
    </div>
  )
}
