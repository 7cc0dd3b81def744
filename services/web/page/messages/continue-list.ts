import { isOfInputMethod } from '../ui/keys.ts'
import { replaceText } from './formatting.tsx'

/** The sign of an item of a list, with the spaces around it. */
const itemSign = /^( *)(?:-|(\d{1,9})\.) +/
/** The beginning of such a sign, or nothing. */
const beginOfSign = /^ *(?:-|\d{1,9}\.?)?$/
const fence = /^```/gm
/** A last line that begins a block of code, with or without its language. */
const endsWithFence = /^```[^\s`]*$/

/** Whether a text ends within a block of code. */
export const isInCodeBlock = (text: string) => (text.match(fence) ?? []).length % 2 === 1

/**
 * A line break in a list (Shift+Enter) begins the next item, as people know it from other programs. In an empty item it ends the list: the
 * sign is removed. Whoever types a sign nevertheless gets theirs instead.
 */
export function continueLists(): () => void {
  /** The item that was begun last, until its first character. */
  let begun: { box: HTMLTextAreaElement; start: number; indent: string; sign: string } | undefined

  const onBeforeInput = (event: InputEvent) => {
    const box = event.target as HTMLTextAreaElement
    if (event.inputType !== 'insertLineBreak' || event.isComposing || !box.matches('.composer textarea')) return
    const { value, selectionStart, selectionEnd } = box
    const lineStart = value.lastIndexOf('\n', selectionStart - 1) + 1
    const found = itemSign.exec(value.slice(lineStart, selectionStart))
    if (!found || isInCodeBlock(value.slice(0, lineStart))) return
    event.preventDefault()
    const [sign, indent, number] = found
    const rest = value.slice(lineStart + sign.length).split('\n', 1)[0]!
    if (rest.trim() === '') return replaceText(box, lineStart, lineStart + sign.length + rest.length, '')
    const next = number === undefined ? sign : `${indent}${Number(number) + 1}. `
    replaceText(box, selectionStart, selectionEnd, `\n${next}`)
    begun = { box, start: selectionStart + 1, indent: indent!, sign: next }
  }
  /** Enter after the line that begins a block of code begins its first line. Otherwise an empty block would be sent. */
  const onKeyDown = (event: KeyboardEvent) => {
    const box = event.target as HTMLTextAreaElement
    if (event.key !== 'Enter' || event.ctrlKey || event.metaKey || isOfInputMethod(event)) return
    if (!box.matches('.composer textarea') || !beginsCode(box)) return
    event.preventDefault()
    event.stopPropagation()
    replaceText(box, box.value.length, box.value.length, '\n')
  }
  const onInput = ({ target }: Event) => {
    if (!begun || target !== begun.box) return
    const { box, start, indent, sign } = begun
    const typed = box.value.slice(start + sign.length, box.selectionStart)
    if (box.value.startsWith(sign, start) && beginOfSign.test(typed)) return
    begun = undefined
    if (!box.value.startsWith(sign, start) || !itemSign.test(typed)) return
    replaceText(box, start, box.selectionStart, typed.startsWith(' ') ? typed : indent + typed)
  }
  // Before the handler of the text box, which sends or saves the text.
  document.addEventListener('keydown', onKeyDown, true)
  document.addEventListener('beforeinput', onBeforeInput)
  document.addEventListener('input', onInput)
  return () => {
    document.removeEventListener('keydown', onKeyDown, true)
    document.removeEventListener('beforeinput', onBeforeInput)
    document.removeEventListener('input', onInput)
  }
}

/** Whether the caret is at the end of a text whose last line begins a block of code. */
function beginsCode({ value, selectionStart }: HTMLTextAreaElement): boolean {
  const lastLine = value.slice(value.lastIndexOf('\n') + 1)
  return selectionStart === value.length && endsWithFence.test(lastLine) && isInCodeBlock(value)
}
