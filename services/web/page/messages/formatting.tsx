import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { t } from '../texts/texts.ts'
import { IconButton, type IconName } from '../ui/icons.tsx'
import { modifierKey } from '../ui/keys.ts'
import { EmojiPicker } from './emoji-picker.tsx'

type Format = 'bold' | 'italic' | 'strike' | 'code' | 'quote' | 'list' | 'link'

const around: Partial<Record<Format, string>> = { bold: '**', italic: '_', strike: '~', code: '`' }
const before: Partial<Record<Format, string>> = { quote: '> ', list: '- ' }
const fence = '```'
const keys: Record<string, Format> = { b: 'bold', i: 'italic', e: 'code' }

function keyOf(format: Format): string | undefined {
  const key = Object.keys(keys).find((one) => keys[one] === format)
  return key && `${modifierKey}+${key.toUpperCase()}`
}

/** Handles Ctrl+B, Ctrl+I and Ctrl+E. Returns whether the key was one of them. */
export function formatByKey(event: KeyboardEvent, box: HTMLTextAreaElement): boolean {
  const format = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && keys[event.key.toLowerCase()]
  if (!format) return false
  event.preventDefault()
  applyFormat(box, format)
  return true
}

/** Puts the characters of the markup around the selected text, or before each of its lines. */
function applyFormat(box: HTMLTextAreaElement, format: Format) {
  const { selectionStart: start, value } = box
  // The line break after the last selected line does not belong to it.
  const end = start < box.selectionEnd && value[box.selectionEnd - 1] === '\n' ? box.selectionEnd - 1 : box.selectionEnd
  const selected = value.slice(start, end)
  const sign = around[format]
  if (format === 'code' && selected.includes('\n')) {
    const lineEnd = `${value}\n`.indexOf('\n', end)
    replaceLines(box, start, lineEnd, (lines) => `${fence}\n${lines}\n${fence}`)
  } else if (format === 'link') {
    replace(box, start, end, `[${selected}](https://)`)
    // The next text that is typed is the missing part.
    const at = start + 1
    if (selected === '') box.setSelectionRange(at, at)
    else box.setSelectionRange(at + selected.length + 2, box.selectionEnd - 1)
  } else if (sign === undefined) {
    replaceLines(box, start, end, (lines) => lines.replace(/^/gm, before[format]!))
  } else if (selected === '') {
    replace(box, start, end, sign + sign)
    box.setSelectionRange(start + sign.length, start + sign.length)
  } else {
    // In each line, because emphasis ends with its paragraph, and without the spaces at the ends, inside of which signs have no effect.
    replace(
      box,
      start,
      end,
      selected.replace(/\S(?:.*\S)?/g, (text) => sign + text + sign),
    )
  }
}

/** Replaces the text from the beginning of the line of `start`. */
function replaceLines(box: HTMLTextAreaElement, start: number, end: number, change: (lines: string) => string) {
  const lineStart = box.value.slice(0, start).lastIndexOf('\n') + 1
  replace(box, lineStart, end, change(box.value.slice(lineStart, end)))
}

/** Replaces a part of the text as if it was typed, so that the person can undo it. */
function replace(box: HTMLTextAreaElement, start: number, end: number, text: string) {
  box.focus()
  box.setSelectionRange(start, end)
  document.execCommand('insertText', false, text)
}

/** The buttons below the text box. */
export function FormattingBar({
  box,
  onChanged,
}: {
  box: RefObject<HTMLTextAreaElement | null>
  onChanged: () => void
}) {
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
    box.current!.setRangeText(emoji, selectionStart, selectionEnd, 'end')
    onChanged()
  }
  return (
    <>
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
        <EmojiPicker
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
