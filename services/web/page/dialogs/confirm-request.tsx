import type { ComponentChildren } from 'preact'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
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
export const ConfirmRequest = ({ name, question, confirmLabel, onConfirm, onClose }: ConfirmRequestProps) => (
  <Dialog name={name} onClose={onClose}>
    <div>{question}</div>
    <div class="dialog-actions">
      <button type="button" class="button" onClick={onClose}>
        {t('Cancel')}
      </button>
      <RequestButton class="button danger" onRequest={() => onConfirm().finally(onClose)}>
        {confirmLabel}
      </RequestButton>
    </div>
  </Dialog>
)
