import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { focusMain } from '../ui/focus.ts'

/** Closes a dialog that guests do not have, when the person becomes a guest. The button that opened it is removed too. */
export function useCloseForGuests({ me }: Workspace, onClose: () => void) {
  const isGuest = me.value.role === 'guest'
  useEffect(() => {
    if (!isGuest) return
    onClose()
    requestAnimationFrame(focusMain)
  }, [isGuest])
}
