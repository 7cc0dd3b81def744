import { useSignal } from '@preact/signals'
import type { TargetedKeyboardEvent } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { foldName } from '../app/names.ts'
import type { Workspace } from '../app/workspace.ts'
import { Avatar } from '../messages/avatar.tsx'
import { renderStatusEmoji } from '../messages/status-emoji.tsx'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Icon, type IconName } from '../ui/icons.tsx'
import { isOfInputMethod } from '../ui/keys.ts'
import { pause } from '../ui/pause.ts'
import { textOf } from '../ui/problems.ts'
import { scrollToOption } from '../ui/scroll-to-option.ts'
import { useUniqueId } from '../ui/unique-id.ts'
import { watchTyping } from '../ui/watch-typing.ts'

export interface Choice {
  id: string
  name: string
  hint: string
  isPerson: boolean
  /** Shown before the name instead of its sign. */
  icon?: IconName
}

interface PickOneProps {
  workspace: Workspace
  /** The name of the dialog. */
  name: string
  label: string
  /** The choices that are known without a request. */
  choices: readonly Choice[]
  /** Finds further choices on the server. */
  find: (text: string, signal: AbortSignal) => Promise<readonly Choice[]>
  /** `typed` returns what the person has typed since the choice. The choices stay the same until the promise resolves. */
  onChoose: (choice: Choice, typed: () => string) => unknown
  onClose: () => void
}

const maxShown = 12
const requestAfterMs = 120

/** A dialog with a combobox. The arrow keys move, and Enter or a click chooses. */
export function PickOne({ workspace, name, label, choices, find, onChoose, onClose }: PickOneProps) {
  const query = useSignal('')
  /** The choice that the arrow keys have marked. By default it is the first one. */
  const markedId = useSignal<string | undefined>(undefined)
  const { response, request, settled } = useFoundChoices(find)
  /** Whether the person has chosen. What they type from then on is not a search: it belongs to what they chose. */
  const isChosen = useRef(false)
  const listId = useUniqueId()

  /** The best choices for the current text, and the marked one. */
  function options(): Choice[] {
    const found = typeof response.value === 'object' ? response.value : []
    return inOrder(choices, found, withoutSign(query.value)).filter(
      ({ id }, index) => index < maxShown || id === markedId.value,
    )
  }

  /** The index of the marked choice. It changes when choices of the server come before it. */
  function indexIn(shown: readonly Choice[]): number {
    const index = shown.findIndex(({ id }) => id === markedId.value)
    return index < 0 ? 0 : index
  }

  async function chooseMarked(input: HTMLInputElement) {
    if (isChosen.current) return
    isChosen.current = true
    const typed = watchTyping(input)
    // Enter may be pressed before the server has responded for the typed text. Then it chooses from the coming response.
    if (options().length === 0) await settled()
    const shown = options()
    const choice = shown[indexIn(shown)]
    if (choice) await onChoose(choice, typed)
    isChosen.current = false
    if (input.isConnected) search(input.value)
  }

  function search(text: string) {
    if (isChosen.current) return
    query.value = text
    markedId.value = undefined
    request(withoutSign(text))
  }

  function onKeyDown(event: TargetedKeyboardEvent<HTMLInputElement>) {
    if (isOfInputMethod(event)) return
    const shown = options()
    const { length } = shown
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && length > 0) {
      event.preventDefault()
      markedId.value = shown[(indexIn(shown) + step + length) % length]!.id
    }
    if (event.key === 'Enter') {
      event.preventDefault()
      void chooseMarked(event.currentTarget)
    }
  }

  const shown = options()
  const markedIndex = indexIn(shown)
  return (
    <Dialog name={name} class="picker" onClose={onClose}>
      <input
        class="input"
        role="combobox"
        aria-label={label}
        placeholder={label}
        aria-autocomplete="list"
        aria-expanded={shown.length > 0}
        aria-controls={listId}
        aria-activedescendant={shown.length > 0 ? `${listId}-${markedIndex}` : undefined}
        autoFocus
        autoComplete="off"
        onKeyDown={onKeyDown}
        onInput={(event) => search(event.currentTarget.value)}
      />
      <div class="rows" role="listbox" id={listId} aria-label={label}>
        {shown.map((choice, index) => (
          <Option
            key={choice.id}
            id={`${listId}-${index}`}
            workspace={workspace}
            choice={choice}
            isMarked={index === markedIndex}
            onClick={() => onChoose(choice, () => '')}
          />
        ))}
      </div>
      {renderOutcome(response.value, shown.length === 0)}
    </Dialog>
  )
}

