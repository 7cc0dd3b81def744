import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { passFocus } from './focus.ts'

interface RequestButtonProps {
  class?: string
  disabled?: boolean
  onRequest: () => Promise<unknown>
  children: ComponentChildren
}

/**
 * A button that sends a request. Until the response has come, further clicks have no effect. A disabled button keeps the focus, because its
 * own request may be what disables it.
 */
export function RequestButton({ class: look = 'button', disabled = false, onRequest, children }: RequestButtonProps) {
  const isBusy = useRef(false)
  async function send() {
    if (disabled || isBusy.current) return
    isBusy.current = true
    await onRequest().finally(() => {
      isBusy.current = false
    })
  }
  return (
    <button
      ref={passFocus}
      type="button"
      class={look}
      aria-disabled={disabled || undefined}
      onClick={() => void send()}
    >
      {children}
    </button>
  )
}
