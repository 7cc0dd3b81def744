import { computed, signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { rememberFocus } from './focus.ts'
import { IconButton } from './icons.tsx'
import { isOfInputMethod } from './keys.ts'
import { ProblemList } from './problem-list.tsx'
import { useUniqueId } from './unique-id.ts'

/** The ids of the dialogs that are open, the topmost last. */
const open = signal<readonly string[]>([])
export const isDialogOpen = computed(() => open.value.length > 0)

interface DialogProps {
  name: string
  onClose: () => void
  class?: string
  /** Set to the dialog, so that the parent can close it. */
  element?: { current: HTMLDialogElement | null }
  /** Called when the dialog has opened, before it is painted. */
  onOpened?: (dialog: HTMLDialogElement) => void
  children: ComponentChildren
}

/** A modal dialog with a name and a button to close it. The browser keeps the focus inside the dialog, and restores it afterwards. */
export function Dialog({ name, onClose, children, ...props }: DialogProps) {
  const ownElement = useRef<HTMLDialogElement>(null)
  const element = props.element ?? ownElement
  const heading = useUniqueId()
  useEffect(() => {
    const before = document.activeElement
    const restoreFocus = rememberFocus()
    const { current: dialog } = element
    dialog!.showModal()
    props.onOpened?.(dialog!)
    open.value = [...open.value, heading]
    return () => {
      open.value = open.value.filter((id) => id !== heading)
      // The view that a link of the dialog leads to may have the focus already.
      const { activeElement } = document
      if (activeElement === document.body || activeElement === before || dialog!.contains(activeElement)) restoreFocus()
    }
  }, [])
  const closeOnBackdrop = (event: MouseEvent) => {
    // The second press of a double click on the button that opened the dialog closes nothing.
    if (event.target === element.current && event.detail < 2) element.current!.close()
  }
  return (
    <dialog
      ref={element}
      class={props.class}
      aria-labelledby={heading}
      onClose={onClose}
      onMouseDown={closeOnBackdrop}
      onKeyDown={(event) => {
        // Escape closes only this dialog, not the views below it.
        if (event.key !== 'Escape') return
        event.stopPropagation()
        // Otherwise Escape would first remove the text of a search field.
        if (isSearch(event.target) && !isOfInputMethod(event)) element.current!.close()
      }}
    >
      <div class="dialog-head">
        <h2 id={heading}>{name}</h2>
        <IconButton icon="close" name={t('Close')} onClick={() => element.current!.close()} />
      </div>
      <div class="dialog-body">
        {children}
        {/* Errors are shown in the topmost dialog, because everything below it is inert. */}
        {open.value.at(-1) === heading && <ProblemList />}
      </div>
    </dialog>
  )
}

const isSearch = (target: EventTarget | null) => (target as HTMLInputElement).type === 'search'

interface QuestionProps {
  name: string
  question: ComponentChildren
  /** "Cancel" when it is not given. */
  cancelLabel?: string | undefined
  onClose: () => void
  /** The button that confirms. */
  children: ComponentChildren
}

/** A dialog with a question, a button that closes it, and one that confirms. */
export const Question = ({ name, question, cancelLabel, onClose, children }: QuestionProps) => (
  <Dialog name={name} onClose={onClose}>
    <div>{question}</div>
    <div class="dialog-actions">
      <button type="button" class="button" onClick={onClose}>
        {cancelLabel ?? t('Cancel')}
      </button>
      {children}
    </div>
  </Dialog>
)

interface ConfirmProps extends Omit<QuestionProps, 'children'> {
  confirmLabel: string
  /** The look of the button that confirms, `danger` when it is not given. */
  look?: 'primary' | 'danger' | undefined
  onConfirm: () => void
}

/** A dialog that asks for confirmation of an action. */
export const Confirm = ({ confirmLabel, look = 'danger', onConfirm, ...question }: ConfirmProps) => (
  <Question {...question}>
    <button
      type="button"
      class={`button ${look}`}
      onClick={() => {
        onConfirm()
        question.onClose()
      }}
    >
      {confirmLabel}
    </button>
  </Question>
)
