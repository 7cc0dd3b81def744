import { requestForPlace } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { followDraft, readDraft, storeDraft } from '../app/drafts.ts'
import { failureOf, filesOfMessage, isUploading } from '../app/uploads.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { Icon, IconButton } from '../ui/icons.tsx'
import { isOfInputMethod } from '../ui/keys.ts'
import { memo } from '../ui/memo.ts'
import { reportStorageFailure, showProblem, textOf } from '../ui/problems.ts'
import { useTextHeight } from '../ui/text-height.ts'
import { ChosenFileList } from './chosen-files.tsx'
import { ChosenQuotation } from './chosen-quotation.tsx'
import { FormattingBar, formatByKey } from './formatting.tsx'
import { useSuggestions } from './suggestions.tsx'

interface ComposerProps {
  workspace: Workspace
  channelId: string
  threadId?: string
  /** The accessible name of the text box. */
  name: string
  /** Called when it has appeared: whether it takes the focus. */
  takesFocus: () => boolean
  /** Set to the text box, so that the parent can give it the focus. */
  box?: { current: HTMLTextAreaElement | null }
  /** ArrowUp in an empty text box. */
  onEditLast?: () => void
  /** Called when a message was put into the outbox. */
  onSent?: () => void
}

const typingPauseMs = 2_000

