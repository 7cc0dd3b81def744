import { isInCodeBlock } from '../messages/continue-list.ts'
import { replaceText } from '../messages/formatting.tsx'

const address = /^(?:https?:\/\/|mailto:)\S+$/i
const beginsBlock = /^(?:>|-|\d+\.|```)/
const endsBlock = /(?:^|\n) *(?:>|-|\d+\.|```)[^\n]*$/

/** Formatted text of the clipboard is pasted into the text box of a message in the markup of messages. */
export function pasteRichText(): () => void {
  const onPaste = (event: ClipboardEvent) => {
    const box = event.target as HTMLTextAreaElement
    if (event.defaultPrevented || !event.clipboardData || !box.matches('.composer textarea')) return
    const html = formattedText(event.clipboardData)
    if (html === undefined || isInCode(box.value.slice(0, box.selectionStart))) return
    // The data of the event can be read only now.
    const plain = event.clipboardData.getData('text/plain')
    event.preventDefault()
    void pasteMarkup(box, html, plain)
  }
  document.addEventListener('paste', onPaste)
  return () => document.removeEventListener('paste', onPaste)
}

/** The HTML. Undefined for plain text, an address (browsers add the title of its page), and what a code editor has copied. */
function formattedText(data: DataTransfer): string | undefined {
  const html = data.getData('text/html')
  const plain = data.getData('text/plain').trim()
  const isPlain = html === '' || plain === '' || address.test(plain) || data.types.includes('vscode-editor-data')
  return isPlain ? undefined : html
}

/** Pastes the plain text when the HTML has no format that the markup has. */
async function pasteMarkup(box: HTMLTextAreaElement, html: string, plain: string) {
  // The parser of HTML is loaded when it is needed for the first time.
  const markup = await import('./markup-of-html.ts').then(({ markupOfHtml }) => markupOfHtml(html), reportError)
  if (!box.isConnected) return
  const { value, selectionStart, selectionEnd } = box
  if (markup === undefined) return replaceText(box, selectionStart, selectionEnd, plain)
  // A quotation, a list and a block of code have lines of their own.
  const start = beginsBlock.test(markup) && /[^\n]$/.test(value.slice(0, selectionStart)) ? '\n' : ''
  const end = endsBlock.test(markup) && /^[^\n]/.test(value.slice(selectionEnd)) ? '\n' : ''
  replaceText(box, selectionStart, selectionEnd, start + markup + end)
}

function isInCode(before: string): boolean {
  const line = before.slice(before.lastIndexOf('\n') + 1)
  return isInCodeBlock(before) || (line.match(/`/g) ?? []).length % 2 === 1
}
