import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Place } from '../app/places.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Empty } from '../ui/empty.tsx'
import { ignoreFailure } from '../ui/retries.ts'

interface EmptyFeedProps {
  workspace: Workspace
  view: 'channel' | 'thread'
  /** The channel or conversation. Undefined if the person may not read it any more. */
  place: Place | undefined
}

/** The text box below the list. */
const textBoxes = {
  // An open thread takes the focus, because its message was deleted.
  channel: 'body:not(:has(.panel)) .main > .composer textarea',
  thread: '.panel > .composer textarea',
} as const

/** Shown instead of the messages of an empty channel, conversation or thread. */
export function EmptyFeed({ workspace, view, place }: EmptyFeedProps) {
  useEffect(() => {
    // What had the focus was removed together with the last message.
    if (document.activeElement === document.body) document.querySelector<HTMLElement>(textBoxes[view])?.focus()
  }, [])
  if (view === 'thread') return <Empty icon="thread" title={t('No replies yet')} />
  const title = t('No messages yet')
  if (place?.kind === 'direct') {
    const { userName } = place.conversation.otherUser
    return (
      <Empty
        icon="smile"
        title={title}
        hint={t('This is the beginning of your conversation with {name}.', { name: userName })}
      />
    )
  }
  const mayBeAlone = workspace.me.value.isAdmin && place?.channel.memberCount === 1
  return (
    <Empty icon="smile" title={title} hint={t('Messages stay here. People who join later can read them too.')}>
      {mayBeAlone && <AddFirstPeople workspace={workspace} />}
    </Empty>
  )
}

/** A link to the page on which an admin adds people, as long as nobody else is on the server. */
function AddFirstPeople({ workspace: { client } }: { workspace: Workspace }) {
  const isAlone = useSignal(false)
  useEffect(() => {
    client.request('GET /users', { query: { limit: 2 } }).then(({ users }) => {
      isAlone.value = users.length === 1
    }, ignoreFailure)
  }, [])
  if (!isAlone.value) return null
  return (
    <a class="button" href="/admin/people">
      {t('Add people')}
    </a>
  )
}
