import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect, useId, useRef } from 'preact/hooks'
import { checkNewest } from '../emoji/drawable.ts'
import { loadEmoji, withTone } from '../emoji/emoji.ts'
import { emojiChoice } from '../emoji/emoji-choice.ts'
import type { Emoji } from '../emoji/emoji-list.ts'
import { categoriesOf, findOffered } from '../emoji/offered-emoji.ts'
import { rememberEmoji, setTone } from '../emoji/remember-emoji.ts'
import { type Tone, tones } from '../emoji/tones.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { positionAt } from '../ui/menu.tsx'
import { EmojiGrid, moveByKey } from './emoji-grid.tsx'

export interface EmojiPickerProps {
  /** The name of the dialog. */
  name: string
  onChoose: (emoji: string) => void
  onClose: () => void
}

/** The number of emoji that are rendered first. The same number is added when the person scrolls to the end. */
const atOnce = 160

/**
 * All emoji by category, after the recently used ones. The search finds them by short names and words. Enter chooses the first result, and
 * the arrow keys move between emoji.
 */
export function EmojiPicker({ name, onChoose, onClose }: EmojiPickerProps) {
  const query = useSignal('')
  const most = useSignal(atOnce)
  const pointedAt = useSignal<Emoji | undefined>(undefined)
  const dialog = useRef<HTMLDialogElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const opener = useRef(document.activeElement)
  const ids = useId()
  useEffect(() => {
    void loadEmoji()
    // When it cannot be loaded, there is nothing to check.
    import('../emoji/loaded-list.ts').then(
      ({ newest }) => checkNewest(newest),
      () => {},
    )
  }, [])
  const { tone } = emojiChoice.value
  // The recently used emoji do not change while the picker is open.
  const recent = useRef(emojiChoice.value.recent)
  const shown = query.value.trim() === '' ? categoriesOf(recent.current) : undefined
  const found = shown === undefined ? findOffered(query.value, most.value) : []

  function besideOpener(dialog: HTMLDialogElement) {
    const { current: button } = opener
    // Safari does not focus a button that is clicked. Then the picker stays in the middle, as on a phone.
    if (!button?.matches('button') || !matchMedia('(width >= 48em)').matches) return
    positionAt(dialog, button, button.getBoundingClientRect().left < innerWidth / 2)
  }
  const choose = (one: Emoji) => {
    const emoji = withTone(one, tone)
    rememberEmoji(emoji, one.shortNames[0] ?? '')
    onChoose(emoji)
    // Everything below an open dialog is inert. `onClose` can give the focus to something only after this.
    dialog.current!.close()
  }
  /** Renders the emoji up to this category, and scrolls to it. */
  function show(index: number) {
    const before = shown!.slice(0, index + 1).reduce((sum, category) => sum + category.found.length, 0)
    most.value = Math.max(most.value, before + atOnce)
    requestAnimationFrame(() => document.getElementById(`${ids}-${index}`)?.scrollIntoView({ block: 'start' }))
  }

  let left = most.value
  return (
    <Dialog element={dialog} name={name} class="emoji-picker" onOpened={besideOpener} onClose={onClose}>
      <form
        onSubmit={async (event) => {
          event.preventDefault()
          await loadEmoji()
          const [first] = findOffered(query.value, 1)
          if (first) choose(first)
        }}
      >
        <input
          class="input"
          type="search"
          aria-label={t('Search emoji')}
          placeholder={t('Search emoji')}
          autoFocus
          onKeyDown={(event) => {
            if (event.key !== 'ArrowDown') return
            event.preventDefault()
            list.current!.querySelector('button')?.focus()
          }}
          onInput={(event) => {
            query.value = event.currentTarget.value
            most.value = atOnce
          }}
        />
      </form>
      {shown && (
        <div class="emoji-tabs">
          {shown.map((category, index) => (
            <button
              key={category.name}
              type="button"
              title={category.name}
              aria-label={category.name}
              onClick={() => show(index)}
            >
              {category.face}
            </button>
          ))}
        </div>
      )}
      <div
        ref={list}
        class="emoji-list"
        role="toolbar"
        aria-label={t('Emoji')}
        onKeyDown={moveByKey}
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          if (scrollTop + 2 * clientHeight > scrollHeight) most.value += atOnce
        }}
      >
        {shown?.map((category, index) => {
          const part = category.found.slice(0, Math.max(0, left))
          left -= part.length
          return (
            part.length > 0 && (
              <section key={category.name} id={`${ids}-${index}`} aria-label={category.name}>
                <h3>{category.name}</h3>
                <EmojiGrid found={part} tone={tone} onChoose={choose} onPoint={(one) => (pointedAt.value = one)} />
              </section>
            )
          )
        })}
        {found.length > 0 && (
          <EmojiGrid found={found} tone={tone} onChoose={choose} onPoint={(one) => (pointedAt.value = one)} />
        )}
        {shown === undefined && found.length === 0 && <p class="quiet">{t('Nothing was found')}</p>}
      </div>
      <div class="emoji-foot">
        <Named pointedAt={pointedAt} tone={tone} />
        {/* Not a choice of the browser, which would be a second combobox beside the search field. */}
        <div class="emoji-tones" role="radiogroup" aria-label={t('Skin tone')}>
          {tones.map((one) => (
            <label key={one} title={toneName(one)}>
              <input
                type="radio"
                name={`${ids}-tone`}
                aria-label={toneName(one)}
                checked={one === tone}
                onChange={() => setTone(one)}
              />
              {withTone({ emoji: '✋', hasTones: true }, one)}
            </label>
          ))}
        </div>
      </div>
    </Dialog>
  )
}

const toneName = (tone: Tone) =>
  [t('Yellow'), t('Light'), t('Medium light'), t('Medium'), t('Medium dark'), t('Dark')][tone]

/** The name of the emoji that has the pointer or the focus. */
function Named({ pointedAt: { value: one }, tone }: { pointedAt: ReadonlySignal<Emoji | undefined>; tone: Tone }) {
  return (
    <span class="emoji-name" aria-hidden="true">
      {one && (
        <>
          <span>{withTone(one, tone)}</span> :{one.shortNames[0]}:
        </>
      )}
    </span>
  )
}
