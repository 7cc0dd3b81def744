import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { whenIdle } from '../ui/idle.ts'
import { scrollToOption } from '../ui/scroll-to-option.ts'
import { useUniqueId } from '../ui/unique-id.ts'
import { Avatar } from './avatar.tsx'
import type { Option, TypingPlace } from './completion.ts'
import { replaceText } from './formatting.tsx'
import { renderStatusEmoji } from './status-emoji.tsx'
import { type TypedWord, wordBefore } from './typed-word.ts'

interface Suggested {
  word: TypedWord
  options: readonly Option[]
}

const requestAfterMs = 100

/** Finds the options. It is loaded after the first view, or when the person types. */
let completion: typeof import('./completion.ts') | undefined

async function loadCompletion() {
  completion ??= await import('./completion.ts')
  return completion
}

/**
 * Suggestions for the word before the caret of a text box. The keys are those of a combobox: the arrows move, Enter or Tab chooses, Escape
 * closes. Known options are shown immediately, and those from the server a moment later.
 */
export function useSuggestions(box: RefObject<HTMLTextAreaElement | null>, workspace: Workspace, place: TypingPlace) {
  const shown = useSignal<Suggested | null>(null)
  const chosen = useSignal(0)
  const request = useRef<AbortController | undefined>(undefined)
  const id = useUniqueId()
  useEffect(
    () =>
      whenIdle(() =>
        loadCompletion().catch(() => {
          // It is loaded again when the person types.
        }),
      ),
    [],
  )
  useEffect(() => () => request.current?.abort(), [])

  function close() {
    request.current?.abort()
    shown.value = null
  }

  function suggest() {
    close()
    const { value, selectionStart, selectionEnd } = box.current!
    const word = selectionStart === selectionEnd ? wordBefore(value, selectionStart) : null
    // Commands cannot be typed in a thread.
    if (!word || (word.sign === '/' && place.threadId !== undefined)) return
    chosen.value = 0
    show(word, completion?.knownOptions(word, workspace, place) ?? [])
    const controller = new AbortController()
    request.current = controller
    setTimeout(() => {
      if (controller.signal.aborted) return
      showFound(word, controller.signal).catch(() => {
        // The known options are shown alone.
      })
    }, requestAfterMs)
  }

  async function showFound(word: TypedWord, signal: AbortSignal) {
    const { findOptions, joinOptions, knownOptions } = await loadCompletion()
    if (signal.aborted) return
    const known = knownOptions(word, workspace, place)
    // They are shown already, unless the code has just been loaded.
    show(word, known)
    const found = await findOptions(word, workspace, place, signal)
    if (!signal.aborted) show(word, joinOptions(word, known, found))
  }

  function show(word: TypedWord, options: readonly Option[]) {
    // An option that the person has moved to stays chosen.
    const key = chosen.value > 0 && shown.value?.options[chosen.value]?.key
    shown.value = options.length > 0 ? { word, options } : null
    chosen.value = Math.max(
      0,
      options.findIndex((option) => option.key === key),
    )
  }

  function choose({ text }: Option) {
    const { from, to } = shown.value!.word
    close()
    replaceText(box.current!, from, to, text)
  }

  /** Handles a key. Returns false if the key is not for the suggestions. */
  function onKeyDown(event: KeyboardEvent): boolean {
    const { value: open } = shown
    if (!open) return false
    // Enter after a completely typed command sends it.
    if (event.key === 'Enter' && isTypedOut(open, chosen.value)) {
      close()
      return false
    }
    const step = event.altKey ? undefined : { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) chosen.value = (chosen.value + step + open.options.length) % open.options.length
    else if ((event.key === 'Enter' && !event.shiftKey) || event.key === 'Tab') choose(open.options[chosen.value]!)
    else if (event.key === 'Escape') {
      event.stopPropagation()
      close()
    } else return false
    event.preventDefault()
    return true
  }

  const { value: open } = shown
  return {
    suggest,
    close,
    onKeyDown,
    /** Attributes for the text box. */
    aria: {
      'aria-autocomplete': 'list',
      'aria-haspopup': 'listbox',
      'aria-controls': open ? id : undefined,
      'aria-activedescendant': open ? `${id}-${chosen.value}` : undefined,
    } as const,
    list: open && (
      <div class="options" role="listbox" id={id} aria-label={t('Suggestions')}>
        {open.options.map((option, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the text box has the keys
          <div
            key={option.key}
            id={`${id}-${index}`}
            ref={index === chosen.value ? scrollToOption : null}
            class="option"
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen.value}
            // The text box keeps the focus.
            onMouseDown={(event) => event.preventDefault()}
            // The first touch does not choose: a finger also scrolls the list, and a click would come when the list is gone.
            onClick={() => choose(option)}
          >
            {option.person && (
              <Avatar workspace={workspace} name={option.person.userName} id={option.person.id} size="small" />
            )}
            <span dir="auto">{option.label}</span>
            {option.person && renderStatusEmoji(workspace, option.person.id)}
            <span class="quiet" dir="auto">
              {option.hint}
            </span>
          </div>
        ))}
      </div>
    ),
  }
}

const isTypedOut = ({ word, options }: Suggested, chosen: number) =>
  word.sign === '/' && options[chosen]!.key === word.typed
