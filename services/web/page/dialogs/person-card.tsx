import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { shownPerson } from '../app/shown-person.ts'
import type { Workspace } from '../app/workspace.ts'
import { Avatar } from '../messages/avatar.tsx'
import { dateOf, t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { openConversation } from './new-direct-message.tsx'

interface PersonCardProps {
  workspace: Workspace
  person: { id: string; userName: string }
}

/** The card of a person, with a button to write to them. */
export function PersonCard({ workspace, person: { id, userName } }: PersonCardProps) {
  const hasResponse = useSignal(false)
  const isReady = workspace.isReady.value
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
  useEffect(() => (isReady ? workspace.showPresence([id]) : undefined), [id, isReady])
  const close = () => {
    if (shownPerson.value?.id === id) shownPerson.value = null
  }
  const status = workspace.presence(id)
  const statuses = { online: t('Online'), away: t('Away'), offline: t('Not here') }
  const roles = { admin: t('Admin'), member: t('Member'), guest: t('Guest') }
  const name = known?.userName ?? userName
  // Guests do not see people with whom they share no channel any more, so for them it is not known.
  const isGone = !known && hasResponse.value && workspace.me.value.role !== 'guest'
  return (
    <Dialog name={name} onClose={close}>
      <div class="person-card">
        <Avatar workspace={workspace} name={name} id={id} size="256" />
        {isGone && <p class="quiet">{t('This person is no longer on this server.')}</p>}
        {known && (
          <div>
            {known.displayName && <p dir="auto">{known.displayName}</p>}
            {known.title && (
              <p class="quiet" dir="auto">
                {known.title}
              </p>
            )}
            <p>
              <span class="presence" data-status={status} aria-hidden="true" /> {statuses[status]}
            </p>
            {!known.isBot && (
              <p>
                <a href={`mailto:${known.email}`}>{known.email}</a>
              </p>
            )}
            <p class="quiet">
              {roles[known.role]}
              {known.expiresAt ? `, ${t('Until {day}', { day: dateOf(known.expiresAt - 1) })}` : ''}
              {!known.isActive && `, ${t('Deactivated')}`}
            </p>
          </div>
        )}
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
                await openConversation(workspace, id, () => '')
                close()
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
