import type { Message } from '@parley/contract'
import type { Workspace } from '../app/workspace.ts'
import { joinSpellings, plainEmoji } from '../emoji/spellings.ts'
import { t } from '../texts/texts.ts'
import { passFocus } from '../ui/focus.ts'
import { Icon } from '../ui/icons.tsx'

/** The number of people whose names are shown when the pointer is on a reaction. */
const maxNamed = 20

interface ReactionsProps {
  message: Message
  workspace: Workspace
  onToggle: (emoji: string) => Promise<void>
  /** Called when the person wants to choose another emoji. */
  onMore: () => void
}

/** The reactions to a message, each with the number of people, and a button for another one. */
export function Reactions({ message, workspace, onToggle, onMore }: ReactionsProps) {
  const reactions = joinSpellings(message.reactions)
  return (
    <div class="reactions">
      {reactions.map(({ emoji, people }) => (
        <button
          key={plainEmoji(emoji)}
          ref={passFocus}
          type="button"
          class="reaction"
          aria-pressed={people.includes(workspace.myId)}
          title={namesOf(people, workspace)}
          onPointerEnter={() => people.slice(0, maxNamed).forEach(workspace.loadUser)}
          onClick={() => void onToggle(emoji)}
        >
          <bdi>{emoji}</bdi> <span>{people.length}</span>
        </button>
      ))}
      <button
        type="button"
        class="reaction"
        aria-label={t('Respond with another emoji')}
        title={t('Respond with another emoji')}
        onClick={onMore}
      >
        <Icon name="react" />
      </button>
    </div>
  )
}

function namesOf(people: readonly string[], workspace: Workspace): string {
  const all = people.slice(0, maxNamed).map((id) => workspace.userName(id, ''))
  // People who were removed from the server have no name.
  const names = all.filter((name) => name !== '')
  const others = people.length - names.length
  return `${names.join(', ')}${others > 0 ? ` +${others}` : ''}`.trim()
}
