/** A person who types after a click on the page or on a message writes into the text box of that channel or thread. */
export function typeAnywhere(): () => void {
  const onKeyDown = (event: KeyboardEvent) => {
    const { key, ctrlKey, altKey, metaKey, isComposing } = event
    const isCharacter = [...key].length === 1 && key !== ' ' && !ctrlKey && !altKey && !metaKey
    const { activeElement } = document
    // Keys with a meaning of their own, such as "?", are prevented.
    if (!isCharacter || isComposing || event.defaultPrevented || !activeElement?.matches('body, article')) return
    const place = activeElement.closest('.main, .panel') ?? document
    place.querySelector<HTMLElement>(':is(.main, .panel) > .composer textarea')?.focus()
  }
  document.addEventListener('keydown', onKeyDown)
  return () => document.removeEventListener('keydown', onKeyDown)
}
