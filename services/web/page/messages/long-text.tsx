import { useSignal } from '@preact/signals'
import { t } from '../texts/texts.ts'
import { Text, type TextProps } from './markup.tsx'

/** A text with more characters or lines than these is long. */
const maxCharacters = 4_000
const maxLines = 100
/** The length of the beginning of a long text that is shown. */
const shownCharacters = 2_500
const shownLines = 40

/** The ids of the messages that the person has expanded. They stay so when the list renders them again. */
const expanded = new Set<string>()

interface LongTextProps extends Omit<TextProps, 'cut'> {
  messageId: string
}

/** The text of a message that may be long. Only the beginning of a long text is rendered until the person expands it. */
function LongText({ messageId, ...props }: LongTextProps) {
  const isExpanded = useSignal(expanded.has(messageId))
  function expand() {
    isExpanded.value = true
    expanded.add(messageId)
  }
  function collapse() {
    isExpanded.value = false
    expanded.delete(messageId)
  }
  return (
    <>
      <Text {...props} cut={isExpanded.value ? undefined : { at: shownLength(props.content), onFound: expand }} />
      <button
        type="button"
        class="link-button expander"
        aria-expanded={isExpanded.value}
        onClick={isExpanded.value ? collapse : expand}
      >
        {isExpanded.value ? t('Show less') : t('Show more')}
      </button>
    </>
  )
}

/** Renders the text of a message. It is not a component, because each component costs time and most texts are short. */
export const renderMessageText = ({ messageId, ...props }: LongTextProps) =>
  shownLength(props.content) < props.content.length ? (
    <LongText messageId={messageId} {...props} />
  ) : (
    <Text {...props} />
  )

/** The part of a text that is shown of a long message. */
export const beginningOf = (text: string) => text.slice(0, shownLength(text))

/** The number of characters of a text that are shown before it is expanded. For most texts, which are not long, this is the whole text. */
export function shownLength(text: string): number {
  // A text that is shorter than this cannot have too many lines.
  if (text.length <= maxLines) return text.length
  if (text.length <= maxCharacters && endOfLines(text, maxLines) === text.length) return text.length
  const most = Math.min(shownCharacters, endOfLines(text, shownLines))
  const end = [text.lastIndexOf('\n', most), text.lastIndexOf(' ', most)].find((at) => at > most / 2) ?? most
  // Half of a character would be shown as a question mark.
  return /[\udc00-\udfff]/.test(text.charAt(end)) ? end - 1 : end
}

/** The index at which this number of lines ends. */
function endOfLines(text: string, lines: number): number {
  let end = -1
  for (let line = 0; line < lines; line++) {
    end = text.indexOf('\n', end + 1)
    if (end < 0) return text.length
  }
  return end
}
