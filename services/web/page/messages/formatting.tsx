import { linkTextForm } from '@parley/markup'
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { t } from '../texts/texts.ts'
import { IconButton, type IconName } from '../ui/icons.tsx'
import { modifierKey } from '../ui/keys.ts'
import { editFor, type Format } from './format-text.ts'
import { LoadedEmojiPicker } from './loaded-emoji-picker.tsx'

const linkText = new RegExp(`^${linkTextForm}$(?<=\\S)`)
const keys: Record<string, Format> = { b: 'bold', i: 'italic', e: 'code', 'Shift+x': 'strike' }

function keyOf(format: Format): string | undefined {
  const key = Object.keys(keys).find((one) => keys[one] === format)
  return key && `${modifierKey}+${key.replace(/.$/, (letter) => letter.toUpperCase())}`
}

/** Handles Ctrl+B, Ctrl+I, Ctrl+E and Ctrl+Shift+X. Returns whether the key was one of them. */
export function formatByKey(event: KeyboardEvent, box: HTMLTextAreaElement): boolean {
  const key = `${event.shiftKey ? 'Shift+' : ''}${event.key.toLowerCase()}`
  const format = (event.ctrlKey || event.metaKey) && !event.altKey && keys[key]
  if (!format) return false
  event.preventDefault()
  applyFormat(box, format)
  return true
}

/** Makes the selected text a link when an address is pasted over it. Returns whether it has done so. */
export function pasteLink(event: ClipboardEvent, box: HTMLTextAreaElement): boolean {
  const { value, selectionStart, selectionEnd } = box
  const label = value.slice(selectionStart, selectionEnd)
  const pasted = event.clipboardData!.getData('text/plain').trim()
  // An address is replaced by the pasted one.
  if (!/^https?:\/\/[^\s()]+$/.test(pasted) || !linkText.test(label) || /^https?:/.test(label)) return false
  event.preventDefault()
  replaceText(box, selectionStart, selectionEnd, `[${label}](${pasted})`)
  return true
}

function applyFormat(box: HTMLTextAreaElement, format: Format) {
  const { start, end, text, selected } = editFor(format, box.value, box.selectionStart, box.selectionEnd)
  replaceText(box, start, end, text)
  box.setSelectionRange(...selected)
}

/** Replaces a part of the text as if it was typed, so that the person can undo it. */
export function replaceText(box: HTMLTextAreaElement, start: number, end: number, text: string) {
  box.focus()
  box.setSelectionRange(start, end)
  if (text !== '') document.execCommand('insertText', false, text)
  else if (start < end) document.execCommand('delete')
}

/** Begins a new line. The keyboard of a phone has only Enter, which sends or saves. */
export const NewLineButton = ({ box }: { box: RefObject<HTMLTextAreaElement | null> }) => (
  <IconButton
    icon="newline"
    class="only-touch"
    name={t('New line')}
    onClick={() => {
      const { selectionStart, selectionEnd } = box.current!
      // The event of Shift+Enter, because both continue lists.
      const lineBreak = { inputType: 'insertLineBreak', bubbles: true, cancelable: true }
      if (box.current!.dispatchEvent(new InputEvent('beforeinput', lineBreak)))
        replaceText(box.current!, selectionStart, selectionEnd, '\n')
    }}
  />
)

/** The buttons below the text box. */
export function FormattingBar({ box }: { box: RefObject<HTMLTextAreaElement | null> }) {
  const isPicking = useSignal(false)
  const formats: [Format, IconName, string][] = [
    ['bold', 'bold', t('Bold')],
    ['italic', 'italic', t('Italic')],
    ['strike', 'strike', t('Strikethrough')],
    ['code', 'code', t('Code')],
    ['link', 'link', t('Link')],
    ['quote', 'quote', t('Quotation')],
    ['list', 'list', t('List')],
  ]
  const insert = (emoji: string) => {
    const { selectionStart, selectionEnd } = box.current!
    // The picker closes after this call. Until then the text box is inert.
    queueMicrotask(() => replaceText(box.current!, selectionStart, selectionEnd, emoji))
  }
  return (
    <>
      <NewLineButton box={box} />
      {formats.map(([format, icon, name]) => (
        <IconButton
          key={format}
          icon={icon}
          name={name}
          keys={keyOf(format)}
          onClick={() => applyFormat(box.current!, format)}
        />
      ))}
      <IconButton icon="smile" name={t('Emoji')} onClick={() => (isPicking.value = true)} />
      {isPicking.value && (
        <LoadedEmojiPicker
          name={t('Emoji')}
          onChoose={insert}
          onClose={() => {
            isPicking.value = false
            box.current!.focus()
          }}
        />
      )}
    </>
  )
}
