/**
 * Remembers the element that has the focus, and returns a function that gives the focus back to it. The buttons of a message are removed
 * while the focus is elsewhere. Then the message itself gets the focus.
 */
export function rememberFocus(): () => void {
  const element = document.activeElement
  const article = element?.closest('article')
  return () => {
    if (element instanceof HTMLElement && element.isConnected) element.focus()
    // The person may have scrolled meanwhile.
    else article?.focus({ preventScroll: true })
  }
}
