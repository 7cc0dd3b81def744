import { useRef } from 'preact/hooks'

/**
 * Remembers the pointer while it is on an unsent message. The sent message appears under it without an event of the browser, because the
 * pointer has not moved.
 */
export function usePendingPointer() {
  const position = useRef<{ x: number; y: number } | undefined>(undefined)
  return {
    /** These are for the element that contains the list. */
    onPointerMove({ target, clientX: x, clientY: y }: PointerEvent) {
      position.current = (target as Element).closest('.pending') ? { x, y } : undefined
    },
    onPointerLeave() {
      position.current = undefined
    },
    /** Tells the message that has replaced the unsent one about the pointer. */
    pass() {
      if (!position.current) return
      const { x, y } = position.current
      document.elementFromPoint(x, y)?.dispatchEvent(new PointerEvent('pointermove', { bubbles: true }))
    },
  }
}
