import type { ComponentChildren } from 'preact'
import { Dialog } from '../ui/dialog.tsx'
import { NotLoaded } from './page.tsx'
import type { Part } from './part.ts'

interface LoadedDialogProps<T> {
  name: string
  part: () => Part<T>
  onClose: () => void
  render: (loaded: T) => ComponentChildren
}

/** A dialog whose code is loaded when it is first opened. Until then nothing is shown. */
export function LoadedDialog<T>({ name, part, onClose, render }: LoadedDialogProps<T>) {
  const loaded = part()
  if (loaded === 'loading') return null
  if (loaded !== 'failed') return render(loaded)
  return (
    <Dialog name={name} onClose={onClose}>
      <NotLoaded />
    </Dialog>
  )
}
