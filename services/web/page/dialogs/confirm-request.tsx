import type { ComponentChildren } from 'preact'
import { Question } from '../ui/dialog.tsx'
import { RequestButton } from '../ui/request-button.tsx'

interface ConfirmRequestProps {
  name: string
  question: ComponentChildren
  confirmLabel: string
  /** The dialog is open and shows that it waits until this has ended. */
  onConfirm: () => Promise<unknown>
  onClose: () => void
}

/** A dialog that asks for confirmation of a request, and sends it. */
export const ConfirmRequest = ({ confirmLabel, onConfirm, ...question }: ConfirmRequestProps) => (
  <Question {...question}>
    <RequestButton class="button danger" onRequest={() => onConfirm().finally(question.onClose)}>
      {confirmLabel}
    </RequestButton>
  </Question>
)
