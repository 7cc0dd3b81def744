import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { IconButton } from './icons.tsx'

interface DialogProps {
  name: string
  onClose: () => void
  class?: string
  children: ComponentChildren
}

/** A modal dialog with a name and a button to close it. The browser keeps the focus inside and gives it back afterwards. */
export function Dialog({ name, onClose, children, ...props }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const before = document.activeElement
    element.current!.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  const closeOnBackdrop = (event: MouseEvent) => {
    if (event.target === element.current) element.current!.close()
  }
  return (
    <dialog ref={element} class={props.class} aria-labelledby={heading} onClose={onClose} onMouseDown={closeOnBackdrop}>
      <div class="dialog-head">
        <h2 id={heading}>{name}</h2>
        <IconButton icon="close" name={t('Close')} onClick={() => element.current!.close()} />
      </div>
      <div class="dialog-body">{children}</div>
    </dialog>
  )
}

interface ConfirmProps {
  name: string
  question: string
  action: string
  onConfirm: () => void
  onClose: () => void
}

/** Asks before something that cannot be undone. */
export const Confirm = ({ name, question, action, onConfirm, onClose }: ConfirmProps) => (
  <Dialog name={name} onClose={onClose}>
    <p>{question}</p>
    <div class="dialog-actions">
      <button type="button" class="button" onClick={onClose}>
        {t('Cancel')}
      </button>
      <button
        type="button"
        class="button danger"
        onClick={() => {
          onConfirm()
          onClose()
        }}
      >
        {action}
      </button>
    </div>
  </Dialog>
)
