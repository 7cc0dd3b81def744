import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { shownPerson } from '../app/shown-person.ts'
import type { Workspace } from '../app/workspace.ts'
import { Avatar } from '../messages/avatar.tsx'
import { renderStatusEmoji } from '../messages/status-emoji.tsx'
import { t } from '../texts/texts.ts'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'
import { ShowMore } from '../ui/show-more.tsx'
import { findPeople } from './choices.ts'
import { ConfirmRequest } from './confirm-request.tsx'
import { PickOne } from './pick-one.tsx'

interface Member {
  id: string
  userName: string
}

interface MemberListProps {
  workspace: Workspace
  /** The number of members. When it changes, the list is fetched again. */
  count: number
  fetchPage: (page: { limit: number; after?: string }) => Promise<{ members: readonly Member[]; hasMore: boolean }>
  /** Set if people can be added and removed. */
  onAdd?: (userId: string) => Promise<unknown>
  onRemove?: (userId: string) => Promise<unknown>
  /** The question before a person of this name is removed. Without it, nothing is asked. */
  questionOf?: ((name: string) => string) | undefined
  /** The id of a person who cannot be removed. */
  keptId?: string | null
}

const pageSize = 50

/** A list of members, page by page. Their names open their cards. */
export function MemberList({ workspace, count, fetchPage, onAdd, onRemove, questionOf, keptId }: MemberListProps) {
  const members = useSignal<readonly Member[]>([])
  const hasMore = useSignal(false)
  const isAdding = useSignal(false)
  /** The last change. */
  const note = useSignal('')
  /** The person to remove, while the question is open. */
  const asked = useSignal<Member | null>(null)
  /** The number of times that the list was fetched from its beginning. */
  const loads = useRef(0)

  async function load(after?: string) {
    if (!after) loads.current++
    const { current: begun } = loads
    // After a change, as many members are shown as before.
    const limit = after ? pageSize : Math.max(pageSize, members.value.length)
    const page = await attempt(fetchPage({ limit, ...(after && { after }) }))
    // The list is being fetched again, so this page may be outdated.
    if (!page || begun !== loads.current) return
    members.value = after ? [...members.value, ...page.members] : page.members
    hasMore.value = page.hasMore
  }
  useEffect(() => void load(), [count])

  /** Shows the change, and says it to people who do not see the list. */
  async function change(changing: Promise<unknown>, done: string) {
    // The same text is announced again only when it was gone meanwhile.
    note.value = ''
    if (!(await attempt(changing.then(() => true)))) return
    note.value = done
    await load()
  }

  /** The row is gone before the question closes, so that the question does not give the focus back to its button. */
  async function confirmRemoval(removed: Member) {
    note.value = ''
    await onRemove!(removed.id)
    members.value = members.value.filter(({ id }) => id !== removed.id)
    note.value = t('The person was removed')
    void load()
  }

  return (
    <section aria-label={t('Members')}>
      <h3>{t('{count, plural, one {# member} other {# members}}', { count })}</h3>
      <ul class="rows">
        {members.value.map(({ id, userName }) => (
          <li key={id} class="member-row">
            <Avatar workspace={workspace} name={userName} id={id} size="small" />
            <button
              type="button"
              class="name name-button"
              dir="auto"
              onClick={() => (shownPerson.value = { id, userName })}
            >
              {userName}
            </button>
            {renderStatusEmoji(workspace, id)}
            {onRemove && id !== keptId && (
              <RequestButton
                class="link-button"
                name={t('Remove {name}', { name: userName })}
                onRequest={async () => {
                  if (questionOf) asked.value = { id, userName }
                  else await change(onRemove(id), t('The person was removed'))
                }}
              >
                {t('Remove')}
              </RequestButton>
            )}
          </li>
        ))}
      </ul>
      <p role="status" class="visually-hidden">
        {note.value}
      </p>
      {hasMore.value && <ShowMore onMore={() => load(members.value.at(-1)!.id)} />}
      {onAdd && (
        <button type="button" class="button" onClick={() => (isAdding.value = true)}>
          {t('Add a member')}
        </button>
      )}
      {asked.value && onRemove && questionOf && (
        <ConfirmRequest
          name={t('Remove member')}
          question={questionOf(asked.value.userName)}
          confirmLabel={t('Remove')}
          onConfirm={() => confirmRemoval(asked.value!)}
          onClose={() => (asked.value = null)}
        />
      )}
      {isAdding.value && onAdd && (
        <PickOne
          workspace={workspace}
          name={t('Add a member')}
          label={t('Person')}
          choices={[]}
          find={(text, signal) => findPeople(workspace, text, signal)}
          onClose={() => (isAdding.value = false)}
          onChoose={({ id }) => {
            isAdding.value = false
            void change(onAdd(id), t('The person was added'))
          }}
        />
      )}
    </section>
  )
}
