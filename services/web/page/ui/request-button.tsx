import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { passFocus } from './focus.ts'

interface RequestButtonProps {
  class?: string
  /** The accessible name, if it is not the content. */
  name?: string
  /** The ids of the elements that say what the button is for, where a list has several of it. */
  describedBy?: string
  disabled?: boolean
  onRequest: () => Promise<unknown>
  children: ComponentChildren
}

/**
 * A button that sends a request. Until the response has come, it shows that it waits, and further clicks have no effect. A disabled button
 * keeps the focus, because its own request may be what disables it.
 */
export function RequestButton({
  class: look = 'button',
  name,
  describedBy,
  disabled = false,
  onRequest,
  children,
}: RequestButtonProps) {
  const isBusy = useSignal(false)
  async function send() {
    if (disabled || isBusy.value) return
    isBusy.value = true
    await onRequest().finally(() => {
      isBusy.value = false
    })
  }
  return (
    <button
      ref={passFocus}
      type="button"
      class={look}
      aria-label={name}
      aria-describedby={describedBy}
      aria-disabled={disabled || undefined}
      aria-busy={isBusy.value || undefined}
      onClick={() => void send()}
    >
      {children}
    </button>
  )
}
