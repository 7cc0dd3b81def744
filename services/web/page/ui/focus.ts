/**
 * Remembers the element that has the focus, and returns a function that gives the focus back to it. The buttons of a message are removed
 * while the focus is elsewhere. Then the message itself gets the focus. `instead` gets it when no element had the focus.
 */
export function rememberFocus(): (instead?: HTMLElement | null) => void {
  const element = document.activeElement as HTMLTextAreaElement
  const article = element.closest('article')
  const { selectionStart, selectionEnd } = element
  return (instead) => {
    if (element.isConnected && element !== (document.body as Element)) element.focus()
    // The person may have scrolled meanwhile.
    else (article ?? instead)?.focus({ preventScroll: true })
    // Chromium returns the focus to a text box without the caret, or with an earlier one. Then what a person types is lost or comes too early.
    if (typeof selectionStart === 'number') element.setSelectionRange(selectionStart, selectionEnd)
  }
}

/** A person writes on after the text of a draft or message. Browsers put the caret before it. */
export function moveCaretToEnd({ current }: { current: HTMLTextAreaElement | null }) {
  const end = current!.value.length
  current!.setSelectionRange(end, end)
}

/**
 * A `ref` for an element that may be removed while it has the focus, such as a button that its own press removes. A person with a keyboard
 * gets the focus on the nearest thing that stays: the message, the control before the element, the text box, or the heading.
 */
export const passFocus = (element: Element | null) => () => {
  // Without a keyboard the text box must not get the focus: a phone would show its keyboard.
  if (!element!.contains(document.querySelector(':focus-visible'))) return
  const article = element!.closest('article')
  const view = element!.closest('dialog, main')
  const controls = [...(view?.querySelectorAll<HTMLElement>('a, button, input, [tabindex]') ?? [])]
  const controlBefore = (part: Element) => controls[controls.findIndex((control) => part.contains(control)) - 1]
  const before = controlBefore(element!)
  // Its row may be removed too.
  const beforeRow = controlBefore(element!.closest('li') ?? element!)
  // The element is removed a moment after this call.
  queueMicrotask(() => {
    // What replaces a whole view takes the focus itself.
    if (document.activeElement !== document.body || view?.isConnected === false) return
    const box = findTextBox()
    const next = [article, before, beforeRow, box].find((each) => each?.isConnected)
    if (next) next.focus({ preventScroll: true })
    else focusHeading()
  })
}

const findTextBox = () => document.querySelector<HTMLElement>('.main > .composer textarea')

/** Gives the focus to the text box of the open channel, or without one to the heading of the page. */
export function focusMain() {
  const box = findTextBox()
  if (box) box.focus()
  else focusHeading()
}

/** Gives the focus to the heading of the page, unless a dialog is open. */
export function focusHeading() {
  const heading = document.querySelector<HTMLElement>('main h1')
  if (!heading || document.querySelector('dialog[open]')) return
  heading.tabIndex = -1
  heading.focus()
}
