import { type ReadonlySignal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { checkNewest } from '../emoji/drawable.ts'
import { loadEmoji, nameOfEmoji, withTone } from '../emoji/emoji.ts'
import { emojiChoice } from '../emoji/emoji-choice.ts'
import type { Emoji } from '../emoji/emoji-list.ts'
import { categoriesOf, type EmojiCategory, findOffered } from '../emoji/offered-emoji.ts'
import { rememberEmoji } from '../emoji/remember-emoji.ts'
import type { Tone } from '../emoji/tones.ts'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { positionAt } from '../ui/menu.tsx'
import { ResultCount } from '../ui/result-count.tsx'
import { useUniqueId } from '../ui/unique-id.ts'
import { EmojiGrid, moveByKey } from './emoji-grid.tsx'
import { SkinTones } from './skin-tones.tsx'

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
  const ids = useUniqueId()
  useLoadedEmoji()
  const { tone } = emojiChoice.value
  // The recently used emoji do not change while the picker is open.
  const recent = useRef(emojiChoice.value.recent)
  /** Undefined while the person searches. */
  const categories = query.value.trim() === '' ? categoriesOf(recent.current) : undefined

  const found = categories ? undefined : findOffered(query.value, most.value)

  const choose = (one: Emoji) => {
    const emoji = withTone(one, tone)
    rememberEmoji(emoji, one.shortNames[0] ?? '')
    onChoose(emoji)
    // Everything below an open dialog is inert. `onClose` can give the focus to something only after this.
    dialog.current!.close()
  }
  async function chooseFirstFound() {
    await loadEmoji()
    const [first] = findOffered(query.value, 1)
    if (first) choose(first)
  }
  function search(text: string) {
    query.value = text
    most.value = atOnce
  }
  /** Renders the emoji up to this category, and scrolls to it. */
  function show(index: number) {
    const before = categories!.slice(0, index + 1).reduce((sum, category) => sum + category.found.length, 0)
    most.value = Math.max(most.value, before + atOnce)
    requestAnimationFrame(() => document.getElementById(`${ids}-${index}`)?.scrollIntoView({ block: 'start' }))
  }

  const gridProps = { tone, onChoose: choose, onPoint: (one: Emoji) => (pointedAt.value = one) }
  return (
    <Dialog
      element={dialog}
      name={name}
      class="emoji-picker"
      onOpened={(element) => placeBeside(opener.current, element)}
      onClose={onClose}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void chooseFirstFound()
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
          onInput={(event) => search(event.currentTarget.value)}
        />
      </form>
      {categories && <CategoryButtons categories={categories} onShow={show} />}
      <ResultCount count={found?.length} />
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
        {categories ? (
          firstOf(categories, most.value).map(
            ({ name, found }, index) =>
              found.length > 0 && (
                <section key={name} id={`${ids}-${index}`} aria-label={name}>
                  <h3>{name}</h3>
                  <EmojiGrid found={found} {...gridProps} />
                </section>
              ),
          )
        ) : (
          <EmojiGrid found={found!} {...gridProps} />
        )}
      </div>
      <div class="emoji-foot">
        <PointedEmoji pointedAt={pointedAt} tone={tone} />
        <SkinTones chosen={tone} />
      </div>
    </Dialog>
  )
}

/** Loads the list of all emoji, and checks which of the newest ones the browser can draw. */
function useLoadedEmoji() {
  useEffect(() => {
    void loadEmoji()
    // When it cannot be loaded, there is nothing to check.
    import('../emoji/loaded-list.ts').then(
      ({ newest }) => checkNewest(newest),
      () => {},
    )
  }, [])
}

function placeBeside(opener: Element | null, dialog: HTMLDialogElement) {
  // Safari does not focus a button that is clicked. Then the picker stays in the middle, as on a phone.
  if (!opener?.matches('button') || !matchMedia('(width >= 48em)').matches) return
  positionAt(dialog, opener, opener.getBoundingClientRect().left < innerWidth / 2)
}

/** The categories with only the first `most` emoji of all. */
function firstOf(categories: readonly EmojiCategory[], most: number): EmojiCategory[] {
  let left = most
  return categories.map((category) => {
    const found = category.found.slice(0, left)
    left -= found.length
    return { ...category, found }
  })
}

interface CategoryButtonsProps {
  categories: readonly EmojiCategory[]
  onShow: (index: number) => void
}

const CategoryButtons = ({ categories, onShow }: CategoryButtonsProps) => (
  <div class="emoji-tabs">
    {categories.map(({ name, face }, index) => (
      <button key={name} type="button" title={name} aria-label={name} onClick={() => onShow(index)}>
        {face}
      </button>
    ))}
  </div>
)

/** The emoji that has the pointer or the focus, with its name in the language of the page, if it has one, and its short name. */
function PointedEmoji({
  pointedAt: { value: one },
  tone,
}: {
  pointedAt: ReadonlySignal<Emoji | undefined>
  tone: Tone
}) {
  const [shortName = ''] = one?.shortNames ?? []
  const name = nameOfEmoji(shortName)
  return (
    <span class="emoji-name" aria-hidden="true">
      {one && (
        <>
          <span>{withTone(one, tone)}</span> {name !== shortName && name} :{shortName}:
        </>
      )}
    </span>
  )
}
