import { requestForPlace } from '@parley/client'
import { useEffect, useRef } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { moveCaretToEnd } from '../ui/focus.ts'
import { Icon, IconButton } from '../ui/icons.tsx'
import { isOfInputMethod } from '../ui/keys.ts'
import { memo } from '../ui/memo.ts'
import { useTextHeight } from '../ui/text-height.ts'
import { ChosenFileList } from './chosen-files.tsx'
import { ChosenQuotation } from './chosen-quotation.tsx'
import { useDraft } from './draft.ts'
import { FormattingBar, formatByKey, pasteLink } from './formatting.tsx'
import { type SendingProps, useSending } from './sending.ts'
import { useSuggestions } from './suggestions.tsx'

interface ComposerProps extends SendingProps {
  /** The accessible name of the text box. */
  name: string
  /** Called when the text box has appeared. Returns whether it takes the focus. */
  takesFocus: () => boolean
  /** Set to the text box, so that the parent can give it the focus. */
  box?: { current: HTMLTextAreaElement | null }
  /** Called for ArrowUp in an empty text box. */
  onEditLast?: () => void
}

/**
 * The text box in which a message is written. Enter sends it, Shift+Enter begins a new line. The text is stored as a draft. The component
 * renders again only when its properties change. So the functions among them must stay the same (`useStable`).
 */
export const Composer = memo(function Composer(props: ComposerProps) {
  const { workspace, channelId, threadId, name, onEditLast } = props
  /** The channel, conversation or thread to which the draft, the chosen files and the quotation belong. */
  const destinationId = threadId ?? channelId
  const ownBox = useRef<HTMLTextAreaElement>(null)
  const box = props.box ?? ownBox
  const isWaiting = workspace.files.isWaiting(destinationId)
  const quoted = workspace.quotations.of(destinationId)
  const removeQuotation = () => workspace.quotations.set(destinationId, undefined)
  const fitHeight = useTextHeight(box)
  const draft = useDraft(props, box, fitHeight)
  const sendTyping = useTypingNotice(workspace, channelId)
  const isInThread = threadId !== undefined
  const suggestions = useSuggestions(box, workspace, { channelId, threadId })
  const sending = useSending(props, box, draft, setText)

  useEffect(() => {
    moveCaretToEnd(box)
    if (props.takesFocus()) box.current!.focus()
  }, [destinationId])

  function onChanged() {
    const { value } = box.current!
    fitHeight()
    draft.store(value)
    if (!isInThread && value !== '') sendTyping()
  }

  function setText(text: string) {
    box.current!.value = text
    suggestions.close()
    onChanged()
  }

  function send() {
    // The box gets the focus before the files are uploaded, because the person may be typing elsewhere after that.
    box.current!.focus()
    sending.send()
  }

  const addFiles = (chosen: FileList | null) => workspace.files.add(destinationId, channelId, chosen)

  function onKeyDown(event: KeyboardEvent) {
    if (isOfInputMethod(event) || suggestions.onKeyDown(event)) return
    if (formatByKey(event, box.current!)) return
    const isPlain = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey
    if (event.key === 'Enter' && !event.shiftKey && !event.altKey) {
      event.preventDefault()
      send()
    } else if (event.key === 'ArrowUp' && isPlain && box.current!.value === '' && onEditLast) {
      event.preventDefault()
      onEditLast()
    } else if (event.key === 'Escape' && (quoted || isWaiting)) {
      event.preventDefault()
      workspace.files.stopWaiting(destinationId)
      removeQuotation()
    }
  }

  function onPaste(event: ClipboardEvent) {
    if (pasteLink(event, box.current!)) return
    const { clipboardData } = event
    if (!clipboardData?.files.length || isFormattedText(clipboardData)) return
    event.preventDefault()
    addFiles(clipboardData.files)
  }

  return (
    <div class="composer">
      {suggestions.list}
      {quoted && (
        <ChosenQuotation
          workspace={workspace}
          channelId={channelId}
          quoted={quoted}
          onRemove={() => {
            removeQuotation()
            box.current!.focus()
          }}
        />
      )}
      <ChosenFileList
        files={workspace.files.of(destinationId)}
        onRemove={(file) => {
          workspace.files.remove(destinationId, file)
          box.current!.focus()
        }}
      />
      <textarea
        ref={box}
        aria-label={name}
        placeholder={name}
        defaultValue={draft.read()}
        dir="auto"
        rows={1}
        enterkeyhint="send"
        {...suggestions.aria}
        onInput={() => {
          onChanged()
          suggestions.suggest()
        }}
        onKeyDown={onKeyDown}
        onBlur={suggestions.close}
        onPaste={onPaste}
      />
      <div class="composer-row">
        <AttachButton onChoose={addFiles} />
        <FormattingBar box={box} />
        <span class="spring quiet">
          {isWaiting && t('The message is sent when the files are uploaded')}
          {sending.isRunning && t('Waiting for the answer to a command…')}
        </span>
        <IconButton icon="send" class="send" name={t('Send')} keys="Enter" onClick={send} />
      </div>
    </div>
  )
})

/** Opens the file dialog of the browser. */
function AttachButton({ onChoose }: { onChoose: (files: FileList | null) => void }) {
  const field = useRef<HTMLInputElement>(null)
  const name = t('Attach files')
  return (
    <>
      {/* Its name is its text and not an `aria-label`, so that only the file field has this label. */}
      <button type="button" class="icon-button" title={name} onClick={() => field.current!.click()}>
        <Icon name="attach" />
        <span class="visually-hidden">{name}</span>
      </button>
      <input
        ref={field}
        hidden
        type="file"
        multiple
        aria-label={name}
        onChange={({ currentTarget }) => {
          onChoose(currentTarget.files)
          // Otherwise there would be no event when the person chooses the same files again.
          currentTarget.value = ''
        }}
      />
    </>
  )
}

/** Whether text was copied from an office program. Such a program adds a picture of the text. */
const isFormattedText = ({ types }: DataTransfer) => types.includes('text/plain') && types.includes('text/html')

const typingPauseMs = 2_000

/** Returns a function that tells the others that the person is typing, at most once in `typingPauseMs`. */
function useTypingNotice({ client }: Workspace, channelId: string): () => void {
  const sentAt = useRef(0)
  return () => {
    const now = Date.now()
    if (now - sentAt.current < typingPauseMs) return
    sentAt.current = now
    requestForPlace(client, 'PUT /channels/:channelId/typing', channelId, { repeats: 0 }).catch(() => {
      // A lost typing event does no harm.
    })
  }
}
