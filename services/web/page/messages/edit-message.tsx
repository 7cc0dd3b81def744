import type { Message } from '@parley/contract'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { editMessage } from '../app/message-actions.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { moveCaretToEnd, rememberFocus } from '../ui/focus.ts'
import { isOfInputMethod } from '../ui/keys.ts'
import { attempt } from '../ui/problems.ts'
import { useTextHeight } from '../ui/text-height.ts'

interface EditMessageProps {
  message: Message
  workspace: Workspace
  /** `restoreFocus` gives the focus back to the element that had it before. Undefined when the person has moved the focus elsewhere. */
  onDone: (restoreFocus: (() => void) | undefined) => void
}

/**
 * The text box in which a message is edited. Enter saves the text, Escape cancels. A person who opens another channel, or edits another
 * message, finds the changed text here when they edit the message again, also after a reload or another sign-in.
 */
export function EditMessage({ message, workspace, onDone }: EditMessageProps) {
  const editor = useRef<HTMLDivElement>(null)
  const box = useRef<HTMLTextAreaElement>(null)
  const fitHeight = useTextHeight(box)
  const restoreFocus = useMemo(rememberFocus, [])
  const { edits } = workspace
  const { id, channelId, threadId } = message
  const typedBefore = useMemo(() => edits.textOf(id), [])
  const forget = () => edits.set(id, undefined)
  function close() {
    forget()
    const { activeElement } = document
    const isElsewhere = activeElement !== document.body && !editor.current!.contains(activeElement)
    const article = editor.current!.closest('article')
    // The button that began the editing is removed before this editor is rendered.
    onDone(isElsewhere ? undefined : () => restoreFocus(article))
  }
  // Before the next event, because a key that is pressed immediately belongs to the text box.
  useLayoutEffect(() => {
    moveCaretToEnd(box)
    // An editor that opens again by itself does not take the focus.
    if (!edits.reopening.delete(id)) box.current!.focus()
  }, [])

  async function save() {
    const content = box.current!.value.trim()
    if (content !== message.content && (await attempt(editMessage(workspace, message, content))) === undefined) return
    // The person may have typed on, or cancelled and edited again.
    const typed = edits.textOf(id)
    if (typed !== undefined && typed.trim() !== content) return
    forget()
    // The person may have opened another channel.
    if (editor.current) close()
  }

  function onKeyDown(event: KeyboardEvent) {
    if (isOfInputMethod(event)) return
    if (event.key === 'Escape') close()
    else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      void save()
    } else return
    // Escape would close the thread, too.
    event.stopPropagation()
  }

  return (
    <div ref={editor} class="composer">
      <textarea
        ref={box}
        aria-label={t('Edit message')}
        defaultValue={typedBefore ?? message.content}
        dir="auto"
        rows={1}
        onInput={(event) => {
          const text = event.currentTarget.value
          edits.set(id, text === message.content ? undefined : { channelId, threadId, text })
          fitHeight()
        }}
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
