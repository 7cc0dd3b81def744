import { replaceText } from '../messages/formatting.tsx'
import { markupOfHtml } from './markup-of-html.ts'

const address = /^(?:https?:\/\/|mailto:)\S+$/i
const fence = /^```/gm
const beginsBlock = /^(?:>|-|\d+\.|```)/
const endsBlock = /(?:^|\n) *(?:>|-|\d+\.|```)[^\n]*$/

/** Formatted text of the clipboard is pasted into the text box of a message in the markup of messages. */
export function pasteRichText(): () => void {
  const onPaste = (event: ClipboardEvent) => {
    const box = event.target as HTMLTextAreaElement
    if (event.defaultPrevented || !event.clipboardData || !box.matches('.composer textarea')) return
    const { value, selectionStart, selectionEnd } = box
    const text = markupOf(event.clipboardData)
    const before = value.slice(0, selectionStart)
    if (text === undefined || isInCode(before)) return
    event.preventDefault()
    const after = value.slice(selectionEnd)
    // A quotation, a list and a block of code have lines of their own.
    const start = beginsBlock.test(text) && /[^\n]$/.test(before) ? '\n' : ''
    const end = endsBlock.test(text) && /^[^\n]/.test(after) ? '\n' : ''
    replaceText(box, selectionStart, selectionEnd, start + text + end)
  }
  document.addEventListener('paste', onPaste)
  return () => document.removeEventListener('paste', onPaste)
}

/** Undefined for plain text, an address (browsers add the title of its page), and what a code editor has copied. */
function markupOf(data: DataTransfer): string | undefined {
  const html = data.getData('text/html')
  if (html === '' || address.test(data.getData('text/plain').trim()) || data.types.includes('vscode-editor-data'))
    return
  return markupOfHtml(html)
}

function isInCode(before: string): boolean {
  const line = before.slice(before.lastIndexOf('\n') + 1)
  return (before.match(fence) ?? []).length % 2 === 1 || (line.match(/`/g) ?? []).length % 2 === 1
}
