import { RequestFailed } from '@parley/client'
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'
import { failureOf, filesOfMessage, isUploading } from '../app/uploads.ts'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { maxContent } from '../ui/limits.ts'
import { attempt, reportStorageFailure, showFailure, showProblem, withdrawProblem } from '../ui/problems.ts'
import type { Draft } from './draft.ts'

export interface SendingProps {
  workspace: Workspace
  channelId: string
  threadId?: string
  /** Called when a message was put into the outbox. */
  onSent?: () => void
}

/** Sends what a text box contains: a message with its files and its quotation, or a command. `setText` replaces the text in the box. */
export function useSending(
  { workspace, channelId, threadId, onSent }: SendingProps,
  box: RefObject<HTMLTextAreaElement | null>,
  draft: Draft,
  setText: (text: string) => void,
) {
  const destinationId = threadId ?? channelId
  const { files, quotations } = workspace
  /** The number of commands that wait for a response. */
  const running = useSignal(0)

  useEffect(() => {
    // The person has sent the message, opened another channel or thread, and returned before the files were uploaded.
    if (files.isWaiting(destinationId)) void sendWhenUploaded(box.current!)
  }, [destinationId])

  /**
   * Sends the message as soon as its files are uploaded, also when the person has opened another channel or thread meanwhile. Then `area` is
   * not on the page any more, but it still has the text.
   */
  async function sendWhenUploaded(area: HTMLTextAreaElement) {
    const chosen = files.of(destinationId)
    const failures = chosen.flatMap((file) => failureOf(file) ?? [])
    if (failures.some(({ isTemporary }) => !isTemporary))
      return showProblem(t('Remove the files that were refused first'))
    // The file itself shows that the server could not be reached.
    if (failures.length > 0) return
    if (!chosen.some(isUploading)) return sendNow(area)
    if (await files.untilUploaded(destinationId)) await sendWhenUploaded(area)
  }

  /** Puts the message into the outbox, and empties the text box. A command is run instead. */
  function sendNow(area: HTMLTextAreaElement) {
    const content = area.value.trim()
    const chosen = files.of(destinationId)
    if (content === '' && chosen.length === 0) return
    if (chosen.length === 0 && isCommand(area.value)) return void runCommand(content)
    const quotation = quotations.of(destinationId)
    const body = {
      content,
      ...filesOfMessage(chosen),
      ...(quotation && { quotedMessageId: quotation.id }),
    }
    const sent = workspace.send({ channelId, ...(threadId !== undefined && { parentId: threadId }), body })
    files.clear(destinationId)
    quotations.set(destinationId, undefined)
    /** Called when the browser could not store the message, so that it will not be sent. */
    const putBackFiles = (error: unknown) => {
      reportStorageFailure(error)
      files.putBack(destinationId, chosen)
      if (quotation) quotations.set(destinationId, quotation)
    }
    if (!area.isConnected) {
      // The text is still stored as the draft, unless the person has changed the draft meanwhile.
      sent.then(() => {
        if (draft.read() === area.value) draft.store('')
      }, putBackFiles)
      return
    }
    setText(draft.typedElsewhere())
    sent.then(onSent, (error) => {
      putBackFiles(error)
      putBackText(area, content)
    })
  }

  /** Puts a text back that was not sent, before what was typed meanwhile. The person may have opened another channel. */
  function putBackText(area: HTMLTextAreaElement, text: string) {
    const typed = area.isConnected ? area.value : draft.read()
    const both = typed === '' ? text : `${text}\n${typed}`
    if (area.isConnected) setText(both)
    else draft.store(both)
  }

  /** Runs a command. When it is refused, its text is put back, so that the person can correct it. */
  async function runCommand(text: string) {
    if (threadId !== undefined) return showProblem(t('Commands cannot be used in a thread'))
    const area = box.current!
    setText('')
    running.value++
    const { isRefused } = await workspace.commands.run(channelId, text).catch((error) => {
      showFailure(error)
      return { isRefused: true }
    })
    running.value--
    if (isRefused && draft.read() === '') putBackText(area, text)
  }

  /** Sends a text that is too long as a file. It stays in the box until the file is uploaded, because a reload would lose the file. */
  async function sendAsFile(area: HTMLTextAreaElement) {
    const text = area.value
    const part = await attempt(
      import('./upload-text.ts').catch((error) => {
        throw RequestFailed.noResponse(error)
      }),
    )
    if (!(await part?.uploadText(files, { destinationId, channelId, text }))) return
    // The person has changed the text, or left it, while it was uploaded. They see the file and decide.
    if (area.value !== text || !area.isConnected) return
    setText('')
    void sendWhenUploaded(area)
  }

  const tooLong = t('A message has at most 16,000 characters')
  // The sentence is about this text box.
  useEffect(() => () => withdrawProblem(tooLong), [destinationId])

  return {
    isRunning: running.value > 0,
    /** Uploads the files again that failed during an outage, waits until all are uploaded, and then sends the current text with them. */
    send() {
      const area = box.current!
      // The server would refuse it, and then the person could not shorten it any more.
      if ([...area.value.trim()].length > maxContent) {
        return showProblem(tooLong, { label: t('Send as a text file'), onChoose: () => void sendAsFile(area) })
      }
      withdrawProblem(tooLong)
      if (!files.isWaiting(destinationId)) files.retry(destinationId)
      void sendWhenUploaded(area)
    },
  }
}

/** Whether a text is a command: `/name`, with or without a text after it. Paths such as `/etc/hosts` are not commands. */
const isCommand = (text: string) => /^\/[\w-]+(\s|$)/.test(text)
