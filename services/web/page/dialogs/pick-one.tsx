import { useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { Avatar } from '../messages/avatar.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ignoreFailure } from '../ui/problems.ts'

export interface Choice {
  id: string
  name: string
  hint: string
  isPerson: boolean
}

interface PickOneProps {
  workspace: Workspace
  /** Of the dialog. */
  name: string
  label: string
  /** What is known already. */
  choices: readonly Choice[]
  /** What the server knows besides. */
  find: (text: string, signal: AbortSignal) => Promise<readonly Choice[]>
  onChoose: (choice: Choice) => void
  onClose: () => void
}

const mostShown = 12
const askAfterMs = 120

/** A dialog with a combobox: arrows move, Enter or a click chooses. */
export function PickOne({ workspace, name, label, choices, find, onChoose, onClose }: PickOneProps) {
  const query = useSignal('')
  const chosen = useSignal(0)
  const found = useSignal<readonly Choice[]>([])
  /** Answered when the server has said what it knows of the text. */
  const asking = useRef<{ leaving: AbortController; answered: Promise<void> } | undefined>(undefined)
  const listId = useId()
  useEffect(() => () => asking.current?.leaving.abort(), [])

  function options(): Choice[] {
    const wanted = query.value.trim().toLowerCase().replace(/^[@#]/, '')
    const matches = choices.filter((choice) => `${choice.name} ${choice.hint}`.toLowerCase().includes(wanted))
    const byId = new Map([...matches, ...found.value].map((choice) => [choice.id, choice]))
    return [...byId.values()].sort((a, b) => rank(a, wanted) - rank(b, wanted)).slice(0, mostShown)
  }

  function ask(text: string) {
    asking.current?.leaving.abort()
    found.value = []
    const leaving = new AbortController()
    const answered = new Promise<void>((resolve) => setTimeout(resolve, askAfterMs)).then(async () => {
      if (leaving.signal.aborted || text === '') return
      const answer = await find(text, leaving.signal)
      if (!leaving.signal.aborted) found.value = answer
    })
    asking.current = {
      leaving,
      answered: answered.catch((error) => leaving.signal.aborted || ignoreFailure(error)) as Promise<void>,
    }
  }

  async function chooseFirst() {
    // Whoever types fast and presses Enter means what the server is about to answer.
    if (!options()[chosen.value]) await asking.current?.answered
    const choice = options()[chosen.value]
    if (choice) onChoose(choice)
  }

  function onKeyDown(event: KeyboardEvent) {
    const { length } = options()
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && length > 0) {
      event.preventDefault()
      chosen.value = (chosen.value + step + length) % length
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      void chooseFirst()
    }
  }

  const shown = options()
  return (
    <Dialog name={name} onClose={onClose}>
      <input
        class="input"
        role="combobox"
        aria-label={label}
        placeholder={label}
        aria-autocomplete="list"
        aria-expanded={shown.length > 0}
        aria-controls={listId}
        aria-activedescendant={shown.length > 0 ? `${listId}-${chosen.value}` : undefined}
        autoFocus
        autoComplete="off"
        onKeyDown={onKeyDown}
        onInput={(event) => {
          query.value = event.currentTarget.value
          chosen.value = 0
          ask(query.value.trim().replace(/^[@#]/, ''))
        }}
      />
      <div class="rows" role="listbox" id={listId} aria-label={label}>
        {shown.map((choice, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys
          <div
            key={choice.id}
            id={`${listId}-${index}`}
            class="option"
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen.value}
            onClick={() => onChoose(choice)}
          >
            {choice.isPerson && <Avatar workspace={workspace} name={choice.name} id={choice.id} size="small" />}
            <span dir="auto">{choice.name}</span>
            <span class="quiet" dir="auto">
              {choice.hint}
            </span>
          </div>
        ))}
      </div>
    </Dialog>
  )
}

/** Names that are the text, then those that begin with it, then all others. */
function rank({ name }: Choice, wanted: string): number {
  const plain = name.toLowerCase().replace(/^[@#]/, '')
  return plain === wanted ? 0 : plain.startsWith(wanted) ? 1 : 2
}
