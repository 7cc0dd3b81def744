import type { Message } from '@parley/contract'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { editMessage } from '../app/message-actions.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { rememberFocus } from '../ui/focus.ts'
import { isOfInputMethod } from '../ui/keys.ts'
import { attempt } from '../ui/problems.ts'
import { useTextHeight } from '../ui/text-height.ts'

/** The newest own message that is not being deleted. */
export const lastOwn = ({ myId, deletions }: Workspace, messages: readonly Message[] | undefined) =>
  messages?.findLast(({ id, author }) => author.id === myId && !deletions.hidden.peek().has(id))

interface EditMessageProps {
  message: Message
  workspace: Workspace
  /** `restoreFocus` gives the focus back to the element that had it before. */
  onDone: (restoreFocus: () => void) => void
}

/** The text box in which a message is edited. Enter saves the text, Escape cancels. */
export function EditMessage({ message, workspace, onDone }: EditMessageProps) {
  const box = useRef<HTMLTextAreaElement>(null)
  const fitHeight = useTextHeight(box)
  const restoreFocus = useMemo(rememberFocus, [])
  const close = () => onDone(restoreFocus)
  // Before the next event, because a key that is pressed immediately belongs to the text box.
  useLayoutEffect(() => {
    const { current } = box
    current!.focus()
    current!.setSelectionRange(current!.value.length, current!.value.length)
  }, [])

  async function save() {
    const content = box.current!.value.trim()
    if (content !== message.content && (await attempt(editMessage(workspace, message, content))) === undefined) return
    close()
  }

  function onKeyDown(event: KeyboardEvent) {
    event.stopPropagation()
    if (isOfInputMethod(event)) return
    if (event.key === 'Escape') close()
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      void save()
    }
  }

  return (
    <div class="composer">
      <textarea
        ref={box}
        aria-label={t('Edit message')}
        defaultValue={message.content}
        dir="auto"
        rows={1}
        onInput={fitHeight}
        onKeyDown={onKeyDown}
      />
      <div class="composer-row">
        <span class="spring quiet">{t('Enter saves, Escape cancels')}</span>
        <button type="button" class="button" onClick={close}>
          {t('Cancel')}
        </button>
        <button type="button" class="button primary" onClick={() => void save()}>
          {t('Save')}
        </button>
      </div>
    </div>
  )
}
