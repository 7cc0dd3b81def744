import type { Message } from '@parley/contract'
import { useEffect, useRef } from 'preact/hooks'
import { editMessage } from '../app/message-actions.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { attempt } from '../ui/problems.ts'

interface EditMessageProps {
  message: Message
  workspace: Workspace
  onDone: () => void
}

/** The text box in which a message is edited. Enter saves the text, Escape cancels. */
export function EditMessage({ message, workspace, onDone }: EditMessageProps) {
  const box = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    const { current } = box
    current!.focus()
    current!.setSelectionRange(current!.value.length, current!.value.length)
  }, [])

  async function save() {
    const content = box.current!.value.trim()
    if (content !== message.content && (await attempt(editMessage(workspace, message, content))) === undefined) return
    onDone()
  }

  function onKeyDown(event: KeyboardEvent) {
    event.stopPropagation()
    if (event.isComposing) return
    if (event.key === 'Escape') onDone()
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
        onKeyDown={onKeyDown}
      />
      <div class="composer-row">
        <span class="spring quiet">{t('Enter saves, Escape cancels')}</span>
        <button type="button" class="button" onClick={onDone}>
          {t('Cancel')}
        </button>
        <button type="button" class="button primary" onClick={() => void save()}>
          {t('Save')}
        </button>
      </div>
    </div>
  )
}
