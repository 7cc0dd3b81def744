import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { Question } from '../ui/dialog.tsx'
import { focusHeading } from '../ui/focus.ts'
import { showFailure, textOf } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'

interface ConfirmRequestProps {
  name: string
  question: ComponentChildren
  confirmLabel: string
  /** Sends the request. The dialog shows the error that it throws, and stays open. */
  onConfirm: () => Promise<unknown>
  onClose: () => void
}

/**
 * A dialog that asks for confirmation of a request, and sends it. It closes after the response. An error is shown in the dialog, or on the
 * page when the person closed it meanwhile.
 */
export function ConfirmRequest({ question, confirmLabel, onConfirm, ...props }: ConfirmRequestProps) {
  const refusal = useSignal<string | null>(null)
  const isOpen = useRef(true)
  const buttonsNearby = useMemo(findButtonsNearby, [])
  useEffect(
    () => () => {
      isOpen.current = false
      // An event may have removed the row with the button that opened the dialog.
      queueMicrotask(() => {
        if (document.activeElement !== document.body) return
        const button = buttonsNearby.find(({ isConnected }) => isConnected)
        if (button) button.focus()
        else focusHeading()
      })
    },
    [],
  )

  async function send() {
    refusal.value = null
    try {
      await onConfirm()
    } catch (error) {
      if (isOpen.current) refusal.value = textOf(error)
      else showFailure(error)
      return
    }
    if (isOpen.current) props.onClose()
  }

  return (
    <Question
      {...props}
      question={
        <section>
          {question}
          {refusal.value !== null && (
            <div class="alert" role="alert">
              {refusal.value}
            </div>
          )}
        </section>
      }
    >
      <RequestButton class="button danger" onRequest={send}>
        {confirmLabel}
      </RequestButton>
    </Question>
  )
}

/**
 * The buttons before and after the row of the button that has the focus. The next one comes first. The names of people are left out, so that
 * a person with a keyboard continues with the same button of the next row.
 */
function findButtonsNearby(): HTMLElement[] {
  const row = document.activeElement?.closest('tr, li')
  const view = row?.closest('dialog, main')
  const buttons = [...(view?.querySelectorAll<HTMLElement>('button:not(.name-button)') ?? [])]
  const first = buttons.findIndex((button) => row!.contains(button))
  const last = buttons.findLastIndex((button) => row!.contains(button))
  return [buttons[last + 1], buttons[first - 1]].filter((button) => button !== undefined)
}
