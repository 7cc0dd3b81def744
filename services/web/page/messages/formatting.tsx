import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { t } from '../texts/texts.ts'
import { IconButton, type IconName } from '../ui/icons.tsx'
import { modifierKey } from '../ui/keys.ts'
import { EmojiPicker } from './emoji-picker.tsx'

type Format = 'bold' | 'italic' | 'strike' | 'code' | 'quote' | 'list' | 'link'

const around: Partial<Record<Format, string>> = { bold: '**', italic: '_', strike: '~', code: '`' }
const before: Partial<Record<Format, string>> = { quote: '> ', list: '- ' }
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
  const { selectionStart: start, selectionEnd: end, value } = box
  const selected = value.slice(start, end)
  const lineStart = value.lastIndexOf('\n', start - 1) + 1
  const sign = around[format]
  if (sign !== undefined) {
    box.setRangeText(`${sign}${selected}${sign}`, start, end, 'end')
    if (selected === '') box.setSelectionRange(start + sign.length, start + sign.length)
  } else if (format === 'link') {
    box.setRangeText(`[${selected}](https://)`, start, end, 'end')
    if (selected === '') box.setSelectionRange(start + 1, start + 1)
  } else {
    const lines = value.slice(lineStart, end).split('\n')
    box.setRangeText(lines.map((line) => `${before[format]}${line}`).join('\n'), lineStart, end, 'end')
  }
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
          onClick={() => {
            applyFormat(box.current!, format)
            box.current!.focus()
            onChanged()
          }}
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