/** The text box in which a message is written. Enter sends it, Shift+Enter begins a new line. The text is stored as a draft. */
export const Composer = memo(function Composer(props: ComposerProps) {
  const { workspace, channelId, threadId, name, onEditLast } = props
  /** The channel, conversation or thread to which the draft, the chosen files and the quotation belong. */
  const destinationId = threadId ?? channelId
  const ownBox = useRef<HTMLTextAreaElement>(null)
  const box = props.box ?? ownBox
  const picker = useRef<HTMLInputElement>(null)
  const lastTyping = useRef(0)
  /** What was typed in another tab while a message waits for its files here. It belongs to the next message. */
  const typedElsewhere = useRef('')
  /** The number of commands that wait for a response. */
  const running = useSignal(0)
  const latest = useRef(props)
  latest.current = props
  const files = workspace.files.of(destinationId)
  const isWaiting = workspace.files.isWaiting(destinationId)
  const quoted = workspace.quotations.of(destinationId)
  const removeQuotation = () => workspace.quotations.set(destinationId, undefined)
  const fitHeight = useTextHeight(box)
  const suggestions = useSuggestions(box, {
    workspace,
    channelId,
    hasCommands: threadId === undefined,
    onChosen: onChanged,
  })

  useEffect(() => {
    if (props.takesFocus()) box.current!.focus()
  }, [destinationId])
  useEffect(() => {
    // The person has sent the message, opened another channel or thread, and returned before the files were uploaded.
    if (isWaiting) void sendWhenUploaded(box.current!)
  }, [destinationId])
  useEffect(
    () =>
      followDraft(workspace.myId, destinationId, (text) => {
        if (workspace.files.isWaiting(destinationId)) {
          typedElsewhere.current = text
        } else if (!document.hasFocus()) {
          box.current!.value = text
          fitHeight()
        }
      }),
    [destinationId],
  )

  function onChanged() {
    fitHeight()
    typedElsewhere.current = ''
    keepDraft(box.current!.value)
    sendTyping()
  }

  function keepDraft(text: string) {
    try {
      storeDraft(workspace.myId, destinationId, text)
    } catch (error) {
      reportStorageFailure(error)
    }
  }

  function sendTyping() {
    const now = Date.now()
    if (threadId !== undefined || box.current!.value === '' || now - lastTyping.current < typingPauseMs) return
    lastTyping.current = now
    requestForPlace(workspace.client, 'PUT /channels/:channelId/typing', channelId, { repeats: 0 }).catch(() => {
      // A lost typing event does no harm.
    })
  }

  /** Uploads the files again that failed during an outage, waits until all are uploaded, and then sends the current text with them. */
  async function send() {
    // Not after the upload, when the person may be typing elsewhere.
    box.current!.focus()
    if (!isWaiting) workspace.files.retry(destinationId, channelId)
    await sendWhenUploaded(box.current!)
  }

  /** It goes on when the person opens another channel or thread. Then `area` is not the text box of the page any more, but has its text. */
  async function sendWhenUploaded(area: HTMLTextAreaElement) {
    const chosen = workspace.files.of(destinationId)
    const failures = chosen.flatMap((file) => failureOf(file) ?? [])
    if (failures.some(({ isTemporary }) => !isTemporary))
      return showProblem(t('Remove the files that were refused first'))
    // The file itself shows that the server could not be reached.
    if (failures.length > 0) return
    if (!chosen.some(isUploading)) return sendNow(area)
    if (await workspace.files.untilUploaded(destinationId)) await sendWhenUploaded(area)
  }

  function sendNow(area: HTMLTextAreaElement) {
    const content = area.value.trim()
    const chosen = workspace.files.of(destinationId)
    if (content === '' && chosen.length === 0) return
    if (chosen.length === 0 && isCommand(area.value)) return void runCommand(content)
    const quotation = workspace.quotations.of(destinationId)
    const { onSent } = latest.current
    const body = {
      content,
      ...filesOfMessage(chosen),
      ...(quotation && { quotedMessageId: quotation.id }),
    }
    const sent = workspace.send({ channelId, ...(threadId !== undefined && { parentId: threadId }), body })
    workspace.files.clear(destinationId)
    removeQuotation()
    // The browser could not store the message, so it will not be sent.
    const putBackFiles = (error: unknown) => {
      reportStorageFailure(error)
      workspace.files.putBack(destinationId, chosen)
      if (quotation) workspace.quotations.set(destinationId, quotation)
    }
    if (!area.isConnected) {
      // The text is still a draft.
      sent.then(() => {
        if (readDraft(workspace.myId, destinationId) === area.value) storeDraft(workspace.myId, destinationId, '')
      }, putBackFiles)
      return
    }
    area.value = typedElsewhere.current
    suggestions.close()
    onChanged()
    sent.then(onSent, (error) => {
      putBackFiles(error)
      putBackText(area, content)
    })
  }

  /** Puts a text back that was not sent, before what was typed meanwhile. The person may have opened another channel. */
  function putBackText(area: HTMLTextAreaElement, text: string) {
    const typed = area.isConnected ? area.value : readDraft(workspace.myId, destinationId)
    const both = typed === '' ? text : `${text}\n${typed}`
    if (!area.isConnected) return keepDraft(both)
    area.value = both
    onChanged()
  }

  /** Runs a command. When it is refused, its text is put back, so that the person can correct it. */
  async function runCommand(text: string) {
    if (threadId !== undefined) return showProblem(t('Commands cannot be used in a thread'))
    const area = box.current!
    area.value = ''
    suggestions.close()
    onChanged()
    running.value++
    try {
      await workspace.commands.run(channelId, text)
    } catch (error) {
      showProblem(textOf(error))
      if (readDraft(workspace.myId, destinationId) === '') putBackText(area, text)
    } finally {
      running.value--
    }
  }

  function onKeyDown(event: KeyboardEvent) {
    if (isOfInputMethod(event) || suggestions.onKeyDown(event)) return
    if (formatByKey(event, box.current!)) return
    const isPlain = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey
    if (event.key === 'Enter' && !event.shiftKey && !event.altKey) {
      event.preventDefault()
      void send()
    } else if (event.key === 'ArrowUp' && isPlain && box.current!.value === '' && onEditLast) {
      event.preventDefault()
      onEditLast()
    } else if (event.key === 'Escape' && (quoted || isWaiting)) {
      event.preventDefault()
      workspace.files.stopWaiting(destinationId)
      removeQuotation()
    }
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
        files={files}
        onRemove={(file) => {
          workspace.files.remove(destinationId, file)
          box.current!.focus()
        }}
      />
      <textarea
        ref={box}
        aria-label={name}
        placeholder={name}
        defaultValue={readDraft(workspace.myId, destinationId)}
        dir="auto"
        rows={1}
        {...suggestions.aria}
        onInput={() => {
          onChanged()
          suggestions.suggest()
        }}
        onKeyDown={onKeyDown}
        onBlur={suggestions.close}
        onPaste={(event) => {
          const { clipboardData } = event
          if (!clipboardData?.files.length || isFormattedText(clipboardData)) return
          event.preventDefault()
          workspace.files.add(destinationId, channelId, clipboardData.files)
        }}
      />
      <div class="composer-row">
        {/* Its name is its text and not an `aria-label`, so that only the file field has this label. */}
        <button type="button" class="icon-button" title={t('Attach files')} onClick={() => picker.current!.click()}>
          <Icon name="attach" />
          <span class="visually-hidden">{t('Attach files')}</span>
        </button>
        <input
          ref={picker}
          hidden
          type="file"
          multiple
          aria-label={t('Attach files')}
          onChange={(event) => {
            workspace.files.add(destinationId, channelId, event.currentTarget.files)
            event.currentTarget.value = ''
          }}
        />
        <FormattingBar box={box} onChanged={onChanged} />
        <span class="spring quiet">
          {isWaiting && t('The message is sent when the files are uploaded')}
          {running.value > 0 && t('Waiting for the answer to a command…')}
        </span>
        <IconButton icon="send" class="send" name={t('Send')} keys="Enter" onClick={() => void send()} />
      </div>
    </div>
  )
})

/** Whether text was copied from an office program. Such a program adds a picture of the text. */
const isFormattedText = ({ types }: DataTransfer) => types.includes('text/plain') && types.includes('text/html')

/** Whether a text is a command: `/name`, with or without a text after it. Paths such as `/etc/hosts` are not commands. */
const isCommand = (text: string) => /^\/[\w-]+(\s|$)/.test(text)
