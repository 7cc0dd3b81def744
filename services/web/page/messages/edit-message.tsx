import type { Message } from '@parley/contract'
import { useSignalEffect } from '@preact/signals'
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { editMessage } from '../app/message-actions.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { moveCaretToEnd, rememberFocus } from '../ui/focus.ts'
import { isOfInputMethod } from '../ui/keys.ts'
import { attempt } from '../ui/problems.ts'
import { useTextHeight } from '../ui/text-height.ts'
import { NewLineButton } from './formatting.tsx'

interface EditMessageProps {
  message: Message
  workspace: Workspace
  /** Whether the editor has opened by itself. Then it does not take the focus. */
  isResumed: boolean | undefined
  /** `restoreFocus` gives the focus back to the element that had it before. Undefined when the person has moved the focus elsewhere. */
  onDone: (restoreFocus: (() => void) | undefined) => void
  /** Called after `onDone` when the person has saved an empty text, and the message has no files. */
  onEmptied: () => void
}

/**
 * The text box in which a message is edited. Enter saves the text, Escape cancels. A person who opens another channel, or edits another
 * message, finds the changed text here when they edit the message again, also after a reload or another sign-in. The editors of the message in
 * several tabs show the same text, and they close together.
 */
export function EditMessage({ message, workspace, isResumed, onDone, onEmptied }: EditMessageProps) {
  const editor = useRef<HTMLDivElement>(null)
  const box = useRef<HTMLTextAreaElement>(null)
  const fitHeight = useTextHeight(box)
  const restoreFocus = useMemo(rememberFocus, [])
  const { edits } = workspace
  const { id, channelId, threadId } = message
  /** The unsaved text as this editor shows it. Undefined when it is the text of the message. */
  const typed = useRef(useMemo(() => edits.textOf(id), []))
  /** Without a text the edit is forgotten. */
  function store(text?: string) {
    typed.current = text
    edits.set(id, text === undefined ? undefined : { channelId, threadId, text })
  }
  function close() {
    store()
    const { activeElement } = document
    const isElsewhere = activeElement !== document.body && !editor.current!.contains(activeElement)
    const article = editor.current!.closest('article')
    // The button that began the editing is removed before this editor is rendered.
    onDone(isElsewhere ? undefined : () => restoreFocus(article))
  }
  // Before the next event, because a key that is pressed immediately belongs to the text box.
  useLayoutEffect(() => {
    moveCaretToEnd(box)
    if (!isResumed) box.current!.focus()
  }, [])
  useSignalEffect(() => {
    const text = edits.all().get(id)?.text
    if (text === typed.current) return
    // The person has typed in another tab, or has saved or cancelled the edit there.
    typed.current = text
    if (text === undefined) return onDone(undefined)
    box.current!.value = text
    fitHeight()
  })

  async function save() {
    const content = box.current!.value.trim()
    if (content === '' && message.attachments.length + message.images.length === 0) {
      close()
      return onEmptied()
    }
    if (content !== message.content && (await attempt(editMessage(workspace, message, content))) === undefined) return
    // The person may have typed on, or cancelled and edited again.
    const unsaved = edits.textOf(id)
    if (unsaved !== undefined && unsaved.trim() !== content) return
    // The person may have opened another channel.
    if (editor.current) close()
    else store()
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
        defaultValue={typed.current ?? message.content}
        dir="auto"
        rows={1}
        enterkeyhint="done"
        onInput={(event) => {
          const text = event.currentTarget.value
          store(text === message.content ? undefined : text)
          fitHeight()
        }}
        onKeyDown={onKeyDown}
      />
      <div class="composer-row">
        <span class="spring quiet">{t('Enter saves, Escape cancels')}</span>
        <NewLineButton box={box} />
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