/** The response of the server: choices, or the sentence of an error. Undefined before it comes. */
type SearchResponse = readonly Choice[] | string | undefined

/** Finds choices on the server, once for each text at which the person pauses. */
function useFoundChoices(find: PickOneProps['find']) {
  /** For the current text. */
  const response = useSignal<SearchResponse>(undefined)
  const newest = useRef<{ controller: AbortController; settled: Promise<void> } | undefined>(undefined)
  useEffect(() => () => newest.current?.controller.abort(), [])

  return {
    response,
    request(text: string) {
      newest.current?.controller.abort()
      response.value = undefined
      const controller = new AbortController()
      const settled = pause(requestAfterMs).then(async () => {
        if (controller.signal.aborted || text === '') return
        try {
          const found = await find(text, controller.signal)
          if (!controller.signal.aborted) response.value = found
        } catch (error) {
          if (!controller.signal.aborted) response.value = textOf(error)
        }
      })
      newest.current = { controller, settled }
    },
    /** Resolves when the server has responded for the current text. */
    settled: () => newest.current?.settled,
  }
}

interface OptionProps {
  id: string
  workspace: Workspace
  choice: Choice
  isMarked: boolean
  onClick: () => unknown
}

const Option = ({ id, workspace, choice, isMarked, onClick }: OptionProps) => (
  // biome-ignore lint/a11y/useKeyWithClickEvents: the combobox has the keys
  <div
    ref={isMarked ? scrollToOption : null}
    id={id}
    class="option"
    role="option"
    tabIndex={-1}
    aria-selected={isMarked}
    onClick={onClick}
  >
    {choice.isPerson && <Avatar workspace={workspace} name={choice.name} id={choice.id} size="small" />}
    {choice.icon && <Icon name={choice.icon} />}
    <span dir="auto">{choice.icon ? choice.name.slice(1) : choice.name}</span>
    {choice.isPerson && renderStatusEmoji(workspace, choice.id)}
    <span class="quiet" dir="auto">
      {choice.hint}
    </span>
  </div>
)

/** Says why the list is empty or incomplete. */
const renderOutcome = (response: SearchResponse, isEmpty: boolean) =>
  typeof response === 'string' ? (
    <p class="alert" role="alert">
      {response}
    </p>
  ) : (
    response &&
    isEmpty && (
      <p class="quiet" role="status">
        {t('Nothing was found')}
      </p>
    )
  )

/** A text without the sign before a name. */
const withoutSign = (text: string) => text.trim().replace(/^[@#]/, '')

/** The known choices that match the text, and those that were found, the best ones first. */
function inOrder(known: readonly Choice[], found: readonly Choice[], text: string): Choice[] {
  const wanted = foldName(text)
  const matches = known.filter(({ name, hint }) => foldName(`${name} ${hint}`).includes(wanted))
  const byId = new Map([...matches, ...found].map((choice) => [choice.id, choice]))
  return [...byId.values()].sort((a, b) => rank(a, wanted) - rank(b, wanted))
}

/** The rank of a choice. First is a name that is the text, then one that begins with it, one with a word that does, other names, and hints. */
function rank({ name }: Choice, wanted: string): number {
  const plain = foldName(withoutSign(name))
  if (plain === wanted) return 0
  const at = plain.indexOf(wanted)
  return at < 0 ? 4 : at === 0 ? 1 : /[\s._-]/.test(plain[at - 1]!) ? 2 : 3
}
